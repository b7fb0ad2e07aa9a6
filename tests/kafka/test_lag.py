"""Where logs begin and end, while partitions get their leaders."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streams.kafka import Cluster, Offsets, lag
from streams.kafka.lag import read_ends
from streams.wire import Topics


class Elected:
    """A cluster in which ``made/1`` has no leader for the first ``without`` questions."""

    def __init__(self, without: int, code: int, *, deleted: bool = False) -> None:
        self.without, self.code, self.deleted = without, code, deleted
        self.asked: list[list[TopicPartition]] = []

    def list_topics(self, timeout: float) -> Any:
        if self.asked and self.deleted:
            return SimpleNamespace(topics={})
        return SimpleNamespace(topics={"made": SimpleNamespace(partitions=[0, 1])})

    def list_offsets(
        self, asked: Mapping[TopicPartition, Any], isolation_level: Any
    ) -> dict[TopicPartition, Future[Any]]:
        self.asked.append(list(asked))
        answers: dict[TopicPartition, Future[Any]] = {}
        for place in asked:
            answers[place] = Future()
            if place.partition == 1 and len(self.asked) <= self.without:
                answers[place].set_exception(KafkaException(KafkaError(self.code)))
            else:
                answers[place].set_result(SimpleNamespace(offset=10 + place.partition))
        return answers


def read(cluster: Elected, monkeypatch: pytest.MonkeyPatch) -> Offsets:
    monkeypatch.setattr(lag, "_PAUSE", 0.0)
    monkeypatch.setattr(Cluster, "admin", lambda self: cluster)
    return read_ends(Cluster("nowhere:9", Topics("t.")), ["made"])


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
    ],
)
def test_a_partition_without_a_leader_is_asked_about_again(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker lists a topic that was made just now before it leads it."""
    cluster = Elected(3, code)
    assert read(cluster, monkeypatch) == {("made", 0): 10, ("made", 1): 11}
    assert [len(places) for places in cluster.asked] == [2, 1, 1, 1]


def test_what_is_deleted_meanwhile_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Elected(9, KafkaError.UNKNOWN_TOPIC_OR_PART, deleted=True)
    assert read(cluster, monkeypatch) == {("made", 0): 10}


def test_it_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag, "_TIMEOUT", -1.0)
    with pytest.raises(KafkaException):
        read(Elected(1, KafkaError.NOT_LEADER_FOR_PARTITION), monkeypatch)


def test_another_failure_is_raised_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Elected(1, KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException):
        read(cluster, monkeypatch)
    assert len(cluster.asked) == 1
