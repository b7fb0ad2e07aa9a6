"""`presence` has one key for each name and a record each second: Kafka must compact it soon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.kafka import TopicPartition, deploy
from streams.wire import encode_presence
from tests.running import DEADLINE
from tests.workers.rig import Rig, configure, eventually, pair, pause, rig

NAMES, SECONDS = 50, 400
NOW = 1_790_000_000_000


@pytest.fixture
def compacting(compacting_kafka: str, unique: str, tmp_path: Path) -> Iterator[Rig]:
    """Return two instances in which nothing runs, on a broker that often looks for old segments."""
    with rig(compacting_kafka, unique, pair(tmp_path)) as made:
        yield made


@pytest.mark.long
def test_a_presence_that_is_compacted_after_a_week_is_corrected(two: Rig) -> None:
    """As an older version made it."""
    presence = two.topics.presence
    configure(two.cluster, presence, {"segment.ms": "604800000"})
    assert deploy(two.cluster, two.topology).topics == (
        f"corrected {presence} (segment.ms is 604800000 and must be 60000)",
    )
    assert deploy(two.cluster, two.topology).topics == ()


@pytest.mark.long
def test_heartbeats_are_compacted_within_minutes(compacting: Rig) -> None:
    """Twenty thousand in a minute, then one at a time: Kafka begins a segment only for a record."""
    presence = compacting.topics.presence
    producer = compacting.cluster.producer(linger_ms=20, enable_idempotence=False)

    def write(second: int, name: str) -> None:
        value = encode_presence(name, "gone", second + 1, NOW + second * 1_000)
        producer.produce(presence, key=name, value=value)

    names = [f"Gone{number}" for number in range(NAMES)]
    for second in range(SECONDS):
        for name in names:
            write(second, name)
        producer.poll(0)
    assert producer.flush(DEADLINE) == 0
    assert len(compacting.records(presence)) == NAMES * SECONDS

    consumer = compacting.cluster.consumer(f"{compacting.topics.prefix}test")
    start, later = TopicPartition(presence, 0, 0), iter(range(SECONDS, 1_000_000))

    def is_compacted() -> bool:
        """The first heartbeat of all has others of its name after it."""
        write(next(later), names[0])
        assert producer.flush(DEADLINE) == 0
        consumer.assign([start])
        first = consumer.poll(1.0)
        pause()
        return first is not None and first.error() is None and (first.offset() or 0) > 0

    try:
        eventually(is_compacted, "Kafka has compacted presence")
    finally:
        consumer.close()
    left = compacting.records(presence)
    assert {message.key() for message in left} == {name.encode() for name in names}
    assert len(left) < 5_000
