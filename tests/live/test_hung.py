"""A transaction on `event` that nothing ends: readers of what is committed name it."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer

from streams.cli.run.up_text import status_json, status_lines
from streams.embedded import Beside, Broker
from streams.errors import SurroundingsError
from streams.kafka import (
    Cluster,
    Hung,
    HungTransactions,
    deploy,
    find_hung,
    preview,
    specs_of,
)
from streams.live import Health, UpFolder, find_status
from streams.live.admin.topics import compare_topics
from streams.live.local.folder import System
from streams.monitor.look import Eye
from streams.monitor.sampler import Sampler
from streams.report.snapshot import take_snapshots
from streams.store import Store
from streams.topology import Topology
from streams.wire import Topics
from tests.command import hopline
from tests.workers.rig import eventually, pair, pause

LONG = Beside(properties={"transaction.max.timeout.ms": "900000"})


@dataclass(frozen=True)
class Blind:
    """A cluster in which a transaction has been left open on `event`, from one offset on."""

    cluster: Cluster
    topology: Topology
    hung: Hung
    producer: Producer


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Blind]:
    folder = tmp_path_factory.mktemp("topology")
    with Broker(tmp_path_factory.mktemp("kafka"), beside=LONG) as broker:
        cluster, topology = Cluster(broker.bootstrap, Topics("t.")), pair(folder)
        deploy(cluster, topology)
        event = cluster.topics.event
        plain = cluster.producer()
        plain.produce(event, b"committed")
        assert plain.flush(60) == 0
        producer = opened(cluster, event, "900000")
        plain.produce(event, b"committed, and behind it")
        assert plain.flush(60) == 0
        yield Blind(cluster, topology, Hung(event, 0, 1), producer)


def opened(cluster: Cluster, topic: str, timeout: str = "900000") -> Producer:
    """Leave a transaction open, as nothing of ours does: its time is not over when a test ends."""
    config = {
        "bootstrap.servers": cluster.bootstrap,
        "transactional.id": f"somebody-{uuid.uuid4()}",
        "transaction.timeout.ms": timeout,
    }
    producer = Producer(config)
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"never committed")
    assert producer.flush(60) == 0
    return producer


@pytest.mark.long
def test_brokers_that_allow_it_are_named_with_the_setting(blind: Blind) -> None:
    """By `apply` and `topics --check`; Kafka's default is 15 minutes."""
    [finding] = deploy(blind.cluster, blind.topology).findings
    assert finding == preview(blind.cluster, blind.topology).findings[0]
    assert "up to 900 s (transaction.max.timeout.ms=900000)" in finding
    assert finding.endswith("Set transaction.max.timeout.ms=15000 on the brokers.")
    specs = specs_of(blind.topology, blind.cluster.topics)
    assert finding in compare_topics(blind.cluster, specs).findings


def test_a_transaction_that_stays_open_is_found_and_one_that_ends_is_not(blind: Blind) -> None:
    topics = [blind.hung.topic, blind.cluster.topics.cmd("A")]
    assert find_hung(blind.cluster, topics, patience=0.5) == (blind.hung,)
    ends = opened(blind.cluster, topics[1])
    watch = HungTransactions(blind.cluster, patience=0.0, clock=lambda: 0.0)
    assert len(watch.look(topics)) == 2
    ends.abort_transaction(60)
    eventually(lambda: watch.look(topics) == (blind.hung,) or pause(), "one is left")
    assert find_hung(blind.cluster, topics[1:]) == ()


def test_it_is_hung_when_it_was_the_first_open_one_for_so_long(blind: Blind) -> None:
    now = [100.0]
    watch = HungTransactions(blind.cluster, patience=30.0, clock=lambda: now[0])
    assert watch.look([blind.hung.topic]) == ()
    now[0] = 129.9
    assert watch.look([blind.hung.topic]) == ()
    now[0] = 130.0
    assert watch.look([blind.hung.topic]) == (blind.hung,)


def test_the_remedy_is_a_command(blind: Blind) -> None:
    assert blind.hung.remedy.endswith(
        "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic t.event --partition 0 "
        "--start-offset 1."
    )


def test_verify_reads_events_up_to_it_and_everything_else(blind: Blind) -> None:
    [found] = take_snapshots([(blind.cluster, blind.topology)], timeout=0.5)
    assert found.hung == (blind.hung,)
    assert found.ranges[blind.hung.topic, 0] == (0, blind.hung.offset)


def test_verify_ends_with_its_name_and_the_remedy_where_it_hides_messages(blind: Blind) -> None:
    topic = blind.cluster.topics.cmd("A")
    producer = opened(blind.cluster, topic, "900000")
    with pytest.raises(SurroundingsError, match=r"open in t\.cmd\.A/0 .* at offset") as found:
        take_snapshots([(blind.cluster, blind.topology)], timeout=0.5)
    producer.abort_transaction(60)
    assert "--topic t.cmd.A --partition 0" in found.value.remedy


def test_tail_shows_what_is_before_it_and_names_it(blind: Blind) -> None:
    where = ("--bootstrap", blind.cluster.bootstrap, "--prefix", "t.")
    _, out, err = hopline("tail", "event", "--format", "json", *where)
    assert [json.loads(line)["offset"] for line in out.splitlines()] == [0]
    assert "t.event/0: a transaction is open at offset 1; later records are not shown." in err


def test_status_is_broken_and_names_the_transaction(
    blind: Blind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.live.cluster_status.find_hung", partial(find_hung, patience=0.5))
    folder = UpFolder(tmp_path)
    system = System(0, blind.cluster.bootstrap, "t.", "pair", ("A", "B"), False, time.time())
    folder.record_system(system)
    found = find_status(folder, 30)
    assert (found.health, found.hung) == (Health.BROKEN, (blind.hung,))
    text = "\n".join(status_lines(folder, found))
    assert str(blind.hung) in text and blind.hung.remedy in text
    row = {"topic": "t.event", "partition": 0, "offset": 1}
    assert status_json(folder, found)["hung"] == [row]


def test_the_monitor_reports_it_once(blind: Blind, tmp_path: Path) -> None:
    lines: list[str] = []
    with Store.open(f"sqlite:///{tmp_path}/store.sqlite") as store:
        sampler = Sampler(store, Eye(blind.cluster, hung_after=0.0), say=lines.append)
        sampler.try_to_look()
        sampler.try_to_look()
        assert sampler.failure is None
    assert lines == [f"{blind.hung} {blind.hung.remedy}"]
