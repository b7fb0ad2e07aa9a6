"""Where a consumer group begins, when Kafka has forgotten its offsets and when it never had any."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from streams.cli.options.begin import begin_of
from streams.client import Begin, Exchange, PositionLostError, Received, Receiver
from streams.errors import HoplineError, SurroundingsError, UsageError
from streams.kafka import (
    AbortedError,
    TopicPartition,
    deploy,
    topic_id,
    trim,
)
from streams.protocol import DEFAULT, Header, Journey, Parties
from streams.wire.reading import reading_key
from streams.wire.records import queue_record
from tests.command import hopline
from tests.forgetting import forget
from tests.running import DEADLINE, System, delete, eventually, running
from tests.workers.rig import HookedCluster

QUEUES = (
    "Forgotten", "Again", "Later", "Number", "Waiting", "Unread", "Undone", "Torn", "Both", "Two",
    "Anew", "Trimmed", "Slow", "Many", "Answering", "Kept",
    "Command", "Strange", "Unreadable", "Silent",
)  # fmt: skip
TOPOLOGY = """
instances:
  ServerB:
    databases:
      DatabaseB:
        queues: {Many: {partitions: 2}}
        services: {%s}
"""
AT = ("ServerB", "DatabaseB")


@pytest.fixture(scope="module")
def system(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    folder: Path = tmp_path_factory.mktemp("topology")
    services = ", ".join(f"{name}: {{queue: {name}}}" for name in QUEUES)
    (folder / "topology.yaml").write_text(TOPOLOGY % services)
    with running(kafka, f"t{uuid.uuid4().hex[:12]}.", folder, start=False) as found:
        yield found


def group_in(system: System, name: str = "readers") -> str:
    return f"{system.cluster.topics.prefix}{name}"


def reading(system: System, queue: str, begin: Begin | None = None, **more: Any) -> Receiver:
    group = group_in(system, more.pop("group", "readers") + queue)
    return Receiver(system.cluster, *AT, queue, group, begin=begin, **more)


def forgotten(system: System, queue: str, group: str = "readers") -> None:
    """Let Kafka forget a group's offsets, as it does when they are too old."""
    forget(system.cluster, group_in(system, group + queue))


def put(system: System, queue: str, *texts: str, first: int = 0, partition: int = 0) -> None:
    """Write messages of one dialog as the endpoint worker does."""
    producer, topic = system.cluster.producer(), system.cluster.topics.queue(*AT, queue)
    for number, text in enumerate(texts):
        key, value, headers = queue_record(
            uuid.UUID(int=1 + partition),
            uuid.UUID(int=1_000 + partition),
            Parties(queue, "B", "Usual", "A", DEFAULT, True),
            Header(uuid.uuid4(), DEFAULT, first + number, 0, 1 << 47),
            Journey(0, 0, 0, 0),
            text.encode(),
        )
        producer.produce(topic, key=key, value=value, headers=headers, partition=partition)  # type: ignore[arg-type]
    assert producer.flush(30) == 0


def note(system: System, key: bytes, value: bytes) -> None:
    """Write a record into ``reading``."""
    producer = system.cluster.producer()
    producer.produce(system.cluster.topics.reading("ServerB"), key=key, value=value)
    assert producer.flush(30) == 0


def take(receiver: Receiver, top: int = 500) -> list[str]:
    """Receive once, as soon as there is anything, and commit."""
    found: tuple[Received, ...] = eventually(lambda: receiver.receive(1, top), "messages")
    receiver.commit()
    return [message.body.decode() for message in found]


def nothing(receiver: Receiver) -> None:
    """Receive nothing, with all partitions, which the group may deal after any time."""

    def has_partitions() -> bool:
        assert receiver.receive(1) == ()
        return bool(receiver._ahead.partitions)

    eventually(has_partitions, "its partitions")
    assert receiver.receive(1) == ()


