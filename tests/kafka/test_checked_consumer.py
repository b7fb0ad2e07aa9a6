"""Batches that Kafka's broker stores, and its client cannot read (decision 46)."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition

from streams.kafka import (
    OFFSET_BEGINNING,
    CheckedConsumer,
    Cluster,
    Consumer,
    ConsumerHealth,
    create,
    read_all,
    stalled_fetch,
    take,
)
from streams.kafka import silent_search as silent
from streams.kafka.batch_headers import Fetched
from streams.kafka.stalled_fetch import Place
from streams.wire import Topics
from streams.wire.specs import TopicSpec
from tests.kafka.raw_batch import LZ4, UNCOMPRESSED, append, batch, disguised, record
from tests.running import eventually

GOOD, BEHIND = b"good", b"behind"


def topic_of(
    kafka: str, prefix: str, codec: int | None = LZ4, *, partitions: int = 1
) -> tuple[Cluster, str]:
    """Create a topic of a codec, or of those that its writers choose."""
    cluster = Cluster(kafka, Topics(prefix))
    topic = cluster.topics.cmd("S")
    compression = {LZ4: "lz4", UNCOMPRESSED: "uncompressed", None: "producer"}[codec]
    create(cluster, [TopicSpec(topic, "cmd", partitions, {"compression.type": compression})])
    return cluster, topic


def good(value: bytes, codec: int = LZ4) -> bytes:
    return batch(record(0, b"k", value), codec=codec)


def values(cluster: Cluster, topic: str) -> list[bytes]:
    return [message.value() or b"" for message in read_all(cluster, topic)]


def looked_after(consumer: Consumer, health: ConsumerHealth) -> list[bytes | None]:
    """Return the values up to the record behind; look after the consumer as a worker does."""
    found: list[bytes | None] = []

    def reads() -> bool:
        found.extend(message.value() for message in consumer.consume(8, 0.1))
        health.look(True, consumer)
        return BEHIND in found

    eventually(reads, "the record behind")
    return found


def received(consumer: Consumer, *last: bytes) -> list[bytes | None]:
    """Return the values until all of ``last`` have come, taken as the workers take records."""
    found: list[bytes | None] = []

    def reads() -> bool:
        messages = take(consumer, 0.1)
        errors = [(m.error().name(), m.offset()) for m in messages if m.error() is not None]
        assert {name for name, _ in errors} <= {"_PARTITION_EOF"}, errors
        found.extend(message.value() for message in messages if message.error() is None)
        return set(last) <= set(found)

    eventually(reads, f"the records {last!r}")
    consumer.close()
    return found


def fail_first(
    consumer: CheckedConsumer, failures: int, monkeypatch: pytest.MonkeyPatch
) -> list[Place]:
    """Let the first requests for headers fail; return a list of the partitions of all requests."""
    stored, asked = consumer._stored, list[Place]()
    assert stored is not None
    request = stored._request

    async def fails(place: Place, start: int, size: int) -> Fetched:
        asked.append(place)
        if len(asked) <= failures:
            raise ConnectionError
        return await request(place, start, size)

    monkeypatch.setattr(stored, "_request", fails)
    return asked


@pytest.mark.parametrize("codec", [LZ4, UNCOMPRESSED])
@pytest.mark.parametrize("fetched", [1, 1 << 20])
def test_a_record_with_an_offset_beyond_the_end_is_dropped(
    kafka: str, unique: str, codec: int, fetched: int, caplog: pytest.LogCaptureFixture
) -> None:
    """With small fetches, the client has no next record, and fetches behind the end of the log.

    If the batch is uncompressed, the rest of it is read as stored.
    """
    cluster, topic = topic_of(kafka, unique, codec)
    bad = batch(record(0, value=b"sound"), record(1, far=True), record(2), codec=codec)
    for one in (good(GOOD, codec), bad, good(GOOD, codec), bad, good(BEHIND, codec)):
        append(kafka, topic, one)
    consumer = cluster.consumer(unique, fetch_message_max_bytes=fetched, enable_partition_eof=True)
    consumer.assign([TopicPartition(topic, 0, 0)])
    rest = [] if codec == LZ4 else [b"v", b"v"]
    assert received(consumer, BEHIND) == [GOOD, b"sound", *rest, GOOD, b"sound", *rest, BEHIND]
    skipped = f"{topic}/0: skipped: the rest of a batch from 2 to 3; it is unreadable"
    assert (skipped in caplog.text) == (codec == LZ4)


def test_a_log_that_begins_with_a_wrong_offset_is_read(kafka: str, unique: str) -> None:
    cluster, topic = topic_of(kafka, unique)
    for one in (batch(record(0, far=True)), good(BEHIND), batch(record(0, far=True))):
        append(kafka, topic, one)
    assert values(cluster, topic) == [BEHIND]


@pytest.mark.parametrize("fetched", [1, 1 << 20])
@pytest.mark.parametrize("stated", [2, 3, 6])
def test_a_record_with_the_offset_of_another_one_is_dropped_where_offsets_are_exact(
    kafka: str, unique: str, fetched: int, stated: int
) -> None:
    """Otherwise the client fetches behind the stated offset, and the records before are lost."""
    cluster, topic = topic_of(kafka, unique)
    later = [b"%d" % n for n in range(3, 8)]
    bad = batch(*disguised(stated - 1, b"lie"))
    for one in (good(GOOD), bad, *map(good, later), bad, good(BEHIND)):
        append(kafka, topic, one)
    consumer = cluster.consumer(unique, exact={topic}, fetch_message_max_bytes=fetched)
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = received(consumer, BEHIND)
    lies = [b"lie"] if stated == 2 else []  # what it states is true
    assert found[: 2 + len(lies)] == [GOOD, b"sound", *lies]
    assert [value for value in found if value in later] == later
    assert found.count(b"lie") <= 2 * len(lies)


def test_a_lie_is_found_although_its_copy_is_at_the_stated_offset(kafka: str, unique: str) -> None:
    cluster, topic = topic_of(kafka, unique)
    later = [b"%d" % n for n in range(3, 6)]
    for one in (good(GOOD), batch(*disguised(5, b"lie")), *map(good, later), good(b"lie")):
        append(kafka, topic, one)
    append(kafka, topic, good(BEHIND))
    consumer = cluster.consumer(unique, exact={topic})
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert received(consumer, BEHIND) == [GOOD, b"sound", *later, b"lie", BEHIND]


@pytest.mark.parametrize("shift", [1, 10])
def test_records_that_state_slightly_higher_offsets_hide_no_others(
    kafka: str, unique: str, shift: int
) -> None:
    """Each offset before them is one of their own batch, and the last ones state those behind.

    As stored, they have correct offsets.
    """
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED)
    later = [b"%d" % number for number in range(20)]
    bad = batch(*(record(n + shift, value=b"lie") for n in range(11)), codec=UNCOMPRESSED)
    for one in (good(GOOD, UNCOMPRESSED), bad, *(good(one, UNCOMPRESSED) for one in later)):
        append(kafka, topic, one)
    consumer = cluster.consumer(unique, exact={topic})
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert received(consumer, later[-1]) == [GOOD, *[b"lie"] * 11, *later]


@pytest.mark.parametrize("failures", [1, 2, 3])
def test_nothing_is_skipped_while_kafka_does_not_respond(
    kafka: str, unique: str, failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record after a gap is read again until it is known what the gap contains."""
    cluster, topic = topic_of(kafka, unique)
    producer = cluster.producer(transactional_id=unique)
    producer.init_transactions(30)
    sent = [b"%d" % number for number in range(3)]
    for value in sent:
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.commit_transaction(30)
    consumer = cluster.consumer(unique, exact={topic})
    fail_first(consumer, failures, monkeypatch)
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert received(consumer, sent[-1]) == sent


