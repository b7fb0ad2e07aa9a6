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

Kafka's client also considers itself fenced if its group's coordinator was unavailable for longer
than a session between two polls.
"""
_DISPLACED = (
    *FENCED,
    KafkaError._FATAL,
    KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
    KafkaError.UNKNOWN_PRODUCER_ID,
)
"""Errors of a producer whose id another client has used to write a record."""
WITHOUT_ID: Mapping[str, Any] = {"enable_idempotence": False, "max_in_flight": 1}
"""Settings of a producer without an id, for topics that many users may write.

Kafka does not check which client uses a producer id. It assigns consecutive numbers, so ids can be
guessed. If another client writes a record with our id, Kafka rejects our next record. Without an
id, a retry may write a record twice.
"""


class FencedError(SurroundingsError):
    """Another process has taken the name, so no work in progress here will take effect."""


def is_fatal(error: KafkaError) -> bool:
    """Return whether a consumer is permanently fenced, which its poll does not report."""
    return error.fatal() or error.code() in LOST


def is_displaced(error: KafkaError) -> bool:
    """Return whether a producer needs another id, because another client has used this id."""
    return error.fatal() or error.code() in _DISPLACED
