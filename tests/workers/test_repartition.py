"""More partitions for an instance that is stopped: dialogs stay open, and nothing is lost."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from streams.client import LARGEST_BODY, Conversation
from streams.client.statements import send_command
from streams.errors import SurroundingsError, UsageError
from streams.kafka import (
    KafkaError,
    TopicPartition,
    demand,
    partitions_of,
    read_catalog,
    specs_of,
    topic_id,
)
from streams.kafka import cluster as kafka_cluster
from streams.live.admin import rekey
from streams.live.admin.rekey import Rekey, State, joint
from streams.live.admin.repartition import Repartitioned, repartition, together
from streams.live.admin.statements import Script, plan_script, publish_script
from streams.protocol import Cause, DialogKey, Request, Source
from streams.resources import topologies_dir
from streams.topology import hosts_of, load, pairs_of
from streams.wire import Topics
from streams.wire.partition import partition_of
from streams.wire.records import command_record, read_queued
from streams.wire.specs import spec
from tests.forgetting import forget
from tests.running import DEADLINE, eventually
from tests.workers.raw_produce import produce_raw
from tests.workers.rig import Hook, HookedCluster, Killed, Rig, configure, pair, pause, rig
from tests.workers.test_partitions import begin_in

COUNT, DIALOGS, EACH = 3, 12, 4
IN_1900 = -2_200_000_000_000  # milliseconds
ABOUT = ("A", "DatabaseA", "InitiatorService", "TargetService")


@pytest.fixture
def one(kafka: str, unique: str, tmp_path: Path) -> Iterator[Rig]:
    """Return a rig whose instances have one partition each."""
    with rig(kafka, unique, pair(tmp_path)) as made:
        yield made


def converse(one: Rig) -> list[Conversation]:
    """Begin dialogs and send; returns when all of it is accepted."""
    with one.client() as client:
        dialogs = [client.begin(*ABOUT, wait=False) for _ in range(DIALOGS)]
        for number in range(EACH):
            for dialog in dialogs:
                client.send(dialog, b"%d" % number, wait=number == EACH - 1)
    return dialogs


def stop(one: Rig) -> None:
    """Stop all workers."""
    one.stop()
    one.running.clear()
    one.controls.clear()


def drained(one: Rig, instance: str) -> None:
    """Wait until an instance's endpoint worker has applied everything, and stop all workers."""
    inputs = [getattr(one.topics, kind)(instance) for kind in ("cmd", "inbox", "ack")]

    def at_end() -> bool:
        ends = {t: max(((m.offset() or 0) + 1 for m in one.records(t)), default=0) for t in inputs}
        passed = {t: one.committed("endpoint", t, instance) for t in inputs}
        return all(passed[t] >= ends[t] for t in inputs) or pause()

    eventually(at_end, f"{instance} has applied everything")
    stop(one)


def give(one: Rig, instance: str, **hooks: Hook) -> Repartitioned:
    cluster = HookedCluster(one.cluster.bootstrap, one.topics, hooks=hooks)
    return repartition(cluster, instance, COUNT, lambda _: None)


def demand_all_received(one: Rig, dialogs: list[Conversation]) -> None:
    """Start everything; every message comes once, in its dialog's order."""
    for instance in ("A", "B"):
        one.endpoint(instance)
        one.forwarder(instance)
    topic = one.topics.queue("B", "DatabaseB", "TargetQueue")
    one.until(topic, DIALOGS * EACH)
    with one.client() as client:  # and they go on
        for dialog in dialogs:
            client.send(dialog, b"last")
    one.until(topic, DIALOGS * (EACH + 1))
    found: dict[uuid.UUID, list[bytes]] = {}
    for record in one.records(topic):
        message = read_queued(record.value(), record.headers() or [])
        found.setdefault(message.conversation, []).append(record.value())
    wanted = [b"%d" % number for number in range(EACH)] + [b"last"]
    assert found == {d.id: wanted for d in dialogs}


