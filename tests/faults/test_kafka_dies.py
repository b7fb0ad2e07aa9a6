"""Kafka itself: its guarantees must hold even after it was killed.

If you pin another version of the embedded broker, this test checks its guarantees. 4.3.1 and 4.4.0
fail (KAFKA-20734, docs/decisions/0018) because the transaction stays open forever. With
``--containers`` the broker is 4.3.1, started as in deploy/containers/kafka.
"""

from __future__ import annotations

import pytest

from streams.kafka import Cluster, TopicPartition, create
from streams.wire import Topics
from streams.wire.specs import TopicSpec
from tests.killable import KillableKafka
from tests.running import eventually
from tests.workers.rig import pause

TIMEOUT_MS = 1_000


@pytest.mark.long
def test_a_transaction_that_was_open_when_kafka_died_ends(killable_kafka: KillableKafka) -> None:
    """The transaction times out while Kafka is down, and the records after it can then be read."""
    cluster = Cluster(killable_kafka.bootstrap, Topics("t."))
    create(cluster, [TopicSpec("t.event", "event", 1, {})])
    dead = cluster.producer(transactional_id="dead", transaction_timeout_ms=TIMEOUT_MS)
    dead.init_transactions(30)
    dead.begin_transaction()
    dead.produce("t.event", value=b"never")
    assert dead.flush(30) == 0
    killable_kafka.kill()
    killable_kafka.restart()
    cluster = Cluster(killable_kafka.bootstrap, Topics("t."))
    cluster.wait(60)
    producer = cluster.producer()
    producer.produce("t.event", value=b"behind it")
    assert producer.flush(60) == 0
    consumer = cluster.consumer("reader", isolation_level="read_committed")
    consumer.assign([TopicPartition("t.event", 0, 0)])
    try:
        message = eventually(lambda: consumer.poll(1.0) or pause(), "what is behind it is read")
        assert message.value() == b"behind it"
    finally:
        consumer.close()