def failure(receiver: Receiver, error: type[HoplineError] = PositionLostError) -> HoplineError:
    """Return what a receiver is refused with."""

    def refused() -> HoplineError | None:
        try:
            assert receiver.receive(1) == (), "it receives again"
        except error as found:
            return found
        return None

    with receiver:
        found = eventually(refused, "a refusal")
    assert found is not None
    return found


def received_once(system: System, queue: str) -> None:
    """Let a group receive two of three messages, and Kafka forget that it has."""
    put(system, queue, "one", "two", "three")
    with reading(system, queue) as receiver:
        assert take(receiver, top=2) == ["one", "two"]
    with reading(system, queue) as receiver:  # as ever: it goes on
        assert take(receiver) == ["three"]
    forgotten(system, queue)


@pytest.mark.long
def test_forgotten_offsets_are_refused_and_nothing_is_received_again(system: System) -> None:
    received_once(system, "Forgotten")
    refused = failure(reading(system, "Forgotten"))
    assert group_in(system, "readersForgotten") in refused.message
    assert "has received from this queue" in refused.message
    assert "everything below 2, and may have received more" in refused.message
    assert "--begin 0:2" in refused.remedy
    assert failure(reading(system, "Forgotten")).message == refused.message, "each time"


@pytest.mark.long
def test_beginning_receives_everything_again_and_is_kept(system: System) -> None:
    received_once(system, "Again")
    with reading(system, "Again", "beginning") as receiver:
        assert take(receiver, top=1) == ["one"]
    with reading(system, "Again") as receiver:
        assert take(receiver) == ["two", "three"]


@pytest.mark.long
def test_end_skips_what_waits_and_is_kept_before_anything_is_received(system: System) -> None:
    received_once(system, "Later")
    with reading(system, "Later", "end") as receiver:
        nothing(receiver)
    put(system, "Later", "four", first=3)
    with reading(system, "Later", "end") as receiver:
        assert take(receiver) == ["four"]


@pytest.mark.long
def test_an_offset_is_where_it_begins(system: System) -> None:
    received_once(system, "Number")
    for wrong in (4, -1):
        assert "no offset" in failure(reading(system, "Number", wrong), UsageError).message
    with reading(system, "Number", {0: 2}) as receiver:
        assert take(receiver) == ["three"]


def test_the_first_reader_of_a_queue_with_waiting_messages_needs_no_option(system: System) -> None:
    put(system, "Waiting", "one", "two")
    with reading(system, "Waiting") as receiver:
        assert take(receiver) == ["one", "two"]


@pytest.mark.long
def test_a_group_that_received_nothing_begins_at_the_beginning(system: System) -> None:
    """It was there, and its queue was empty: nothing can come again."""
    with reading(system, "Unread") as receiver:
        nothing(receiver)
    forgotten(system, "Unread")
    put(system, "Unread", "one")
    with reading(system, "Unread") as receiver:
        assert take(receiver) == ["one"]


def test_a_group_that_rolled_back_begins_at_the_beginning(system: System) -> None:
    put(system, "Undone", "one")
    with reading(system, "Undone") as receiver:
        assert eventually(lambda: receiver.receive(1), "messages")
        receiver.rollback()
    forgotten(system, "Undone")
    with reading(system, "Undone") as receiver:
        assert take(receiver) == ["one"]


@pytest.mark.long
def test_a_crash_between_the_record_and_the_first_commit_is_no_lost_position(
    system: System,
) -> None:
    """The record says that the group receives; its offset, where it began, was there before."""
    put(system, "Torn", "one")

    def crash(*_: object) -> None:
        raise AbortedError("it crashed", "")

    with reading(system, "Torn") as receiver:
        assert eventually(lambda: receiver.receive(1), "messages")
        with pytest.raises(AbortedError):
            receiver.commit(crash)
    assert system.snapshot(system.cluster.topics.reading("ServerB")), "the record is there"
    with reading(system, "Torn") as receiver:
        assert take(receiver) == ["one"]


def test_another_group_has_never_received(system: System) -> None:
    received_once(system, "Both")
    with reading(system, "Both", group="others") as receiver:
        assert take(receiver) == ["one", "two", "three"]


