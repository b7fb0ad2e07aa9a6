"""Gaps before a record, and batches that the client cannot read after each other (decision 46)."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import TopicPartition

from streams.kafka import (
    OFFSET_BEGINNING,
    Cluster,
    ConsumerHealth,
    Message,
    checked_consumer,
    create,
    headers_of,
    stalled_fetch,
    stored_batches,
)
from streams.wire import Topics
from streams.wire.specs import TopicSpec
from tests.kafka.raw_batch import UNCOMPRESSED, append, batch, disguised, record
from tests.kafka.raw_transaction import RawTransactions
from tests.kafka.test_checked_consumer import (
    BEHIND,
    GOOD,
    fail_first,
    good,
    looked_after,
    received,
    topic_of,
)
from tests.running import eventually
from tests.workers.rig import pause

FAR, SILENT = (record(0, far=True),), (record(0, length=500), record(1, length=500))


def read(cluster: Cluster, topic: str, *last: bytes) -> list[bytes | None]:
    consumer = cluster.consumer(topic, exact={topic})
    consumer.assign([TopicPartition(topic, 0, 0)])
    return received(consumer, *last)


@pytest.mark.parametrize(
    "aborted",
    [FAR, SILENT, disguised(3, b"lie"), disguised(2, b"lie"), disguised(900, b"lie")],
    ids=["far", "silent", "another record", "in the gap", "later"],
)
def test_an_unreadable_batch_that_was_aborted_hides_no_record(
    kafka: str,
    unique: str,
    aborted: tuple[bytes, ...],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A consumer of committed records does not parse it, but one of aborted records does."""
    cluster, topic = topic_of(kafka, unique)
    transactions = RawTransactions(kafka, unique, topic)
    append(kafka, topic, good(GOOD))
    for value in (b"1", b"2"):
        transactions.abort(aborted)
        append(kafka, topic, good(value))
    transactions.abort((record(0),), aborted, (record(0), record(1)))
    append(kafka, topic, good(BEHIND))
    assert read(cluster, topic, BEHIND) == [GOOD, b"1", b"2", BEHIND]
    assert "skipped" not in caplog.text


def test_aborted_records_do_not_hide_a_lie(kafka: str, unique: str) -> None:
    """They state the offsets of the statements that the lie would skip, and of its copy.

    As stored, it has a correct offset.
    """
    cluster = Cluster(kafka, Topics(unique))
    topic = cluster.topics.cmd("S")
    create(cluster, [TopicSpec(topic, "cmd", 1, {"compression.type": "producer"})])
    when = int(time.time() * 1000)
    append(kafka, topic, good(GOOD))
    stated = [record(n) for n in range(1, 8)]
    RawTransactions(kafka, unique, topic).abort(disguised(8, b"lie", *stated), at=when)
    later = [b"5", b"6", b"7", b"8"]
    append(kafka, topic, batch(record(5, value=b"lie"), codec=UNCOMPRESSED, at=when))  # at 4
    for value in later:
        append(kafka, topic, good(value))
    append(kafka, topic, batch(record(value=b"lie"), at=when))
    append(kafka, topic, good(BEHIND))
    assert read(cluster, topic, BEHIND) == [GOOD, b"lie", *later, b"lie", BEHIND]


def test_a_lie_with_other_headers_does_not_replace_a_statement(kafka: str, unique: str) -> None:
    """Its offset, key, value and time are those of the statement after it."""
    cluster, topic = topic_of(kafka, unique)
    when = int(time.time() * 1000)
    append(kafka, topic, good(GOOD))
    append(kafka, topic, batch(*disguised(2, b"3"), at=when))
    append(kafka, topic, batch(record(value=b"3", headers=[(b"name", b"content")]), at=when))
    consumer = cluster.consumer(unique, exact={topic})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: dict[int | None, list[tuple[str, bytes | None]]] = {}

    def reads() -> bool:
        found.update({one.offset(): headers_of(one) for one in consumer.consume(8, 0.1)})
        return 3 in found

    eventually(reads, "the statement")
    consumer.close()
    assert found[3] == [("name", b"content")]


