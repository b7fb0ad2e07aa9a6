"""Three brokers whose own default is one replica: what `apply` makes of topics, who refuses what.

A killed broker loses its disk here, too: with one replica, or one in sync, acknowledged records
are gone with it.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import ConfigResource, ResourceType

from streams.client import Client
from streams.embedded import Beside, Broker, Brokers
from streams.errors import SurroundingsError
from streams.kafka import Cluster, compare, create, deploy, read_all, specs_of
from streams.settings import Replication
from streams.topology import Topology
from streams.wire import Topics
from streams.wire.specs import spec
from streams.workers import ROLES, Plan, Process
from tests.command import hopline
from tests.running import DEADLINE, WorkerThread, eventually
from tests.workers.rig import configure, pair, pause

DEFAULTS = Beside(properties={"default.replication.factor": "1", "min.insync.replicas": "1"})
ONE = Replication("1/1")
FROM_A = ("A", "DatabaseA", "InitiatorService", "TargetService")
TOO_FEW = {KafkaError.NOT_ENOUGH_REPLICAS, KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND}


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    with Brokers(tmp_path_factory.mktemp("three"), beside=DEFAULTS) as group:
        yield group


@pytest.fixture
def cluster(brokers: Brokers, unique: str) -> Cluster:
    return Cluster(brokers.bootstrap, Topics(unique))


@pytest.fixture
def topology(tmp_path: Path) -> Topology:
    return pair(tmp_path)


def described(cluster: Cluster, topic: str) -> Any:
    return cluster.admin().list_topics(timeout=30).topics[topic].partitions[0]


def is_in_sync(cluster: Cluster, topic: str) -> bool:
    found = described(cluster, topic)
    return bool(found.leader > 0 and len(found.isrs) == len(found.replicas))


def until_known(brokers: Brokers, cluster: Cluster) -> None:
    """Wait until every broker knows all changes so far: brokers apply them in their order."""
    later = f"{cluster.topics.prefix}later"
    create(cluster, [spec(later, "cmd")])

    def knows(broker: Broker) -> bool:
        found = Cluster(broker.bootstrap).admin().list_topics(timeout=DEADLINE).topics
        return later in found

    for broker in brokers.brokers:
        eventually(lambda b=broker: knows(b) or pause(), f"{broker.bootstrap} knows {later}")


def config_of(cluster: Cluster, topic: str) -> dict[str, str]:
    admin = cluster.admin()
    [found] = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
    return {name: entry.value for name, entry in found.result().items()}


def process(cluster: Cluster) -> Process:
    return Process(cluster, Plan(ROLES, ("A",)), timeout=DEADLINE)


@contextmanager
def served(cluster: Cluster) -> Iterator[Client]:
    """Run the workers of an instance, and a client."""
    worker = WorkerThread(process(cluster))
    try:
        with Client(cluster, timeout=DEADLINE) as client:
            yield client
    finally:
        worker.stop()


@contextmanager
def paused(broker: Broker) -> Iterator[None]:
    """Stop a broker's process with SIGSTOP; it continues after the block."""
    process = broker.data.recorded()
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)


def kill_and_lose_disk(broker: Broker, cluster: Cluster) -> None:
    """Kill a broker and remove its topics, but not what it knows as a controller.

    A majority of the controllers must keep what they have.
    """
    broker.kill()
    lost = [*broker.data.path.glob(f"log/{cluster.topics.prefix}*")]
    assert lost
    for folder in lost:
        shutil.rmtree(folder)


def write(cluster: Cluster, topic: str, name: str, **config: Any) -> dict[bytes, int]:
    """Write twenty records, each in a request of its own; return their error codes, 0 if none."""
    codes: dict[bytes, int] = {}

    def reported(error: Any, message: Any) -> None:
        codes[message.value()] = error.code() if error else 0

    producer = cluster.producer(delivery_report_only_error=False, **config)
    for number in range(20):
        producer.produce(topic, f"{name} {number}", on_delivery=reported)
        assert producer.flush(DEADLINE) == 0
    return codes


