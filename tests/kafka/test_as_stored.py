"""Partitions that the client cannot read are read as stored (decision 46)."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from concurrent.futures import Future
from threading import Timer
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from streams.kafka import (
    CheckedConsumer,
    Cluster,
    ConsumerHealth,
    Message,
    silent_partitions,
    stalled_fetch,
    stored_partitions,
    take,
)
from streams.kafka.batch_headers import Fetched, headers
from streams.kafka.silent_partitions import SilentPartitions
from streams.kafka.stalled_fetch import Place
from streams.kafka.stored_batches import StoredBatches, UnknownError
from tests.kafka.raw_batch import FAR, UNCOMPRESSED, append, batch, record
from tests.kafka.raw_transaction import RawTransactions
from tests.kafka.test_checked_consumer import BEHIND, GOOD, good, topic_of
from tests.running import eventually

FAR_BATCH = batch(record(0, value=b"far", far=True), codec=UNCOMPRESSED)
SILENT_BATCH = batch(record(0, value=b"silent", longer=FAR >> 1), codec=UNCOMPRESSED)
SOUND = good(GOOD, UNCOMPRESSED)
END = good(BEHIND, UNCOMPRESSED)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check for silent partitions with each call."""
    monkeypatch.setattr(silent_partitions, "_EVERY", 0.0)


def reading(cluster: Cluster, topic: str, partitions: int = 1, **config: Any) -> CheckedConsumer:
    consumer = cluster.consumer(topic, exact={topic}, **config)
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    return consumer


def records(
    consumer: CheckedConsumer, count: int, health: ConsumerHealth | None = None
) -> list[tuple[int | None, bytes | None]]:
    """Read ``count`` records; return their offsets and values."""
    found = list[tuple[int | None, bytes | None]]()

    def reads() -> bool:
        found.extend((m.offset(), m.value()) for m in take(consumer, 0.1) if m.error() is None)
        if health is not None:
            health.look(True, consumer)
        return len(found) >= count

    eventually(reads, f"{count} records")
    return found


def numbered(*values: bytes) -> list[tuple[int, bytes]]:
    return list(enumerate(values))


@pytest.mark.parametrize("bad", [FAR_BATCH, SILENT_BATCH], ids=["far", "silent"])
def test_each_record_is_returned_once_with_its_true_offset(
    kafka: str, unique: str, bad: bytes, at_once: None, caplog: pytest.LogCaptureFixture
) -> None:
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED)
    for one in (SOUND, *[bad] * 20, SOUND, bad, END):
        append(kafka, topic, one)
    consumer = reading(cluster, topic)
    value = b"far" if bad is FAR_BATCH else b"silent"
    assert records(consumer, 24) == numbered(GOOD, *[value] * 20, GOOD, value, BEHIND)
    assert (topic, 0) in consumer.as_stored
    assert consumer.next_offset((topic, 0)) == 24
    consumer.close()
    assert caplog.text.count("is read as stored for a minute") == 1


def test_gaps_of_transactions_are_left_to_the_client(kafka: str, unique: str) -> None:
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED)
    producer = cluster.producer(transactional_id=unique, compression_type="none")
    producer.init_transactions(30)
    for _ in range(3):
        producer.begin_transaction()
        producer.produce(topic, GOOD)
        producer.commit_transaction(30)
    consumer = reading(cluster, topic)
    assert records(consumer, 3) == [(0, GOOD), (2, GOOD), (4, GOOD)]
    assert not consumer.as_stored
    consumer.close()


def test_silent_partitions_do_not_wait_for_each_other(
    kafka: str, unique: str, at_once: None
) -> None:
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED, partitions=4)
    producer, consumer = cluster.producer(), reading(cluster, topic, 4)
    for number in range(4):
        append(kafka, topic, SILENT_BATCH, partition=number)
        producer.produce(topic, BEHIND, partition=number)
    producer.flush()
    assert sorted(records(consumer, 8)) == [(0, b"silent")] * 4 + [(1, BEHIND)] * 4
    assert len(consumer.as_stored) == 4
    consumer.close()


