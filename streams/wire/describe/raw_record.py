"""A record as stored in Kafka, with any content."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record as stored in Kafka; ``timestamp`` is in epoch milliseconds.

    ``unreadable`` is the reason if the client library could not return the whole record.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    unreadable: str = ""
