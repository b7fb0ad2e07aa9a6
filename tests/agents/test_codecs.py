"""Writers of topics that are stored uncompressed send uncompressed batches (decision 47).

Otherwise, the broker would have to decompress each batch. Here the topics keep what is sent.
"""

from __future__ import annotations

import time
import uuid
from pathlib import Path

from streams.kafka import Cluster, Outgoing, Transactor, create, order_skip
from streams.wire import Topics
from streams.wire.specs import TopicSpec
from streams.workers.control.remote_clients import remote_producer
from tests.agents.rig import answering, answers, application, order, serving, shop
from tests.kafka.raw_batch import LZ4, UNCOMPRESSED
from tests.kafka.raw_fetch import codecs
from tests.running import running
from tests.workers.rig import configure

AS_SENT = {"compression.type": "producer"}
LARGE = b"\0" * 10_000


def test_clients_and_agents_do_not_compress(kafka: str, unique: str, tmp_path: Path) -> None:
    """Statements, an agent's position and its secret, and the catalog."""
    topics = Topics(unique)
    written = [
        topics.cmd("ServerA"),
        topics.cmd("ServerB"),
        topics.reading("ServerB"),
        topics.catalog,
    ]
    with running(kafka, unique, shop(tmp_path)) as system, system.client() as client:
        for topic in written:
            configure(system.cluster, topic, AS_SENT)
        with serving(answering(application(system))):
            order(client, LARGE)
            assert answers(system, 1) == [f"{LARGE.decode()}!"]
        order_skip(system.cluster, f"{topics.cmd('ServerA')}/0@0")
        assert {topic: codecs(kafka, topic) for topic in written} == {
            topic: {UNCOMPRESSED} for topic in written
        }


def test_transactions_of_statements_are_not_compressed(kafka: str, unique: str) -> None:
    """An Exchange, the relay of an outbox, and a replay job write in such transactions."""
    cluster = Cluster(kafka, Topics(unique))
    topic = cluster.topics.cmd("S")
    create(cluster, [TopicSpec(topic, "cmd", 1, AS_SENT)])
    Transactor(cluster, "one").commit([Outgoing(topic, b"k", LARGE, [])])
    assert codecs(kafka, topic) == {UNCOMPRESSED}


def test_copies_for_another_cluster_are_compressed(kafka: str, unique: str) -> None:
    """The network between clusters may be slow; the brokers there decompress the batches."""
    cluster = Cluster(kafka, Topics(unique))
    topic = cluster.topics.ingress("S", "here")
    create(cluster, [TopicSpec(topic, "ingress", 1, AS_SENT)])
    producer = remote_producer(cluster)
    producer.produce(topic, LARGE, str(uuid.uuid4()), timestamp=int(time.time() * 1000))
    assert producer.flush(30) == 0
    assert codecs(kafka, topic) == {LZ4}
