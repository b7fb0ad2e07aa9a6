"""Design, rule 4: what becomes of a transaction that Kafka does not commit at once."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from streams.client import Conversation
from streams.embedded import Beside, Broker
from streams.errors import EventKind, Number, SurroundingsError
from streams.kafka import Fetcher, KafkaError, KafkaException, LostBrokers, Message
from streams.kafka.lag import read_ends, read_highs
from streams.node import Transaction
from streams.protocol import Cause, Command, CommandKind, Limits, Source
from streams.wire import decode_journey, decode_result
from streams.wire.records import HOP, command_record, header_of
from streams.workers.endpoint.allowance import Allowance
from streams.workers.endpoint.bodies import command_of
from tests.workers.rig import Gate, Rig, eventually, limit_size, pair, pause, rig

PATIENT = Limits(retries=(60_000,))
TIMES_OUT_SOON = Beside(
    properties={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
)
"""By default Kafka looks every 10 s for transactions that take too long."""


def begin(two: Rig, count: int = 1) -> list[Conversation]:
    """Begin dialogs at A and wait until their endpoints exist."""
    parties = ("A", "DatabaseA", "InitiatorService", "TargetService")
    with two.client() as client:
        return [client.begin(*parties) for _ in range(count)]


def command(dialog: Conversation, body: bytes) -> Command:
    """Return a SEND whose answer goes to ``me``."""
    made = Command(dialog.id, uuid.uuid4(), CommandKind.SEND, "DatabaseA", body=body)
    return made._replace(reply_to="me")


def hand_over(two: Rig, *commands: Command) -> None:
    """Write commands without waiting for what comes of them."""
    for one in commands:
        two.produce(two.topics.cmd("A"), *command_record(one))


def bodies(two: Rig, topic: str) -> list[bytes | None]:
    """Return the committed bodies in a topic."""
    return [m.value() for m in two.records(topic)]  # type: ignore[misc]


def abort(two: Rig, times: int = 1) -> tuple[Any, list[int]]:
    """Return a hook that lets Kafka abort transactions, and a note of each."""
    group, admin = f"{two.topics.prefix}stale", two.cluster.admin()
    consumer = two.cluster.consumer(group)
    consumer.subscribe([two.topics.cmd("B")])
    eventually(lambda: consumer.poll(0.05) or consumer.memberid(), "a membership")
    stale = consumer.consumer_group_metadata()
    consumer.close()  # does not wait until Kafka has removed the member
    members = lambda: admin.describe_consumer_groups([group])[group].result().members  # noqa: E731
    eventually(lambda: not members() or pause(), "the member has left")
    done: list[int] = []

    def hook(method: Any, offsets: Any, member: Any, timeout: float) -> Any:
        if len(done) < times:
            done.append(1)
            return method(offsets, stale, timeout)  # of a member that has left: refused
        return method(offsets, member, timeout)

    return hook, done


@pytest.mark.long
@pytest.mark.parametrize(("times", "count"), [(1, 20), (4, 1)])
def test_after_an_abort_the_same_records_are_read_again_and_applied_once(
    two: Rig, times: int, count: int
) -> None:
    """However often: an abort says nothing about the records, and condemns none of them."""
    first = two.endpoint(limits=PATIENT)
    [dialog] = begin(two)
    hook, done = abort(two, times)
    first.hooks["send_offsets_to_transaction"] = hook
    sends = [command(dialog, b"%d" % n) for n in range(count)]
    hand_over(two, *sends)
    answers = [decode_result(m.value()) for m in two.until(two.topics.result("A"), count, mine)]
    assert done == times * [1]
    assert [a.command_id for a in answers] == [c.command_id for c in sends]
    assert {a.number for a in answers} == {0}
    assert bodies(two, two.topics.out("A")) == [c.body for c in sends]


@pytest.mark.long
def test_each_abort_halves_what_the_next_transaction_takes_on(two: Rig) -> None:
    """It may have been too large for the time that Kafka gives it."""
    first = two.endpoint(limits=PATIENT)
    [dialog] = begin(two)
    (hook, _), taken_on = abort(two, 4), list[int]()

    def note(method: Any, *args: Any) -> Any:
        taken_on.append(first.worker.assignment.owned[0].allowance.records)
        return hook(method, *args)

    first.hooks["send_offsets_to_transaction"] = note
    hand_over(two, command(dialog, b"one"))
    two.until(two.topics.result("A"), 1, mine)
    assert taken_on[:5] == [1_000, 500, 250, 125, 62]


def wait_for_time_out(two: Rig) -> None:
    """Wait until Kafka has ended the transaction that is open in the state topic of A."""
    state = [two.topics.dialog("A")]
    assert read_ends(two.cluster, state) != read_highs(two.cluster, state), "none is open"
    is_over = lambda: read_ends(two.cluster, state) == read_highs(two.cluster, state)  # noqa: E731
    eventually(lambda: is_over() or pause(), "Kafka aborts the transaction")


@pytest.mark.long
def test_a_transaction_that_kafka_has_timed_out_halves_the_next(
    unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka fences its producer, so the worker restarts its loop; its partitions keep the limit."""
    monkeypatch.setattr("streams.kafka.cluster.TRANSACTION_TIMEOUT_MS", 5_000)
    with (
        Broker(tmp_path / "kafka", beside=TIMES_OUT_SOON) as broker,
        rig(broker.bootstrap, unique, pair(tmp_path)) as two,
    ):
        first = two.endpoint(slot="a", limits=PATIENT)
        [dialog] = begin(two)
        taken_on, commits = list[int](), list[str]()

        def note(method: Any, *args: Any) -> Any:
            taken_on.append(first.worker.assignment.owned[0].allowance.records)
            return method(*args)

        def commit(method: Any, timeout: float) -> Any:
            if len(commits) < 2:
                commits.append("late")
                wait_for_time_out(two)
            return method(timeout)

        first.hooks.update(begin_transaction=note, commit_transaction=commit)
        sends = [command(dialog, b"%d" % n) for n in range(20)]
        hand_over(two, *sends)
        answers = [
            decode_result(m.value()) for m in two.until(two.topics.result("A"), len(sends), mine)
        ]
        assert commits == ["late", "late"]
        assert taken_on[:3] == [1_000, 500, 250]
        assert [a.command_id for a in answers] == [c.command_id for c in sends]
        assert bodies(two, two.topics.out("A")) == [c.body for c in sends]
        assert len(list(filter(mine, two.records(two.topics.result("A"))))) == len(sends)
        assert first.failure is None