@pytest.mark.parametrize("exact", [True, False])
def test_a_search_that_takes_long_continues_with_the_next_poll(
    kafka: str, unique: str, exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no time at all, each poll checks one batch."""
    monkeypatch.setattr(checked_consumer, "_BUDGET", 0.0)
    monkeypatch.setattr(stored_batches, "_FETCH", 1)
    monkeypatch.setattr(stored_batches, "_FETCH_MORE", 1)
    cluster, topic = topic_of(kafka, unique)
    append(kafka, topic, good(GOOD))
    RawTransactions(kafka, unique, topic).abort(*[(record(0),)] * 10)  # 1 to 10, and a marker
    append(kafka, topic, good(b"12"))
    append(kafka, topic, batch(*(record(n, far=True) for n in range(10))))
    append(kafka, topic, good(b"23"))
    append(kafka, topic, batch(*(record(n) for n in range(10)), behind=b"x"))
    append(kafka, topic, good(BEHIND))
    consumer = cluster.consumer(unique, exact={topic} if exact else ())
    consumer.assign([TopicPartition(topic, 0, 0)])
    found, positions = list[bytes | None](), set[int | None]()

    def reads() -> bool:
        found.extend(message.value() for message in consumer.consume(1, 0.1))
        positions.add(consumer.next_offset((topic, 0)))
        return BEHIND in found

    eventually(reads, "the last record")
    consumer.close()
    assert found == [GOOD, b"12", b"23", BEHIND]
    assert positions >= {*range(2 if exact else 12, 12), 23, 34}


def test_a_poll_whose_time_is_up_drops_no_further_records(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a poll might not end while the searches of several partitions continue."""
    cluster, topic = topic_of(kafka, unique)
    append(kafka, topic, batch(*(record(n) for n in range(100))))
    consumer, dropped = cluster.consumer(unique), list[Message]()

    def drop(batch: list[Message]) -> list[Message]:
        dropped.extend(batch)
        return []

    monkeypatch.setattr(consumer, "_checked", drop)
    consumer.assign([TopicPartition(topic, 0, 0)])
    eventually(lambda: consumer.poll(0) or dropped or pause(), "a record")
    consumer.close()
    assert len(dropped) == 1


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    "bad",
    [batch(*FAR), batch(record(0), behind=b"x"), batch(*disguised(900, b"lie"))],
    ids=["far", "not decompressed", "later"],
)
def test_reading_continues_at_a_batch_without_response_behind_an_unreadable_one(
    kafka: str, unique: str, bad: bytes, exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stalled_fetch, "_QUIET", 0.2)
    monkeypatch.setattr(stalled_fetch, "_EVERY", 0.1)
    cluster, topic = topic_of(kafka, unique)
    for one in (good(GOOD), bad, batch(*SILENT), good(BEHIND)):
        append(kafka, topic, one)
    health = ConsumerHealth(cluster)
    consumer = cluster.consumer(
        unique,
        exact={topic} if exact else (),
        stats=health.report,
        statistics_interval_ms=100,
        fetch_message_max_bytes=1,
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = looked_after(consumer, health)
    assert [value for value in found if value != b"sound"] == [GOOD, BEHIND]
    consumer.close()


def test_a_wrong_offset_at_the_start_is_not_returned_while_kafka_does_not_respond(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where reading has begun is not known as a number yet."""
    cluster, topic = topic_of(kafka, unique)
    append(kafka, topic, batch(*FAR))
    append(kafka, topic, good(BEHIND))
    consumer = cluster.consumer(unique)
    fail_first(consumer, 2, monkeypatch)
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    assert received(consumer, BEHIND) == [BEHIND]


def test_a_call_searches_in_other_partitions_only_for_a_limited_time(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten partitions in which searches take long must not make a thread count as hung."""
    cluster, topic = Cluster(kafka, Topics(unique)), f"{unique}exact"
    create(cluster, [TopicSpec(topic, "event", 2, {})])
    producer = cluster.producer(transactional_id=unique)
    producer.init_transactions(30)
    for value in (GOOD, BEHIND):  # a gap of one marker is between them
        producer.begin_transaction()
        for number in range(2):
            producer.produce(topic, value, partition=number)
        producer.commit_transaction(30)
    monkeypatch.setattr(checked_consumer, "_SEARCHES", 0.0)
    consumer = cluster.consumer(unique, exact={topic})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(2)])
    found: list[bytes | None] = []

    def reads(count: int) -> bool:
        found.extend(message.value() for message in consumer.consume(8, 0.1))
        return len(found) >= count

    eventually(lambda: reads(2), "the records before the gaps")
    assert not any(reads(3) for _ in range(3))
    monkeypatch.setattr(checked_consumer, "_SEARCHES", 10.0)
    eventually(lambda: reads(4), "the records behind the gaps")
    assert sorted(filter(None, found)) == sorted([GOOD, BEHIND] * 2)
    consumer.close()
