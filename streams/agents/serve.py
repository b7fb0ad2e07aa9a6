"""Run applications in this process until a signal, or until one of them fails."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence

from streams.agents.application import HoplineApp
from streams.agents.leaving import leave_soon

log = logging.getLogger("hopline.ready")


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

    def end() -> None:
        if not stop.is_set():
            stop.set()
            leave_soon(apps)

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