@pytest.mark.long
def test_what_waits_for_an_absent_target_is_sent_from_its_new_partition(one: Rig) -> None:
    one.endpoint("A")
    dialogs = converse(one)
    drained(one, "A")
    done = give(one, "A")
    assert (done.homes, done.before, done.partitions) == (("A",), 1, COUNT)
    away = [d for d in dialogs if partition_of(d.id, COUNT)]
    assert done.moved == len(away) > 0
    for topic in map(one.topics.name, ("cmd", "in", "out", "ack", "txq", "dialog"), "A" * 6):
        assert len(partitions_of(one.cluster, topic)) == COUNT
    topology = read_catalog(one.cluster).topology
    assert topology is not None
    assert {n: i.partitions for n, i in topology.instances.items()} == {"A": COUNT, "B": 1}
    demand_all_received(one, dialogs)


@pytest.mark.long
def test_positions_that_kafka_has_forgotten_are_in_the_state(one: Rig) -> None:
    """Kafka forgets a group that has had no member for a week, which is how long A is stopped."""
    one.endpoint("A")
    dialogs = converse(one)
    drained(one, "A")
    forget(one.cluster, f"{one.topics.prefix}endpoint.A")
    assert give(one, "A").moved > 0
    demand_all_received(one, dialogs)


@pytest.mark.long
def test_a_body_is_moved_although_its_record_is_as_large_as_kafka_takes(one: Rig) -> None:
    """Its writer has added headers that nobody reads; a copy with all of them would be larger."""
    one.endpoint("A")
    with one.client() as client:
        dialogs = [client.begin(*ABOUT, wait=False) for _ in range(DIALOGS)]
    away = [d for d in dialogs if partition_of(d.id, COUNT)]
    producer = one.cluster.producer(message_max_bytes=2_000_000, compression_type="none")
    noise = random.Random(1).randbytes
    for dialog in away:
        key, value, headers = command_record(send_command(dialog, noise(LARGEST_BODY), None))
        padded = [*headers, ("x", noise(148_000))]
        producer.produce(one.topics.cmd("A"), key=key, value=value, headers=padded)  # type: ignore[arg-type]
    assert producer.flush(DEADLINE) == 0
    drained(one, "A")
    assert give(one, "A").moved == len(away) > 0


@pytest.mark.long
def test_a_body_is_moved_although_kafka_rejects_its_time_by_now(one: Rig) -> None:
    """It was written before `apply` limited the timestamps."""
    one.endpoint("A")
    topic, limit = one.topics.cmd("A"), "message.timestamp.before.max.ms"
    configure(one.cluster, topic, {limit: str(2**63 - 1)})
    with one.client() as client:
        dialogs = [client.begin(*ABOUT, wait=False) for _ in range(DIALOGS)]
    away = [d for d in dialogs if partition_of(d.id, COUNT)]
    producer = one.cluster.producer()
    for dialog in away:
        key, value, headers = command_record(send_command(dialog, b"body", None))
        producer.produce(topic, key=key, value=value, headers=headers, timestamp=IN_1900)  # type: ignore[arg-type]
    assert producer.flush(DEADLINE) == 0
    configure(one.cluster, topic, {limit: spec(topic, "cmd").config[limit]})
    drained(one, "A")
    assert give(one, "A").moved == len(away) > 0


@pytest.mark.long
def test_what_waits_for_a_queue_that_is_off_moves_too(one: Rig) -> None:
    turn(one, "OFF")
    for instance in ("A", "B"):
        one.endpoint(instance)
        one.forwarder(instance)
    dialogs = converse(one)
    one.until(one.topics.inbox("B"), DIALOGS * EACH)
    drained(one, "B")
    assert give(one, "B").moved == sum(1 for d in dialogs if partition_of(d.id, COUNT))
    turn(one, "ON")
    demand_all_received(one, dialogs)


