"""The state of workers, from their logs: which instances are ready, and how a process ended."""

from __future__ import annotations

import re
from pathlib import Path

from streams.live.local.folder import UpFolder, WorkerProcess

_READY = re.compile(r" INFO (.+) (?:forwarder|endpoint|agents): ready", re.MULTILINE)


def ready_instances(folder: UpFolder, worker: WorkerProcess) -> frozenset[str]:
    """Return the instances that a process serves, by its log since its start.

    For an agent this is the agent's name.
    """
    try:
        with folder.log(worker.name).open("rb") as log:
            log.seek(worker.log_from)
            return frozenset(_READY.findall(log.read().decode(errors="replace")))
    except FileNotFoundError:
        return frozenset()


def last_words(log: Path) -> str:
    """Return the last line of a log."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except FileNotFoundError:
        lines = []
    own = [line for line in lines if not line.startswith(" ")]
    return own[-1] if own else "no output"
