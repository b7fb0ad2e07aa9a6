"""Both applications are absent until Kafka has lost their positions; then they are rejected.

They continue from given positions. ``python -m tests.faults --only absences`` does this with all
processes and with Kafka's own clock.
"""

from __future__ import annotations

import time
import uuid
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from streams.kafka import Cluster, TopicPartition, read_notes_of
from streams.report import read_facts
from streams.resources import topologies_dir
from streams.topology import Topology, load
from tests.endpoints import read_dialogs
from tests.faults.brief import LONGEST
from tests.faults.clusters import RunClusters, Site
from tests.faults.injector import FaultInjector
from tests.faults.load import Load
from tests.faults.observe import Observer
from tests.faults.plan import Fault, FaultKind, Happened
from tests.faults.processes import Supervisor, supervised
from tests.faults.run import QUEUES, application
from tests.faults.scenarios import APPLICATIONS
from tests.faults.strangers import fence, group_of
from tests.faults.verdict import judge, only
from tests.forgetting import forget
from tests.kafka.a_topic import made
from tests.running import System, eventually, running
from tests.workers.rig import pause

LOAD = Load(120, 20.0, dialogs=6, length=10)


def begin(children: Supervisor, system: System) -> None:
    """Start both applications."""
    children.start("target", *application(system.cluster, "target"))
    numbers = (LOAD.messages, LOAD.rate, LOAD.dialogs, LOAD.length)
    children.start("source", *application(system.cluster, "source", *numbers))


def have_received(system: System) -> bool:
    """Return whether Kafka has positions of both applications."""
    groups = [f"{system.cluster.topics.prefix}{name}" for name in APPLICATIONS]
    notes = read_notes_of(system.cluster, groups).values()
    return all(any(offset for offset, _ in found.values()) for found in notes)


def is_over(system: System, children: Supervisor, observer: Observer) -> bool:
    """Return whether all messages have arrived, and both sides of every dialog are closed."""
    children.look()
    wanted = LOAD.messages + len(list(LOAD.answers()))
    if observer.seen < wanted or observer.ended < LOAD.talks:
        return pause()
    found = [d for i in ("ServerA", "ServerB") for _, d in read_dialogs(system.cluster, i)]
    return all(dialog.state.name == "CD" for dialog in found) or pause()


WORKER = "endpoint/ServerA"


@pytest.fixture(scope="module")
def absence(kafka: str) -> tuple[Cluster, Topology]:
    """Return a cluster that has offsets and the transactional id of one endpoint worker."""
    cluster, topic = made(kafka, f"t{uuid.uuid4().hex[:12]}.")
    fence(cluster, WORKER)
    consumer = cluster.consumer(group_of(cluster, WORKER))
    consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    consumer.close()
    return cluster, load(topologies_dir() / "two_brokers", time.time())


@pytest.mark.parametrize(
    ("kind", "lasts", "victim", "found"),
    [
        (FaultKind.GONE, LONGEST, WORKER, ["offsets", "transactional id"]),
        (FaultKind.ASLEEP, LONGEST, WORKER, ["offsets", "transactional id"]),
        (FaultKind.ASLEEP, LONGEST - 1, WORKER, []),
        (FaultKind.REPLACED, LONGEST, WORKER, []),
        (FaultKind.ASLEEP, LONGEST, f"{WORKER}/standby", []),
        (FaultKind.GONE, LONGEST, "forwarder/ServerA", []),
    ],
)
def test_what_kafka_remembers_is_looked_up_before_a_worker_returns(
    absence: tuple[Cluster, Topology], kind: FaultKind, lasts: float, victim: str, found: list[str]
) -> None:
    """A forwarder without offsets is forgotten. A short absence or a standby is not looked up."""
    cluster, topology = absence
    site = Site(None, cluster, topology)
    with supervised(Path()) as children:
        injector = FaultInjector(RunClusters([site]), children)
        known: list[list[str]] = []
        back = lambda: known.append(list(injector.remembered))  # noqa: E731
        injector._mends.append((0.0, Fault(0.0, kind, victim, lasts), 0, back))
        eventually(lambda: injector.mend() or injector.is_whole or pause(), "it is back")
    assert known == [[f"{what} of {WORKER}" for what in found]]