@pytest.mark.long
@pytest.mark.parametrize(("lived", "commits"), [(0, False), (1, False), (3, False), (3, True)])
def test_killed_in_any_transaction_it_goes_on_when_it_is_run_again(
    one: Rig, monkeypatch: pytest.MonkeyPatch, lived: int, commits: bool
) -> None:
    """Bodies are copied, then dialogs moved, then what is known shared: each in several."""
    monkeypatch.setattr("streams.live.admin.rekey.AT_ONCE", 4)
    monkeypatch.setattr("streams.kafka.cluster.TRANSACTION_TIMEOUT_MS", 5_000)
    one.endpoint("A")
    dialogs = converse(one)
    drained(one, "A")
    left = [lived]

    def commit(method: Hook, *args: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            return method(*args)
        if commits:
            method(*args)
        raise Killed

    with pytest.raises(Killed):
        give(one, "A", commit_transaction=commit)
    with pytest.raises(SurroundingsError, match="partitions are 3 and must be 1"):
        demand(one.cluster, specs_of(one.topology, one.topics))  # workers refuse to start
    assert give(one, "A").partitions == COUNT
    demand_all_received(one, dialogs)


@pytest.mark.long
def test_a_dialog_left_behind_is_found(one: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of partitions is changed only if every dialog is in the partition of its id."""
    one.endpoint("A")
    dialogs = converse(one)
    drained(one, "A")
    move, left = Rekey._move, list[DialogKey]()

    def skip_first(self: Rekey, number: int, key: DialogKey, places: Any) -> None:
        if left:
            move(self, number, key, places)
        else:
            left.append(key)

    before = read_catalog(one.cluster)
    with monkeypatch.context() as patch:
        patch.setattr(Rekey, "_move", skip_first)
        with pytest.raises(SurroundingsError) as refused:
            give(one, "A")
    assert refused.value.message == "1 dialog of A is still in a wrong partition."
    assert refused.value.remedy == "Run the command again to continue."
    after = read_catalog(one.cluster)
    assert (after.version, after.topology) == (before.version, before.topology)
    with pytest.raises(SurroundingsError, match="partitions are 3 and must be 1"):
        demand(one.cluster, specs_of(one.topology, one.topics))  # workers refuse to start
    assert [key for _, key in misplaced(one)] == left
    done = give(one, "A")
    assert (done.moved, done.partitions, done.version) == (1, COUNT, before.version + 1)
    assert misplaced(one) == []
    demand_all_received(one, dialogs)


def misplaced(one: Rig) -> list[tuple[int, DialogKey]]:
    """Return the dialogs of A that are in a wrong partition, with their partition."""
    return list(State.read(one.cluster, one.topics.dialog("A"), COUNT).misplaced())


def end_in_transaction(bootstrap: str, prefix: str, lived: int) -> None:
    """Run the command in this process, which is killed in a transaction."""
    left = iter(range(lived))

    def commit(method: Hook, *args: Any) -> Any:
        return method(*args) if next(left, None) is not None else os.kill(os.getpid(), SIGKILL)

    rekey.AT_ONCE, kafka_cluster.TRANSACTION_TIMEOUT_MS = 4, 5_000
    cluster = HookedCluster(bootstrap, Topics(prefix), hooks={"commit_transaction": commit})
    repartition(cluster, "A", COUNT, lambda _: None)


@pytest.mark.long
def test_its_process_is_killed(one: Rig) -> None:
    """Nobody aborts the transaction: the next process fences it."""
    one.endpoint("A")
    dialogs = converse(one)
    drained(one, "A")
    where = one.cluster.bootstrap, one.topics.prefix
    command = f"from tests.workers.test_repartition import *; end_in_transaction(*{where}, 2)"
    ended = subprocess.run([sys.executable, "-c", command], timeout=DEADLINE)
    assert ended.returncode == -SIGKILL
    assert give(one, "A").partitions == COUNT
    demand_all_received(one, dialogs)


@pytest.mark.long
def test_a_worker_that_starts_meanwhile_fences_it(one: Rig) -> None:
    """Whoever owns the partitions applies what comes, and knows nothing of a dialog's moving."""
    one.endpoint("A")
    dialogs = converse(one)
    drained(one, "A")
    group = f"{one.topics.prefix}endpoint.A"

    def join(method: Hook, *args: Any) -> Any:
        hooks.clear()
        other = one.cluster.consumer(group, partition_assignment_strategy="range")
        other.subscribe([one.topics.cmd("A"), one.topics.inbox("A"), one.topics.ack("A")])
        mine = cluster.consumers[group]  # each transaction polls it, and so lets others in

        def is_in() -> bool:
            return bool(mine.poll(0.05) or other.poll(0.05) or other.assignment())

        eventually(is_in, "another member")
        other.close()
        return method(*args)

    hooks: dict[str, Hook] = {"send_offsets_to_transaction": join}
    cluster = HookedCluster(one.cluster.bootstrap, one.topics, hooks=hooks)
    with pytest.raises(SurroundingsError, match="a transaction was aborted"):
        repartition(cluster, "A", COUNT, lambda _: None)
    assert give(one, "A").moved
    demand_all_received(one, dialogs)


@pytest.mark.long
def test_what_is_not_applied_yet_is_refused(one: Rig) -> None:
    """It would stay on a partition where nobody looks for it."""
    with one.client() as client:
        client.begin(*ABOUT, wait=False)
    with pytest.raises(SurroundingsError, match=r"1 record of .*cmd.A is not applied"):
        give(one, "A")
    assert len(partitions_of(one.cluster, one.topics.cmd("A"))) == 1


def test_what_is_being_committed_is_not_applied_yet_either(one: Rig) -> None:
    """A sender that has stopped has committed, although nobody can read what it wrote yet."""
    sender = one.cluster.producer(transactional_id=f"{one.topics.prefix}sender")
    sender.init_transactions(30)
    sender.begin_transaction()
    key, value, headers = command_record(begin_in(0))
    sender.produce(one.topics.cmd("A"), value, key, headers=headers)  # type: ignore[arg-type]
    assert sender.flush(30) == 0
    at_end: list[Any] = []

    def poll(method: Hook, *args: Any) -> Any:
        """Commit when a reader reads on although it has come to the end of what is committed."""
        if method.__self__ in at_end:  # type: ignore[attr-defined]
            at_end.clear()
            sender.commit_transaction(30)
        message = method(*args)
        error = None if message is None else message.error()
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            at_end.append(method.__self__)  # type: ignore[attr-defined]
        return message

    with pytest.raises(SurroundingsError, match=r"1 record of .*cmd.A is not applied"):
        give(one, "A", poll=poll)


def test_a_record_whose_headers_are_no_text_is_not_applied_yet_either(one: Rig) -> None:
    topic = one.topics.ack("A")
    produce_raw(one.cluster.bootstrap, topic, b"key", b"x", [(b"\xff", b"x")])
    with pytest.raises(SurroundingsError, match=r"1 record of .*ack.A is not applied"):
        give(one, "A")


@pytest.mark.long
def test_a_worker_that_runs_is_told(one: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.live.admin.repartition._JOINED", 1.0)
    one.endpoint("A")
    with one.client() as client:
        client.begin(*ABOUT)
    with pytest.raises(SurroundingsError, match="Endpoint workers of A are running"):
        give(one, "A")


@pytest.mark.parametrize(("name", "count"), [("A", 0), ("A", 1_001), ("C", 2)])
def test_what_cannot_be_is_refused(one: Rig, name: str, count: int) -> None:
    with pytest.raises(UsageError):
        repartition(one.cluster, name, count, lambda _: None)


@pytest.mark.long
def test_an_agent_that_may_say_it_again_must_have_committed(one: Rig) -> None:
    """What it has said is known by partition; on another one it would be applied twice."""
    topic = one.topics.queue("A", "DatabaseA", "InitiatorQueue")
    source = Source("app", "agent", topic_id(one.cluster, topic), 0)
    for number in range(8):
        one.produce(topic, str(number), b"")
    caused(one, Cause(source, 7))
    with pytest.raises(SurroundingsError, match="agents of app have not committed record 7"):
        give(one, "A")
    consumer = one.cluster.consumer("app")
    consumer.commit(offsets=[TopicPartition(topic, 0, 8)], asynchronous=False)
    consumer.close()
    give(one, "A")
    state = State.read(one.cluster, one.topics.dialog("A"), COUNT)
    assert len(state.seen[source]) == COUNT, "each partition knows what was said"


@pytest.mark.long
def test_an_agent_that_there_is_not_can_be_left_out(one: Rig) -> None:
    """Whoever may write statements may name any application; its group has committed nothing."""
    topic = one.topics.queue("A", "DatabaseA", "InitiatorQueue")
    one.produce(topic, "x", b"")
    caused(one, Cause(Source("nobody" * 40, "agent", topic_id(one.cluster, topic), 0), 0))
    with pytest.raises(SurroundingsError, match=r"agents of (nobody)+n?o?b?o?d?\.\.\. ") as refused:
        give(one, "A")
    assert "--ignore-application" in refused.value.remedy
    repartition(one.cluster, "A", COUNT, lambda _: None, ["nobody" * 40])


@pytest.mark.long
@pytest.mark.parametrize("partition", [0, 9])
def test_a_cause_that_its_queue_does_not_have_is_no_obstacle(one: Rig, partition: int) -> None:
    """Nobody has read it, so nobody says it again."""
    topic = one.topics.queue("A", "DatabaseA", "InitiatorQueue")
    source = Source("nobody", "agent", topic_id(one.cluster, topic), partition)
    caused(one, Cause(source, 2**62))
    give(one, "A")


@pytest.mark.long
@pytest.mark.parametrize("application", [" ", "\0x"])
def test_a_cause_of_no_consumer_group_is_no_obstacle(one: Rig, application: str) -> None:
    """Kafka's client ends the process that asks for the positions of such a group."""
    topic = one.topics.queue("A", "DatabaseA", "InitiatorQueue")
    one.produce(topic, "key", b"")
    caused(one, Cause(Source(application, "agent", topic_id(one.cluster, topic), 0), 0))
    give(one, "A")


def caused(one: Rig, cause: Cause) -> None:
    """Let a statement with a cause be applied, and stop all workers."""
    begin = begin_in(0)._replace(cause=cause, reply_to=None)
    one.endpoint("A")
    one.produce(one.topics.cmd("A"), *command_record(begin))
    one.until(one.topics.dialog("A"), 1, lambda m: b"initiator" in bytes(m.key() or b""))
    drained(one, "A")


def test_partners_and_their_pairs_are_counted_alike() -> None:
    mirrored = load(topologies_dir() / "mirrored", 0)
    [pair] = pairs_of(mirrored)
    hosts = list(hosts_of(mirrored, pair))
    assert len(hosts) == 2
    for name in (pair, *hosts):
        assert together(mirrored, name) == (sorted(hosts), (*sorted(hosts), pair))


def test_requests_for_routes_are_with_their_conversations() -> None:
    conversation = uuid.uuid4()
    requests = [Request("S", 2, 5, conversation, 10), Request("S", 1, 7, None, 30)]
    found = [joint(requests, number, COUNT) for number in range(COUNT)]
    for number, request in enumerate(found):
        mine = conversation if partition_of(conversation, COUNT) == number else None
        assert request == Request("S", 2, 7, mine, 30)


def turn(one: Rig, status: str) -> None:
    """Turn the target's queue on or off."""
    text = f"ALTER QUEUE TargetQueue WITH STATUS = {status}"
    planned = plan_script(one.cluster, Script("B", "DatabaseB", text), time.time())
    publish_script(one.cluster, planned)