def test_a_batch_is_read_twice_before_it_is_skipped(kafka: str, unique: str) -> None:
    """If the client has jumped, the batches in the gap are sound."""
    cluster, topic = topic_of(kafka, unique)
    sent = [b"%d" % number for number in range(10)]
    for value in sent:
        append(kafka, topic, good(value))
    consumer = cluster.consumer(unique, exact={topic}, fetch_message_max_bytes=1)
    consumer.assign([TopicPartition(topic, 0, 0)])
    eventually(lambda: consumer.poll(0.1), "a record")
    Consumer.seek(consumer, TopicPartition(topic, 0, 6))
    assert received(consumer, sent[-1]) == sent[1:]


@pytest.mark.parametrize("exact", [False, True])
def test_lowered_offsets_do_not_let_a_reader_go_back(kafka: str, unique: str, exact: bool) -> None:
    cluster, topic = topic_of(kafka, unique, UNCOMPRESSED)
    sent = [b"%d" % number for number in range(20)]
    for value in sent:
        append(kafka, topic, good(value, UNCOMPRESSED))
    lower = [record(value=b"lie", offset=n - 20) for n in range(18, 0, -2)]
    append(kafka, topic, batch(*lower, record(0, b"k", b"lie", far=True), codec=UNCOMPRESSED))
    append(kafka, topic, good(BEHIND, UNCOMPRESSED))
    consumer = cluster.consumer(unique, exact={topic} if exact else ())
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = received(consumer, BEHIND)
    assert [value for value in found if value != b"lie"] == [*sent, BEHIND]


def test_reading_begins_in_the_middle_of_an_unreadable_batch(kafka: str, unique: str) -> None:
    cluster, topic = topic_of(kafka, unique)
    append(kafka, topic, batch(*(record(n) for n in range(10)), behind=b"x"))
    append(kafka, topic, good(BEHIND))
    consumer = cluster.consumer(unique)
    consumer.assign([TopicPartition(topic, 0, 7)])
    assert received(consumer, BEHIND) == [BEHIND]


