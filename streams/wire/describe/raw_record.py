"""A record as Kafka has it, whatever is in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record as Kafka has it; ``timestamp`` in epoch milliseconds.

    ``unreadable`` says why the client library could not hand over all of it.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    unreadable: str = ""
