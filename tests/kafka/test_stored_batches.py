"""Headers of stored batches, and which batches have committed records."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import ssl
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, TopicPartition

from streams.kafka import Cluster, access_of, stored_batches
from streams.kafka.batch_headers import Batch, Fetched, headers, readable
from streams.kafka.stored_batches import UnknownError
from streams.wire import Topics
from tests.kafka.raw_batch import LZ4, UNCOMPRESSED, append, ask, batch, record, request, text
from tests.kafka.test_checked_consumer import BEHIND, GOOD, fail_first, good, received, topic_of
from tests.running import eventually

MARKER = True


def stored(first: int, records: int = 1, producer: int = -1, is_control: bool = False) -> Batch:
    offsets = range(first, first + max(1, records))
    return Batch(offsets, records, producer, producer >= 0, is_control)


@pytest.mark.parametrize(
    ("batches", "aborted", "found"),
    [
        ([stored(5, 3)], [], [range(5, 8)]),
        ([stored(4, 1, 7, MARKER), stored(5)], [], [range(5, 6)]),
        ([stored(4, 1, 7, MARKER)], [], []),
        ([stored(4, 0), stored(5)], [], [range(5, 6)]),  # compaction keeps the header of a batch
        ([stored(4, 2, 7)], [], [range(4, 6)]),  # its transaction was committed
        ([stored(4, 2, 7), stored(6)], [(7, 4)], [range(6, 7)]),
        ([stored(4, 2, 7), stored(6)], [(7, 1)], [range(6, 7)]),  # reading began in the transaction
        ([stored(4, 1, 7), stored(5)], [(7, 5)], [range(4, 5), range(5, 6)]),  # of a later one
        ([stored(4, 2, 7), stored(6, 1, 8)], [(7, 4)], [range(6, 7)]),  # of another producer
        (
            [stored(4, 1, 7), stored(5, 1, 7, MARKER), stored(6, 1, 7)],
            [(7, 4)],
            [range(6, 7)],
        ),
        (
            [stored(4, 1, 7), stored(5, 1, 7, MARKER), stored(6, 1, 7), stored(7)],
            [(7, 4), (7, 6)],
            [range(7, 8)],
        ),
        ([stored(4, 1, 7), stored(5)], [(8, 3), (7, 4)], [range(5, 6)]),
        ([stored(4, 1, 7), stored(5)], [(7, 4), (8, 3)], [range(5, 6)]),
        # An idempotent producer without transactions may have the id of an earlier transaction.
        ([Batch(range(4, 5), 1, 7, False, False)], [(7, 4)], [range(4, 5)]),
    ],
)
def test_the_batches_with_committed_records(
    batches: list[Batch], aborted: list[tuple[int, int]], found: list[range]
) -> None:
    assert [one.offsets for one in readable(Fetched(batches, aborted))] == found


def test_the_header_of_a_batch_that_was_cut_off_is_read() -> None:
    """But a part of a header is not."""
    first, second = batch(record(0), record(1)), batch(record(0), producer=(9, 0, 0), codec=16)
    second = struct.pack(">q", 2) + second[8:]
    end = len(first)
    found = [
        stored(0, 2)._replace(is_compressed=True, stored=slice(0, end)),
        stored(2, 1, 9)._replace(stored=slice(end, end + len(second))),
    ]
    assert list(headers(first + second)) == found
    assert list(headers(first + second[:61])) == found
    assert list(headers(first + second[:60])) == found[:1]
    assert list(headers(first[:60])) == list(headers(b"")) == []


def test_batches_of_an_older_format_are_not_read() -> None:
    data = bytearray(batch(record(0)))
    data[16] = 1
    assert list(headers(bytes(data))) == []


@pytest.mark.parametrize("last", [0, 2, 1_000, -1])
@pytest.mark.parametrize("codec", [LZ4, UNCOMPRESSED])
def test_kafka_refuses_a_batch_whose_last_offset_does_not_match_its_records(
    kafka: str, unique: str, last: int, codec: int
) -> None:
    _, topic = topic_of(kafka, unique, codec)
    append(kafka, topic, batch(record(0), record(1), codec=codec))
    wrong = batch(record(0), record(1), codec=codec, last=last)
    assert ask(kafka, topic, wrong) == KafkaError.INVALID_RECORD


def test_a_batch_is_found_from_each_of_its_offsets(kafka: str, unique: str) -> None:
    cluster, topic = topic_of(kafka, unique)
    append(kafka, topic, good(GOOD))
    append(kafka, topic, batch(*(record(n, value=bytes(9_000)) for n in range(3))))
    found = cluster.stored_batches()
    assert found is not None
    starts = [found.first_with_records((topic, 0), at, 10).offsets.start for at in range(4)]
    with pytest.raises(UnknownError) as refused:
        found.first_with_records((topic, 0), 4, 10)
    assert refused.value.at == 4
    assert starts == [0, 1, 1, 1]
    assert found.first_with_records((topic, 0), 2, 10).offsets == range(1, 4), "it connects again"
    found.close()


def test_one_response_serves_for_many_small_transactions_and_for_a_second(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, topic = topic_of(kafka, unique)
    producer = cluster.producer(transactional_id=unique)
    producer.init_transactions(30)
    for number in range(20):
        producer.begin_transaction()
        producer.produce(topic, b"%d" % number)
        producer.commit_transaction(30)
    consumer = cluster.consumer(unique, exact={topic})
    asked = fail_first(consumer, 0, monkeypatch)
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert len(received(consumer, b"19")) == 20
    assert len(asked) <= 2
    monkeypatch.setattr(stored_batches, "_KEPT", -1.0)
    consumer = cluster.consumer(unique, exact={topic})
    asked = fail_first(consumer, 0, monkeypatch)
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert len(received(consumer, b"19")) == 20
    assert len(asked) == 19


def test_a_cluster_that_aiokafka_does_not_support_is_read_without_headers(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing that can be read is skipped, and nothing stops the reader."""
    cluster, topic = topic_of(kafka, unique)
    producer = cluster.producer(transactional_id=unique)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, GOOD)
    producer.commit_transaction(30)
    for bad in (
        batch(record(0), record(1), behind=b"x"),
        batch(record(0, far=True), record(1)),
    ):
        append(kafka, topic, bad)
        append(kafka, topic, good(GOOD))
    append(kafka, topic, good(BEHIND))
    foreign = Cluster(kafka, cluster.topics, {"security.protocol": "SASL_SSL"})
    assert foreign.stored_batches({topic}) is None
    assert (
        f"Gaps in {topic} are not checked, because aiokafka cannot connect (the SASL" in caplog.text
    )
    monkeypatch.setattr(Cluster, "stored_batches", lambda *_: None)
    consumer = cluster.consumer(unique, exact={topic})
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert received(consumer, BEHIND) == [GOOD, GOOD, GOOD, BEHIND]


