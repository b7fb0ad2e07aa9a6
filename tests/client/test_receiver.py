"""RECEIVE on Kafka: groups and priorities, what a transaction takes, and who owns what."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka.admin import NewPartitions

from streams.client import Client, Conversation, Received, Receiver, StatementError
from streams.client.partition_ahead import READ_AHEAD, READ_AHEAD_BYTES
from streams.errors import SurroundingsError
from streams.kafka import (
    FencedError,
    KafkaError,
    KafkaException,
    UnusableCatalogError,
    commits,
    deploy,
    partitions_of,
    read_catalog,
)
from streams.protocol import DEFAULT, ERROR, Header, Journey, Parties
from streams.topology import apply_sql, queue_named
from streams.wire import MalformedError
from streams.wire.records import queue_record
from tests.node.evidence import shows
from tests.running import DEADLINE, System, eventually, running
from tests.workers.raw_produce import produce_raw
from tests.workers.rig import Hook, HookedCluster, pause

QUEUES = (
    "Priority",
    "Error",
    "Where",
    "Groups",
    "Rollback",
    "Poison",
    "Count",
    "Tolerant",
    "Unusable",
    "Order",
    "Broken",
    "Beside",
    "Later",
    "Failing",
    "Flooded",
    "Moved",
    "Fenced",
    "Silent",
    "Passing",
    "Large",
    "Whole",
    "Full",
    "Stuck",
    "Closing",
    "Starting",
)
TOPOLOGY = """
instances:
  ServerA:
    databases:
      DatabaseA:
        services:
          Usual: {queue: Usual, contracts: []}
          Urgent: {queue: Urgent, contracts: []}
      DatabaseB:
        queues: {Tolerant: {poison_message_handling: off}}
        services: {%s}
        priorities: [{name: High, remote_service_name: Urgent, level: 8}]
"""
AT = ("ServerA", "DatabaseB")
OFF = "^9617: "


def topology_in(folder: Path) -> Path:
    services = ", ".join(f"{name}: {{queue: {name}}}" for name in QUEUES)
    (folder / "topology.yaml").write_text(TOPOLOGY % services)
    return folder


@pytest.fixture(scope="module")
def system(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    folder = topology_in(tmp_path_factory.mktemp("topology"))
    with running(kafka, f"t{uuid.uuid4().hex[:12]}.", folder) as found:
        yield found


@pytest.fixture
def client(system: System) -> Iterator[Client]:
    with system.client() as found:
        yield found


def reading(system: System, queue: str, group: str = "readers") -> Receiver:
    return Receiver(system.cluster, *AT, queue, f"{system.cluster.topics.prefix}{group}")


def take(receiver: Receiver, top: int = 500, **where: Any) -> list[Received]:
    """Receive once, as soon as there is anything."""
    return list(eventually(lambda: receiver.receive(1, top, **where), "messages"))


def bodies(received: Sequence[Received]) -> list[bytes]:
    return [each.body for each in received]


def begin_and_send(
    client: Client, system: System, queue: str, *said: tuple[str, str]
) -> list[Conversation]:
    """Begin a dialog for each (service, texts) with a queue's service; wait until all is there."""
    begun = []
    for service, texts in said:
        dialog = client.begin("ServerA", "DatabaseA", service, queue)
        for text in texts:
            client.send(dialog, text.encode(), wait=True)
        begun.append(dialog)
    count = sum(len(texts) for _, texts in said)
    system.records(system.cluster.topics.queue(*AT, queue), count=count)
    return begun


def put(system: System, queue: str, *said: tuple[int, str, int]) -> None:
    """Write messages (group, text, priority) as the endpoint worker does."""
    producer = system.cluster.producer()
    for number, (group, text, priority) in enumerate(said):
        key, value, headers = queue_record(
            uuid.UUID(int=group),
            uuid.UUID(int=1_000 + group),
            Parties(queue, "B", "Usual", "A", DEFAULT, True),
            Header(uuid.uuid4(), DEFAULT, number, 0, 1 << 47),
            Journey(0, 0, 0, 0),
            text.encode(),
            priority,
        )
        topic = system.cluster.topics.queue(*AT, queue)
        producer.produce(topic, key=key, value=value, headers=headers)  # type: ignore[arg-type]
    assert producer.flush(30) == 0


