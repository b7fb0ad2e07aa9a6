"""Run applications in this process until a signal, or until one of them fails."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable, Sequence

from streams.agents.application import HoplineApp
from streams.errors import SurroundingsError

log = logging.getLogger("hopline.ready")

LEAVE = 20.0
"""Seconds in which a process leaves that is to end, or that an application of it has failed."""


def serve(
    apps: Sequence[HoplineApp], names: Sequence[str], ready: Callable[[], None] = lambda: None
) -> None:
    """Return after SIGTERM or SIGINT, when all have left; raises what one has failed with.

    ``names`` are what the agents are called whose applications these are. ``ready`` is called when
    all of them have started. Whatever has not left within 20 s, because Kafka is away say, is left
    behind: the process ends with the exit code of a SurroundingsError, and says so. So this is for
    a process that does nothing else.
    """
    asyncio.run(_serve(apps, names, ready))


async def _serve(
    apps: Sequence[HoplineApp], names: Sequence[str], ready: Callable[[], None]
) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    # Faust waits without end for a Kafka that is away, in threads that outlive the loop: only the
    # process can end them, and nothing stops this clock but its end.
    late = threading.Timer(LEAVE, _leave_behind, (apps,))
    late.daemon = True

    def end() -> None:
        stop.set()
        if late.ident is None:
            late.start()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    try:
        for app in apps:
            await app.start()
            log.info("%s serves %s/%s", app.conf.id, app.instance, app.database)
        for name in names:
            log.info("%s agents: ready", name)
        ready()
        ends = [stop.wait(), *(app._crashed.wait() for app in apps)]
        waiting = [asyncio.ensure_future(end) for end in ends]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
    finally:
        end()
        for app in apps:
            await app.stop()
    for app in apps:
        if app.crash_reason is not None:
            raise app.crash_reason


def _leave_behind(apps: Sequence[HoplineApp]) -> None:
    """End the process: what was not committed is done again, and has effect once."""
    failed = [f"{app.crash_reason} " for app in apps if app.crash_reason is not None]
    log.error(
        "%sNot all has ended within %.0f s: is Kafka away? What was not committed is done again at "
        "the next start.", "".join(failed), LEAVE,
    )  # fmt: skip
    logging.shutdown()
    os._exit(SurroundingsError.exit_code)