def test_what_others_write_about_their_groups_stops_nobody(system: System) -> None:
    """Every application of the instance may write there, and a first start reads it."""
    put(system, "Strange", "one")
    for key in (b"x", b"\xff/0/nobody", b"Strange/9/nobody"):
        note(system, key, b"nonsense")
    with reading(system, "Strange") as receiver:
        assert take(receiver) == ["one"]


@pytest.mark.long
def test_a_record_of_its_own_that_cannot_be_read_is_no_reason_to_begin_anew(
    system: System,
) -> None:
    """It says that the group has received, and not how far."""
    put(system, "Unreadable", "one", "two")
    topic = system.cluster.topics.queue(*AT, "Unreadable")
    note(system, reading_key(topic, 0, group_in(system, "readersUnreadable")), b"nonsense")
    refused = failure(reading(system, "Unreadable"), SurroundingsError)
    assert "cannot be read" in refused.message
    assert "--begin" in refused.remedy
    with reading(system, "Unreadable", {0: 1}) as receiver:
        assert take(receiver) == ["two"]


@pytest.mark.long
def test_a_topic_made_anew_was_never_received_from(system: System) -> None:
    received_once(system, "Anew")
    topic = system.cluster.topics.queue(*AT, "Anew")
    before = topic_id(system.cluster, topic)
    delete(system.cluster, topic)
    deploy(system.cluster, system.topology)
    assert topic_id(system.cluster, topic) != before
    put(system, "Anew", "new")
    with reading(system, "Anew") as receiver:
        assert take(receiver) == ["new"]


@pytest.mark.long
def test_a_queue_trimmed_behind_another_group_is_not_skipped_in_silence(system: System) -> None:
    put(system, "Trimmed", "one", "two", "three")
    with reading(system, "Trimmed") as receiver:
        assert take(receiver, top=1) == ["one"]
    trim(system.cluster, {(system.cluster.topics.queue(*AT, "Trimmed"), 0): 2})
    refused = failure(reading(system, "Trimmed"))
    assert "below 1, but the queue begins at 2" in refused.message
    with reading(system, "Trimmed", "beginning") as receiver:
        assert take(receiver) == ["three"]


def test_a_reader_that_is_overtaken_by_trimming_is_refused(system: System) -> None:
    """Nothing of what it has not read is skipped while it runs, either."""
    put(system, "Slow", *(str(n) for n in range(400)))  # more than is read ahead
    topic = system.cluster.topics.queue(*AT, "Slow")
    with reading(system, "Slow") as receiver:
        assert take(receiver, top=1) == ["0"]
        put(system, "Slow", *(str(n) for n in range(400, 3_000)), first=400)
        trim(system.cluster, {(topic, 0): 3_000})

        def refused() -> bool:
            try:
                receiver.receive(0.1, top=100)
                receiver.commit()
            except PositionLostError:
                return True
            return False

        assert eventually(refused, "a refusal")


@pytest.mark.long
def test_each_partition_begins_where_it_is_told(system: System) -> None:
    for partition in (0, 1):
        put(system, "Many", "one", "two", partition=partition)
    with reading(system, "Many") as receiver:
        assert sorted(take(receiver) + take(receiver)) == ["one", "one", "two", "two"]
    forgotten(system, "Many")
    refused = failure(reading(system, "Many", 1), UsageError)
    assert "Give 0:OFFSET too" in refused.remedy
    with reading(system, "Many", {0: 2, 1: 1}) as receiver:
        assert take(receiver) == ["two"]


@pytest.mark.long
def test_an_exchange_is_refused_too(system: System) -> None:
    put(system, "Answering", "one")
    group = group_in(system, "readersAnswering")
    where = (system.cluster, *AT, "Answering", group)
    with Exchange(*where, name="answering") as queue:
        assert eventually(lambda: queue.receive(1), "messages")
        queue.commit()
    forgotten(system, "Answering")
    with Exchange(*where, name="answering") as queue, pytest.raises(PositionLostError):
        assert eventually(lambda: queue.receive(1), "messages") == "refused"
    with Exchange(*where, name="answering", begin="end") as queue:
        assert queue.receive(3) == ()


