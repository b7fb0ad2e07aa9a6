"""The embedded Kafka itself: what it promises must hold after it was killed, too.

Whoever pins another version of it learns here whether that version keeps its promises. 4.3.1 and
4.4.0 do not (KAFKA-20734, docs/decisions/0018): the transaction stays open for ever.
"""

from __future__ import annotations

from pathlib import Path

from streams.embedded import Broker
from streams.kafka import Cluster, TopicPartition, create
from streams.wire import Topics
from streams.wire.specs import TopicSpec
from tests.running import eventually
from tests.workers.rig import pause

TIMEOUT_MS = 1_000


def test_a_transaction_that_was_open_when_kafka_died_ends(tmp_path: Path) -> None:
    """Its time is over when Kafka is there again, and what is behind it can be read."""
    with Broker(tmp_path / "kafka") as broker:
        cluster = Cluster(broker.bootstrap, Topics("t."))
        create(cluster, [TopicSpec("t.event", "event", 1, {})])
        dead = cluster.producer(transactional_id="dead", transaction_timeout_ms=TIMEOUT_MS)
        dead.init_transactions(30)
        dead.begin_transaction()
        dead.produce("t.event", value=b"never")
        assert dead.flush(30) == 0
        broker.kill()
        broker.start()
        cluster = Cluster(broker.bootstrap, Topics("t."))
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
