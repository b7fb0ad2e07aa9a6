"""The health of a system, in one word."""

from __future__ import annotations

from enum import Enum


class Health(Enum):
    """The health of a system, in one word."""

    RUNNING = "running"
    STARTING = "starting"
    """All processes are alive, but some workers are not ready."""
    BROKEN = "broken"
    """A process is dead, Kafka is unavailable, a transaction hangs, or a statement is held back."""
    STOPPED = "stopped"
