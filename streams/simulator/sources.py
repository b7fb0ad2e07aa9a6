"""A forwarder's progress in its topics."""

from __future__ import annotations

from dataclasses import dataclass

from streams.routing import Origin
from streams.simulator.storage import Entry


@dataclass(slots=True)
class Source:
    """A topic, read from ``position`` on; a new process starts at ``committed[at]``."""

    topic: list[Entry]
    origin: Origin
    committed: list[int]
    at: int
    position: int = 0

    def __post_init__(self) -> None:
        self.position = self.committed[self.at]

    @property
    def is_at_end(self) -> bool:
        """Return whether all records are read."""
        return self.position >= len(self.topic)

    @property
    def is_committed(self) -> bool:
        """Return whether a new process would read no record a second time."""
        return self.position <= self.committed[self.at]

    def commit(self) -> None:
        """Commit the position, unless another process has committed a higher position."""
        self.committed[self.at] = max(self.committed[self.at], self.position)
