"""Two workers with one slot: Kafka knows them as one member, and the former one leaves."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.admin import NewPartitions

from streams.kafka import KafkaError, KafkaException, partitions_of
from streams.protocol import Limits
from streams.workers import Control, FencedError
from tests.running import DEADLINE
from tests.workers.rig import Gate, Rig, Running, eventually, pause
from tests.workers.test_fencing import begin, copies, send

PATIENT = Limits(retries=(60_000,))


def another(two: Rig, *forwarders: str) -> Control:
    """Return what another process would have: heartbeats of its own."""
    control = two.controls["another",] = Control(two.cluster, forwarders, timeout=DEADLINE)
    control.start()
    return control


def assigned(running: Running) -> Running:
    """Return a worker when it has been dealt its partitions."""
    eventually(lambda: running.worker.assigned or running.failure or pause(), "partitions")
    assert running.failure is None
    return running


@pytest.mark.long
@pytest.mark.parametrize("role", ["endpoint", "forwarder"])
def test_of_two_members_with_one_name_the_former_leaves_the_process(two: Rig, role: str) -> None:
    """It was idle, asleep say: the group tells it, and it must not join again."""
    start: Any = getattr(two, role)
    first = assigned(start(slot="a"))
    second = assigned(start(slot="a", control=another(two, "A")))
    failure = first.ended()
    assert isinstance(failure, FencedError)
    assert failure.message.startswith(f"The {role} of A has lost slot a: ")
    assert second.failure is None
    two.running.remove(first)


@pytest.mark.long
def test_a_member_that_sleeps_in_a_transaction_commits_nothing(two: Rig) -> None:
    """It goes on when its successor has the name: neither group nor producer lets it."""
    first = two.endpoint(slot="a", limits=PATIENT)
    dialog = begin(two)
    gate = Gate()
    first.hooks["send_offsets_to_transaction"] = gate
    send(two, dialog, b"one")
    gate.wait()
    before = first.worker.committed  # it counts after the commit, which the client may see before
    second = two.endpoint(slot="a", limits=PATIENT, control=another(two))
    eventually(lambda: second.worker.committed or second.failure or pause(), "the successor")
    gate.open()
    assert isinstance(first.ended(), FencedError)
    two.running.remove(first)
    assert first.worker.committed == before
    assert [m.value() for m in copies(two)] == [b"one"]
    assert second.failure is None


def test_a_worker_without_a_slot_leaves_its_group_when_it_is_stopped(two: Rig) -> None:
    """Its partitions are another one's at once, whose name Kafka need not know."""
    two.cluster.properties["session.timeout.ms"] = "300000"  # type: ignore[index]
    first = assigned(two.endpoint())
    first.stop()
    assigned(two.endpoint())


@pytest.mark.long
def test_a_forwarder_that_comes_back_reads_what_is_new(two: Rig) -> None:
    """Kafka hands it what it was dealt last: the one partition that there was at that time."""
    txq, cluster, admin = two.topics.txq("A"), two.cluster, two.cluster.admin()
    assigned(two.forwarder(slot="a")).stop()
    admin.create_partitions([NewPartitions(txq, 2)])[txq].result()
    eventually(lambda: len(partitions_of(cluster, txq)) == 2 or pause(), "two partitions")
    after = two.forwarder(slot="a")
    reads = after.consumer("forwarder").assignment

    def new() -> bool:
        return any((p.topic, p.partition) == (txq, 1) for p in reads())

    eventually(lambda: new() or after.failure or pause(), "the new partition")
    assert after.failure is None


def fence(running: Running, role: str) -> None:
    """Let a worker's consumer say once that its member is fenced, as it does by mistake."""
    member, code = running.consumer(role), KafkaError.FENCED_INSTANCE_ID

    def poll(method: Any, *args: Any) -> Any:
        if method.__self__ is member:
            del running.hooks["poll"]
            raise KafkaException(KafkaError(code, "fenced", True))
        return method(*args)

    running.hooks["poll"] = poll


@pytest.mark.long
@pytest.mark.parametrize("role", ["endpoint", "forwarder"])
def test_who_is_fenced_and_alone_begins_anew(two: Rig, role: str) -> None:
    """Kafka's client does that to itself where a coordinator is away for longer than a session."""
    first = assigned(getattr(two, role)(slot="a"))
    for _ in range(2):  # the second time soon after the first one
        member = first.consumer(role)
        fence(first, role)
        eventually(
            lambda member=member: first.consumer(role) is not member or first.failure or pause(),  # type: ignore[misc]
            "another",
        )
        assigned(first)
    if role == "endpoint":
        begin(two)
    first.stop()
    assert first.failure is None


@pytest.mark.long
def test_who_is_fenced_and_hears_of_another_leaves(two: Rig) -> None:
    first = assigned(two.endpoint(slot="a"))
    another(two).add_heartbeat("A/endpoint/a")
    fence(first, "endpoint")
    assert isinstance(first.ended(), FencedError)
    two.running.remove(first)
