"""Records by their offsets, in any order, with a bounded cache."""

from __future__ import annotations

from typing import Any

import pytest

from streams.kafka import Fetcher, GoneError, read_all
from streams.kafka.record_cache import RECORD_BYTES
from streams.wire import Topics
from tests.kafka.a_topic import made, write
from tests.running import until_stable
from tests.workers.rig import HookedCluster


@pytest.mark.long
@pytest.mark.parametrize("order", [(0,), (3, 4, 5), (5, 0, 5), (2_999, 0, 1, 2_500, 4)])
def test_a_record_is_fetched_by_its_position_in_any_order(
    kafka: str, unique: str, order: tuple[int, ...]
) -> None:
    cluster, topic = made(kafka, unique)
    write(cluster, topic, 3_000)
    fetcher = Fetcher(cluster, topic, 0, cache_bytes=10 * RECORD_BYTES)
    assert [fetcher.fetch(n).value() for n in order] == [b"%d" % n for n in order]
    fetcher.close()
    assert fetcher.fetch(order[0]).value() == b"%d" % order[0], "a closed one begins anew"
    fetcher.close()


def test_a_position_whose_record_is_gone_is_told(kafka: str, unique: str) -> None:
    cluster, topic = made(kafka, unique)
    producer = cluster.producer(transactional_id=unique)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, key=b"k", value=b"aborted")
    producer.flush()
    producer.abort_transaction(30)
    until_stable(cluster, topic)  # else the next record may have the offset of the marker
    write(cluster, topic, 1)
    with pytest.raises(GoneError, match="@0 was deleted; the log continues at 2"):
        Fetcher(cluster, topic, 0).fetch(0)


@pytest.mark.long
@pytest.mark.parametrize(("cache_bytes", "kept"), [(10_000, 2), (1, 0), (1 << 20, 8)])
def test_the_cache_is_bounded_by_bytes(
    kafka: str, unique: str, cache_bytes: int, kept: int
) -> None:
    """Large records count as what they are: eight of them, and room for ``kept``."""
    cluster, topic = made(kafka, unique)
    producer = cluster.producer()
    for _ in range(8):
        producer.produce(topic, key=b"k", value=bytes(3_900))
    assert producer.flush(30) == 0
    fetcher = Fetcher(cluster, topic, 0, cache_bytes=cache_bytes)
    messages = list(read_all(cluster, topic))
    for message in [*messages, *messages[-1:]]:  # what is kept already counts once
        fetcher.remember(message)
    found = [fetcher.fetch(n) is messages[n] for n in reversed(range(8 - kept, 8))]
    assert found == [True] * kept
    if kept < 8:
        assert fetcher.fetch(7 - kept) is not messages[7 - kept], "it is read again"
    fetcher.close()


@pytest.mark.parametrize("large", ["skipped", "needed"])
def test_large_records_evict_no_others(kafka: str, unique: str, large: str) -> None:
    """One record with a header of megabytes would let all bodies of a retry be read again."""
    topic = made(kafka, unique)[1]
    places: list[Any] = []

    def assign(method: Any, where: Any) -> Any:
        places.append(where)
        return method(where)

    cluster = HookedCluster(kafka, Topics(unique), hooks={"assign": assign})
    producer = cluster.producer()
    for number in range(30):
        headers = [("x", bytes(150_000))] if number % 3 else []
        producer.produce(topic, key=b"k", value=b"%d" % number, headers=headers)
    assert producer.flush(30) == 0
    fetcher = Fetcher(cluster, topic, 0, cache_bytes=500_000)
    small = range(0, 30, 3)
    for number in small if large == "skipped" else range(30):
        fetcher.fetch(number)
    count = len(places)
    assert [fetcher.fetch(n).value() for n in small] == [b"%d" % n for n in small]
    assert len(places) == count, "they were read again"
    assert fetcher.bytes_read // 150_000 == (18 if large == "skipped" else 20), "headers count"
    assert fetcher.bytes_returned // 150_000 == (0 if large == "skipped" else 20)
    fetcher.close()


def test_large_records_between_two_bodies_are_not_all_read(kafka: str, unique: str) -> None:
    """Their headers may take gigabytes: the reader seeks behind them."""
    cluster, topic = made(kafka, unique)
    producer = cluster.producer(queue_buffering_max_messages=10)
    for number in range(60):
        headers = [("x", bytes(900_000))] if number % 59 else []
        producer.produce(topic, key=b"k", value=b"%d" % number, headers=headers)
        assert producer.flush(30) == 0
    fetcher = Fetcher(cluster, topic, 0, cache_bytes=1)
    assert [fetcher.fetch(number).value() for number in (0, 59)] == [b"0", b"59"]
    assert 2 << 20 < fetcher.bytes_read < 4 << 20
    fetcher.close()


def test_a_client_that_nobody_reads_is_closed(kafka: str, unique: str) -> None:
    """It may have a fetch of hundreds of megabytes; the next call opens another one."""
    cluster, topic = made(kafka, unique)
    write(cluster, topic, 3)
    fetcher = Fetcher(cluster, topic, 0, cache_bytes=1)
    fetcher.fetch(0)
    fetcher.rest()
    assert fetcher._consumer is not None, "it has read since"
    fetcher.rest()
    assert not fetcher._read and fetcher._consumer is None
    assert fetcher.fetch(1).value() == b"1"
    fetcher.rest()
    assert fetcher.fetch(2).value() == b"2"
    fetcher.close()


def test_what_one_pass_skips_is_there_for_the_next(kafka: str, unique: str) -> None:
    """Dialogs whose messages are interleaved drain in several transactions, but read only once."""
    cluster, topic = made(kafka, unique)
    producer = cluster.producer()
    for number in range(50):
        producer.produce(topic, key=b"k", value=b"%d" % number)
    assert producer.flush(30) == 0
    fetcher = Fetcher(cluster, topic, 0, cache_bytes=21 * (RECORD_BYTES + 4))
    for number in range(30):
        fetcher.fetch(number)  # the cache is full of bodies that were needed
    for number in range(30, 50, 2):
        fetcher.fetch(number)
    read = fetcher.bytes_read
    assert [fetcher.fetch(n).value() for n in range(31, 49, 2)] == [
        b"%d" % n for n in range(31, 49, 2)
    ]
    assert fetcher.bytes_read == read, "they were read again"
    fetcher.close()