def test_the_client_and_stored_partitions_take_turns(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if there are always records of both, and if an application asks for single records."""
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED, partitions=4)
    consumer = reading(cluster, topic, 4)

    class Always(stored_partitions.StoredPartition):
        def take(self) -> Message:
            return Message(topic=topic, partition=self._place[1], offset=1)

    monkeypatch.setattr(stored_partitions, "StoredPartition", Always)
    for number in range(2):
        assert consumer.read_as_stored((topic, number), 0)

    def of_client(most: int, timeout: float) -> list[Message]:
        return [Message(topic=topic, partition=2, offset=1)] * most

    monkeypatch.setattr(consumer, "_of_client", of_client)
    monkeypatch.setattr(consumer, "_checked", list)
    partitions = [message.partition() for _ in range(4) for message in consumer.consume(3, 0.1)]
    assert partitions == [2, 2, 2, 0, 1, 0, 2, 2, 2, 1, 0, 1]
    assert [consumer.poll(0).partition() for _ in range(4)] == [2, 0, 2, 1]  # type: ignore[union-attr]
    consumer.close()


def test_paused_partitions_return_nothing_and_seeks_are_followed(kafka: str, unique: str) -> None:
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED)
    for one in (FAR_BATCH, SOUND, END):
        append(kafka, topic, one)
    consumer, where = reading(cluster, topic), [TopicPartition(topic, 0)]
    assert len(records(consumer, 3)) == 3
    consumer.pause(where)
    consumer.seek(TopicPartition(topic, 0, 1))
    assert [*take(consumer, 0.1), *take(consumer, 0.1)] == []
    consumer.resume(where)
    assert records(consumer, 2) == [(1, GOOD), (2, BEHIND)]
    assert (topic, 0) in consumer.as_stored
    consumer.close()


def test_after_a_minute_the_client_continues(
    kafka: str, unique: str, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it cannot read the next batch either, the next minute begins."""
    monkeypatch.setattr(stored_partitions, "_FETCH", 1)
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED)
    for one in (FAR_BATCH, SOUND, SOUND, SILENT_BATCH, FAR_BATCH):
        append(kafka, topic, one)
    consumer = reading(cluster, topic)
    found = list[tuple[int | None, bytes | None]]()

    def reads() -> bool:
        message = consumer.poll(0.1)
        if message is not None:
            found.append((message.offset(), message.value()))
            for one in consumer.as_stored._partitions.values():
                one._until = 0.0  # the minute is over
        return len(found) == 5 and not consumer.as_stored

    eventually(reads, "the records")
    assert found == numbered(b"far", GOOD, GOOD, b"silent", b"far")
    append(kafka, topic, END)
    assert records(consumer, 1) == [(5, BEHIND)]
    assert not consumer.as_stored
    consumer.close()


