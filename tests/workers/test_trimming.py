"""Design, rules 1 and 5: topics shrink behind what committed state needs, and never before it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from streams.client import Conversation, Receiver
from streams.kafka import KafkaError, KafkaException, headers_of, read_all, trim, watermarks
from streams.node.endpoint.moving import TOO_MUCH
from streams.protocol import Limits
from streams.report import read_facts
from streams.topology import load
from streams.wire.records import MESSAGE, ORIGIN, OUTSIDE, header_of, is_moved, read_queued
from streams.workers.process import trimming as trimming_module
from streams.workers.process.trimming import Trimming, every
from tests.workers.rig import PAIR, QUICK, TO_B, Gate, Killed, Rig, Running, eventually, pause, rig

PATIENT = Limits(retries=(60_000,))
QUEUES = "queues: {{TargetQueue: {{group: readers}}}}\n        services: {{TargetService"


@pytest.fixture
def read(kafka: str, unique: str, tmp_path: Path) -> Iterator[Rig]:
    """Return two instances; the catalog names a consumer group for the target's queue."""
    text = PAIR.replace("services: {{TargetService", QUEUES).format(route=TO_B, partitions=1)
    (tmp_path / "topology.yaml").write_text(text.replace("readers", f"{unique}readers"))
    with rig(kafka, unique, load(tmp_path, time.time())) as made:
        yield made


def trims(two: Rig, *running: Running, keep: float = 0) -> Trimming:
    """Return what shortens the topics of these workers."""
    return Trimming(two.cluster, two.control(), [each.worker for each in running], keep)


def begins(two: Rig, topic: str, partition: int = 0) -> int:
    """Return where a log begins."""
    consumer = two.cluster.consumer("aside")
    low = watermarks(consumer, topic, partition)[0]
    consumer.close()
    return low


def goes_to(two: Rig, trimming: Trimming, topic: str, begin: int) -> None:
    """Trim until a log begins there, and demand that it stays so."""

    def reached() -> bool:
        two.check()
        trimming.once()
        return begins(two, topic) >= begin or pause()

    eventually(reached, f"{topic} begins at {begin}")
    for _ in range(3):
        trimming.once()
    assert begins(two, topic) == begin


def begin(two: Rig, *bodies: bytes) -> Conversation:
    """Begin a dialog at A, and return when it has accepted these messages."""
    with two.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        for body in bodies:
            client.send(dialog, body, wait=True)
    return dialog


def queued(two: Rig) -> list[bytes]:
    """Return the bodies in the target's queue."""
    topic = two.topics.queue("B", "DatabaseB", "TargetQueue")
    return [read_queued(m.value(), headers_of(m)).body for m in two.records(topic)]


def frames(two: Rig) -> list[Any]:
    """Return the message frames that A has sent."""
    found = two.records(two.topics.out("A"))
    return [m for m in found if header_of(headers_of(m), MESSAGE)]


def deliver(two: Rig, frame: Any) -> None:
    """Bring a frame of A into ``in`` of B, in the forwarders' stead."""
    headers = [*headers_of(frame), (ORIGIN, OUTSIDE)]
    two.produce(two.topics.inbox("B"), frame.key(), frame.value(), headers)


@pytest.mark.long
def test_all_topics_shrink_when_everything_is_done(read: Rig) -> None:
    """Commands, copies, frames and acknowledgements go; the queue behind its consumer group."""
    workers = [
        read.endpoint("A", trims_every=0.05),
        read.endpoint("B", trims_every=0.05),
        read.forwarder("A"),
        read.forwarder("B"),
    ]
    begin(read, b"one", b"two")
    eventually(lambda: len(queued(read)) == 2 or pause(), "both have arrived")
    names, trimming = read.topics, trims(read, *workers)
    goes_to(read, trimming, names.cmd("A"), 3)
    for topic in (names.out("A"), names.txq("B"), names.inbox("B"), names.ack("A")):
        eventually(lambda: trimming.once() or not read.records(topic) or pause(), topic)  # noqa: B023
    queue = names.queue("B", "DatabaseB", "TargetQueue")
    assert begins(read, queue) == 0, "nobody has received anything"
    with Receiver(read.cluster, "B", "DatabaseB", "TargetQueue", f"{names.prefix}readers") as r:
        eventually(lambda: r.receive(0.5, 1), "a message")
        r.commit()
    # Behind it lies the second one, or the marker of its transaction where that was another.
    eventually(lambda: trimming.once() or begins(read, queue) in (1, 2) or pause(), "it shrinks")
    trimming.once()
    assert queued(read) == [b"two"]


