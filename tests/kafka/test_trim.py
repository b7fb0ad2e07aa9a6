"""Letting the beginning of a log go: below a position, and older than a moment."""

from __future__ import annotations

import time

import pytest

from streams.errors import SurroundingsError
from streams.kafka import Cluster, Fetcher, KafkaException, create, first_since, read_all, trim
from streams.wire import Topics
from streams.wire.specs import spec

BEGAN = (int(time.time()) - 3_600) * 1_000
"""An hour ago in epoch milliseconds; Kafka accepts no records of 1970."""


@pytest.fixture
def log(kafka: str, unique: str) -> tuple[Cluster, str]:
    """Return a topic with three records, of the first three seconds after BEGAN."""
    cluster, topic = Cluster(kafka, Topics(unique)), f"{unique}cmd.A"
    create(cluster, [spec(topic, "cmd")])
    producer = cluster.producer()
    for second in (1, 2, 3):
        producer.produce(topic, key=b"k", value=b"%d" % second, timestamp=BEGAN + second * 1000)
    assert producer.flush(30) == 0
    return cluster, topic


def left(log: tuple[Cluster, str]) -> list[bytes | None]:
    """Return what can still be read."""
    return [message.value() for message in read_all(*log)]  # type: ignore[misc]


def test_what_is_spare_goes_and_is_not_asked_for_again(log: tuple[Cluster, str]) -> None:
    cluster, topic = log
    assert trim(cluster, {(topic, 0): 2}) == {(topic, 0): 2}
    assert left(log) == [b"3"]
    assert trim(cluster, {(topic, 0): 2}) == {}
    assert trim(cluster, {(topic, 0): 1}) == {}
    assert trim(cluster, {}) == {}


def test_what_is_young_begins_with_the_first_record_of_its_age(log: tuple[Cluster, str]) -> None:
    cluster, topic = log
    where = (topic, 0)
    assert first_since(cluster, [where], BEGAN + 2000) == {where: 1}
    assert first_since(cluster, [where], BEGAN + 1001) == {where: 1}
    assert first_since(cluster, [where], -5) == {where: 0}
    assert first_since(cluster, [where], BEGAN + 3001) == {}, "all of it is old"
    assert first_since(cluster, [where], 2**63 + 5) == {}, "what a record claims may be no time"
    assert first_since(cluster, [], 2000) == {}


def test_all_of_it_may_go(log: tuple[Cluster, str]) -> None:
    cluster, topic = log
    assert trim(cluster, {(topic, 0): 3}) == {(topic, 0): 3}
    assert left(log) == []


def test_who_needs_what_is_gone_is_told(log: tuple[Cluster, str]) -> None:
    cluster, topic = log
    trim(cluster, {(topic, 0): 2})
    fetcher = Fetcher(cluster, topic, 0)
    with pytest.raises(SurroundingsError, match="@0 cannot be reread"):
        fetcher.fetch(0)
    assert fetcher.fetch(2).value() == b"3"
    fetcher.close()


def test_one_log_that_cannot_be_shortened_keeps_no_other(log: tuple[Cluster, str]) -> None:
    """A position behind the end is nobody's: Kafka refuses it, and that is raised."""
    cluster, topic = log
    other = f"{topic}2"
    create(cluster, [spec(other, "cmd")])
    with pytest.raises(KafkaException, match="OFFSET_OUT_OF_RANGE"):
        trim(cluster, {(other, 0): 9, (topic, 0): 1})
    assert left(log) == [b"2", b"3"]