def test_headers_are_read_in_a_thread_with_an_event_loop(kafka: str, unique: str) -> None:
    cluster, topic = topic_of(kafka, unique)
    append(kafka, topic, good(GOOD))

    async def read() -> range:
        found = cluster.stored_batches()
        assert found is not None
        try:
            return found.first_with_records((topic, 0), 0, 10).offsets
        finally:
            found.close()

    assert asyncio.run(read()) == range(1)


def test_a_broker_that_hangs_is_given_up(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_batches, "_TIMEOUT", 0.2)
    cluster, topic = topic_of(kafka, unique)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        found = Cluster(address, cluster.topics).stored_batches()
        assert found is not None
        with pytest.raises(UnknownError) as refused:
            found.first_with_records((topic, 0), 0, 10)
    assert isinstance(refused.value.__cause__, TimeoutError)
    assert found._client is None, "closed"


@pytest.mark.filterwarnings("error")
def test_closing_ends_the_requests_that_have_no_response(
    unique: str, recwarn: pytest.WarningsRecorder
) -> None:
    """Otherwise their tasks are destroyed later, with a warning for each."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        found = Cluster(f"127.0.0.1:{silent.getsockname()[1]}", Topics(unique)).stored_batches()
        assert found is not None
        asked = [found.ask((unique, number), 0, 1) for number in range(3)]
        silent.accept()[0].close()
        found.close()
        assert all(one.done() for one in asked)
        assert not found._requests
    gc.collect()
    assert [str(one.message) for one in recwarn] == []


@pytest.mark.parametrize(
    ("bootstrap", "servers"),
    [
        ("a:1", ["a:1"]),
        ("PLAINTEXT://a:1/, SASL_SSL://[::1]:2,", ["a:1", "[::1]:2"]),
    ],
)
def test_addresses_are_those_of_librdkafka(bootstrap: str, servers: list[str]) -> None:
    assert access_of({}).options(bootstrap)["bootstrap_servers"] == servers


def test_certificates_are_checked_as_librdkafka_does(tmp_path: Path) -> None:
    """Python 3.13 and newer would reject authorities without keyUsage."""
    context = access_of({"security.protocol": "ssl", "ssl.ca.location": "probe"}).context()
    assert context is not None and not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert context.verify_mode is ssl.CERT_REQUIRED and context.check_hostname
    lax = {"security.protocol": "ssl", "enable.ssl.certificate.verification": "false"}
    context = access_of({**lax, "ssl.ca.location": str(tmp_path)}).context()
    assert context is not None and context.verify_mode is ssl.CERT_NONE


def test_a_failure_is_told_once_a_minute(
    kafka: str, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    cluster, topic = topic_of(kafka, unique)
    nobody = Cluster("127.0.0.1:1", cluster.topics).stored_batches()
    assert nobody is not None
    for _ in range(2):
        with pytest.raises(UnknownError):
            nobody.first_with_records((topic, 0), 3, 10)
    told = [r for r in caplog.records if r.name == "hopline.kafka" and r.levelno == logging.WARNING]
    [line] = [r.getMessage() for r in told]
    assert line.startswith(f"{topic}/0@3 cannot be checked, and is requested again: Kafka")


def test_a_quota_ends_no_consumer(kafka: str, unique: str) -> None:
    """Kafka delays a client that exceeds its quota, and its responses contain no topic."""
    _, topic = topic_of(kafka, unique, UNCOMPRESSED)
    append(kafka, topic, batch(record(0, value=bytes(20_000)), codec=UNCOMPRESSED))
    cluster = Cluster(kafka, properties={"client.id": unique})
    found = cluster.stored_batches()
    assert found is not None
    set_quota(kafka, unique, 1_000.0)
    try:
        with pytest.raises(UnknownError):
            for _ in range(100):
                found.batch_at((topic, 0), 0)
    finally:
        set_quota(kafka, unique, None)

    def read() -> bool:
        with suppress(UnknownError):
            return found.batch_at((topic, 0), 0) is not None
        return False

    eventually(read, "the batch is read")
    found.close()


def set_quota(bootstrap: str, client: str, rate: float | None) -> None:
    """Limit or no longer limit the bytes per second that a client may read."""
    entity = struct.pack(">i", 1) + text("client-id") + text(client)
    change = struct.pack(">i", 1) + text("consumer_byte_rate")
    change += struct.pack(">d?", rate or 0.0, rate is None)
    answer = request(bootstrap, 49, 0, struct.pack(">i", 1) + entity + change + b"\0")
    assert struct.unpack_from(">ih", answer, 4) == (1, 0)
