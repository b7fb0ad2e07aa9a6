"""Partitions that the client cannot read are read as stored (decision 46)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

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
from streams.kafka.silent_partitions import SilentPartitions
from streams.kafka.stored_batches import Batch, Fetched, UnknownError
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

    def ask(self, place: stalled_fetch.Place, start: int, size: int) -> Future[Fetched]:
        self.asked.append(start)
        return self.response

    def answer(self, *batches: Batch, error: UnknownError | None = None) -> None:
        self.response = Future()
        if error is None:
            self.response.set_result(Fetched([*batches], [], stable=9))
        else:
            self.response.set_exception(error)


def _batch(first: int, *, is_control: bool = False, is_compressed: bool = False) -> Batch:
    return Batch(range(first, first + 1), 1, -1, is_control, is_control, is_compressed)


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
    stored.response.set_result(Fetched([_batch(5)], []))
    assert looks(silent, stored, 5, 6)


def test_a_response_about_an_earlier_offset_does_not_count(silent: SilentPartitions) -> None:
    stored = Stored()
    assert not any(looks(silent, stored, 5, 9) for _ in range(2))
    stored.response.set_result(Fetched([_batch(5)], []))
    assert not looks(silent, stored, 6, 9)


def test_markers_are_asked_about_once(silent: SilentPartitions) -> None:
    stored = Stored()
    stored.answer(_batch(5, is_control=True))
    assert not any(looks(silent, stored, 5, 6) for _ in range(9))
    assert stored.asked == [5]
    stored.answer(_batch(6))
    assert any(looks(silent, stored, 5, 7) for _ in range(3))
    assert stored.asked == [5, 6]


def test_records_behind_an_open_transaction_are_found_when_it_ends(
    silent: SilentPartitions,
) -> None:
    stored = Stored()
    stored.answer()
    assert not any(looks(silent, stored, 5, 7) for _ in range(5))
    stored.answer(_batch(5))
    assert any(looks(silent, stored, 5, 8) for _ in range(3))


def test_compressed_and_unknown_batches_are_left_to_the_client(silent: SilentPartitions) -> None:
    stored = Stored()
    stored.answer(_batch(5, is_compressed=True), _batch(6))
    assert not any(looks(silent, stored, 5, 7) for _ in range(5))
    stored.answer(error=UnknownError(5))
    assert not any(looks(silent, stored, 5, 7) for _ in range(5))
