"""Design, rules 10 to 12: what belongs together is one transaction, and closed stays closed."""

from __future__ import annotations

import uuid
from typing import Any

from streams.client import Conversation
from streams.errors import EventKind, Number
from streams.kafka import KafkaError, KafkaException
from streams.protocol import Acknowledgement, Command, CommandKind, Limits, State
from streams.wire import decode_event, decode_result
from streams.wire.records import MESSAGE, command_record, header_of, read_ack
from tests.endpoints import read_dialogs
from tests.workers.rig import Gate, Rig, Running, eventually

PATIENT = Limits(retries=(60_000,))


def start_all(two: Rig, limits: Limits) -> Running:
    """Start all workers; returns that of the target."""
    control = two.control("A", "B")
    for name in "AB":
        two.forwarder(name, control=control)
    two.endpoint("A", limits=limits, control=control)
    return two.endpoint("B", limits=limits, control=control)


def begin(two: Rig) -> Conversation:
    """Begin a dialog at A."""
    with two.client() as client:
        return client.begin("A", "DatabaseA", "InitiatorService", "TargetService")


def record_transactions(running: Running) -> list[set[str]]:
    """Return what will hold the topics of each transaction that a worker begins from now on."""
    transactions: list[set[str]] = []

    def produce(method: Any, topic: str, *record: Any, **named: Any) -> Any:
        transactions[-1].add(topic)
        return method(topic, *record, **named)

    def begin_transaction(method: Any) -> Any:
        transactions.append(set())
        return method()

    running.hooks.update(produce=produce, begin_transaction=begin_transaction)
    return transactions


def test_a_message_is_acknowledged_in_the_transaction_that_appends_it(two: Rig) -> None:
    """As long as it is not in the queue nobody is told so; afterwards both are true at once."""
    target = start_all(two, PATIENT)
    gate, transactions = Gate(), record_transactions(target)
    target.hooks["commit_transaction"] = gate
    dialog = begin(two)
    with two.client() as client:
        client.send(dialog, b"one")
    gate.wait()
    queue, out = two.topics.queue("B", "DatabaseB", "TargetQueue"), two.topics.out("B")
    assert [topics & {queue, out} for topics in transactions] == [{queue, out}]
    assert [two.records(topic, stable=True) for topic in (queue, out)] == [[], []]
    gate.open()
    [frame] = two.until(out, 1)
    assert [m.value() for m in two.records(queue)] == [b"one"]
    ack = read_ack(frame.key(), frame.value(), frame.headers())  # type: ignore[arg-type]
    assert isinstance(ack, Acknowledgement)
    assert ack.ack.next_sequence == 1


def test_an_aborted_delivery_is_not_acknowledged(two: Rig) -> None:
    """The target's transaction fails once after everything was produced: it happens once."""
    target = start_all(two, PATIENT)
    failed: list[int] = []

    def commit(method: Any, timeout: float) -> Any:
        if not failed:
            failed.append(len(two.records(two.topics.ack("A"))))
            raise KafkaException(KafkaError(KafkaError._STATE, "for a test", False, False, True))
        return method(timeout)

    target.hooks["commit_transaction"] = commit
    dialog = begin(two)
    with two.client() as client:
        client.send(dialog, b"one")
    queue = two.topics.queue("B", "DatabaseB", "TargetQueue")
    assert [m.value() for m in two.until(queue, 1)] == [b"one"]
    assert failed == [0], "acknowledged before it was stored"
    assert len(two.until(two.topics.ack("A"), 1)) == 1


def test_a_replayed_first_message_does_not_open_a_closed_dialog_again(two: Rig) -> None:
    start_all(two, PATIENT)  # a retry would be another duplicate
    dialog = begin(two)
    queue = two.topics.queue("B", "DatabaseB", "TargetQueue")
    with two.client() as client:
        client.send(dialog, b"one")
        client.end(dialog)
        two.until(queue, 2)
        client.end(Conversation("B", "DatabaseB", dialog.id, is_initiator=False))
    ends = ("A", "B")
    eventually(lambda: [state(two, at) for at in ends] == [State.CD] * 2, "both are closed")
    first = two.records(two.topics.txq("B"))[0]
    assert header_of(first.headers(), MESSAGE) is not None  # type: ignore[arg-type]
    before = len(two.records(two.topics.ack("A")))
    two.copy(first, two.topics.txq("B"))
    [reported] = two.events(1, event=EventKind.MESSAGE_UNDELIVERABLE, instance="B")
    assert (reported["error"], reported["sequence"]) == (Number.DUPLICATE, 0)
    two.until(two.topics.ack("A"), before + 1)  # it is acknowledged: who sends it must stop
    assert state(two, "B") == State.CD
    assert len(two.records(queue)) == 2


def state(two: Rig, instance: str) -> State | None:
    """Return the state of the one endpoint of an instance."""
    return next((d.state for _, d in read_dialogs(two.cluster, instance)), None)


def test_a_rejected_command_has_its_event_and_its_result_in_one_transaction(two: Rig) -> None:
    gate, worker = Gate(), two.endpoint(limits=PATIENT)
    transactions = record_transactions(worker)
    worker.hooks["commit_transaction"] = gate
    unknown = Command(
        uuid.uuid4(), uuid.uuid4(), CommandKind.SEND, "DatabaseA", reply_to="me", body=b"x"
    )
    two.produce(two.topics.cmd("A"), *command_record(unknown))
    gate.wait()
    reported = (two.topics.event, two.topics.result("A"))
    assert [topics & set(reported) for topics in transactions] == [set(reported)]
    assert [two.records(topic, stable=True) for topic in reported] == [[], []]
    gate.open()
    [answer] = two.until(reported[1], 1)
    result, [event] = decode_result(answer.value()), two.records(reported[0])
    assert (result.command_id, result.number) == (unknown.command_id, Number.HANDLE_UNKNOWN)
    read = decode_event(event.value())
    assert (read["event"], read["error"]) == (EventKind.CONVERSATION, Number.HANDLE_UNKNOWN)
    assert read["message_id"] == str(unknown.command_id)
