"""Records of ``reading``: the positions of consumer groups in queue partitions.

The key consists of the group and the partition, so compaction keeps the latest record for each
partition.
"""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from streams.times import LATEST
from streams.wire.single_object import Codec, MalformedError

READING = Codec("Reading")


@dataclass(frozen=True, slots=True)
class Reading:
    """A group's committed ``position``, the next offset to read, at ``at`` (epoch milliseconds)."""

    group: str
    topic: str
    topic_id: uuid.UUID
    partition: int
    position: int
    at: int

    @property
    def when(self) -> str:
        """Return ``at`` as text for users."""
        return datetime.fromtimestamp(self.at / 1000, UTC).isoformat(timespec="seconds")


def reading_key(topic: str, partition: int, group: str) -> bytes:
    """Return the key of a group's record for a partition."""
    return f"{topic}/{partition}/{group}".encode()


def reading_record(reading: Reading) -> tuple[bytes, bytes]:
    """Return the key and the value."""
    key = reading_key(reading.topic, reading.partition, reading.group)
    return key, READING.encode({**asdict(reading), "topic_id": str(reading.topic_id)})


def decode_reading(raw: bytes | None) -> Reading:
    """Decode a value; raises MalformedError if it, its position or its time is invalid."""
    record = READING.decode(raw)
    if record["position"] < 0 or not 0 <= record["at"] <= LATEST:
        raise MalformedError("Reading: a negative position, or an invalid time")
    try:
        return Reading(**{**record, "topic_id": uuid.UUID(record["topic_id"])})
    except ValueError as error:
        raise MalformedError(f"Reading: {error}") from error