def test_without_the_topic_of_records_nothing_is_committed(system: System) -> None:
    """A cluster that an older version has applied: `apply` creates it."""
    put(system, "Kept", "one")
    delete(system.cluster, system.cluster.topics.reading("ServerB"))
    refused = failure(reading(system, "Kept"), HoplineError)
    assert "hopline apply" in refused.remedy
    deploy(system.cluster, system.topology)
    with reading(system, "Kept") as receiver:
        assert take(receiver) == ["one"]


def test_a_record_that_kafka_does_not_confirm_is_written_by_another_client_next_time(
    system: System,
) -> None:
    """The client may have lost all brokers."""
    producers: list[Any] = []

    class Noting(HookedCluster):
        def producer(self, **config: Any) -> Any:
            producers.append(super().producer(**config))
            return producers[-1]

    hooked = Noting(system.cluster.bootstrap, system.cluster.topics, hooks={"flush": lambda *_: 1})
    put(system, "Silent", "one")
    with Receiver(hooked, *AT, "Silent", group_in(system, "readersSilent")) as receiver:
        eventually(lambda: receiver.receive(1), "the message")
        with pytest.raises(AbortedError, match="was not recorded: no answer"):
            receiver.commit()
        del hooked.hooks["flush"]
        receiver.commit()
    assert len(producers) == 2


def test_the_record_says_who_has_received_what(system: System) -> None:
    put(system, "Two", "one", "two")
    with reading(system, "Two") as receiver:
        assert take(receiver, top=1) == ["one"]
        assert take(receiver, top=1) == ["two"]
    topic = system.cluster.topics.queue(*AT, "Two")
    found = [
        record["reading"]
        for record in system.snapshot(system.cluster.topics.reading("ServerB"))
        if record["reading"]["topic"] == topic
    ]
    assert [(r["group"], r["partition"], r["position"]) for r in found] == [
        (group_in(system, "readersTwo"), 0, 0)
    ], "one record for each assignment, not for each commit"
    where = [TopicPartition(topic, 0)]
    with reading(system, "Two") as receiver:
        assert receiver.receive(1) == ()
        [known] = receiver._ahead._consumer.committed(where, timeout=DEADLINE)
    assert known.offset == 2


@pytest.mark.parametrize(
    ("option", "begin"),
    [
        ((), None),
        (("beginning",), "beginning"),
        (("end",), "end"),
        (("17",), 17),
        (("0:17", "2:3"), {0: 17, 2: 3}),
    ],
)
def test_the_option_says_where(option: tuple[str, ...], begin: Begin | None) -> None:
    assert begin_of(option) == begin


@pytest.mark.parametrize("wrong", [("start",), ("-1",), ("end", "0:3"), ("0:1", "0:2"), ("1", "2")])
def test_an_option_that_says_nothing_is_refused(wrong: tuple[str, ...]) -> None:
    with pytest.raises(click.UsageError, match="PARTITION:OFFSET"):
        begin_of(wrong)


@pytest.mark.long
def test_the_command_refuses_and_takes_the_option(system: System) -> None:
    received_once(system, "Command")
    where = ("--at", "/".join(AT), "--queue", "Command", "--timeout", 30, *system.options)
    asked = ("receive", *where, "--group", group_in(system, "readersCommand"))
    code, out, err = hopline(*asked)
    assert (code, out) == (3, ""), err
    assert "has received from this queue" in err and "--begin 0:2" in err
    code, out, err = hopline(*asked, "--limit", 1, "--begin", "0:2")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].endswith('"three"') and len(out.splitlines()) == 1
    put(system, "Command", "four", first=3)
    code, out, err = hopline(*asked, "--limit", 1)
    assert code == 0 and out.splitlines()[0].endswith('"four"'), "it goes on"
