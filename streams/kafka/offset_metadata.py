"""Notes in the metadata of committed offsets, with an explicit end.

Kafka's client (librdkafka 2.16 with confluent-kafka 2.16.1) returns some of these notes with the
bytes that follow them in memory: ``r0 5+2`` becomes ``r0 5+25``, or text that is not UTF-8. So each
note contains an end mark.
"""

from __future__ import annotations

from typing import Protocol

_END = "\n"


class Noted(Protocol):
    """The attributes of a TopicPartition that are used here."""

    @property
    def metadata(self) -> str | None:
        """Return the text; raise UnicodeDecodeError if invalid bytes follow it."""


def closed(note: str) -> str:
    """Return a note in its committed form; an empty note stays ""."""
    return note and note + _END


def note_of(found: Noted) -> str:
    """Return the note of an offset; "" if there is none.

    A foreign note has no end mark, so it may be returned with the bytes that follow it.
    """
    try:
        text = found.metadata or ""
    except UnicodeDecodeError as error:
        text = error.object.decode("ascii", "replace")
    return text.partition(_END)[0]
