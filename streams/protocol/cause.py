"""The record that caused a statement. A repeated statement has the same cause."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

_NAMESPACE = uuid.UUID("6d9d9c0e-5d0b-5c55-9a6b-0a8a7d1f5c11")


@dataclass(frozen=True, slots=True)
class Source:
    """A partition of a topic as an application's agent reads it; ``topic`` is the topic's UUID."""

    application: str
    agent: str
    topic: uuid.UUID
    partition: int

    def __str__(self) -> str:
        return f"{self.application}/{self.agent} of {self.topic}/{self.partition}"


@dataclass(frozen=True, slots=True)
class Cause:
    """The ``n``-th statement (from 0) that the record at ``offset`` of a source caused."""

    source: Source
    offset: int
    n: int = 0

    @property
    def at(self) -> tuple[int, int]:
        """Return the position of the statement among those of its source."""
        return self.offset, self.n

    @property
    def id(self) -> uuid.UUID:
        """Return the id of the command, which is the same for every repetition."""
        where = self.source
        parts = (where.application, where.agent, where.topic.hex, where.partition, *self.at)
        return uuid.uuid5(_NAMESPACE, repr(parts))

    @property
    def following(self) -> Cause:
        """Return the cause of the record's next statement."""
        return replace(self, n=self.n + 1)

    def conversation(self, number: int = 0) -> uuid.UUID:
        """Return the id of a dialog that the command begins; ``number`` is 0 for the first."""
        return uuid.uuid5(self.id, f"conversation{number or ''}")
