"""What stands beside a committed offset, as it was said.

Kafka's client (librdkafka 2.16 under confluent-kafka 2.16.1) hands some of these texts over with
whatever lies behind them in memory: ``r0 5+2`` becomes ``r0 5+25``, or is no UTF-8 any more. So a
note says itself where it ends.
"""

from __future__ import annotations

from typing import Protocol

_END = "\n"


class Noted(Protocol):
    """A TopicPartition, as far as it matters here."""

    @property
    def metadata(self) -> str | None:
        """Return the text; raises UnicodeDecodeError where none is behind it."""


def closed(note: str) -> str:
    """Return a note as it is committed; one that says nothing is none."""
    return note and note + _END


def note_of(found: Noted) -> str:
    """Return the note beside an offset that Kafka's client has found; without one, nothing.

    What somebody else has committed, without an end, is returned with what lies behind it.
    """
    try:
        text = found.metadata or ""
    except UnicodeDecodeError as error:
        text = error.object.decode("ascii", "replace")
    return text.partition(_END)[0]
