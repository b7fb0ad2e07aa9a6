"""Kafka's errors for a fenced client, whose name another process has taken."""

from __future__ import annotations

from confluent_kafka import KafkaError

from streams.errors import SurroundingsError

FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)
"""Errors of a producer whose transactional id another process uses."""
LOST = (KafkaError.FENCED_INSTANCE_ID, KafkaError._FATAL, KafkaError._STATE)
"""Errors of a fenced static consumer; ``seek`` raises the last of them.

Kafka's client also considers itself fenced if its group's coordinator was unavailable for longer
than a session between two polls.
"""


class FencedError(SurroundingsError):
    """Another process has taken the name, so no work in progress here will take effect."""


def is_fatal(error: KafkaError) -> bool:
    """Return whether a consumer is permanently fenced, which its poll does not report."""
    return error.fatal() or error.code() in LOST