def test_large_messages_are_read_ahead_by_their_bytes(system: System) -> None:
    """One transaction may receive more than is read ahead, and gets all of it."""
    size, count = 900_000, 80
    put(system, "Large", *((n, "x" * size, 5) for n in range(count)))
    most, found = 0, 0
    with reading(system, "Large") as receiver:
        while found < count:
            found += len(take(receiver, 1))
            (partition,) = receiver._ahead.partitions.values()
            waiting = len(partition.queue)
            assert size * waiting <= partition.ahead <= (size + 500) * waiting, "and headers"
            most = max(most, partition.ahead)
        assert (receiver.receive(0), partition.ahead) == ((), 0)
        receiver.commit()
        assert (partition.size, partition.frames) == (0, {})
    assert size <= most < READ_AHEAD_BYTES + 10 * size


# --- what comes next -----------------------------------------------------------------------------


@shows("Q1", "Q2")
def test_one_group_at_a_time_the_most_urgent_first(system: System, client: Client) -> None:
    begin_and_send(client, system, "Priority", ("Usual", "ab"), ("Usual", "cd"), ("Urgent", "yz"))
    with reading(system, "Priority") as receiver:
        assert bodies(take(receiver)) == [b"y", b"z"]
        assert bodies(take(receiver, 1)) == [b"a"]
        assert bodies(take(receiver)) == [b"b"]
        assert bodies(take(receiver)) == [b"c", b"d"]
        assert receiver.receive(0) == ()


@shows("Q3")
def test_an_error_comes_before_the_rest(system: System, client: Client) -> None:
    [dialog] = begin_and_send(client, system, "Error", ("Usual", "ab"))
    client.end(dialog, error=(42, "enough"), wait=True)
    system.records(system.cluster.topics.queue(*AT, "Error"), count=3)
    with reading(system, "Error") as receiver:
        error, *rest = take(receiver)
    assert (error.type, error.ends_dialog, bodies(rest)) == (ERROR, True, [b"a", b"b"])


@shows("Q1")
def test_where(system: System, client: Client) -> None:
    """The initiator's dialogs are of one group, whatever groups the target has."""
    group = uuid.uuid4()
    usual = ("ServerA", "DatabaseA", "Usual")
    ours = [client.begin(*usual, "Where", group=g) for g in (group, group, None)]
    for dialog in ours:
        client.send(dialog, b"question", wait=True)
    system.records(system.cluster.topics.queue(*AT, "Where"), count=3)
    for number, dialog in enumerate(ours):
        theirs = Conversation(*AT, dialog.id, is_initiator=False)
        client.send(theirs, b"%d" % number, wait=True)
    system.records(system.cluster.topics.queue("ServerA", "DatabaseA", "Usual"), count=3)
    name = f"{system.cluster.topics.prefix}where"
    with Receiver(system.cluster, "ServerA", "DatabaseA", "Usual", name) as receiver:
        assert bodies(take(receiver, conversation=ours[1])) == [b"1"]
        assert receiver.receive(0, conversation=ours[1]) == ()
        assert receiver.receive(0, conversation=Conversation(*AT, uuid.uuid4())) == ()
        assert bodies(take(receiver, group=group)) == [b"0"]
        assert receiver.receive(0, group=group) == ()
        receiver.rollback()
        assert [m.conversation for m in take(receiver, group=group)] == ours[:2]


@shows("Q4")
def test_get_conversation_group(system: System) -> None:
    """The most urgent that is not locked yet; a rollback lets them go, and counts for nothing."""
    put(system, "Groups", (1, "a", 5), (2, "b", 8), (1, "c", 5))
    with reading(system, "Groups") as receiver:
        groups = [eventually(lambda: receiver.get_conversation_group(1), "a group")]
        groups += [receiver.get_conversation_group(0) for _ in range(2)]
        assert groups == [uuid.UUID(int=2), uuid.UUID(int=1), None]
        assert bodies(take(receiver, group=groups[1])) == [b"a", b"c"]
        receiver.commit()
        assert receiver.get_conversation_group(0) == groups[0]
        receiver.rollback()
        assert bodies(take(receiver)) == [b"b"]


