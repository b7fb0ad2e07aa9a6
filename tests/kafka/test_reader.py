"""Reading partitions: by position, to the end, and no further than what is certain."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Waiting
from typing import Any

import pytest

from streams.errors import SurroundingsError
from streams.kafka import (
    Cluster,
    Fetcher,
    GoneError,
    KafkaError,
    KafkaException,
    create,
    read_all,
    read_live,
    size_of,
)
from streams.kafka.reader import RECORD_BYTES
from streams.node import Dialogs, Endpoint, catalog_of
from streams.protocol import Dialog, Source, State
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from streams.wire.specs import TopicSpec
from streams.wire.state import encode_dialog, unpack_dialog
from streams.wire.state_keys import SeenKey, StateKey
from streams.workers.endpoint import restore
from streams.workers.endpoint.restore import Replay, read_dialogs
from tests.workers.rig import HookedCluster


def made(kafka: str, prefix: str) -> tuple[Cluster, str]:
    cluster = Cluster(kafka, Topics(prefix))
    topic = cluster.topics.dialog("S")
    create(cluster, [TopicSpec(topic, "dialog", 1, {})])
    return cluster, topic


def write(cluster: Cluster, topic: str, count: int) -> None:
    producer = cluster.producer()
    for number in range(count):
        producer.produce(topic, key=b"k%d" % number, value=b"%d" % number)
    assert producer.flush(30) == 0


@pytest.mark.long
@pytest.mark.parametrize("to_high", [False, True])
def test_reading_ends_where_a_busy_topic_ended_at_the_start(
    kafka: str, unique: str, to_high: bool
) -> None:
    cluster, topic = made(kafka, unique)
    write(cluster, topic, 50)
    read = []
    for message in read_all(cluster, topic, to_high=to_high):
        write(cluster, topic, 1)  # the partition never has an empty fetch
        read.append(message.value())
        assert len(read) <= 50
    assert read == [b"%d" % number for number in range(50)]


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
    assert 16 << 20 < fetcher.bytes_read < 20 << 20
    fetcher.close()


def test_much_that_was_read_ahead_is_not_kept_while_nobody_reads(kafka: str, unique: str) -> None:
    cluster, topic = made(kafka, unique)
    producer = cluster.producer()
    for size in (1, 1, *[900_000] * 30):
        producer.produce(topic, key=b"k", value=b"x", headers=[("x", bytes(size))])
        assert producer.flush(30) == 0
    fetcher = Fetcher(cluster, topic, 0, cache_bytes=1)
    fetcher.fetch(0)
    while sum(map(size_of, fetcher._read)) < 17_000_000:  # as the client's queue fills
        fetcher._next_of(fetcher._at(1))
    fetcher.rest()
    assert not fetcher._read and fetcher._consumer is None
    assert fetcher.fetch(1).value() == b"x"
    fetcher.rest()
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


@pytest.mark.long
def test_restoring_waits_for_a_transaction_that_is_still_open(kafka: str, unique: str) -> None:
    """The previous owner may yet commit: until then its state must not be believed (rule 3)."""
    cluster, topic = made(kafka, unique)
    conversation = uuid.uuid4()
    key = StateKey("D", conversation, True)
    dialog = Dialog(
        conversation, "D", "B", True, State.CO, "I", "T", None, "DEFAULT",
        uuid.uuid4(), uuid.uuid4(), 1, 2,
    )  # fmt: skip
    producer = cluster.producer(transactional_id=unique)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, key=key.encode(), value=encode_dialog(dialog))
    assert producer.flush(30) == 0
    assert not read_dialogs(cluster, topic, 0), "who only looks waits not"
    assert not list(read_all(cluster, topic))
    catalog = catalog_of(load(topologies_dir() / "two_brokers", 0), 1)
    endpoint = Endpoint("ServerA", catalog, dialogs=Dialogs(unpack_dialog))
    replay = Replay(cluster, topic, 0, endpoint, lambda _: None)
    with ThreadPoolExecutor(1) as pool:
        restoring = pool.submit(replay.finish, 1)
        with pytest.raises(Waiting):
            restoring.result(2)
        producer.commit_transaction(30)
        restoring.result(30)
    replay.close()
    assert list(endpoint.dialogs) == [("D", conversation, True)]


def test_restoring_gathers_a_bounded_number_of_bytes(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes statements chooses the names of sources, and they are in the keys."""
    cluster, topic = made(kafka, unique)
    producer = cluster.producer()
    for number in range(40):  # each source twice
        source = Source("x" * 2_000, "agent", uuid.UUID(int=number // 2), 0)
        producer.produce(topic, key=SeenKey(source).encode(), value=None)
    assert producer.flush(30) == 0
    monkeypatch.setattr(restore, "_GATHERED_BYTES", 10_000, raising=False)
    gathered: list[int] = []

    class Watched(Replay):
        def _apply(self) -> None:
            gathered.append(len(self._gathered))
            super()._apply()

    catalog = catalog_of(load(topologies_dir() / "two_brokers", 0), 1)
    replay = Watched(cluster, topic, 0, Endpoint("ServerA", catalog), lambda _: None)
    replay.finish(40)
    replay.close()
    assert gathered == [5, 5, 5, 5, 4], "only the latest record of each counts"


def slow(kafka: str, unique: str, silences: int) -> tuple[HookedCluster, str]:
    """Return a cluster whose consumers get nothing so many times, and a topic with three records.

    What takes half a minute each time is over at once here.
    """
    cluster, topic = made(kafka, unique)
    write(cluster, topic, 3)
    left = [None] * silences

    def poll(method: Any, timeout: float) -> Any:
        return left.pop() if left else method(timeout)

    return HookedCluster(kafka, Topics(unique), hooks={"poll": poll}), topic


def test_a_slow_kafka_is_waited_for_while_it_answers(kafka: str, unique: str) -> None:
    cluster, topic = slow(kafka, unique, 3)
    assert len(list(read_all(cluster, topic))) == 3


def test_who_gives_nothing_for_long_is_given_up(kafka: str, unique: str) -> None:
    cluster, topic = slow(kafka, unique, 4)
    with pytest.raises(SurroundingsError, match="responds, but has returned no records for 120 s"):
        list(read_all(cluster, topic))


def test_who_does_not_answer_is_given_up_at_once(kafka: str, unique: str) -> None:
    cluster, topic = slow(kafka, unique, 1)
    asked: list[None] = []

    def away(method: Any, *args: Any, **named: Any) -> Any:
        asked.append(None)
        if len(asked) > 1:  # the first question is the one for the topic's leader
            raise KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN))
        return method(*args, **named)

    cluster.hooks["get_watermark_offsets"] = away
    with pytest.raises(SurroundingsError, match="no answer for 30 s"):
        list(read_all(cluster, topic))


def test_a_record_that_comes_late_is_fetched_all_the_same(kafka: str, unique: str) -> None:
    cluster, topic = slow(kafka, unique, 3)
    fetcher = Fetcher(cluster, topic, 0)
    assert fetcher.fetch(2).value() == b"2"
    fetcher.close()


def test_of_a_compacted_topic_only_the_wanted_keys_are_kept(kafka: str, unique: str) -> None:
    """Others may write more there than memory holds."""
    cluster, topic = made(kafka, unique)
    write(cluster, topic, 5)
    assert read_live(cluster, topic, only={b"k3", b"k9"}) == {b"k3": b"3"}