@pytest.mark.parametrize("end", ["minute", "no response", "compressed"])
def test_no_record_is_lost_when_reading_as_stored_ends(
    kafka: str, unique: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading ends in the middle of a call, which returns the records before."""
    monkeypatch.setattr(stored_partitions, "_FETCH", 1)
    cluster, topic = topic_of(kafka, unique, None)
    compressed = good(b"lz4") if end == "compressed" else SOUND
    for one in (FAR_BATCH, *[SOUND] * 4, compressed, *[SOUND] * 4, END):
        append(kafka, topic, one)
    asked = list[int]()
    ask = StoredBatches.ask

    def asks(self: StoredBatches, place: Place, start: int, size: int) -> Future[Fetched]:
        asked.append(start)
        if end == "minute" and start == 4:
            for one in consumer.as_stored._partitions.values():
                one._until = 0.0
        if end == "no response" and start == 4 and asked.count(4) == 1:
            failed = Future[Fetched]()
            failed.set_exception(UnknownError(4))
            return failed
        return ask(self, place, start, size)

    monkeypatch.setattr(StoredBatches, "ask", asks)
    consumer = reading(cluster, topic)
    found = records(consumer, 11)
    middle = b"lz4" if end == "compressed" else GOOD
    assert found == numbered(b"far", *[GOOD] * 4, middle, *[GOOD] * 4, BEHIND)
    assert 4 in asked
    assert not consumer.as_stored
    consumer.close()


def test_a_call_waits_as_long_as_it_is_asked_to(kafka: str, unique: str) -> None:
    """Readers take a call without a message for a broker that does not respond."""
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED)
    append(kafka, topic, FAR_BATCH)
    consumer = reading(cluster, topic)
    records(consumer, 1)
    producer = Timer(0.5, append, (kafka, topic, END))
    producer.start()
    message = consumer.poll(30)
    producer.join()
    assert message is not None and message.value() == BEHIND
    consumer.close()


def test_only_assigned_partitions_are_read_as_stored(
    kafka: str, unique: str, at_once: None
) -> None:
    """A member of a group may have other partitions now."""
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED, partitions=2)
    for number in range(2):
        append(kafka, topic, FAR_BATCH, partition=number)
    consumer = reading(cluster, topic, 2)
    records(consumer, 2)
    Consumer.assign(consumer, [TopicPartition(topic, 1, 1)])  # as the client does by itself
    append(kafka, topic, SILENT_BATCH)
    append(kafka, topic, END, partition=1)
    found = list[Message]()

    def reads() -> bool:
        found.extend(take(consumer, 0.05))
        return BEHIND in [message.value() for message in found]

    eventually(reads, "the record behind")
    assert {message.partition() for message in found} == {1}
    assert (topic, 0) not in consumer.as_stored
    consumer.close()


def test_a_partition_of_records_that_were_just_read_is_not_silent(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next offset is not that of the records yet."""
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED)
    consumer = reading(cluster, topic)
    looked = list[object]()
    monkeypatch.setattr(consumer._silent, "find", lambda nexts, *_: looked.append(nexts) or [])
    monkeypatch.setattr(consumer._silent, "_look_at", math.inf)
    append(kafka, topic, SOUND)
    monkeypatch.setattr(consumer._silent, "_look_at", 0.0)
    eventually(lambda: consumer.consume(8, 1.0), "a record")
    assert looked[-1] == {}
    consumer.close()


def test_compressed_batches_are_left_to_the_client(
    kafka: str, unique: str, at_once: None, caplog: pytest.LogCaptureFixture
) -> None:
    """Where a broker has stored them before, it has not checked their records."""
    cluster, topic = topic_of(kafka, unique, None)
    unreadable = batch(record(0), record(1), behind=b"x")
    for one in (
        FAR_BATCH,
        good(GOOD),
        unreadable,
        FAR_BATCH,
        good(GOOD),
        SILENT_BATCH,
        unreadable,
        END,
    ):
        append(kafka, topic, one)
    consumer = reading(cluster, topic)
    assert records(consumer, 6) == [
        (0, b"far"), (1, GOOD), (4, b"far"), (5, GOOD), (6, b"silent"), (9, BEHIND),
    ]  # fmt: skip
    assert f"{topic}/0: skipped: the rest of a batch from 2 to 3; it is unreadable" in caplog.text
    consumer.close()


