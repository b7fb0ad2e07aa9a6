"""The interface of a worker, for its process."""

from __future__ import annotations

import threading
from typing import Protocol

from streams.workers.event_counts import EventCounts, Traffic
from streams.workers.ownership import PairOwnership
from streams.workers.process.trimming import TrimPoints


class Worker(Protocol):
    """The loop of one worker, which one thread runs until ``stop`` is set."""

    instance: str
    ownership: PairOwnership
    traffic: Traffic

    @property
    def role(self) -> str:
        """Return the worker's role, one of :data:`streams.workers.ROLES`."""

    @property
    def assigned(self) -> bool:
        """Return whether the worker's partitions are assigned and restored."""

    @property
    def event_counts(self) -> EventCounts:
        """Return the counts of the worker's events."""

    @property
    def trim_points(self) -> TrimPoints:
        """Return the offsets below which no record is needed, for the worker's partitions."""

    def run(self, stop: threading.Event) -> None:
        """Work until ``stop``, then drain and return."""


def name_of(worker: Worker) -> str:
    """Return the name of a worker's thread, also used in messages."""
    return f"{type(worker).__name__} {worker.ownership}"