def test_a_member_of_a_group_continues_in_all_its_partitions(kafka: str, unique: str) -> None:
    """Members may not reassign one partition alone, once the client has given it up."""
    cluster, topic = topic_of(kafka, unique, partitions=2)
    producer = cluster.producer()
    for number in range(20):
        for _ in range(number % 3):
            append(kafka, topic, batch(record(0, far=True)))
        append(kafka, topic, good(b"a%d" % number))
        producer.produce(topic, b"b%d" % number, partition=1)
    producer.flush()
    append(kafka, topic, good(BEHIND))
    consumer = cluster.consumer(unique, fetch_message_max_bytes=1)

    def assigned(member: Consumer, partitions: list[TopicPartition]) -> None:
        for one in partitions:
            one.offset = OFFSET_BEGINNING
        member.assign(partitions)

    consumer.subscribe([topic], on_assign=assigned)
    found = received(consumer, BEHIND, b"b19")
    for letter in "ab":
        expected = [f"{letter}{number}".encode() for number in range(20)]
        assert [value for value in found if value in expected] == expected


def test_gaps_that_transactions_leave_are_no_wrong_offsets(
    kafka: str, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    cluster, topic = topic_of(kafka, unique)
    producer = cluster.producer(transactional_id=unique)
    producer.init_transactions(30)
    sent = [b"%d" % number for number in range(40)]
    for number, value in enumerate(sent):
        producer.begin_transaction()
        producer.produce(topic, b"no" if number % 3 else value)
        producer.flush()
        if number % 3:
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)
    append(kafka, topic, good(BEHIND))
    consumer = cluster.consumer(unique, exact={topic})
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert received(consumer, BEHIND) == [*sent[::3], BEHIND]
    assert "skipped" not in caplog.text


@pytest.mark.parametrize("count", [1, 2, 3, 8, 100])
def test_reading_continues_behind_a_batch_that_cannot_be_decompressed(
    kafka: str, unique: str, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    cluster, topic = topic_of(kafka, unique)
    bad = batch(*(record(n) for n in range(count)), behind=b"x")
    for one in (good(GOOD), bad, good(BEHIND), bad, bad, good(BEHIND)):
        append(kafka, topic, one)
    assert values(cluster, topic) == [GOOD, BEHIND, BEHIND]
    assert f"{topic}/0: skipped: the rest of a batch from 1 to {count}; it is un" in caplog.text
    append(kafka, topic, bad)
    assert values(cluster, topic) == [GOOD, BEHIND, BEHIND], "an unreadable end is an end"


@pytest.mark.parametrize("length", [3, 500])
def test_reading_continues_behind_records_with_a_wrong_length(
    kafka: str, unique: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client reports nothing, so a stalled partition is searched for a readable offset."""
    monkeypatch.setattr(stalled_fetch, "_QUIET", 0.2)
    monkeypatch.setattr(stalled_fetch, "_EVERY", 0.1)
    cluster, topic = topic_of(kafka, unique)
    bad = batch(*(record(n, length=length) for n in range(2)))
    for one in (good(GOOD), bad, good(BEHIND)):
        append(kafka, topic, one)
    health = ConsumerHealth(cluster)
    consumer = cluster.consumer(unique, stats=health.report, statistics_interval_ms=100)
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert looked_after(consumer, health) == [GOOD, BEHIND]
    consumer.close()


def silent_batch(count: int) -> bytes:
    return batch(*(record(n, length=90_000) for n in range(count)))


def test_many_unreadable_offsets_take_few_fetches(kafka: str, unique: str) -> None:
    """A fetch in a gap of a compacted topic returns what follows the gap: here, one large batch."""
    cluster, topic = topic_of(kafka, unique)
    for one in (good(GOOD), silent_batch(3_000), good(BEHIND)):
        append(kafka, topic, one)
    search = silent.SilentSearch(cluster, (topic, 0), 1)
    search.wait()
    assert search.ended and search.found == 3_001


def test_a_search_passes_no_readable_record(kafka: str, unique: str) -> None:
    cluster, topic = topic_of(kafka, unique)
    for count in (2, 3, 0, 9):
        append(kafka, topic, silent_batch(count) if count else good(GOOD))
    for once, found in ((False, 5), (True, 2)):
        search = silent.SilentSearch(cluster, (topic, 0), 0, once=once)
        search.wait()
        assert search.found == found


def test_a_stalled_partition_that_a_new_client_reads_needs_a_new_client(
    kafka: str, unique: str
) -> None:
    cluster, topic = topic_of(kafka, unique)
    append(kafka, topic, good(GOOD))
    search = silent.SilentSearch(cluster, (topic, 0), 0)
    eventually(lambda: search.ended, "the end of the search")
    assert search.found == 0
