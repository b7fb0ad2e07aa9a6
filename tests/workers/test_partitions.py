"""Design, rule 2: a dialog lives in one partition number of all its topics."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import NewPartitions

from streams.errors import EventKind, Number, SurroundingsError
from streams.node import Transaction
from streams.protocol import Command, CommandKind, Limits
from streams.wire import decode_result
from streams.wire.partition import murmur2, partition_of
from streams.wire.records import command_record
from streams.workers.endpoint import commit_work
from streams.workers.endpoint.allowance import LONG, Allowance
from streams.workers.endpoint.apply_work import Applied, WorkApplier
from streams.workers.endpoint.partition import Partition
from tests.running import running
from tests.workers.rig import Hook, Rig, Running, eventually, pair, pause, rig

COUNT = 3

# Kafka's own test vectors (UtilsTest.testMurmur2), which are signed.
VECTORS = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.fixture
def three(kafka: str, unique: str, tmp_path: Path) -> Iterator[Rig]:
    """Return a rig whose instances have three partitions each."""
    with rig(kafka, unique, pair(tmp_path, partitions=COUNT)) as made:
        yield made


def test_the_hash_is_kafkas() -> None:
    assert {key: murmur2(key) for key in VECTORS} == {k: h & 0xFFFFFFFF for k, h in VECTORS.items()}


def test_our_producers_put_a_conversation_where_we_expect_it(three: Rig) -> None:
    keys = [uuid.uuid4() for _ in range(100)]
    topic = three.topics.inbox("B")
    producer = three.cluster.producer()
    for key in keys:
        producer.produce(topic, key=str(key))
    assert producer.flush(30) == 0
    found = {uuid.UUID((m.key() or b"").decode()): m.partition() for m in three.records(topic)}  # type: ignore[union-attr,arg-type]
    assert found == {key: partition_of(key, COUNT) for key in keys}
    assert set(found.values()) == set(range(COUNT))


@pytest.mark.long
def test_dialogs_run_in_every_partition(kafka: str, unique: str, tmp_path: Path) -> None:
    """From the command to the queue, through all workers as they are started by users."""
    with running(kafka, unique, pair(tmp_path, partitions=COUNT)) as system:
        with system.client() as client:
            dialogs = [
                client.begin(
                    *("A", "DatabaseA", "InitiatorService", "TargetService"),
                    conversation=one_of(number % COUNT),
                    wait=False,
                )
                for number in range(2 * COUNT)
            ]
            for dialog in dialogs:
                client.send(dialog, dialog.id.bytes)
        received = system.received("B", "DatabaseB", "TargetQueue", len(dialogs))
    assert {r.body for r in received} == {d.id.bytes for d in dialogs}


def one_of(partition: int) -> uuid.UUID:
    """Return a new conversation id that belongs on a partition."""
    return next(k for k in iter(uuid.uuid4, None) if partition_of(k, COUNT) == partition)


def begin_in(partition: int) -> Command:
    """Return the beginning of a new dialog that belongs on a partition."""
    return Command(
        one_of(partition),
        uuid.uuid4(),
        CommandKind.BEGIN,
        "DatabaseA",
        reply_to="me",
        from_service="InitiatorService",
        to_service="TargetService",
    )


def test_what_is_on_the_wrong_partition_is_refused(three: Rig) -> None:
    """Its dialog lives elsewhere: applied here, it would live twice."""
    key, value, headers = command_record(begin_in(0))
    cmd = three.topics.cmd("A")
    three.produce(cmd, key, value, headers, partition=2)
    three.endpoint()
    [reported] = three.events(1, event=EventKind.CORRUPTED_MESSAGE)
    assert reported["error"] == Number.CORRUPTED_HEADER
    assert (reported["topic"], reported["partition"], reported["offset"]) == (cmd, 2, 0)
    assert reported["detail"] == "the key belongs to partition 0"
    three.produce(cmd, key, value, headers)  # where every producer of ours puts it
    [answer] = three.until(three.topics.result("A"), 1)
    assert decode_result(answer.value()).number == 0, "it was applied on the wrong partition too"


def begin_dialogs(three: Rig, each: int) -> list[uuid.UUID]:
    """Let dialogs begin in all partitions, by turns, before anybody works there."""
    begins = [begin_in(number % COUNT) for number in range(each * COUNT)]
    for begin in begins:
        three.produce(three.topics.cmd("A"), *command_record(begin))
    return [begin.conversation for begin in begins]


def answered(three: Rig, count: int) -> list[uuid.UUID]:
    """Wait for so many results; return whose they are."""
    found = three.until(three.topics.result("A"), count)
    return [decode_result(m.value()).conversation for m in found]


def test_all_partitions_of_a_worker_share_its_transactions(three: Rig) -> None:
    """One each would let every message wait for those of all other partitions."""
    begins, parts = begin_dialogs(three, 20), list[int]()

    def send(method: Hook, offsets: list[TopicPartition], *args: Any) -> Any:
        parts.append(len({where.partition for where in offsets}))
        return method(offsets, *args)

    worker = three.endpoint(hooks={"send_offsets_to_transaction": send})
    assert sorted(answered(three, len(begins))) == sorted(begins)

    def shared() -> bool:
        """A fetch need not have all partitions, however much lies in each: then there is more."""
        if max(parts) < COUNT:
            begins.extend(begin_dialogs(three, 20))
            assert sorted(answered(three, len(begins))) == sorted(begins)
        return max(parts) == COUNT

    eventually(shared, "a transaction has all partitions")
    counts = worker.worker.counts
    # the worker counts a transaction after it is committed, and its answers may be read before
    eventually(lambda: len(parts) == counts.transactions or pause(), "each has been counted")
    assert len(parts) < counts.statements / COUNT
    assert max(parts) == COUNT
    ends = {
        (topic, number): position
        for number, owned in worker.worker.assignment.owned.items()
        for topic, position in owned.positions.items()
    }
    cmd = three.topics.cmd("A")
    assert [three.committed("endpoint", cmd, partition=n) for n in range(COUNT)] == [
        ends[cmd, n] for n in range(COUNT)
    ]


def test_what_partitions_write_together_is_bounded(
    three: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much each may write: one that has written that much is committed before the next."""
    five = property(lambda _: 5, lambda *_: None)
    monkeypatch.setattr(Allowance, "records", five, raising=False)
    begins, parts = begin_dialogs(three, 20), list[int]()

    def send(method: Hook, offsets: list[TopicPartition], *args: Any) -> Any:
        parts.append(len({where.partition for where in offsets}))
        return method(offsets, *args)

    three.endpoint(hooks={"send_offsets_to_transaction": send})
    assert sorted(answered(three, len(begins))) == sorted(begins)
    assert len([count for count in parts if count == 1]) >= 6, "five and five of each partition"


