"""Commands seen before, on a real Kafka: the same records twice, the worker killed between."""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from streams.client import Client, Conversation, Once, Source
from streams.kafka import Cluster, TopicPartition, deploy, read_all, read_live, watermarks
from streams.report import read_facts
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from streams.wire.records import header_of, read_queued
from tests.running import DEADLINE, eventually
from tests.workers.rig import configure, pause

SOURCE = Source("shop", "billing", uuid.UUID(int=7), 0)
RECORDS = {offset: [b"%d/%d" % (offset, n) for n in range(3)] for offset in range(40)}
"""What each record makes the application say."""


@contextmanager
def workers(cluster: Cluster) -> Iterator[None]:
    """Run all workers in a process of their own, and kill it with SIGKILL."""
    command = [
        *(sys.executable, "-m", "streams", "worker", "both", "--all"),
        *("--bootstrap", cluster.bootstrap, "--prefix", cluster.topics.prefix),
    ]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
        assert child.poll() is None, "it has ended by itself"
    finally:
        child.kill()
        child.wait()


def write_statements(cluster: Cluster, offsets: range) -> Conversation:
    """Deal with records: the first one begins the dialog, each says three things on it."""
    with Client(cluster) as client:
        for offset in offsets:
            with Once(client, SOURCE, offset) as once:
                if offset == 0:
                    names = ("InitiatorService", "TargetService")
                    dialog = once.begin("ServerA", "DatabaseA", *names)
                for body in RECORDS[offset]:
                    once.send(dialog, body)
    return dialog


def received(cluster: Cluster) -> list[bytes]:
    topic = cluster.topics.queue("ServerB", "DatabaseB", "TargetQueue")
    return [read_queued(m.value(), m.headers()).body for m in read_all(cluster, topic)]  # type: ignore[arg-type]


def compact(cluster: Cluster, topic: str) -> None:
    """Leave of a topic what a compaction leaves."""
    live = read_live(cluster, topic, 0)
    consumer, producer = cluster.consumer("aside"), cluster.producer()
    end = watermarks(consumer, topic, 0)[1]
    consumer.close()
    for key, value in live.items():
        producer.produce(topic, value, key, partition=0)
    assert producer.flush(DEADLINE) == 0
    configure(cluster, topic, {"cleanup.policy": "compact,delete"})
    admin = cluster.admin()  # which must outlive what it is asked for
    for future in admin.delete_records([TopicPartition(topic, 0, end)]).values():
        future.result(DEADLINE)
    configure(cluster, topic, {"cleanup.policy": "compact"})


def test_what_is_said_again_after_two_crashes_counts_once(kafka: str, unique: str) -> None:
    """The application dies and says it again; the worker dies, and its state is compacted.

    What the ledger counts as accepted is what was accepted, too.
    """
    cluster, topology = (
        Cluster(kafka, Topics(unique)),
        load(topologies_dir() / "two_brokers", time.time()),
    )
    deploy(cluster, topology)
    wanted = [body for bodies in RECORDS.values() for body in bodies]
    with workers(cluster):
        write_statements(cluster, range(20))
        eventually(lambda: len(received(cluster)) >= 30 or pause(), "half of it, or more")
    compact(cluster, cluster.topics.dialog("ServerA"))
    with workers(cluster):
        write_statements(cluster, range(40))
        eventually(lambda: received(cluster)[-1:] == wanted[-1:] or pause(), "the last of it")
    assert received(cluster) == wanted
    ledger = read_facts(cluster, topology).balance()
    assert (ledger.accepted, ledger.delivered, ledger.lost) == (len(wanted), len(wanted), [])
    said = [
        header_of(m.headers(), "sb-cause") for m in read_all(cluster, cluster.topics.cmd("ServerA"))
    ]  # type: ignore[arg-type]
    assert len(said) == 61 + 121 and all(said), "it was said twice"