def test_without_a_timeout_receive_returns_at_the_end_of_the_queue(system: System) -> None:
    """The end of what is committed: it does not wait for a transaction that is open."""
    topic = system.cluster.topics.queue(*AT, "Whole")
    put(system, "Whole", (1, "a", 5), (2, "b", 5))
    producer = system.cluster.producer(transactional_id=f"{topic}.open")
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, key=b"?", value=b"not committed")
    producer.flush(30)
    with reading(system, "Whole") as receiver:
        assert bodies(receiver.receive(None) + receiver.receive(None)) == [b"a", b"b"]
        assert receiver.receive(None) == ()
        assert receiver.receive(None, group=uuid.UUID(int=1)) == ()
        assert receiver.get_conversation_group(None) is None
        receiver.commit()
    with reading(system, "Whole") as receiver:
        assert receiver.receive(None) == ()  # though a record and a marker are behind its position
    producer.abort_transaction(30)


def test_without_a_timeout_receive_returns_if_no_more_is_read_ahead(system: System) -> None:
    """WHERE searches the read-ahead: what is not in it is not waited for."""
    put(system, "Full", *((1, "a", 5) for _ in range(READ_AHEAD + 100)), (2, "b", 5))
    with reading(system, "Full") as receiver:
        assert receiver.receive(None, group=uuid.UUID(int=2)) == ()
        assert len(receiver.receive(None, 1_000)) >= READ_AHEAD


def test_what_comes_later_is_waited_for_though_something_else_is_there(system: System) -> None:
    coming = iter([(1, "something else", 5), (2, "wanted", 5)])

    def poll(method: Any, timeout: float) -> Any:
        row = next(coming, None) if timeout > 0 else None  # a poll may only find the topic's end
        if row is not None:
            put(system, "Later", row)
        return method(timeout)

    put(system, "Later", (1, "first", 5))
    hooked = HookedCluster(system.cluster.bootstrap, system.cluster.topics)
    with Receiver(hooked, *AT, "Later", f"{system.cluster.topics.prefix}later") as receiver:
        take(receiver)
        hooked.hooks["poll"] = poll
        [wanted] = receiver.receive(DEADLINE, group=uuid.UUID(int=2))
    assert wanted.body == b"wanted"


# --- transactions --------------------------------------------------------------------------------


@shows("Q5")
def test_a_rollback_returns_the_messages(system: System) -> None:
    put(system, "Rollback", (1, "a", 5), (1, "b", 5), (2, "c", 5))
    with reading(system, "Rollback") as receiver:
        assert bodies(take(receiver, 1) + take(receiver)) == [b"a", b"b"]
        receiver.rollback()
        assert bodies(take(receiver) + take(receiver)) == [b"a", b"b", b"c"]
        receiver.commit()
        assert receiver.receive(0) == ()


def status(system: System, queue: str) -> bool:
    topology = read_catalog(system.cluster).topology
    assert topology is not None
    found = queue_named(topology.instances[AT[0]].databases[AT[1]], queue)
    return found is None or found.status


def alter(system: System, text: str) -> None:
    topology = read_catalog(system.cluster).topology
    assert topology is not None
    deploy(system.cluster, apply_sql(topology, *AT, text, time.time()))


def roll_back(receiver: Receiver, times: int) -> None:
    for _ in range(times):
        take(receiver)
        receiver.rollback()


@pytest.mark.long
@shows("Q6")
def test_five_rollbacks_turn_the_queue_off_for_everybody(system: System) -> None:
    """Until somebody turns it on; the count begins anew then."""
    put(system, "Poison", (1, "poison", 5))
    with reading(system, "Poison") as receiver, reading(system, "Poison", "others") as other:
        take(other)
        roll_back(receiver, 4)
        assert status(system, "Poison")
        roll_back(receiver, 1)
        with pytest.raises(StatementError, match=OFF):
            receiver.receive(0)
        assert not status(system, "Poison")
        [event] = system.events(143, lambda e: e["detail"].startswith("Poison:"))
        assert (event["instance"], event["database"], event["error"]) == (*AT, 9617)

        def is_off() -> bool:
            try:
                return bool(other.receive(0.1))
            except StatementError as error:
                return error.number == 9617

        eventually(is_off, "the other receiver knows")
        with reading(system, "Poison", "third") as third, pytest.raises(StatementError, match=OFF):
            third.receive(0)
        alter(system, "ALTER QUEUE Poison WITH STATUS = ON")

        def is_on() -> bool:
            try:
                return bool(receiver.receive(0.1))
            except StatementError:
                return False

        eventually(is_on, "the queue is on")
        receiver.rollback()
        roll_back(receiver, 3)
        assert bodies(take(receiver)) == [b"poison"]
    with reading(system, "Poison") as receiver:
        roll_back(receiver, 1)
        with pytest.raises(StatementError, match=OFF):
            receiver.receive(0)


