"""End a process that does not stop in time.

Faust waits forever for an unavailable Kafka, for a deleted topic, and after some crashes for its
own thread. Only the end of the process resolves this, and nothing else stops this timer.
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
"""Seconds within which a stopping or failed process must exit."""


def leave_soon(apps: Sequence[AppT]) -> None:
    """End the process in 20 s, even if parts of it still run. Use this in dedicated processes only.

    The process logs the forced exit, and exits with the code of a SurroundingsError.
    """
    late = threading.Timer(LEAVE, _leave_behind, (apps,))
    late.daemon = True
    late.start()


def _leave_behind(apps: Sequence[AppT]) -> None:
    """End the process; uncommitted messages are processed again, but take effect only once."""
    failed = [f"{app.crash_reason} " for app in apps if app.crash_reason is not None]
    log.error(
        "%sNot everything stopped within %.0f s: is Kafka unavailable? Uncommitted messages are "
        "processed again at the next start.", "".join(failed), LEAVE,
    )  # fmt: skip
    logging.shutdown()
    os._exit(SurroundingsError.exit_code)


class Worker(faust.Worker):
    """Faust's worker for ``app.main()`` or ``faust``, with the timer."""

    async def on_stop(self) -> None:
        """Start the timer, and stop the worker."""
        leave_soon([self.app])
        await super().on_stop()
