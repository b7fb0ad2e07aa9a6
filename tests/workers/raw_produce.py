"""A record as no client library would send it: header names that are no text, spoken by hand."""

from __future__ import annotations

from streams.wire.specs import KINDS
from tests.kafka.raw_batch import LZ4, UNCOMPRESSED, append, batch, record

_WHEN = 1_700_000_000_000


def produce_raw(
    bootstrap: str, topic: str, key: bytes, value: bytes, headers: list[tuple[bytes, bytes]]
) -> None:
    """Append one record to partition 0 of a topic; raises AssertionError where Kafka refuses."""
    codec = UNCOMPRESSED if _is_uncompressed(topic) else LZ4
    append(bootstrap, topic, batch(record(0, key, value, headers), codec=codec, at=_WHEN))


def _is_uncompressed(topic: str) -> bool:
    """Tell whether Kafka writes a compressed batch of a topic anew, and makes text of its names."""
    kinds = {kind for kind, config in KINDS.items() if "compression.type" in config}
    return not kinds.isdisjoint(topic.split("."))


def produce_unreadable(bootstrap: str, topic: str, claimed: int = 500) -> None:
    """Append a record that claims a length, which it does not have, to partition 0 of a topic."""
    append(bootstrap, topic, batch(record(0, b"key", b"value", length=claimed), at=_WHEN))
