"""Dialogs as an application has them: statements, answers, queues; on a running topology."""

from __future__ import annotations

import itertools
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_END

from streams.client import LARGEST_BODY, Client, Conversation, Receiver, StatementError
from streams.errors import SurroundingsError, UsageError
from streams.kafka import Cluster, KafkaError, KafkaException, Producer, TopicPartition
from streams.protocol import Command, CommandKind
from streams.wire import MalformedError, Topics
from streams.wire.partition import partition_of
from streams.wire.records import command_record
from tests.running import DEADLINE, System, eventually, running
from tests.workers.rig import HookedCluster, pair, pause, rig

AT_A, AT_B = ("ServerA", "DatabaseA"), ("ServerB", "DatabaseB")
SERVICES = ("InitiatorService", "TargetService")


@pytest.fixture(scope="module")
def system(kafka: str) -> Iterator[System]:
    with running(kafka, f"t{uuid.uuid4().hex[:12]}.", "two_brokers") as found:
        yield found


@pytest.fixture
def client(system: System) -> Iterator[Client]:
    with system.client() as found:
        yield found


def refused(number: int) -> AbstractContextManager[object]:
    return pytest.raises(StatementError, match=f"^{number}: ")


@pytest.mark.long
def test_a_conversation_goes_both_ways_in_order_and_once(system: System, client: Client) -> None:
    dialog = client.begin(*AT_A, *SERVICES)
    for number in range(300):  # more than a window of them
        client.send(dialog, b"%d" % number)
    client.flush()
    questions = system.received(*AT_B, "TargetQueue", 300)
    assert [q.body for q in questions] == [b"%d" % n for n in range(300)]
    assert {q.conversation for q in questions} == {Conversation(*AT_B, dialog.id, False)}
    client.send(questions[-1].conversation, b"answer", wait=True)
    [answer] = system.received(*AT_A, "InitiatorQueue", 1)
    assert (answer.body, answer.conversation) == (b"answer", dialog)
    client.end(dialog, wait=True)
    [ended] = system.received(*AT_B, "TargetQueue", 1)
    assert (ended.ends_dialog, ended.frame.header.sequence) == (True, 300)
    client.end(ended.conversation, wait=True)
    with refused(8429):
        client.send(dialog, b"too late", wait=True)


@pytest.mark.long
def test_an_error_is_the_last_thing_that_the_other_side_receives(
    system: System, client: Client
) -> None:
    dialog = client.begin(*AT_A, *SERVICES)
    client.send(dialog, b"one", wait=True)
    system.received(*AT_B, "TargetQueue", 1)
    client.end(dialog, error=(42, "no <more>"), wait=True)
    [error] = system.received(*AT_B, "TargetQueue", 1)
    assert error.ends_dialog
    assert b"<Code>42</Code><Description>no &lt;more&gt;</Description>" in error.body
    with refused(8429):
        client.send(error.conversation, b"answer", wait=True)
    client.end(error.conversation, wait=True)