@contextmanager
def writing(
    cluster: Cluster, topic: str, reported: Callable[[Any, Any], None]
) -> Iterator[list[int]]:
    """Write numbers in a thread until the block ends; then yields what could not be flushed."""
    over, unwritten = threading.Event(), list[int]()

    def write_on() -> None:
        producer = cluster.producer(delivery_report_only_error=False)
        count = 0
        while not over.is_set():
            count += 1
            producer.produce(topic, b"%d" % count, on_delivery=reported)
            producer.poll(0.005)
        unwritten.append(producer.flush(DEADLINE))

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        yield unwritten
    finally:
        over.set()
        writer.join()


@pytest.mark.long
def test_topics_are_made_with_three_replicas_of_which_two_must_be_in_sync(
    cluster: Cluster, topology: Topology
) -> None:
    """Whatever the brokers' own defaults are."""
    done = deploy(cluster, topology)
    assert (done.findings, done.warning) == ((), "")
    specs = specs_of(topology, cluster.topics)
    assert len(done.topics) == len(specs)
    eventually(lambda: not compare(cluster, specs) or pause(), "every broker knows the topics")
    for each in specs:
        assert len(described(cluster, each.name).replicas) == 3
        config = config_of(cluster, each.name)
        assert config["min.insync.replicas"] == "2"
        assert config["unclean.leader.election.enable"] == "false"
    with served(cluster) as client:
        client.begin(*FROM_A)


@pytest.mark.long
def test_while_a_broker_is_down_no_weaker_topics_are_made(
    brokers: Brokers, cluster: Cluster, topology: Topology
) -> None:
    """It counts, because it has replicas; else what is made now is refused when it is back."""
    broker = brokers.brokers[0]
    broker.kill()
    try:
        admin = cluster.admin()
        eventually(
            lambda: len(admin.list_topics(timeout=30).brokers) == 2 or pause(), "it is missed"
        )
        assert deploy(cluster, topology).warning == ""
        assert len(described(cluster, cluster.topics.cmd("A")).replicas) == 3
    finally:
        broker.start()


@pytest.mark.long
def test_fewer_in_sync_or_an_unclean_election_is_refused_and_corrected(
    brokers: Brokers, cluster: Cluster, topology: Topology
) -> None:
    deploy(cluster, topology)
    topics = cluster.topics
    configure(cluster, topics.cmd("A"), {"min.insync.replicas": "1"})
    configure(cluster, topics.ack("A"), {"unclean.leader.election.enable": "true"})
    configure(cluster, topics.out("A"), {"min.insync.replicas": "3"})  # more is allowed
    until_known(brokers, cluster)  # a client may ask any of them
    with pytest.raises(SurroundingsError, match=r"min.insync.replicas is 1 and must be 2 \(1 more"):
        process(cluster).run()
    assert sorted(deploy(cluster, topology).topics) == [
        f"corrected {topics.ack('A')} (unclean.leader.election.enable is true and must be false)",
        f"corrected {topics.cmd('A')} (min.insync.replicas is 1 and must be 2)",
    ]
    eventually(lambda: not compare(cluster, specs_of(topology, topics)) or pause(), "corrected")


@pytest.mark.long
def test_one_replica_is_refused_unless_the_setting_says_so(
    cluster: Cluster, topology: Topology, tmp_path: Path
) -> None:
    """By workers and clients; `apply` cannot change it, says who can, and does all else."""
    asked = replace(cluster, replication=ONE)
    assert deploy(asked, topology).findings == ()
    assert len(described(cluster, cluster.topics.cmd("A")).replicas) == 1
    with pytest.raises(SurroundingsError) as refused:
        process(cluster).run()
    assert "replicas are 1 and must be 3" in refused.value.message
    assert "kafka-reassign-partitions.sh" in refused.value.remedy
    assert "set replication to 1/1, or to as-is" in refused.value.remedy
    with Client(cluster, timeout=DEADLINE) as client, pytest.raises(SurroundingsError) as refused:
        client.begin(*FROM_A)
    assert "replicas are 1 and must be 3" in refused.value.message

    words = (tmp_path, "--bootstrap", cluster.bootstrap, "--prefix", cluster.topics.prefix)
    code, out, err = hopline("apply", *words)
    assert (code, "catalog version 1" in out) == (1, True)
    assert "replicas are 1 and must be 3" in err and "kafka-reassign-partitions.sh" in err
    assert config_of(cluster, cluster.topics.cmd("A"))["min.insync.replicas"] == "1"
    assert hopline("topics", *words, "--check")[0] == 1
    for text in ("1/1", "as-is"):
        assert hopline("apply", *words, "--replication", text)[0] == 0
        assert hopline("topics", *words, "--check", "--replication", text)[0] == 0
    for meant in (ONE, Replication("as-is")):
        with served(replace(cluster, replication=meant)) as client:
            client.begin(*FROM_A)


