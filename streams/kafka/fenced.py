"""How Kafka reports that a client was fenced: another process has taken its name."""

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
    """Another process has taken the name: whatever is in progress here will not happen."""


def is_fatal(error: KafkaError) -> bool:
    """Tell whether a consumer is fenced for good; the result of its poll does not show it."""
    return error.fatal() or error.code() in LOST
