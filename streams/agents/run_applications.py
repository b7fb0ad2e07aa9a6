"""Run applications in this process until a signal arrives or an application fails."""

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
    """Run until SIGTERM or SIGINT, then stop all; raise the error of a failed application.

    ``names`` are the names of these applications' agents. ``ready`` is called when all applications
    have started. An application that has not stopped within 20 s, for example because Kafka is
    unavailable, is abandoned. The process then logs a message and exits with the code of a
    SurroundingsError. Use this function only in a dedicated process.
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