def test_the_bodies_that_partitions_write_together_are_bounded(
    three: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records of a turn may be few and large."""
    monkeypatch.setattr(commit_work, "BYTES", 10_000)
    monkeypatch.setattr(commit_work, "time", SimpleNamespace(monotonic=lambda: 0.0))
    begins = [begin_in(number) for number in range(COUNT)]
    parts, last_read = list[int](), set[int]()
    for begin in begins:
        send = Command(begin.conversation, uuid.uuid4(), CommandKind.SEND, "DatabaseA")
        for command in (begin, send._replace(body=bytes(8_000), reply_to="me")):
            three.produce(three.topics.cmd("A"), *command_record(command))

    def note(method: Hook, offsets: list[TopicPartition], *args: Any) -> Any:
        parts.append(len({where.partition for where in offsets}))
        return method(offsets, *args)

    def consume(method: Hook, *args: Any) -> Any:
        """Return everything at once, whichever partitions a fetch has."""
        found = list(method(*args))
        while method.__self__.memberid() and not parts and len(last_read) < COUNT:  # type: ignore[attr-defined]
            last_read.update(m.partition() for m in found if m.error() is None and m.offset() == 1)
            found += method(*args)
        return found

    hooks: dict[str, Hook] = {"send_offsets_to_transaction": note, "consume": consume}
    three.endpoint(limits=Limits(retries=(60_000,)), hooks=hooks)
    answered(three, 2 * COUNT)
    assert [len(m.value() or b"") for m in three.records(three.topics.out("A"))] == [8_000] * COUNT
    assert parts[:2] == [2, 1], "the second body exceeds the limit"


def test_partitions_take_turns_if_each_needs_all_the_time(
    three: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn that applies all of them could take longer than Kafka waits for the next poll."""
    monkeypatch.setattr(Allowance, "records", property(lambda _: 5, lambda *_: None), raising=False)
    begins, turns, clock = begin_dialogs(three, 20), list[int](), [0.0]
    apply, read = WorkApplier.apply, list[Any]()

    def take_long(self: WorkApplier, owned: Partition, *args: Any) -> Applied:
        turns.append(owned.number)
        clock[0] += 2 * LONG
        return apply(self, owned, *args)

    def consume(method: Hook, *args: Any) -> Any:
        """Return everything at once, whichever partitions a fetch has."""
        found = list(method(*args))
        if not method.__self__.memberid():  # type: ignore[attr-defined]
            return found  # the reader of the state
        while not turns and sum(m.error() is None for m in [*read, *found]) < len(begins) - 1:
            found += method(*args)
        read.extend(found)
        return found

    monkeypatch.setattr(WorkApplier, "apply", take_long)
    monkeypatch.setattr(commit_work, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    three.endpoint(hooks={"consume": consume})
    assert sorted(answered(three, len(begins))) == sorted(begins)
    # Turns without work before the first record also move on, so any partition may be first.
    assert sorted(turns[:COUNT]) == [*range(COUNT)]
    assert turns[: 4 * COUNT] == 4 * turns[:COUNT]


def test_an_abort_concerns_all_partitions_and_repeats_nothing(three: Rig) -> None:
    begins, aborts = begin_dialogs(three, 20), Counter[str]()

    def commit(method: Hook, *args: Any) -> Any:
        aborts["all"] += 1
        if aborts["all"] in (2, 3):
            raise KafkaException(KafkaError(KafkaError._STATE, "abort", False, False, True))
        return method(*args)

    worker = three.endpoint(hooks={"commit_transaction": commit})
    assert sorted(answered(three, len(begins))) == sorted(begins)
    begin_dialogs(three, 1)
    assert len(set(answered(three, len(begins) + COUNT))) == len(begins) + COUNT
    assert worker.worker.counts.rolled_back > 0


def test_records_that_the_client_hands_out_twice_are_applied_once(three: Rig) -> None:
    """As it may after a rebalance or a seek: what was fetched before is on its way still."""
    begins = begin_dialogs(three, 20)

    def consume(method: Hook, *args: Any) -> Any:
        found = method(*args)
        return [*found, *found[: len(found) // 2], *found]

    worker = three.endpoint(hooks={"consume": consume})
    answered(three, len(begins))
    begin_dialogs(three, 1)
    assert len(set(answered(three, len(begins) + COUNT))) == len(begins) + COUNT
    worker.stop()  # it counts statements after their commit
    assert worker.worker.counts.statements == len(begins) + COUNT


def test_what_fails_in_one_partition_is_told_and_holds_no_other_up(
    three: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Together it fails for all; then each is applied alone, and the bad one in halves."""
    begins = begin_dialogs(three, 5)
    bad, command = begins[COUNT], Transaction.command

    def fail(tx: Transaction, position: int, what: Command) -> None:
        if what.conversation == bad:
            raise ZeroDivisionError("of course")
        command(tx, position, what)

    monkeypatch.setattr(Transaction, "command", fail)
    three.endpoint()
    assert sorted(answered(three, len(begins))) == sorted(begins)
    [reported] = three.events(1, conversation=str(bad))
    assert reported["detail"].startswith("rejected because it failed twice")


@pytest.mark.long
def test_two_workers_share_whole_partitions(three: Rig) -> None:
    """Whoever has partition p of one input has it of all three."""
    workers = [three.endpoint(slot=slot) for slot in "01"]

    def shared() -> bool:
        three.check()
        owned = [set(w.worker.assignment.owned) for w in workers]
        whole = sorted(p for some in owned for p in some) == list(range(COUNT))
        return all(owned) and whole

    eventually(lambda: shared() or pause(), "each has some, and together they have all")
    positions = [p.positions for w in workers for p in w.worker.assignment.owned.values()]
    names = {three.topics.cmd("A"), three.topics.inbox("A"), three.topics.ack("A")}
    assert [set(p) for p in positions] == [names] * COUNT


def test_who_begins_again_in_its_slot_has_its_own_partitions_and_takes_nobody_elses(
    three: Rig,
) -> None:
    """The other one keeps what it has, and does not even notice."""
    stays, goes = (three.endpoint(slot=slot) for slot in "01")

    def owned(running: Running) -> dict[int, Partition]:
        three.check()
        return dict(running.worker.assignment.owned)

    shared = lambda: owned(stays) and owned(goes) and len(owned(stays)) + len(owned(goes)) == COUNT  # noqa: E731
    eventually(lambda: shared() or pause(), "each has some, and together they have all")
    kept, given = owned(stays), set(owned(goes))
    goes.stop()
    again = three.endpoint(slot="1")
    eventually(lambda: len(owned(again)) >= len(given) or pause(), "its partitions")
    assert set(owned(again)) == given
    now = owned(stays)
    assert set(now) == set(kept) and all(now[n] is kept[n] for n in kept)


def test_inputs_that_are_not_counted_alike_stop_the_worker(three: Rig) -> None:
    admin, cmd = three.cluster.admin(), three.topics.cmd("A")
    for future in admin.create_partitions([NewPartitions(cmd, COUNT + 1)]).values():
        future.result()
    failure = three.endpoint().ended()
    three.running.clear()
    assert isinstance(failure, SurroundingsError)
    assert failure.message.startswith(f"A: partition {COUNT} was assigned without ")
