"""Topics from which Kafka soon removes deleted keys, tombstones too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streams.embedded import Beside
from streams.wire.specs import KINDS
from tests.workers.rig import Rig, configure, eventually, pause

BROKER = Beside(properties={"log.cleaner.backoff.ms": "200"})
"""By default Kafka looks every 15 s for something to compact."""
_SOON = {
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.0",
    "max.compaction.lag.ms": "100",
    "delete.retention.ms": "2000",
}


def shorten(made: Rig, kind: str, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a topic keep tombstones for two seconds, which its readers know."""
    configure(made.cluster, topic, _SOON)
    monkeypatch.setitem(KINDS, kind, {**KINDS[kind], **_SOON})  # type: ignore[arg-type]


def wait_until_compacted(made: Rig, topic: str, key: bytes, write: Callable[[], object]) -> None:
    """Wait until a topic has no record of a key; ``write`` makes Kafka begin another segment."""

    def is_gone() -> bool:
        write()
        pause()
        return all(message.key() != key for message in made.records(topic))

    eventually(is_gone, f"{key!r} is compacted away")