def test_where_the_catalog_cannot_be_changed_the_queue_is_off_here(
    system: System, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody else's object in it, that nobody can use, ends no application."""

    def refuse(*_: object) -> int:
        raise UnusableCatalogError("'5' is not a str.", "hopline apply --prune")

    monkeypatch.setattr("streams.client.queues.publish", refuse)
    put(system, "Unusable", (1, "poison", 5))
    with reading(system, "Unusable") as receiver:
        roll_back(receiver, 5)
        with pytest.raises(StatementError, match=OFF):
            receiver.receive(0)
    assert status(system, "Unusable")
    assert "is disabled in this process only: '5' is not a str." in caplog.text


@pytest.mark.long
@shows("Q6")
def test_the_count_of_rollbacks_survives_a_restart(system: System) -> None:
    put(system, "Count", (1, "poison", 5))
    with reading(system, "Count") as receiver:
        roll_back(receiver, 3)
    with reading(system, "Count") as receiver:
        roll_back(receiver, 1)
        assert status(system, "Count")
        roll_back(receiver, 1)
        assert not status(system, "Count")
    alter(system, "ALTER QUEUE Count WITH STATUS = ON")
    with reading(system, "Count") as receiver:
        roll_back(receiver, 4)
        assert status(system, "Count")


@shows("Q6")
def test_without_poison_message_handling_the_queue_stays_on(system: System) -> None:
    put(system, "Tolerant", (1, "poison", 5))
    with reading(system, "Tolerant") as receiver:
        roll_back(receiver, 7)
        assert bodies(take(receiver)) == [b"poison"]
    assert status(system, "Tolerant")


# --- what is remembered --------------------------------------------------------------------------


@pytest.mark.long
def test_what_was_received_out_of_order_does_not_come_again(system: System) -> None:
    put(system, "Order", (1, "a", 5), (2, "b", 8), (3, "c", 5), (4, "d", 9), (5, "e", 8))
    with reading(system, "Order") as receiver:
        assert bodies(take(receiver) + take(receiver)) == [b"d", b"b"]
        receiver.commit()
        assert bodies(take(receiver)) == [b"e"]  # and not committed
    with reading(system, "Order") as receiver:
        assert bodies(take(receiver)) == [b"e"]
        receiver.commit()
    with reading(system, "Order") as receiver:
        assert bodies(take(receiver) + take(receiver)) == [b"a", b"c"]
        receiver.commit()
    put(system, "Order", (6, "f", 5))
    with reading(system, "Order") as receiver:
        assert bodies(take(receiver)) == [b"f"]


@pytest.mark.long
def test_a_record_that_is_no_message_is_told_once(system: System) -> None:
    topic = system.cluster.topics.queue(*AT, "Broken")
    put(system, "Broken", (1, "a", 5))
    producer = system.cluster.producer()
    producer.produce(topic, key=b"?", value=b"rubbish")
    producer.flush(30)
    put(system, "Broken", (2, "b", 5))
    told = rf"^{topic}/0@1: a queue message without its conversation id"
    with reading(system, "Broken") as receiver:
        assert bodies(take(receiver) + take(receiver)) == [b"a", b"b"]
        with pytest.raises(MalformedError, match=told):
            receiver.receive(0)
        receiver.commit()
        assert receiver.receive(0) == ()
        producer.produce(topic, key=b"?", value=b"rubbish, the last of all")
        producer.flush(30)
        with pytest.raises(MalformedError, match=rf"^{topic}/0@3: "):
            eventually(lambda: receiver.receive(1), "an error")
        receiver.commit()
    with reading(system, "Broken") as receiver:
        put(system, "Broken", (3, "c", 5))
        assert bodies(take(receiver)) == [b"c"]


def test_what_was_read_together_with_a_broken_record_is_not_lost(system: System) -> None:
    """However it is broken: here the name of a header is no text."""
    topic = system.cluster.topics.queue(*AT, "Beside")
    put(system, "Beside", (1, "a", 5))
    produce_raw(system.cluster.bootstrap, topic, b"?", b"rubbish", [(b"\xff", b"x")])
    put(system, "Beside", (2, "b", 5))
    with reading(system, "Beside") as receiver:
        assert bodies(take(receiver) + take(receiver)) == [b"a", b"b"]
        with pytest.raises(MalformedError, match=rf"^{topic}/0@1: the name of a header"):
            receiver.receive(0)
        receiver.commit()
    with reading(system, "Beside") as receiver:
        put(system, "Beside", (3, "c", 5))
        assert bodies(take(receiver)) == [b"c"]


def test_any_number_of_broken_records_delays_no_message(system: System) -> None:
    """Each `receive` reads a few, and no error is kept for each of them."""
    topic = system.cluster.topics.queue(*AT, "Flooded")
    put(system, "Flooded", (1, "a", 5))
    producer = system.cluster.producer()
    for _ in range(5_000):
        producer.produce(topic, key=b"?", value=b"rubbish")
        producer.poll(0)
    assert producer.flush(30) == 0
    put(system, "Flooded", (2, "b", 5))
    with reading(system, "Flooded") as receiver:
        assert bodies(take(receiver)) == [b"a"]
        errors = found = 0
        while not found:
            try:
                found = len(receiver.receive(30))
            except MalformedError:
                errors += 1
                assert len(receiver._ahead.broken) <= 100
        assert errors > 500, "an error of a record is raised before many others are read"


def test_a_commit_that_failed_is_told_and_made_good(system: System) -> None:
    """What was received is not received again, and the next commit says so."""
    put(system, "Failing", (7, "x", 5), (8, "y", 5))
    hooked = HookedCluster(system.cluster.bootstrap, system.cluster.topics)
    group = f"{system.cluster.topics.prefix}failing"

    def fail(*_: Any, **__: Any) -> Any:
        raise KafkaException(KafkaError(KafkaError.REQUEST_TIMED_OUT))

    with Receiver(hooked, *AT, "Failing", group) as receiver:
        first = take(receiver, group=uuid.UUID(int=7))
        hooked.hooks["commit"] = fail
        with pytest.raises(SurroundingsError, match="received messages were not committed: "):
            receiver.commit()
        del hooked.hooks["commit"]
        receiver.commit()
    assert bodies(first) == [b"x"]
    with Receiver(hooked, *AT, "Failing", group) as receiver:
        assert take(receiver, group=uuid.UUID(int=8))
        assert receiver.receive(0, group=uuid.UUID(int=7)) == ()


def test_a_commit_waits_for_a_coordinator_that_is_being_moved(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever way Kafka's client says so: of the whole commit, or of one partition."""
    monkeypatch.setattr(commits, "_AGAIN", 0.0)
    put(system, "Moved", (7, "x", 5))
    hooked = HookedCluster(system.cluster.bootstrap, system.cluster.topics)
    group = f"{system.cluster.topics.prefix}moved"
    moved, answers = KafkaError(KafkaError.NOT_COORDINATOR), iter(range(3))

    def commit(method: Hook, *given: Any, **named: Any) -> Any:
        match next(answers):
            case 0:
                raise KafkaException(moved)
            case 1:
                return [SimpleNamespace(error=moved)]
            case _:
                return method(*given, **named)

    with Receiver(hooked, *AT, "Moved", group) as receiver:
        assert bodies(take(receiver)) == [b"x"]
        hooked.hooks["commit"] = commit
        receiver.commit()
        assert next(answers, None) is None
    with Receiver(hooked, *AT, "Moved", group) as receiver:
        assert receiver.receive(0) == ()


def test_a_commit_that_does_not_return_is_told_and_a_later_one_commits(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(system, "Stuck", (7, "x", 5), (8, "y", 5))
    hooked = HookedCluster(system.cluster.bootstrap, system.cluster.topics)
    group, returns = f"{system.cluster.topics.prefix}stuck", threading.Event()

    def commit(method: Hook, *given: Any, **named: Any) -> Any:
        returns.wait(DEADLINE)
        return method(*given, **named)

    with Receiver(hooked, *AT, "Stuck", group) as receiver:
        take(receiver, group=uuid.UUID(int=7))
        monkeypatch.setattr(commits, "PATIENCE", 0.1)
        hooked.hooks["commit"] = commit
        for _ in range(2):
            with pytest.raises(SurroundingsError, match=r"not committed: no answer within 0\.1 s"):
                receiver.commit()
        with pytest.raises(SurroundingsError, match="an earlier commit is still waiting"):
            receiver.receive(DEADLINE, group=uuid.UUID(int=9))
        hooked.hooks["commit"] = lambda method, **given: method(**given)
        monkeypatch.setattr(commits, "PATIENCE", DEADLINE)
        returns.set()
        eventually(lambda: is_committed(receiver), "another commit is possible")
    with Receiver(hooked, *AT, "Stuck", group) as receiver:
        assert take(receiver, group=uuid.UUID(int=8))
        assert receiver.receive(0, group=uuid.UUID(int=7)) == ()


def test_a_start_position_that_cannot_be_committed_is_told(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(system, "Starting", (7, "x", 5))
    hooked, returns = (
        HookedCluster(system.cluster.bootstrap, system.cluster.topics),
        threading.Event(),
    )
    hooked.hooks["commit"] = lambda *_, **__: returns.wait(DEADLINE)
    monkeypatch.setattr(commits, "PATIENCE", 0.1)
    group = f"{system.cluster.topics.prefix}starting"
    with Receiver(hooked, *AT, "Starting", group, begin="beginning") as receiver:
        for _ in range(2):
            with pytest.raises(SurroundingsError, match=r"position was not committed: no answer"):
                receiver.receive(DEADLINE)
        returns.set()


def is_committed(receiver: Receiver) -> bool:
    try:
        receiver.commit()
    except SurroundingsError:
        return pause()
    return True


def test_a_receiver_with_a_stuck_commit_does_not_wait_for_it_when_it_is_closed(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(system, "Closing", (7, "x", 5))
    hooked = HookedCluster(system.cluster.bootstrap, system.cluster.topics)
    group, returns, closed = f"{system.cluster.topics.prefix}closing", threading.Event(), []
    receiver = Receiver(hooked, *AT, "Closing", group)
    take(receiver)
    hooked.hooks["commit"] = lambda *_, **__: returns.wait(DEADLINE)
    monkeypatch.setattr(commits, "PATIENCE", 0.1)
    with pytest.raises(SurroundingsError, match="no answer"):
        receiver.commit()
    hooked.hooks["close"] = lambda method: closed.append(method.__self__)
    receiver.close()
    assert hooked.consumers[group] not in closed
    returns.set()


# --- two members ---------------------------------------------------------------------------------


@pytest.mark.long
def test_a_rebalance_loses_and_repeats_nothing_that_was_committed(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """What was received and not committed is lost with its partition, and comes again."""
    with running(kafka, unique, topology_in(tmp_path), start=False) as system:
        topic = system.cluster.topics.queue(*AT, "Order")
        admin = system.cluster.admin()
        admin.create_partitions([NewPartitions(topic, 3)])[topic].result()
        eventually(lambda: len(partitions_of(system.cluster, topic)) == 3, "three partitions")
        said = [(group, f"{group}/{n}", 5 + group % 3) for n in range(3) for group in range(30)]
        put(system, "Order", *said)
        committed: list[Received] = []
        with reading(system, "Order") as one:
            for _ in range(5):
                committed += take(one)
                one.commit()
            assert take(one)
            with reading(system, "Order") as two:

                def second() -> tuple[Received, ...]:
                    one.receive(0.1, 1)
                    return two.receive(0.1)

                committed += eventually(second, "something for the second member")
                two.commit()
                with pytest.raises(
                    SurroundingsError, match="reassigned to another member of the group"
                ):
                    one.commit()
                one.rollback()

                def all_of_it() -> bool:
                    for member in (one, two):
                        committed.extend(member.receive(0.1))
                        member.commit()
                    return len(committed) >= len(said)

                eventually(all_of_it, f"{len(said)} messages")
            assert {m.partition for m in committed} == {0, 1, 2}
            for group in range(30):
                conversation = uuid.UUID(int=1_000 + group)
                mine = [m.body.decode() for m in committed if m.conversation.id == conversation]
                assert mine == [f"{group}/{n}" for n in range(3)]
            assert len(committed) == len(said)


@pytest.mark.long
def test_who_has_lost_its_name_is_told_and_does_not_wait_for_ever(system: System) -> None:
    """Kafka's client says so once, and that in an error that it does not call fatal."""
    where = (system.cluster, *AT, "Fenced", f"{system.cluster.topics.prefix}fenced")
    with Receiver(*where, member="one") as first:
        eventually(lambda: joined(first), "the first one is in the group")
        with (
            Receiver(*where, member="one") as second,
            pytest.raises(FencedError, match="was removed"),
        ):
            eventually(lambda: joined(second), "the second one has taken its name")
            eventually(lambda: first.receive(0.2) and False, "it is told")
        with pytest.raises(FencedError, match="was removed"):
            first.receive(0)


def test_who_comes_back_under_its_name_reads_what_is_new(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """Kafka hands it what it was dealt last: the one partition that there was at that time."""
    with running(kafka, unique, topology_in(tmp_path), start=False) as system:
        topic, cluster = system.cluster.topics.queue(*AT, "Order"), system.cluster
        where = (cluster, *AT, "Order", f"{unique}orders")
        with Receiver(*where, member="one") as before:
            eventually(lambda: joined(before), "it is in the group")
        admin = cluster.admin()
        admin.create_partitions([NewPartitions(topic, 3)])[topic].result()
        eventually(lambda: len(partitions_of(cluster, topic)) == 3, "three partitions")
        put(system, "Order", *((group, "new", 5) for group in range(30)))
        found: list[Received] = []
        with Receiver(*where, member="one") as after:
            eventually(lambda: found.extend(take(after)) or len(found) >= 30, "all of it")
    assert len(found) == 30 and {m.partition for m in found} == {0, 1, 2}


def test_a_partition_whose_progress_kafka_does_not_say_is_not_read_past(system: System) -> None:
    """Its messages would be left out, and whoever waits for them would wait for ever."""
    put(system, "Silent", (1, "x", 5))
    hooked = HookedCluster(system.cluster.bootstrap, system.cluster.topics)
    group = f"{system.cluster.topics.prefix}silent"

    def fail(*_: Any, **__: Any) -> Any:
        raise KafkaException(KafkaError(KafkaError.REQUEST_TIMED_OUT))

    hooked.hooks["committed"] = fail
    with Receiver(hooked, *AT, "Silent", group) as receiver:
        for _ in range(2):
            with pytest.raises(SurroundingsError, match="does not return the committed offsets"):
                receiver.receive(DEADLINE)
    del hooked.hooks["committed"]
    with Receiver(hooked, *AT, "Silent", group) as receiver:
        assert bodies(take(receiver)) == [b"x"]


def test_an_error_that_may_pass_is_logged_once(
    system: System, caplog: pytest.LogCaptureFixture
) -> None:
    class Trouble:
        """What Kafka's client returns where it has an error instead of a record."""

        def error(self) -> KafkaError:
            return KafkaError(KafkaError._MAX_POLL_EXCEEDED)

    put(system, "Passing", (1, "x", 5))
    hooked = HookedCluster(system.cluster.bootstrap, system.cluster.topics)
    group, troubles = f"{system.cluster.topics.prefix}passing", [Trouble(), Trouble()]
    with Receiver(hooked, *AT, "Passing", group) as receiver:
        hooked.hooks["poll"] = lambda method, t: troubles.pop() if troubles else method(t)
        assert bodies(take(receiver)) == [b"x"]
    [line] = [r.getMessage() for r in caplog.records if r.name == "hopline.client"]
    topic = system.cluster.topics.queue(*AT, "Passing")
    assert line.startswith(f"{topic}: ") and "max.poll.interval.ms" in line


def joined(receiver: Receiver) -> bool:
    receiver.receive(0.2)
    return bool(receiver._ahead.partitions)
