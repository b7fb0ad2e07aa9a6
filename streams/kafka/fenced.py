"""Kafka's errors for a fenced client, whose name another process has taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError

from streams.errors import SurroundingsError

FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)
"""Errors of a producer whose transactional id another process uses."""
LOST = (KafkaError.FENCED_INSTANCE_ID, KafkaError._FATAL, KafkaError._STATE)
"""Errors of a fenced static consumer; ``seek`` raises the last of them.

Kafka's client also considers itself fenced if its group's coordinator was unavailable between two
polls for longer than the session timeout.
"""
_DISPLACED = (
    *FENCED,
    KafkaError._FATAL,
    KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
    KafkaError.UNKNOWN_PRODUCER_ID,
)
"""Errors of a producer if another client has written a record with its producer id."""
WITHOUT_ID: Mapping[str, Any] = {"enable_idempotence": False, "max_in_flight": 1}
"""Settings of a producer without a producer id, for topics to which many users may write.

Kafka does not check which client uses a producer id, and it assigns consecutive numbers, so ids can
be guessed. If another client writes a record with our id, Kafka rejects our next record. A producer
without an id may write a record twice when it retries.
"""


class FencedError(SurroundingsError):
    """Another process has taken the name, so the work in progress here will not take effect."""


def is_fatal(error: KafkaError) -> bool:
    """Return whether a consumer is permanently fenced; its ``poll`` does not report this."""
    return error.fatal() or error.code() in LOST


def is_displaced(error: KafkaError) -> bool:
    """Return whether a producer needs another id, because another client has used this id."""
    return error.fatal() or error.code() in _DISPLACED