def test_compacted_batches_are_left_to_the_client(
    kafka: str, unique: str, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their records do not have successive offsets."""
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED)
    for one in (FAR_BATCH, batch(record(0), record(1), codec=UNCOMPRESSED), END):
        append(kafka, topic, one)
    request = StoredBatches._request

    async def compacted(self: StoredBatches, place: Place, start: int, size: int) -> Fetched:
        fetched = await request(self, place, start, size)
        batches = [one._replace(records=1) for one in fetched.batches]
        return fetched._replace(batches=batches)

    monkeypatch.setattr(StoredBatches, "_request", compacted)
    consumer = reading(cluster, topic)
    assert [offset for offset, _ in records(consumer, 4)] == [0, 1, 2, 3]
    assert not consumer.as_stored
    consumer.close()


def test_the_end_of_the_partition_is_told(kafka: str, unique: str) -> None:
    """Workers need it when the log ends with markers."""
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED)
    append(kafka, topic, FAR_BATCH)
    RawTransactions(kafka, unique, topic).abort((record(0),), codec=UNCOMPRESSED)
    consumer = reading(cluster, topic, enable_partition_eof=True)
    found = list[Message]()

    def reads() -> bool:
        found.extend(take(consumer, 0.1))
        return len(found) >= 2

    eventually(reads, "the end")
    assert [take(consumer, 0.1) for _ in range(3)] == [[]] * 3, "once"
    error = found[1].error()
    assert error is not None and error.code() == KafkaError._PARTITION_EOF
    assert [one.offset() for one in found] == [0, 3]
    assert [one.offset for one in consumer.position([TopicPartition(topic, 0)])] == [3]
    consumer.close()


def test_only_committed_records_are_read(kafka: str, unique: str) -> None:
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED)
    append(kafka, topic, FAR_BATCH)
    consumer = reading(cluster, topic)
    records(consumer, 1)
    RawTransactions(kafka, f"{unique}a", topic).abort((record(0, value=b"no"),), codec=UNCOMPRESSED)
    producer = cluster.producer(transactional_id=unique, compression_type="none")
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, GOOD)
    producer.flush()
    append(kafka, topic, END)
    assert [*take(consumer, 0.1), *take(consumer, 0.1)] == []
    producer.commit_transaction(30)
    assert records(consumer, 2) == [(3, GOOD), (4, BEHIND)]
    assert (topic, 0) in consumer.as_stored
    consumer.close()


def test_without_a_response_the_client_reads_again(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows better what has happened, for example that the topic was deleted."""
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED)
    append(kafka, topic, FAR_BATCH)
    consumer = reading(cluster, topic)
    records(consumer, 1)
    stored = consumer._stored
    assert stored is not None

    async def fails(place: Any, start: int, size: int) -> Fetched:
        raise ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr(stored, "_request", fails)
        eventually(lambda: take(consumer, 0.1) or not consumer.as_stored, "the client")
    for one in (SOUND, FAR_BATCH, END):
        append(kafka, topic, one)
    assert records(consumer, 3) == [(1, GOOD), (2, b"far"), (3, BEHIND)]
    consumer.close()


def test_another_assignment_is_read_by_the_client(kafka: str, unique: str) -> None:
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED)
    append(kafka, topic, FAR_BATCH)
    append(kafka, topic, END)
    consumer = reading(cluster, topic)
    records(consumer, 2)
    consumer.assign([TopicPartition(topic, 0, 1)])
    assert not consumer.as_stored
    assert records(consumer, 1) == [(1, BEHIND)]
    consumer.close()


