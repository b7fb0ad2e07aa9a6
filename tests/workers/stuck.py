"""A worker process whose forwarder is stuck in Kafka's client.

``python -m tests.workers.stuck HUNG_AFTER LEAVE_WITHIN ARGUMENTS`` runs ``hopline ARGUMENTS`` with
these limits in seconds. After a turn, the forwarder polls forever. The interpreter cannot end
either, as if it had to destroy the client.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import runpy
import sys
import threading
from typing import Any

STUCK = "the forwarder polls forever"


def _poll_forever(consumer: Any, *_: float) -> None:
    print(STUCK, file=sys.stderr, flush=True)
    while True:
        consumer.poll(-1)  # returns only for the end of a partition


def main(hung_after: str, leave_within: str, *arguments: str) -> None:
    """Run the command."""
    loop: Any = importlib.import_module("streams.workers.forwarder.loop")
    loop.take = _poll_forever
    worker: Any = importlib.import_module("streams.cli.run.worker")
    worker.Process = functools.partial(
        worker.Process, hung_after=float(hung_after), leave_within=float(leave_within)
    )
    atexit.register(threading.Event().wait)
    sys.argv = ["streams", *arguments]
    runpy.run_module("streams", run_name="__main__", alter_sys=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