def test_a_group_that_kafka_refuses_does_not_stop_the_trimming_of_others(
    read: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes the catalog could name one; all topics of the process would grow."""

    refused: list[KafkaException] = []

    def refuse(*_: object) -> NoReturn:
        raise KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))

    monkeypatch.setattr(trimming_module, "read_positions", refuse)
    workers = [
        read.endpoint("A", trims_every=0.05),
        read.endpoint("B", trims_every=0.05),
        read.forwarder("A"),
        read.forwarder("B"),
    ]
    begin(read, b"one")
    trimming = trims(read, *workers)

    def shrunk() -> bool:
        try:
            trimming.once()  # raises nothing before a worker owns the queue
        except KafkaException as error:
            refused.append(error)
        return begins(read, read.topics.cmd("A")) >= 2 or pause()

    eventually(shrunk, "the commands are gone")
    assert refused


@pytest.mark.long
def test_every_partition_of_a_queue_shrinks(kafka: str, unique: str, tmp_path: Path) -> None:
    """A queue may have more of them than its instance; each is looked after by one worker."""
    shared = QUEUES.replace("group: readers", f"group: {unique}readers, partitions: 3")
    text = PAIR.replace("services: {{TargetService", shared).format(route=TO_B, partitions=2)
    (tmp_path / "topology.yaml").write_text(text)
    with rig(kafka, unique, load(tmp_path, time.time())) as two:
        workers = [two.endpoint("A"), two.endpoint("B"), two.forwarder("A"), two.forwarder("B")]
        for number in range(24):
            begin(two, b"%d" % number)
        eventually(lambda: len(queued(two)) == 24 or pause(), "all have arrived")
        queue, trimming = two.topics.queue("B", "DatabaseB", "TargetQueue"), trims(two, *workers)
        with Receiver(two.cluster, "B", "DatabaseB", "TargetQueue", f"{unique}readers") as reader:
            left = 24

            def received() -> bool:
                nonlocal left
                left -= len(reader.receive(0.5))
                reader.commit()
                return left == 0

            eventually(received, "all are received")
        eventually(lambda: trimming.once() or not queued(two) or pause(), "it is empty")
        assert all(begins(two, queue, number) > 0 for number in range(3))


def test_what_is_no_longer_needed_stays_for_as_long_as_it_is_told_to(two: Rig) -> None:
    workers = [two.endpoint("A", trims_every=0.05), two.endpoint("B"), two.forwarder("A")]
    workers.append(two.forwarder("B"))
    begin(two, b"one")
    goes_to(two, trims(two, workers[0]), two.topics.cmd("A"), 2)
    begin(two, b"two")
    eventually(
        lambda: workers[0].worker.trim_points[two.topics.cmd("A"), 0] == 4 or pause(), "done"
    )
    trims(two, *workers, keep=3600).once()
    assert begins(two, two.topics.cmd("A")) == 2
    assert (every(7 * 24 * 3600), every(100), every(0)) == (60, 10, 1)


@pytest.mark.long
def test_a_successor_goes_on_right_behind_a_trim(two: Rig) -> None:
    """What is unacknowledged is read and sent again; the first copies are lost."""
    first = two.endpoint("A", trims_every=0.05)
    begin(two, b"waits", b"waits too")
    goes_to(two, trims(two, first), two.topics.cmd("A"), 1)
    first.stop()
    consumer = two.cluster.consumer("aside", isolation_level="read_uncommitted")
    two.commit_forwarder_offset("A", watermarks(consumer, two.topics.out("A"), 0)[1])
    consumer.close()
    two.endpoint("A", limits=QUICK)
    two.endpoint("B")
    two.forwarder("A")
    two.forwarder("B")
    eventually(lambda: queued(two) == [b"waits", b"waits too"] or pause(), "they arrive")


@pytest.mark.long
def test_what_arrived_out_of_order_outlives_everything_around_it(two: Rig) -> None:
    first = two.endpoint("A", limits=PATIENT)
    begin(two, b"before")
    begin(two, b"one", b"two")
    begin(two, b"behind")
    first.stop()
    before, one, two_, behind = frames(two)
    for frame in (before, two_, behind):
        deliver(two, frame)
    worker = two.endpoint("B", limits=PATIENT, trims_every=0.05)
    eventually(lambda: queued(two) == [b"before", b"behind"] or pause(), "both others")
    goes_to(two, trims(two, worker), two.topics.inbox("B"), 1)
    worker.stop()
    worker = two.endpoint("B", limits=PATIENT, trims_every=0.05)
    deliver(two, one)
    arrived = [b"before", b"behind", b"one", b"two"]
    eventually(lambda: queued(two) == arrived or pause(), "all of it")
    goes_to(two, trims(two, worker), two.topics.inbox("B"), 4)


@pytest.mark.long
def test_one_body_that_waits_keeps_little_from_being_trimmed(two: Rig) -> None:
    """It is copied behind ten thousand records that nobody needs, and sent from there."""
    first = two.endpoint("A", trims_every=0.05)
    begin(two, b"waits")
    cmd, producer = two.topics.cmd("A"), two.cluster.producer()
    for _ in range(TOO_MUCH + 100):
        producer.produce(cmd, key=b"nobody", value=b"rubbish")
    assert producer.flush(60) == 0
    goes_to(two, trims(two, first), cmd, TOO_MUCH + 102)
    (body,) = [m for m in two.records(cmd) if is_moved(headers_of(m))]
    assert body.value() == b"waits"
    first.stop()
    consumer = two.cluster.consumer("aside", isolation_level="read_uncommitted")
    two.commit_forwarder_offset("A", watermarks(consumer, two.topics.out("A"), 0)[1])
    consumer.close()
    workers = [two.endpoint("A", limits=QUICK, trims_every=0.05), two.endpoint("B")]
    workers += [two.forwarder("A"), two.forwarder("B")]
    eventually(lambda: queued(two) == [b"waits"] or pause(), "it arrives")
    ledger = read_facts(two.cluster, two.topology).balance()
    assert ledger.verdict == "nothing lost, as far back as the logs go"
    assert (ledger.unsaid, ledger.accepted) == (1, 0)
    eventually(lambda: trims(two, *workers).once() or not two.records(cmd) or pause(), "it goes")
    assert queued(two) == [b"waits"], "a copy says nothing new"


def test_what_is_not_committed_lets_nothing_go(two: Rig) -> None:
    """An acknowledgement is applied and its commit never comes: the message is sent again."""
    gate = Gate()

    def commit(method: Any, *args: Any) -> Any:
        gate.hold()
        raise Killed

    first = two.endpoint("A", limits=PATIENT, trims_every=0.01)
    begin(two, b"one")
    eventually(
        lambda: first.worker.trim_points.get((two.topics.cmd("A"), 0)) == 1 or pause(), "looked"
    )
    first.hooks["commit_transaction"] = commit
    two.endpoint("B")
    two.forwarder("A")
    two.forwarder("B")
    gate.wait()
    assert queued(two) == [b"one"], "it is the acknowledgement that is applied"
    trimming = trims(two, first)
    goes_to(two, trimming, two.topics.cmd("A"), 1)
    assert begins(two, two.topics.ack("A")) == 0
    gate.open()
    assert isinstance(first.ended(), Killed)
    two.running.remove(first)
    trimming.once()
    assert begins(two, two.topics.cmd("A")) == 1
    last = two.endpoint("A", trims_every=0.05)
    goes_to(two, trims(two, last), two.topics.cmd("A"), 2)


def test_what_a_forwarder_has_not_committed_stays(two: Rig) -> None:
    """Copies that are held in memory stay too: a view shows them."""
    first = two.endpoint("A", limits=PATIENT)
    begin(two, b"one", b"two")
    first.stop()
    gate = Gate()
    forwarder = two.forwarder("A", hooks={"commit": gate})
    gate.wait()
    trimming = trims(two, forwarder)
    trimming.once()
    assert begins(two, two.topics.out("A")) == 0
    gate.open()
    end = list(read_all(two.cluster, two.topics.out("A"), to_high=True))[-1].offset() or 0
    eventually(
        lambda: trimming.once() or begins(two, two.topics.out("A")) > end or pause(), "they go"
    )


def test_a_forwarder_whose_records_are_gone_stops(two: Rig) -> None:
    """Rule 3: a log that begins above the position says that something was lost."""
    first = two.endpoint("A", limits=PATIENT)
    begin(two, b"one", b"two")
    first.stop()
    two.commit_forwarder_offset("A", 0)
    trim(two.cluster, {(two.topics.out("A"), 0): 1})
    failure = two.forwarder("A").ended()
    two.running.clear()
    assert "Records after the committed offset were deleted" in getattr(failure, "remedy", "")
