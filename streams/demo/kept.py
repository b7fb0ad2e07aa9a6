"""A system that keeps running after the demo; its processes are listed in the demo's folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from streams.embedded import Broker
from streams.embedded.process import command_line, end
from streams.private import write_private

_STOP_S = 20.0
_OURS = "streams"
"""Text in the command line of every Hopline process, because process ids are reused."""


def note(data: Path, processes: Mapping[str, int]) -> None:
    """Store the process ids of the running processes, by name."""
    write_private(_file(data), json.dumps(processes))


def stop(data: Path) -> bool:
    """Stop a demo's remaining processes; return whether there were any."""
    broker = Broker(data / "kafka")
    if not _file(data).exists():
        return broker.stop()
    for pid in json.loads(_file(data).read_text("utf-8")).values():
        if _lives(pid):
            end(pid, partial(_gone, pid), _STOP_S)
    _file(data).unlink()
    broker.stop()
    return True


def _lives(pid: int) -> bool:
    return _OURS in command_line(pid)


def _gone(pid: int) -> bool:
    return not _lives(pid)


def _file(data: Path) -> Path:
    return data / "running.json"