def test_only_statements_that_were_accepted_stay_in_memory(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused and repeated ones are never needed again, and would evict others."""
    first = two.endpoint(limits=PATIENT)
    [dialog] = begin(two)
    kept: list[bytes | None] = []
    remember = Fetcher.remember

    def note(self: Fetcher, message: Message) -> None:
        kept.append(message.value())
        remember(self, message)

    monkeypatch.setattr(Fetcher, "remember", note)
    source = Source("me", "agent", uuid.uuid4(), 0)
    sends = [
        command(dialog, body)._replace(cause=Cause(source, offset))
        for offset, body in enumerate((b"one", b"two"))
    ]
    refused = command(dialog, b"refused")._replace(conversation=uuid.uuid4())
    hand_over(two, sends[0], refused, sends[0], sends[1])
    two.until(two.topics.result("A"), 4, mine)
    assert kept == [b"one", b"two"]
    assert first.failure is None


def test_records_for_which_a_transaction_has_no_room_are_applied_by_the_next(two: Rig) -> None:
    """A SEND on two conversations counts twice, so half of what is read has room."""
    first = two.endpoint(limits=PATIENT)
    dialogs = begin(two, 40)  # few messages of each, which transmit although their flow is full
    first.worker.assignment.owned[0].allowance = Allowance(8)
    sends = [
        command(dialog, b"%d" % n)._replace(also=(dialogs[n - 1].id,))
        for n, dialog in enumerate(dialogs)
    ]
    hand_over(two, *sends)
    answers = [decode_result(m.value()) for m in two.until(two.topics.result("A"), 40, mine)]
    assert [a.command_id for a in answers] == [c.command_id for c in sends]
    assert Counter(bodies(two, two.topics.out("A"))) == Counter(2 * [c.body for c in sends])


def test_statements_for_which_there_is_no_room_are_not_decoded(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A SEND on a thousand conversations takes 2 ms to decode, and fills a transaction."""
    first = two.endpoint(limits=PATIENT)
    dialogs = begin(two, 12)
    first.worker.assignment.owned[0].allowance = Allowance(8)
    decoded: list[uuid.UUID] = []

    def note(message: Message, headers: Any) -> Command:
        read = command_of(message, headers)
        decoded.append(read.command_id)
        return read

    monkeypatch.setattr("streams.workers.endpoint.inputs.command_of", note)
    sends = [
        command(dialog, b"body")._replace(also=tuple(d.id for d in dialogs if d is not dialog))
        for dialog in dialogs
    ]
    refused = [
        one._replace(command_id=uuid.uuid4(), also=(*one.also, uuid.uuid4())) for one in sends
    ]
    hand_over(two, *refused, *sends)
    numbers = [decode_result(m.value()).number for m in two.until(two.topics.result("A"), 24, mine)]
    assert numbers == [Number.HANDLE_UNKNOWN] * 12 + [0] * 12
    assert decoded == [one.command_id for one in (*refused, *sends)]


def test_work_that_is_bisected_has_a_limit_too(two: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """One record that fails must not put all others into one transaction."""
    first, gate = two.endpoint(limits=PATIENT), Gate()
    dialogs = begin(two, 12)
    owned = first.worker.assignment.owned[0]
    owned.allowance = Allowance(8)
    planned, apply = list[int](), Transaction.command

    def failing(tx: Transaction, position: int, one: Command) -> bool:
        if one.body == b"waits":
            gate.hold()
        elif one.body == b"fails":
            raise ZeroDivisionError
        done = apply(tx, position, one)
        planned.append(tx.planned)
        return done

    monkeypatch.setattr(Transaction, "command", failing)
    waits, fails = (command(dialogs[0], body) for body in (b"waits", b"fails"))
    sends = [
        command(dialog, b"%d" % n)._replace(also=tuple(d.id for d in dialogs if d is not dialog))
        for n, dialog in enumerate(dialogs)
    ]
    hand_over(two, waits)
    gate.wait()
    hand_over(two, fails, *sends)  # so the next batch has several of them
    gate.open()
    answers = [decode_result(m.value()) for m in two.until(two.topics.result("A"), 14, mine)]
    assert [a.command_id for a in answers] == [c.command_id for c in (waits, fails, *sends)]
    assert [a.number != 0 for a in answers] == [False, True] + [False] * 12

    def is_merged() -> bool:  # after the commit that lets clients read the answers
        dialog = owned.endpoint.dialogs["DatabaseA", dialogs[0].id, True]
        return dialog.send_sequence == 13 or pause()

    eventually(is_merged, "the endpoint has the number of the last message")
    assert max(planned) <= 8 + 12
    assert first.failure is None


def test_a_body_may_go_to_many_dialogs_if_it_may_go_to_one(two: Rig) -> None:
    """The largest body of a record limits each message, and not all copies together."""
    two.endpoint(limits=PATIENT)
    first, *others = begin(two, 10)
    body = bytes(100_000)
    hand_over(two, command(first, body)._replace(also=tuple(other.id for other in others)))
    [answer] = two.until(two.topics.result("A"), 1, mine)
    assert decode_result(answer.value()).number == 0
    assert sum(len(each or b"") for each in bodies(two, two.topics.out("A"))) == 10 * len(body)


def mine(message: Any) -> bool:
    """Tell whether a Result answers a command of this module."""
    return message.key() == b"me"


def test_a_timer_whose_transaction_was_aborted_is_armed_again(two: Rig) -> None:
    first = two.endpoint(limits=Limits(retries=(400, 60_000)))
    [dialog] = begin(two)
    hook, done = abort(two)
    hand_over(two, command(dialog, b"one"))
    two.until(two.topics.out("A"), 1)
    first.hooks["send_offsets_to_transaction"] = hook
    two.commit_forwarder_offset("A", 100)
    [retry] = two.until(two.topics.out("A"), 1, lambda m: attempt(m) > 0)
    assert (done, attempt(retry)) == ([1], 1)
    assert len(two.records(two.topics.out("A"))) == 2


def attempt(message: Any) -> int:
    """Return which transmission a copy is."""
    return decode_journey(header_of(message.headers(), HOP)).attempt


def test_a_commit_that_timed_out_is_called_again_and_taken_for_no_abort(two: Rig) -> None:
    calls: list[str] = []

    def impatient(method: Any, timeout: float) -> Any:
        """Give up at once every other time, while the broker goes on committing."""
        calls.append("commit")
        try:
            return method(0 if calls.count("commit") % 2 else timeout)
        except KafkaException:
            calls.append("timed out")
            raise

    first = two.endpoint(limits=PATIENT, hooks={"commit_transaction": impatient})
    first.hooks["abort_transaction"] = lambda method, *args: calls.append("abort") or method(*args)
    [dialog] = begin(two)
    sent = 0
    while "timed out" not in calls:  # a commit may be so fast that it does not
        sent += 1
        assert sent < 100
        hand_over(two, command(dialog, b"%d" % sent))
        two.until(two.topics.result("A"), sent, mine)
    assert "abort" not in calls
    assert bodies(two, two.topics.out("A")) == [b"%d" % n for n in range(1, sent + 1)]
    assert first.failure is None


@pytest.mark.long
def test_a_client_that_does_not_come_back_is_replaced(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a group's coordinator moves, sending offsets may take for ever (librdkafka 5456)."""
    monkeypatch.setattr("streams.kafka.patience.FIRST", 0.5)
    first = two.endpoint(limits=PATIENT)
    [dialog] = begin(two)
    stuck = Gate()

    def once(method: Any, *args: Any) -> Any:
        first.hooks.clear()
        return stuck(method, *args)

    first.hooks["send_offsets_to_transaction"] = once
    hand_over(two, *(command(dialog, b"%d" % n) for n in range(3)))
    stuck.wait()
    two.until(two.topics.result("A"), 3, mine)
    assert bodies(two, two.topics.out("A")) == [b"0", b"1", b"2"]
    stuck.open()
    hand_over(two, command(dialog, b"3"))
    two.until(two.topics.out("A"), 1, lambda m: m.value() == b"3")
    assert bodies(two, two.topics.out("A")) == [b"0", b"1", b"2", b"3"]
    assert first.failure is None


@pytest.mark.long
def test_a_command_that_kafka_refuses_is_refused_alone_with_event_and_result(two: Rig) -> None:
    """Its record is too large for ``out``; its neighbours in the batch go through."""
    first = two.endpoint(limits=PATIENT)
    dialogs = begin(two, 5)
    first.stop()
    limit_size(two.cluster, two.topics.out("A"), 4_000)
    sends = [command(d, b"%d" % n) for n, d in enumerate(dialogs)]
    sends[2] = sends[2]._replace(body=os.urandom(8_000))
    hand_over(two, *sends)
    two.endpoint(limits=PATIENT)
    answers = [decode_result(m.value()) for m in two.until(two.topics.result("A"), 5, mine)]
    assert [(a.command_id, a.number) for a in answers] == [
        (c.command_id, Number.MESSAGE_TOO_LARGE if n == 2 else 0) for n, c in enumerate(sends)
    ]
    assert bodies(two, two.topics.out("A")) == [b"0", b"1", b"3", b"4"]
    [reported] = two.events(1, error=Number.MESSAGE_TOO_LARGE)
    assert reported["event"] == EventKind.CONVERSATION
    assert reported["message_id"] == str(sends[2].command_id)
    assert reported["topic"] == two.topics.cmd("A")
    # The refused message has no number: the next one of its dialog takes its place.
    hand_over(two, command(dialogs[2], b"after"))
    two.until(two.topics.out("A"), 1, lambda m: m.value() == b"after")


def at_once(method: Any, topic: str, *args: Any, **record: Any) -> None:
    """Let Kafka refuse a record while others of its transaction are still to be written."""
    method(topic, *args, **record)
    if ".queue." in topic:
        method.__self__.flush(10)


@pytest.mark.long
@pytest.mark.parametrize("hooks", [{}, {"produce": at_once}], ids=["at the end", "at once"])
def test_a_frame_that_kafka_refuses_is_not_acknowledged_and_its_neighbours_are(
    two: Rig, hooks: dict[str, Any]
) -> None:
    """Its queue takes no record of this size; two other dialogs share the batch with it."""
    for name in ("A", "B"):
        two.forwarder(name)
    two.endpoint("A", limits=PATIENT)
    queue = two.topics.queue("B", "DatabaseB", "TargetQueue")
    limit_size(two.cluster, queue, 4_000)
    dialogs = begin(two, 3)
    large = os.urandom(8_000)
    hand_over(two, *map(command, dialogs, (b"first", large, b"third")))
    frames = two.until(two.topics.inbox("B"), 3)
    target = two.endpoint("B", limits=PATIENT, hooks=hooks)
    assert [m.value() for m in two.until(queue, 2)] == [b"first", b"third"]
    [reported] = two.events(1, event=EventKind.MESSAGE_UNDELIVERABLE)
    [refused] = [m for m in frames if m.value() == large]
    assert reported["error"] == Number.MESSAGE_TOO_LARGE
    assert reported["conversation"] == str(dialogs[1].id)
    assert (reported["topic"], reported["offset"]) == (two.topics.inbox("B"), refused.offset())
    acked = two.until(two.topics.ack("A"), 2)
    assert {m.key() for m in acked} == {str(dialogs[n].id).encode() for n in (0, 2)}
    hand_over(two, command(dialogs[0], b"on it goes"))
    two.until(queue, 1, lambda m: m.value() == b"on it goes")
    assert target.failure is None
    assert len(two.records(queue)) == 3


@pytest.mark.parametrize("call", ["commit_transaction", "committed"])
def test_a_worker_whose_client_has_forgotten_kafka_ends(
    two: Rig, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """It would try for ever: the producer to commit, the other consumer to say what has left."""

    def unanswered(method: Any, *args: Any, **named: Any) -> Any:
        if call == "committed" and named.get("timeout") != 2:
            return method(*args, **named)  # not by the one that only looks
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "no answer", retriable=True))

    def finds(self: LostBrokers, is_well: bool, *clients: Any) -> bool:
        [client, *others] = clients or (None,)
        return not is_well and not others and hasattr(client, call)

    monkeypatch.setattr(LostBrokers, "finds", finds)
    worker = two.endpoint(hooks={call: unanswered}, limits=Limits(retries=(100,)))
    with two.client() as client:
        parties = ("A", "DatabaseA", "InitiatorService", "TargetService")
        client.send(client.begin(*parties, wait=False), b"x")
    failure = worker.ended()
    assert isinstance(failure, SurroundingsError)
    assert "has lost all brokers" in failure.message
