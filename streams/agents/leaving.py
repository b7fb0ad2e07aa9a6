"""The clock of a process that is to end.

Faust waits without end for a Kafka that is away, for a topic that is gone, and in some crashes for
its own thread. Only the process can end that, and nothing but its end stops this clock.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence

import faust
from faust.types import AppT

from streams.errors import SurroundingsError

log = logging.getLogger("hopline.ready")

LEAVE = 20.0
"""Seconds in which a process leaves that is to end, or that an application of it has failed."""


def leave_soon(apps: Sequence[AppT]) -> None:
    """End the process in 20 s, whatever has not left by then; for one that does nothing else.

    It says so, and the exit code is a SurroundingsError's.
    """
    late = threading.Timer(LEAVE, _leave_behind, (apps,))
    late.daemon = True
    late.start()


def _leave_behind(apps: Sequence[AppT]) -> None:
    """End the process: what was not committed is done again, and has effect once."""
    failed = [f"{app.crash_reason} " for app in apps if app.crash_reason is not None]
    log.error(
        "%sNot everything stopped within %.0f s: is Kafka unavailable? Uncommitted messages are "
        "processed again at the next start.", "".join(failed), LEAVE,
    )  # fmt: skip
    logging.shutdown()
    os._exit(SurroundingsError.exit_code)


class Worker(faust.Worker):
    """What runs an application by ``app.main()`` or ``faust``: Faust's own, with the clock."""

    async def on_stop(self) -> None:
        """Begin to leave."""
        leave_soon([self.app])
        await super().on_stop()
