"""What ``hopline status`` shows, and whether the processes that it showed are gone."""

from __future__ import annotations

import json
from typing import Any

from streams.embedded.process import command_line, wait_until
from tests.command import invoke
from tests.running import DEADLINE


def status() -> dict[str, Any]:
    """Return what ``hopline status`` tells of the system in this folder."""
    shown: dict[str, Any] = json.loads(invoke("status", "--format", "json").stdout)
    return shown


def gone(pid: int) -> bool:
    """Tell whether a process ends soon."""
    return wait_until(lambda: not command_line(pid), DEADLINE)
