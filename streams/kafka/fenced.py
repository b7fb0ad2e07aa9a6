"""How Kafka tells a client that it is heard no more: somebody else has its name by now."""

from __future__ import annotations

from confluent_kafka import KafkaError

from streams.errors import SurroundingsError

FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)
"""To a producer: somebody else has taken over its transactional id."""
LOST = (KafkaError.FENCED_INSTANCE_ID, KafkaError._FATAL, KafkaError._STATE)
"""To a consumer with a name in its group; the last one where it is told to seek.

Kafka's client takes itself for fenced, too, where the coordinator of its group was away for longer
than a session while nobody polled.
"""


class FencedError(SurroundingsError):
    """Somebody else has taken over the name: whatever is under way here will not happen."""


def is_fatal(error: KafkaError) -> bool:
    """Tell whether a consumer will never read again; what its poll returns does not say so."""
    return error.fatal() or error.code() in LOST
