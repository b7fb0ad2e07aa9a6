"""Letting the beginning of a log go: below a position, and older than a moment."""

from __future__ import annotations

import pytest

from streams.errors import SurroundingsError
from streams.kafka import Cluster, Fetcher, KafkaException, create, read_all, trim
from streams.wire import Topics
from streams.wire.specs import spec

NEVER = 2**62


@pytest.fixture
def log(kafka: str, unique: str) -> tuple[Cluster, str]:
    """Return a topic with three records, of the first three seconds of 1970."""
    cluster, topic = Cluster(kafka, Topics(unique)), f"{unique}cmd.A"
    create(cluster, [spec(topic, "cmd")])
    producer = cluster.producer()
    for second in (1, 2, 3):
        producer.produce(topic, key=b"k", value=b"%d" % second, timestamp=second * 1000)
    assert producer.flush(30) == 0
    return cluster, topic


def left(log: tuple[Cluster, str]) -> list[bytes | None]:
    """Return what can still be read."""
    return [message.value() for message in read_all(*log)]  # type: ignore[misc]


def test_what_is_spare_goes_and_is_not_asked_for_again(log: tuple[Cluster, str]) -> None:
    cluster, topic = log
    assert trim(cluster, {(topic, 0): 2}, NEVER) == {(topic, 0): 2}
    assert left(log) == [b"3"]
    assert trim(cluster, {(topic, 0): 2}, NEVER) == {}
    assert trim(cluster, {(topic, 0): 1}, NEVER) == {}
    assert trim(cluster, {}, NEVER) == {}


def test_what_is_young_stays(log: tuple[Cluster, str]) -> None:
    cluster, topic = log
    assert trim(cluster, {(topic, 0): 3}, 2000) == {(topic, 0): 1}
    assert left(log) == [b"2", b"3"]
    assert trim(cluster, {(topic, 0): 3}, -5) == {}


def test_all_of_it_may_go(log: tuple[Cluster, str]) -> None:
    cluster, topic = log
    assert trim(cluster, {(topic, 0): 3}, NEVER) == {(topic, 0): 3}
    assert left(log) == []


def test_who_needs_what_is_gone_is_told(log: tuple[Cluster, str]) -> None:
    cluster, topic = log
    trim(cluster, {(topic, 0): 2}, NEVER)
    fetcher = Fetcher(cluster, topic, 0)
    with pytest.raises(SurroundingsError, match="@0 cannot be read again"):
        fetcher.fetch(0)
    assert fetcher.fetch(2).value() == b"3"
    fetcher.close()


def test_one_log_that_cannot_be_shortened_keeps_no_other(log: tuple[Cluster, str]) -> None:
    """A position behind the end is nobody's: Kafka refuses it, and that is raised."""
    cluster, topic = log
    other = f"{topic}2"
    create(cluster, [spec(other, "cmd")])
    with pytest.raises(KafkaException, match="OFFSET_OUT_OF_RANGE"):
        trim(cluster, {(other, 0): 9, (topic, 0): 1}, NEVER)
    assert left(log) == [b"2", b"3"]