@pytest.mark.long
def test_applications_whose_positions_are_forgotten_are_refused_and_say_nothing_twice(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    ours = LOAD.conversations(unique)
    with ExitStack() as stack:
        system = stack.enter_context(running(kafka, unique, "two_brokers"))
        queues = [system.cluster.topics.queue(*queue) for queue in QUEUES]
        observer = stack.enter_context(Observer([(system.cluster, queues)], ours))
        children = stack.enter_context(supervised(tmp_path))
        begin(children, system)
        eventually(lambda: have_received(system) or pause(), "both have received")
        for name in APPLICATIONS:
            children.take_away(name)
        for name in APPLICATIONS:
            forget(system.cluster, f"{unique}{name}")
            children.bring_back(name)
        eventually(lambda: is_over(system, children, observer), "everything arrives and ends")
        facts = only(read_facts(system.cluster, system.topology), ours)
    assert children.refused == {"source": 1, "target": 1}
    said = [(m.sender.is_initiator, m.digest) for m in facts.accepted]
    assert judge(LOAD, facts.balance(), said, facts.sides).faults == {}


def test_a_kill_of_an_absent_process_does_not_happen(tmp_path: Path) -> None:
    with supervised(tmp_path) as children:
        children.start("forwarder/A", "http.server", "0")
        injector = FaultInjector(RunClusters([]), children)
        children.take_away("forwarder/A")
        assert not injector.strike(Fault(0.0, FaultKind.KILL, "forwarder/A"))
        assert injector.happened == []
        children.bring_back("forwarder/A")
        assert injector.strike(Fault(0.0, FaultKind.KILL, "forwarder/A"))
        assert len(injector.happened) == 1


def test_a_worker_is_absent_with_its_standby(tmp_path: Path) -> None:
    with supervised(tmp_path) as children:
        both = ("endpoint/A", "endpoint/A/standby")
        for name in (*both, "endpoint/B"):
            children.start(name, "http.server", "0")
        injector = FaultInjector(RunClusters([]), children)
        assert injector.strike(Fault(0.0, FaultKind.GONE, "endpoint/A"))
        assert [children.is_away(name) for name in children.names] == [True, True, False]
        eventually(lambda: injector.mend() or injector.is_whole or pause(), "they are back")
        assert not any(children.is_away(name) for name in children.names)


def test_the_kills_after_an_absence_follow_its_end(tmp_path: Path) -> None:
    kill = Fault(1.5, FaultKind.KILL, "forwarder/A")
    absence = Fault(0.0, FaultKind.ABSENT, "Gateway", then=(kill,))
    with supervised(tmp_path) as children:
        injector = FaultInjector(RunClusters([]), children)
        injector._mends.append((0.0, absence, 0, lambda: None))
        assert not injector.may(replace(absence, victim="ServerB"))
        assert eventually(lambda: injector.mend() or pause(), "it is back") == [kill]
        assert injector.mend() == [] and injector.may(absence)


def test_nobody_is_absent_twice_at_a_time(tmp_path: Path) -> None:
    with supervised(tmp_path) as children:
        injector = FaultInjector(RunClusters([]), children)
        injector._mends.append((0.0, Fault(1.0, FaultKind.GONE, "target"), 0, lambda: None))
        assert not injector.may(Fault(2.0, FaultKind.ASLEEP, "target"))
        assert injector.may(Fault(2.0, FaultKind.ASLEEP, "source"))
        assert injector.may(Fault(2.0, FaultKind.KILL, "target"))
        injector._mends.append((0.0, Fault(1.0, FaultKind.GONE, "endpoint/A"), 0, lambda: None))
        assert not injector.may(Fault(2.0, FaultKind.ASLEEP, "endpoint/A/standby"))

        def is_back() -> bool:
            injector.mend()
            return injector.is_whole or pause()

        eventually(is_back, "it is back")
        assert (injector.absences("target"), injector.absences("source")) == (1, 0)


def test_a_process_works_between_two_absences(tmp_path: Path) -> None:
    with supervised(tmp_path) as children:
        injector = FaultInjector(RunClusters([]), children)
        gone, now = Fault(1.0, FaultKind.GONE, "target"), time.time_ns() // 1_000_000
        injector.happened.append(Happened(gone, 0, now))
        assert not injector.may(Fault(2.0, FaultKind.ASLEEP, "target"))
        assert injector.may(Fault(2.0, FaultKind.ASLEEP, "source"))
        injector.happened[0] = Happened(gone, 0, now - 30_000)
        assert injector.may(Fault(2.0, FaultKind.ASLEEP, "target"))
