"""How Kafka reports that a client was fenced: another process has taken its name."""

from __future__ import annotations

from confluent_kafka import KafkaError

from streams.errors import SurroundingsError

FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)
"""For a producer: another process uses its transactional id."""
LOST = (KafkaError.FENCED_INSTANCE_ID, KafkaError._FATAL, KafkaError._STATE)
"""For a static consumer; the last error is raised by seek.

Kafka's client also considers itself fenced if its group's coordinator was unavailable for longer
than a session between two polls.
"""


class FencedError(SurroundingsError):
    """Another process has taken the name, so nothing that is in progress here will take effect."""


def is_fatal(error: KafkaError) -> bool:
    """Return whether a consumer is fenced for good, which the result of its poll does not show."""
    return error.fatal() or error.code() in LOST
