"""Design, rule 3: a partition's endpoints and positions come back, all of them or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from streams.client import Conversation
from streams.errors import SurroundingsError
from streams.kafka import KafkaError, TopicPartition, watermarks
from streams.protocol import Ack, Journey, Limits, Parties
from streams.wire.records import MESSAGE, ack_record, header_of
from streams.wire.state import Positions, encode_positions
from streams.wire.state_keys import POSITIONS_KEY
from tests.forgetting import forget
from tests.workers.rig import QUICK, Rig, eventually, pause
from tests.workers.test_trimming import deliver, frames, queued

PATIENT = Limits(retries=(60_000,))


def begin(two: Rig, *bodies: bytes) -> Conversation:
    """Begin a dialog at A, and return when it has accepted these messages."""
    with two.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        for body in bodies:
            client.send(dialog, body, wait=True)
    return dialog


def send(two: Rig, dialog: Conversation, body: bytes) -> None:
    """Send, and return when it is accepted."""
    with two.client() as client:
        client.send(dialog, body, wait=True)


def sent(two: Rig) -> list[bytes | None]:
    """Return the bodies of all message frames in ``out`` of A."""
    frames = two.records(two.topics.out("A"))
    return [m.value() for m in frames if header_of(m.headers(), MESSAGE)]  # type: ignore[misc,arg-type]


def delete_offsets(two: Rig) -> None:
    """Let the group's offsets expire, as a broker does after a week without members."""
    forget(two.cluster, f"{two.topics.prefix}endpoint.A")
    assert two.committed("endpoint", two.topics.cmd("A")) < 0


def delete_records(two: Rig, topic: str, before: int) -> None:
    """Let the beginning of a log be gone."""
    admin = two.cluster.admin()
    for future in admin.delete_records([TopicPartition(topic, 0, before)]).values():
        future.result()


def test_positions_come_from_the_state_where_the_groups_are_gone(two: Rig) -> None:
    first = two.endpoint(limits=PATIENT)
    dialog = begin(two, b"one")
    first.stop()
    delete_offsets(two)
    two.endpoint(limits=PATIENT)
    send(two, dialog, b"two")
    assert sent(two) == [b"one", b"two"]


def test_the_higher_one_of_state_and_group_counts(two: Rig) -> None:
    """Both ways round: an old group offset, then an old state record."""
    first = two.endpoint(limits=PATIENT)
    dialog = begin(two, b"one")
    first.stop()
    delete_offsets(two)
    consumer = two.cluster.consumer(f"{two.topics.prefix}endpoint.A")
    old = TopicPartition(two.topics.cmd("A"), 0, 0)
    consumer.commit(offsets=[old], asynchronous=False)
    consumer.close()
    second = two.endpoint(limits=PATIENT)
    send(two, dialog, b"two")
    second.stop()
    two.produce(two.topics.dialog("A"), POSITIONS_KEY, encode_positions(Positions()), partition=0)
    two.endpoint(limits=PATIENT)
    send(two, dialog, b"three")
    assert sent(two) == [b"one", b"two", b"three"]


@pytest.mark.long
def test_the_state_is_read_to_the_high_watermark(two: Rig) -> None:
    """A predecessor's transaction is still open: what it says may come to be true."""
    first = two.endpoint(limits=PATIENT)
    dialog = begin(two, b"one")
    first.stop()
    # The predecessor has applied a second message, and has not committed yet.
    topic = two.topics.dialog("A")
    other = two.cluster.producer(transactional_id=f"{two.topics.prefix}other")
    other.init_transactions(30)
    other.begin_transaction()
    ahead = Positions(cmd=3)
    other.produce(topic, key=POSITIONS_KEY, value=encode_positions(ahead), partition=0)
    assert other.flush(30) == 0
    with two.client() as client:
        client.send(dialog, b"applied already")
    seen: list[str] = []

    def poll(method: Any, *args: Any) -> Any:
        """Note what the reader of the state does behind the end of what is committed."""
        if seen and method.__self__ is not second.consumer("endpoint"):
            seen.append("reads on")
        message = method(*args)
        error = message.error() if message is not None else None
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            seen.append("stable end")
        return message

    hooks = {"poll": poll, "begin_transaction": lambda method: seen.append("goes on") or method()}
    second = two.endpoint(limits=PATIENT, hooks=hooks)
    eventually(lambda: len(seen) > 1 or pause(), "it comes to the end of what is committed")
    assert seen == ["stable end", "reads on"]
    other.commit_transaction(30)
    send(two, dialog, b"two")
    assert sent(two) == [b"one", b"two"], "it believed what the predecessor has superseded"
    assert second.failure is None


def test_a_log_that_begins_above_the_position_stops_the_worker(two: Rig) -> None:
    first = two.endpoint(limits=PATIENT)
    dialog = begin(two, b"one")
    first.stop()
    with two.client() as client:
        for number in range(3):
            client.send(dialog, b"%d" % number)
    cmd = two.topics.cmd("A")
    consumer = two.cluster.consumer("aside")
    end = watermarks(consumer, cmd, 0)[1]
    consumer.close()
    delete_records(two, cmd, end - 1)
    failure = two.endpoint(limits=PATIENT).ended()
    two.running.clear()
    assert isinstance(failure, SurroundingsError)
    assert failure.message == f"{cmd}/0 begins at 4, but only records below 2 were applied."
    assert "Records are lost" in failure.remedy


