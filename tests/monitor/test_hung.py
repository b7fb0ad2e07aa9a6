"""A transaction hangs on `event`: what `verify` and the monitor still tell, on a real Kafka."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from streams.client import Conversation, StatementError
from streams.embedded import Broker
from streams.kafka import Hung, find_hung, read_ends
from streams.monitor import MonitorConfig, run
from streams.report import Fate
from streams.report.snapshot import take_snapshots
from streams.store import Report, Store
from tests.live.test_hung import LONG, opened
from tests.monitor.agreed import agreed_clusters
from tests.running import System, eventually, running, until_stable
from tests.workers.rig import pause

INITIATOR, TARGET = ("ServerA", "DatabaseA"), ("ServerB", "DatabaseB")
SERVICES = ("InitiatorService", "TargetService")
BEFORE, BEHIND = 3, 4
"""Messages that were sent before the transaction hangs, and behind it."""


@dataclass(frozen=True, slots=True)
class Blind:
    """A system on whose `event` a transaction hangs, and a dialog that goes on all the same."""

    system: System
    dialog: Conversation
    producer: Producer
    hung: Hung


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Blind]:
    with (
        Broker(tmp_path_factory.mktemp("kafka"), beside=LONG) as broker,
        running(broker.bootstrap, "t.", "two_brokers") as system,
        system.client() as client,
    ):
        dialog = client.begin(*INITIATOR, *SERVICES)
        for n in range(BEFORE):
            client.send(dialog, b"before %d" % n, wait=True)
        system.received(*TARGET, "TargetQueue", BEFORE)
        event = system.cluster.topics.event
        system.events(149)  # the last event of the workers' own
        until_stable(system.cluster, event)
        producer = opened(system.cluster, event, "900000")
        hung = Hung(event, 0, read_ends(system.cluster, [event])[event, 0])
        with pytest.raises(StatementError):
            client.send(dialog, b"refused", type="no such type", wait=True)
        for n in range(BEHIND):
            client.send(dialog, b"behind %d" % n, wait=True)
        system.received(*TARGET, "TargetQueue", BEHIND)
        yield Blind(system, dialog, producer, hung)


def delivered(store: str) -> int:
    """Return how many messages the monitor has seen in their queue."""
    with Store.open(store) as opened_store:
        return sum(row.count for row in Report(opened_store).latency())


@pytest.mark.long
def test_the_monitor_goes_on_with_all_but_events(
    spark: SparkSession, blind: Blind, tmp_path: Path
) -> None:
    cluster = blind.system.cluster
    config = MonitorConfig(
        bootstrap=cluster.bootstrap,
        prefix=cluster.topics.prefix,
        store=f"sqlite:///{tmp_path}/monitor.sqlite",
        checkpoint=tmp_path / "checkpoint",
        trigger=200,
        until_idle=1.0,
    )
    run(config, stop=threading.Event(), spark=spark)
    assert delivered(config.store) == BEFORE + BEHIND


@pytest.mark.long
def test_verify_accounts_for_all_but_what_a_hidden_event_may_excuse(
    spark: SparkSession, blind: Blind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.live.verify.take_snapshots", partial(take_snapshots, timeout=0.5))
    cluster = blind.system.cluster
    found = agreed_clusters(spark, [cluster])
    ledger = found.account.ledger
    assert found.hung == (blind.hung,)
    assert found.notes == (f"{blind.hung} Copies are counted up to that offset.",)
    assert ledger.outcomes == {Fate.DELIVERED: BEFORE + BEHIND, Fate.UNDECIDED: 1}
    assert ledger.verdict == "nothing lost, 1 undecided"

    blind.producer.abort_transaction(60)
    eventually(lambda: not find_hung(cluster, [blind.hung.topic], 0.0) or pause(), "it has ended")
    after = agreed_clusters(spark, [cluster])
    assert (after.hung, after.notes) == ((), ())
    assert after.account.ledger.outcomes == {Fate.DELIVERED: BEFORE + BEHIND}
    assert after.account.ledger.verdict == "nothing lost"
