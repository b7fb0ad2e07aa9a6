"""The records of a capture, exactly as in Kafka, and the metadata of its file.

A captured record contains everything that a Kafka record has, in the same order. Headers are a
sequence of pairs (keys may repeat, values may be null), and null differs from empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum

__all__ = ["CaptureOrigin", "Counts", "Header", "Metadata", "Record", "TimestampType"]

Header = tuple[str, bytes | None]


class TimestampType(IntEnum):
    """The type of a record's timestamp, with Kafka's numbers."""

    NONE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


@dataclass(frozen=True, slots=True)
class Record:
    """One Kafka record; ``timestamp`` in epoch milliseconds."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: TimestampType
    key: bytes | None
    headers: tuple[Header, ...]
    value: bytes | None

    def header(self, key: str) -> bytes | None:
        """Return the value of the last header with that name (as Kafka's clients do), or None."""
        for name, value in reversed(self.headers):
            if name == key:
                return value
        return None


class CaptureOrigin(Enum):
    """The source of a file's records."""

    CAPTURED = "captured"
    GENERATED = "generated"
    IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a file; ``created`` is its creation time in epoch milliseconds.

    ``prefix``: the topics' prefix. ``topology``: the topology's name. ``schemas``: the schemas of
    headers and values, as Avro's canonical JSON.
    """

    kind: CaptureOrigin
    prefix: str
    topology: str
    created: int
    schemas: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Counts:
    """The writer's counts: records, bytes of their bodies, and lowest and highest timestamp.

    ``first`` and ``last`` are -1 if no record has a timestamp.
    """

    records: int = 0
    body_bytes: int = 0
    first: int = -1
    last: int = -1

    def __add__(self, other: Counts) -> Counts:
        """Return the sum of two counts."""
        begins = [first for first in (self.first, other.first) if first >= 0]
        return Counts(
            self.records + other.records,
            self.body_bytes + other.body_bytes,
            min(begins, default=-1),
            max(self.last, other.last),
        )