def test_a_body_that_is_needed_and_gone_is_told_at_once(
    two: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    """Not first when it is to be sent again, minutes later; other dialogs go on."""
    first = two.endpoint(limits=PATIENT)
    dialog, other = begin(two, b"one", b"two"), begin(two, b"other")
    first.stop()
    cmd = two.topics.cmd("A")
    delete_records(two, cmd, 2)
    two.endpoint(limits=PATIENT)
    send(two, other, b"more")
    assert [r.message for r in caplog.records if "begins at" in r.message] == [
        f"A: {cmd}/0 begins at 2, but messages from offset 1 are needed for 1 of 2 "
        f"dialogs; the first is {dialog.id}. Restore the topic, or end these dialogs"
    ]


def test_a_buffered_message_that_is_gone_is_told_at_once(
    two: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    """Its body is in `in` only, because the message before it has not arrived yet."""
    first = two.endpoint("A", limits=PATIENT)
    dialog = begin(two, b"one", b"two")
    begin(two, b"other", b"more")
    first.stop()
    one, second, other, more = frames(two)
    for frame in (second, other):
        deliver(two, frame)
    worker = two.endpoint("B", limits=PATIENT)
    eventually(lambda: queued(two) == [b"other"] or pause(), "the other dialog's message")
    worker.stop()
    inbox = two.topics.inbox("B")
    delete_records(two, inbox, 1)
    two.endpoint("B", limits=PATIENT)
    deliver(two, more)
    eventually(lambda: queued(two) == [b"other", b"more"] or pause(), "other dialogs go on")
    assert [r.message for r in caplog.records if "begins at" in r.message] == [
        f"B: {inbox}/0 begins at 1, but messages from offset 0 are needed for 1 of 2 "
        f"dialogs; the first is {dialog.id}. Restore the topic, or end these dialogs"
    ]
    deliver(two, one)
    [reported] = two.events(1, event=160, instance="B")
    where = reported["conversation"], reported["topic"], reported["offset"]
    assert where == (str(dialog.id), inbox, 3), "the dialog waits for the body"
    assert reported["detail"].startswith(f"rejected because it failed twice: {inbox}/0@0 "), (
        "it says which body is missing"
    )
    assert queued(two) == [b"other", b"more"]


def test_a_log_may_begin_at_the_oldest_body_that_is_needed(
    two: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    first = two.endpoint(limits=PATIENT)
    dialog = begin(two, b"one", b"two")
    first.stop()
    delete_records(two, two.topics.cmd("A"), 1)  # behind what has begun it
    two.endpoint(limits=PATIENT)
    send(two, dialog, b"three")
    assert sent(two) == [b"one", b"two", b"three"]
    assert "begins at" not in caplog.text


def test_without_any_position_the_log_must_begin_at_zero(two: Rig) -> None:
    cmd = two.topics.cmd("A")
    for _ in range(3):
        two.produce(cmd, "nobody", b"")
    delete_records(two, cmd, 2)
    failure = two.endpoint(limits=PATIENT).ended()
    two.running.clear()
    assert isinstance(failure, SurroundingsError)
    assert failure.message == f"{cmd}/0 begins at 2, but only records below 0 were applied."


def test_timers_run_only_behind_the_backlog(two: Rig) -> None:
    """A retry is due, and the acknowledgement that makes it needless waits in ``ack``."""
    first = two.endpoint(limits=Limits(retries=(100,)))
    dialog = begin(two, b"one")
    first.stop()
    two.commit_forwarder_offset("A", 100)
    back = Parties("InitiatorService", "DatabaseA", "TargetService", "DatabaseB", "DEFAULT", False)
    # Many acknowledgements of nothing, and at the end the one that counts: more than a batch.
    noise = ack_record(dialog.id, back, Ack(0), Journey(9, 2**47, 0, 0))
    real = ack_record(dialog.id, back, Ack(1, 0), Journey(9, 2**47, 0, 0))
    producer = two.cluster.producer()
    for key, value, headers in [noise] * 3_000 + [real]:
        producer.produce(two.topics.ack("A"), key=key, value=value, headers=headers)
    assert producer.flush(30) == 0
    second = two.endpoint(limits=PATIENT)
    send(two, dialog, b"two")
    eventually(lambda: two.committed("endpoint", two.topics.ack("A")) == 3_001, "the backlog")
    assert sent(two) == [b"one", b"two"]
    # it counts a transaction after its commit
    eventually(lambda: second.worker.committed > 1 or pause(), "more than one transaction")


@pytest.mark.long
@pytest.mark.parametrize("left_by", ["aborted", "committed", "open"])
def test_what_transactions_leave_at_the_end_of_an_input_keeps_no_timer_back(
    two: Rig, left_by: str
) -> None:
    """No position ever gets behind markers, and what is open or aborted is nobody's to apply."""
    first = two.endpoint(limits=QUICK)
    begin(two, b"one")
    first.stop()
    two.commit_forwarder_offset("A", 100)
    other = two.cluster.producer(transactional_id=f"{two.topics.prefix}other")
    other.init_transactions(30)
    other.begin_transaction()
    for topic in (two.topics.ack("A"), two.topics.inbox("A")):
        other.produce(topic, key=b"nobody", value=b"", partition=0)
    assert other.flush(30) == 0
    if left_by == "aborted":
        other.abort_transaction(30)
    elif left_by == "committed":
        other.commit_transaction(30)
    two.endpoint(limits=QUICK)
    two.until(two.topics.out("A"), 2)
    assert set(sent(two)) == {b"one"}  # a second time at least: its timer ran
    if left_by == "open":
        other.abort_transaction(30)