def test_the_largest_body_arrives(system: System, client: Client) -> None:
    dialog = client.begin(*AT_A, *SERVICES)
    body = bytes(range(256)) * (LARGEST_BODY // 256) + bytes(LARGEST_BODY % 256)
    client.send(dialog, body, wait=True)
    [received] = system.received(*AT_B, "TargetQueue", 1)
    assert received.body == body


# --- what is refused -----------------------------------------------------------------------------


def test_statements_are_refused_with_the_numbers_of_sql_server(client: Client) -> None:
    dialog = client.begin(*AT_A, *SERVICES)
    nobody = Conversation(*AT_A, uuid.uuid4())
    with refused(8423):
        client.begin(*AT_A, "Nobody", "TargetService")
    with refused(8425):
        client.begin(*AT_A, *SERVICES, contract="Nothing")
    with refused(8411):
        client.begin(*AT_A, *SERVICES, lifetime=0)
    with refused(2601):
        client.begin(*AT_A, *SERVICES, conversation=dialog.id)
    with refused(8426):
        client.send(nobody, b"x", wait=True)
    with refused(8426):
        client.end(nobody, wait=True)
    with refused(8428):
        client.send(dialog, b"x", type="Nothing", wait=True)
    with refused(8442):
        client.begin("ServerA", "Nowhere", *SERVICES)
    client.end(dialog, wait=True)
    with refused(8427):
        client.end(dialog, wait=True)


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(client: Client) -> None:
    dialog = client.begin(*AT_A, *SERVICES)
    with refused(8459):
        client.send(dialog, bytes(LARGEST_BODY + 1))


def test_a_body_that_fits_a_command_but_no_frame_is_refused_by_the_worker(
    system: System, client: Client
) -> None:
    dialog = client.begin(*AT_A, *SERVICES)
    large = Command(dialog.id, uuid.uuid4(), CommandKind.SEND, "DatabaseA", body=bytes(1_010_000))
    key, value, headers = command_record(large)
    producer = system.cluster.producer(message_max_bytes=1_040_000)
    topic = system.cluster.topics.cmd("ServerA")
    producer.produce(topic, key=key, value=value, headers=headers)  # type: ignore[arg-type]
    assert producer.flush(30) == 0
    client.send(dialog, b"still there", wait=True)
    [received] = system.received(*AT_B, "TargetQueue", 1)
    assert (received.body, received.frame.header.sequence) == (b"still there", 0)
    [told] = system.events(124, lambda e: e["message_id"] == str(large.command_id))
    assert (told["error"], told["conversation"]) == (8459, str(dialog.id))


def test_without_waiting_a_refusal_is_an_event(system: System, client: Client) -> None:
    nobody = Conversation(*AT_A, uuid.uuid4())
    client.send(nobody, b"x")
    client.flush()
    [event] = system.events(124, lambda e: e["conversation"] == str(nobody.id))
    assert (event["error"], event["instance"], event["database"]) == (8426, *AT_A)
    assert event["detail"].startswith("SEND refused: ")


# --- what is not there ---------------------------------------------------------------------------


def test_an_instance_that_nobody_applied_is_told_at_once(client: Client) -> None:
    started = time.monotonic()
    with pytest.raises(SurroundingsError, match=r"result\.Nowhere does not exist"):
        client.begin("Nowhere", "D", *SERVICES)
    assert time.monotonic() - started < DEADLINE, "the client's timeout was not waited for"


def test_an_endpoint_worker_that_does_not_run_is_told_after_the_timeout(
    kafka: str, unique: str
) -> None:
    with (
        running(kafka, unique, "two_brokers", start=False) as system,
        listening(system.cluster) as client,
        pytest.raises(SurroundingsError, match=r"ServerA has not answered within 0\.5 s"),
    ):
        client.begin(*AT_A, *SERVICES)


@contextmanager
def listening(cluster: Cluster) -> Iterator[Client]:
    """Return a client that listens to ServerA already, and waits half a second for an answer."""
    with Client(cluster, timeout=DEADLINE) as client:
        client._answers_of("ServerA", DEADLINE)
        client._timeout = 0.5
        yield client
        client._timeout = DEADLINE  # Kafka may take its time to confirm


def test_answers_to_others_do_not_keep_a_client_waiting(kafka: str, unique: str) -> None:
    """However many of them come: its time is over all the same."""
    with running(kafka, unique, "two_brokers", start=False) as system:
        noise, others = system.cluster.producer(), 500

        def poll(method: Any, _: float) -> Any:
            """Find somebody else's answer, as long as there are any."""
            nonlocal others
            others -= 1
            pause()
            if others > 0:
                noise.produce(system.cluster.topics.result("ServerA"), key=b"other", value=b"")
                noise.flush()
            return method(1)

        hooked = HookedCluster(kafka, system.cluster.topics)
        with (
            listening(hooked) as client,
            pytest.raises(SurroundingsError, match="ServerA has not answered"),
        ):
            hooked.hooks["poll"] = poll
            client.begin(*AT_A, *SERVICES)
        assert others > 0, "it has waited until they fell silent"


def test_answers_are_heard_again_after_retention_removed_those_before_them(
    system: System,
) -> None:
    hooked = HookedCluster(system.cluster.bootstrap, system.cluster.topics)
    with Client(hooked, timeout=DEADLINE) as client:
        client.begin(*AT_A, *SERVICES)
        [answers] = hooked.consumers.values()
        topic = system.cluster.topics.result("ServerA")
        end = TopicPartition(topic, 0, OFFSET_END)
        admin = system.cluster.admin()
        [removed] = admin.delete_records([end]).values()
        assert removed.result().low_watermark > 0
        answers.assign([TopicPartition(topic, 0, 0)])  # so far has one come that was idle
        client.begin(*AT_A, *SERVICES)


def test_a_trouble_that_is_over_is_told_no_more(system: System) -> None:
    class Trouble:
        """What Kafka's client returns where it has an error instead of a record."""

        def error(self) -> KafkaError:
            return KafkaError(KafkaError.REQUEST_TIMED_OUT)

    troubles = [Trouble()]
    hooked = HookedCluster(system.cluster.bootstrap, system.cluster.topics)
    hooked.hooks["poll"] = lambda method, t: troubles.pop() if troubles and t else method(t)
    with Client(hooked, timeout=DEADLINE) as client:
        client.begin(*AT_A, *SERVICES)
        assert not troubles
        assert client._answers["ServerA"].trouble == ""


def test_closing_lets_the_broker_go_whatever_happens(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers") as system:
        hooked = HookedCluster(kafka, system.cluster.topics)
        client = Client(hooked, timeout=DEADLINE)
        client.begin(*AT_A, *SERVICES)
        [answers] = hooked.consumers.values()
        hooked.hooks["flush"] = lambda *_: 1
        client._timeout = 0.0
        with pytest.raises(SurroundingsError, match="1 statement did not reach Kafka"):
            client.close()
        with pytest.raises(RuntimeError, match="closed"):
            answers.poll(0)


class SmallCluster(Cluster):
    """A cluster whose producers have room for a few records only."""

    def producer(self, **config: Any) -> Producer:
        """Build a producer."""
        return super().producer(**config, queue_buffering_max_messages=10)


def test_more_statements_than_memory_is_meant_for_all_arrive(system: System) -> None:
    """Whoever hands over faster than Kafka takes them is slowed down, not refused."""
    small = SmallCluster(system.cluster.bootstrap, system.cluster.topics)
    with Client(small, timeout=DEADLINE) as client:
        dialog = client.begin(*AT_A, *SERVICES)
        for number in range(100):
            client.send(dialog, b"%d" % number)
    received = system.received(*AT_B, "TargetQueue", 100)
    assert [m.body for m in received] == [b"%d" % n for n in range(100)]


def test_a_full_memory_and_no_kafka_is_told_after_the_timeout(unique: str) -> None:
    nowhere = SmallCluster("127.0.0.1:1", Topics(unique))
    client, dialog = Client(nowhere, timeout=0.3), Conversation(*AT_A, uuid.uuid4())
    with pytest.raises(SurroundingsError) as told:
        for _ in range(11):
            client.send(dialog, b"x")
    assert told.value.message == (
        "10 statements have not been confirmed by Kafka at 127.0.0.1:1: no answer within 0.3 s."
    )


def test_waiting_for_an_answer_without_kafka_is_told_after_the_timeout(unique: str) -> None:
    client = Client(Cluster("127.0.0.1:1", Topics(unique)), timeout=0.3)
    with pytest.raises(SurroundingsError, match=r"127\.0\.0\.1:1 cannot be reached: .*0\.3 s"):
        client.begin(*AT_A, *SERVICES)


def test_a_queue_that_does_not_exist_is_told(system: System) -> None:
    with (
        Receiver(system.cluster, *AT_A, "Nothing", f"{system.cluster.topics.prefix}x") as receiver,
        pytest.raises(SurroundingsError, match=r"Queue topic .*Nothing does not exist"),
    ):
        eventually(lambda: receiver.receive(1), "an error")


class HastyCluster(Cluster):
    """A cluster whose producers give a record up after half a second."""

    def producer(self, **config: Any) -> Producer:
        """Build a producer."""
        return super().producer(**{**config, "message_timeout_ms": 500})


def test_a_cluster_that_cannot_be_reached_gives_up(unique: str) -> None:
    nowhere = HastyCluster("127.0.0.1:1", Topics(unique))
    client = Client(nowhere, timeout=0.5)
    client.send(Conversation(*AT_A, uuid.uuid4()), b"x")
    with pytest.raises(SurroundingsError, match="1 statement did not reach Kafka: "):
        client.flush(2)


def test_after_a_statement_that_kafka_refused_a_client_says_nothing_more(
    kafka: str, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A later one of the same conversation would leave a gap that nobody sees."""
    patience = {"topic.metadata.propagation.max.ms": "500"}
    client = Client(Cluster(kafka, Topics(unique), patience))
    dialog = Conversation(*AT_A, uuid.uuid4())
    for body in (b"one", b"two"):
        client.send(dialog, body)
    assert client._producer.flush(DEADLINE) == 0  # it has answered: there is no such topic
    told = "^2 statements did not reach Kafka: .*nknown topic"
    for later in (lambda: client.send(dialog, b"three"), client.flush, client.close):
        with pytest.raises(SurroundingsError, match=told) as raised:
            later()
        assert raised.value.remedy.endswith("because this one sends nothing more.")
    assert len(client._producer) == 0
    [line] = [r.getMessage() for r in caplog.records if r.name == "hopline.client"]
    assert line.startswith(f"{unique}cmd.ServerA: Kafka rejected a statement: ")


def test_what_kafkas_client_does_not_even_take_is_told(unique: str) -> None:
    def refuse(*_: Any) -> None:
        raise KafkaException(KafkaError(KafkaError._UNKNOWN_TOPIC))

    client = Client(HookedCluster("127.0.0.1:1", Topics(unique), hooks={"produce": refuse}))
    with pytest.raises(SurroundingsError, match=r"1 statement did not reach Kafka: .*nknown topic"):
        client.send(Conversation(*AT_A, uuid.uuid4()), b"x")
    client.close()


def test_a_statement_waits_for_kafka_as_long_as_its_client_lives(unique: str) -> None:
    """Else the first ones of a conversation are given up in an outage, and the last ones go out."""
    kept: list[int] = []

    class Noting(Cluster):
        """A cluster that notes for how long its producers keep a record."""

        def producer(self, **config: Any) -> Producer:
            """Build a producer."""
            kept.append(config["message_timeout_ms"])
            return super().producer(**config)

    Client(Noting("127.0.0.1:1", Topics(unique)))
    assert kept == [0]  # in Kafka's client: without end


# --- receiving -----------------------------------------------------------------------------------


@pytest.mark.long
def test_who_stops_in_the_middle_finds_the_rest(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers") as system, system.client() as client:
        dialog = client.begin(*AT_A, *SERVICES)
        for number in range(10):
            client.send(dialog, b"%d" % number)
        client.flush()
        topic = system.cluster.topics.queue(*AT_B, "TargetQueue")
        system.records(topic, count=10)

        def receiver() -> Receiver:
            return Receiver(system.cluster, *AT_B, "TargetQueue", f"{unique}readers")

        def first(of: Receiver) -> bytes:
            return eventually(lambda: next(iter(of.receive(1, 1)), None), "a message").body

        with receiver() as one:
            assert [first(one) for _ in range(3)] == [b"0", b"1", b"2"]
            one.commit()
            assert first(one) == b"3"  # received, and not committed
        with receiver() as two:
            assert [first(two) for _ in range(7)] == [b"%d" % n for n in range(3, 10)]
            two.commit()
        with receiver() as three:
            assert three.receive(1) == ()


@pytest.mark.long
def test_a_record_that_is_no_message_hides_none(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers") as system, system.client() as client:
        dialog = client.begin(*AT_A, *SERVICES)
        topic = system.cluster.topics.queue(*AT_B, "TargetQueue")
        client.send(dialog, b"before", wait=True)
        system.records(topic)
        producer = system.cluster.producer()
        producer.produce(topic, key=b"?", value=b"rubbish")
        producer.flush()
        client.send(dialog, b"behind", wait=True)
        system.records(topic, count=3)
        with Receiver(system.cluster, *AT_B, "TargetQueue", f"{unique}readers") as receiver:
            found: list[bytes] = []
            broken: list[str] = []

            def both() -> bool:
                try:
                    found.extend(m.body for m in receiver.receive(1))
                except MalformedError as error:
                    broken.append(str(error))
                return len(found) == 2 and bool(broken)

            eventually(both, "two messages and an error")
        assert found == [b"before", b"behind"]
        [told] = broken
        assert told.startswith(f"{topic}/0@")


# --- groups ---------------------------------------------------------------------------------------


def test_a_related_dialog_lives_in_the_partition_of_the_other(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """Its worker would not know the group elsewhere; an id that is given must fall there too."""
    with (
        rig(kafka, unique, pair(tmp_path, partitions=5)) as two,
        two.client() as client,
    ):
        two.endpoint()
        at, services = ("A", "DatabaseA"), ("InitiatorService", "TargetService")
        first = client.begin(*at, *services, group=uuid.uuid4())
        for _ in range(5):
            beside = client.begin(*at, *services, related=first)
            assert partition_of(beside.id, 5) == partition_of(first.id, 5)
        ids = (uuid.uuid4() for _ in itertools.count())
        elsewhere = next(i for i in ids if partition_of(i, 5) != partition_of(first.id, 5))
        with pytest.raises(UsageError, match=f"{elsewhere} cannot join the group of {first.id}"):
            client.begin(*at, *services, related=first, conversation=elsewhere)


# --- several targets -----------------------------------------------------------------------------


def test_dialogs_are_balanced_and_each_stays_where_it_is(kafka: str, unique: str) -> None:
    with running(kafka, unique, "load_balanced") as system, system.client() as client:
        dialogs = [
            client.begin(*AT_A, *SERVICES, conversation=uuid.UUID(int=n), wait=False)
            for n in range(1, 13)
        ]
        for number in range(5):
            for dialog in dialogs:
                client.send(dialog, b"%d" % number)
        client.flush()
        queues = [
            system.cluster.topics.queue(f"Server{x}", f"Database{x}", "TargetQueue") for x in "BC"
        ]
        where: dict[str, set[str]] = defaultdict(set)
        bodies: dict[str, list[str]] = defaultdict(list)

        def arrived() -> bool:
            where.clear()
            bodies.clear()
            for topic in queues:
                for record in system.snapshot(topic):
                    where[record["conversation"]].add(topic)
                    bodies[record["conversation"]].append(record["body"]["text"])
            return sum(map(len, bodies.values())) == 60

        eventually(arrived, "60 messages at the two targets")
        assert all(len(topics) == 1 for topics in where.values())
        assert {topic for topics in where.values() for topic in topics} == set(queues)
        assert all(said == list("01234") for said in bodies.values())
        assert set(where) == {str(dialog.id) for dialog in dialogs}


def test_a_replayed_command_of_the_same_dialog_is_a_new_message(
    system: System, client: Client
) -> None:
    dialog = client.begin(*AT_A, *SERVICES)
    command = Command(dialog.id, uuid.uuid4(), CommandKind.SEND, "DatabaseA", body=b"x")
    client.perform("ServerA", command, wait=True)
    client.perform("ServerA", command._replace(command_id=uuid.uuid4()), wait=True)
    assert [m.body for m in system.received(*AT_B, "TargetQueue", 2)] == [b"x", b"x"]
