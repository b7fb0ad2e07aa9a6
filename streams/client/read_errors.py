"""Translate errors of Kafka's client for a reader of a queue, with the remedy."""

from __future__ import annotations

from streams.client.begin import PositionLostError
from streams.errors import HoplineError, SurroundingsError
from streams.kafka import FencedError, KafkaError, is_fatal, is_forbidden


def missing(topic: str) -> SurroundingsError:
    """Return the error for a topic that does not exist; it may be created later."""
    return SurroundingsError(
        f"Queue topic {topic} does not exist.", "Run 'hopline apply TOPOLOGY'."
    )


def permanent(topic: str, error: KafkaError) -> HoplineError | None:
    """Return the error that ends reading for good; ``None`` if the error may be transient.

    Kafka's client reports a permanent error once, and would then block forever.
    """
    if is_forbidden(error):
        return SurroundingsError(
            f"{topic}: this user is not allowed to receive: {error.str()}.",
            "`hopline acl TOPOLOGY` lists the rights and groups of each role. Grant them, "
            "then create a new reader.",
        )
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        return PositionLostError(
            f"{topic}: the group's committed offset is out of range: {error.str()}.",
            "The topic was trimmed after other groups had received from it, or recreated. Create "
            "a new reader; its error reports the offsets and the remedy.",
        )
    if is_fatal(error):
        return FencedError(
            f"{topic}: this member was removed from the group: {error.str()}.",
            "Another process uses the member's name, or the member has not polled for too long. "
            "Create a new reader. Uncommitted messages are redelivered.",
        )
    return None
