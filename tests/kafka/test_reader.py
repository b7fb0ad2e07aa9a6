"""Reading partitions to the end, and no further than what is certain."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Waiting
from typing import Any

import pytest

from streams.errors import SurroundingsError
from streams.kafka import (
    Fetcher,
    KafkaError,
    KafkaException,
    read_all,
    read_live,
)
from streams.node import Dialogs, Endpoint, catalog_of
from streams.protocol import Dialog, Source, State
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from streams.wire.state import encode_dialog, unpack_dialog
from streams.wire.state_keys import SeenKey, StateKey
from streams.workers.endpoint import restore
from streams.workers.endpoint.restore import Replay, read_dialogs
from tests.kafka.a_topic import made, write
from tests.running import DEADLINE
from tests.workers.rig import HookedCluster


@pytest.mark.long
@pytest.mark.parametrize("to_high", [False, True])
def test_reading_ends_where_a_busy_topic_ended_at_the_start(
    kafka: str, unique: str, to_high: bool
) -> None:
    cluster, topic = made(kafka, unique)
    write(cluster, topic, 50)
    read, producer = [], cluster.producer()
    for message in read_all(cluster, topic, to_high=to_high):
        producer.produce(topic, b"more")
        assert producer.flush(30) == 0  # the partition never has an empty fetch
        read.append(message.value())
        assert len(read) <= 50
    assert read == [b"%d" % number for number in range(50)]


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
    replay = Replay(cluster, topic, 0, endpoint, lambda _: None, lambda: 0)
    with ThreadPoolExecutor(1) as pool:
        restoring = pool.submit(replay.finish, 1)
        with pytest.raises(Waiting):
            restoring.result(2)
        producer.commit_transaction(30)
        restoring.result(DEADLINE)
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
    replay = Watched(cluster, topic, 0, Endpoint("ServerA", catalog), lambda _: None, lambda: 0)
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