@pytest.mark.long
def test_nothing_acknowledged_is_lost_with_the_leaders_and_their_disks(
    brokers: Brokers, cluster: Cluster, topology: Topology
) -> None:
    deploy(cluster, topology)
    topic, acknowledged = cluster.topics.cmd("A"), set[bytes]()
    enough = threading.Semaphore(0)

    def reported(error: object, message: Any) -> None:
        if error is None:
            acknowledged.add(message.value())
            enough.release()

    with writing(cluster, topic, reported):
        for _ in range(2):
            for _ in range(100):  # so many acknowledged since the last one died
                assert enough.acquire(timeout=DEADLINE)
            broker = brokers.brokers[described(cluster, topic).leader - 1]
            kill_and_lose_disk(broker, cluster)
            broker.start()
            eventually(lambda: is_in_sync(cluster, topic) or pause(), "all are in sync")
    assert acknowledged <= {m.value() for m in read_all(cluster, topic)}


@pytest.mark.long
def test_a_partition_that_had_no_leader_for_a_while_is_written_again(
    brokers: Brokers, cluster: Cluster
) -> None:
    """librdkafka is reported to block such a partition forever (issue 5430, decision 18)."""
    topic = cluster.topics.cmd("A")
    create(replace(cluster, replication=ONE), [spec(topic, "cmd")])
    eventually(lambda: is_in_sync(cluster, topic) or pause(), "it has a leader")
    leader = described(cluster, topic).leader
    other = replace(cluster, bootstrap=brokers.brokers[leader % 3].bootstrap)
    codes = list[int]()

    def is_written(count: int) -> bool:
        return len(codes) > count or bool(pause())

    def reported(error: Any, _: object) -> None:
        codes.append(error.code() if error else 0)

    with writing(cluster, topic, reported) as unwritten:
        for _ in range(3):
            enough = len(codes) + 100
            eventually(partial(is_written, enough), "records are written")
            with paused(brokers.brokers[leader - 1]):
                eventually(
                    lambda: described(other, topic).leader == -1 or pause(), "it has no leader"
                )
            eventually(lambda: is_in_sync(cluster, topic) or pause(), "it has its leader again")
    assert unwritten == [0]
    assert set(codes) == {0}


@pytest.mark.long
@pytest.mark.parametrize(("replication", "is_safe"), [("2/2", True), ("2/1", False)])
def test_what_a_leader_acknowledges_is_not_on_its_disk_alone(
    brokers: Brokers, cluster: Cluster, replication: str, is_safe: bool
) -> None:
    """It loses its disk while it alone is in sync. If one in sync is enough, that is a loss."""
    topic = cluster.topics.cmd("A")
    create(replace(cluster, replication=Replication(replication)), [spec(topic, "cmd")])
    eventually(lambda: is_in_sync(cluster, topic) or pause(), "both are in sync")
    found = described(cluster, topic)
    leader = brokers.brokers[found.leader - 1]
    [follower] = (brokers.brokers[n - 1] for n in found.replicas if n != found.leader)
    codes = write(cluster, topic, "before")
    assert set(codes.values()) == {0}
    # New clients of this one broker: others may ask the broker that does not answer.
    leaders = replace(cluster, bootstrap=leader.bootstrap)
    with paused(follower):
        eventually(
            lambda: described(leaders, topic).isrs == [found.leader] or pause(),
            "the leader alone is in sync",
        )
        meanwhile = write(leaders, topic, "meanwhile", enable_idempotence=False, retries=0)
        kill_and_lose_disk(leader, cluster)
    leader.start()
    eventually(lambda: is_in_sync(cluster, topic) or pause(), "both are in sync again")
    acknowledged = {value for value, code in {**codes, **meanwhile}.items() if code == 0}
    missing = acknowledged - {message.value() for message in read_all(cluster, topic)}
    if is_safe:
        assert set(meanwhile.values()) <= {*TOO_FEW, KafkaError.REQUEST_TIMED_OUT}
        assert not missing
    else:
        assert set(meanwhile.values()) == {0}
        assert missing >= {*meanwhile}
