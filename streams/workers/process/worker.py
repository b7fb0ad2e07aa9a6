"""What a process knows of a worker that it runs."""

from __future__ import annotations

import threading
from typing import Protocol

from streams.workers.event_counts import EventCounts, Traffic
from streams.workers.ownership import PairOwnership
from streams.workers.process.trimming import TrimPoints


class Worker(Protocol):
    """The loop of one worker until ``stop`` is set; one thread runs it."""

    instance: str
    ownership: PairOwnership
    traffic: Traffic

    @property
    def role(self) -> str:
        """Say which of :data:`streams.workers.ROLES` it has."""

    @property
    def assigned(self) -> bool:
        """Tell whether its partitions are assigned to it, with what is stored in them."""

    @property
    def event_counts(self) -> EventCounts:
        """Return what events it has written."""

    @property
    def trim_points(self) -> TrimPoints:
        """Return below which positions nothing is needed, of partitions that it owns."""

    def run(self, stop: threading.Event) -> None:
        """Work until ``stop``, then drain and return."""


def name_of(worker: Worker) -> str:
    """Return the name of a worker's thread, and of the worker in messages."""
    return f"{type(worker).__name__} {worker.ownership}"