def test_a_topic_without_exact_offsets_is_read_as_stored_after_a_search(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as ``ingress``: there, a partition counts as stalled first."""
    monkeypatch.setattr(stalled_fetch, "_QUIET", 0.2)
    monkeypatch.setattr(stalled_fetch, "_EVERY", 0.1)
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED)
    for one in (SOUND, SILENT_BATCH, SOUND, SILENT_BATCH, FAR_BATCH, END):
        append(kafka, topic, one)
    health = ConsumerHealth(cluster)
    consumer = cluster.consumer(unique, stats=health.report, statistics_interval_ms=100)
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = records(consumer, 6, health)
    assert found == numbered(GOOD, b"silent", GOOD, b"silent", b"far", BEHIND)
    consumer.close()


# --- the search for silent partitions ---------------------------------------------------------


class Stored:
    """Answers requests with what a test says."""

    def __init__(self) -> None:
        self.asked = list[int]()
        self.response: Future[Fetched] = Future()

    def ask(self, place: Place, start: int, size: int) -> Future[Fetched]:
        self.asked.append(start)
        return self.response

    def answer(self, *batches: bytes, error: UnknownError | None = None) -> None:
        self.response = Future()
        if error is None:
            self.response.set_result(_fetched(*batches))
        else:
            self.response.set_exception(error)


def _fetched(*batches: bytes) -> Fetched:
    data = b"".join(batches)
    return Fetched([*headers(data)], [], data, stable=9)


def _at(first: int, raw: bytes = SILENT_BATCH) -> bytes:
    """Return a batch as it is stored at an offset."""
    return struct.pack(">q", first) + raw[8:]


MARKER, SILENT_LZ4 = batch(record(0), codec=32), batch(record(0, length=500))


@pytest.fixture
def silent() -> Iterator[SilentPartitions]:
    now = iter(range(0, 1_000_000, 10))
    yield SilentPartitions(lambda: float(next(now)))


PLACE = ("topic", 0)


def looks(silent: SilentPartitions, stored: Any, offset: int, end: int) -> bool:
    return silent.find({PLACE: offset}, lambda _: end, stored) == [PLACE]


def test_a_partition_is_asked_about_once_it_has_stopped(silent: SilentPartitions) -> None:
    stored = Stored()
    assert not any(looks(silent, stored, offset, offset + 1) for offset in range(5))
    assert not any(looks(silent, stored, 5, 5) for _ in range(5))
    assert stored.asked == []
    assert not any(looks(silent, stored, 5, 6) for _ in range(4))
    assert stored.asked == [5], "once, until there is a response"
    stored.response.set_result(_fetched(_at(5)))
    assert looks(silent, stored, 5, 6)


def test_a_response_about_an_earlier_offset_does_not_count(silent: SilentPartitions) -> None:
    stored = Stored()
    assert not any(looks(silent, stored, 5, 9) for _ in range(2))
    stored.response.set_result(_fetched(_at(5)))
    assert not looks(silent, stored, 6, 9)


@pytest.mark.parametrize(
    "raw",
    [
        SOUND,
        FAR_BATCH,
        batch(record(0, b"", b"", [(b"a", b"b")]), record(1), codec=UNCOMPRESSED),
        SILENT_LZ4,
    ],
    ids=["sound", "far", "empty", "compressed"],
)
def test_what_the_client_can_read_and_compressed_batches_are_left_to_it(
    silent: SilentPartitions, raw: bytes
) -> None:
    """It may just read other partitions first."""
    stored = Stored()
    stored.answer(_at(5, raw), _at(7))
    assert not any(looks(silent, stored, 5, 8) for _ in range(5))


@pytest.mark.parametrize("where", ["record", "key", "value"])
def test_a_length_that_the_client_reads_otherwise_is_found(
    silent: SilentPartitions, where: str
) -> None:
    sound = record(1, b"key", b"value")
    long = {
        "record": record(1, b"key", b"value", longer=FAR >> 1),
        "key": sound.replace(b"\x06key", b"\x86\x80\x80\x80\x10key"),
        "value": sound.replace(b"\x0avalue", b"\x8a\x80\x80\x80\x10value"),
    }[where]
    assert long != sound
    stored = Stored()
    stored.answer(_at(5, batch(record(0), long, codec=UNCOMPRESSED)))
    assert any(looks(silent, stored, 5, 7) for _ in range(3))


def test_a_batch_that_was_cut_off_is_requested_again(silent: SilentPartitions) -> None:
    stored = Stored()
    stored.answer(_at(5, MARKER), _at(6)[:-1])
    assert not any(looks(silent, stored, 5, 7) for _ in range(2))
    stored.answer(_at(6))
    assert any(looks(silent, stored, 5, 7) for _ in range(3))
    assert stored.asked == [5, 6]


def test_markers_are_asked_about_once(silent: SilentPartitions) -> None:
    stored = Stored()
    stored.answer(_at(5, MARKER))
    assert not any(looks(silent, stored, 5, 6) for _ in range(9))
    assert stored.asked == [5]
    stored.answer(_at(6))
    assert any(looks(silent, stored, 5, 7) for _ in range(3))
    assert stored.asked == [5, 6]
    assert any(looks(silent, stored, 2, 7) for _ in range(3)), "after a seek back"
    assert stored.asked == [5, 6, 2]


def test_records_behind_an_open_transaction_are_found_when_it_ends(
    silent: SilentPartitions,
) -> None:
    stored = Stored()
    stored.answer()
    assert not any(looks(silent, stored, 5, 7) for _ in range(5))
    stored.answer(_at(5))
    assert any(looks(silent, stored, 5, 8) for _ in range(3))


def test_without_a_response_nothing_is_silent(silent: SilentPartitions) -> None:
    stored = Stored()
    stored.answer(error=UnknownError(5))
    assert not any(looks(silent, stored, 5, 7) for _ in range(5))
