"""The partitions of an endpoint worker, as Kafka has them."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from streams.wire import Topics
from streams.wire.partition import partition_of
from streams.workers.endpoint import assignment
from streams.workers.endpoint.assignment import Assignment
from streams.workers.endpoint.tuning import AS_USUAL

COUNT = 4


class Member:
    """A consumer that is given partitions."""

    def consumer_group_metadata(self) -> str:
        return "member"

    def memberid(self) -> str:
        return "member"

    def assign(self, _: Any) -> None:
        pass


def test_ids_of_requests_are_made_for_the_partitions_that_kafka_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The catalog may know fewer, so that no id would ever belong to the last ones."""
    monkeypatch.setattr(assignment, "partitions_of", lambda *_: list(range(COUNT)))
    monkeypatch.setattr(
        Assignment,
        "_restore",
        lambda *_: SimpleNamespace(positions={}, endpoint=SimpleNamespace(dialogs={})),
    )
    cluster, control = (
        SimpleNamespace(topics=Topics()),
        SimpleNamespace(catalog=SimpleNamespace(partitions={"A": COUNT - 1})),
    )
    ownership = SimpleNamespace(home="A", of="", assigned=False)
    made = Assignment(cluster, "A", control, ownership, AS_USUAL)  # type: ignore[arg-type]
    given = [TopicPartition(topic, COUNT - 1) for topic in made.inputs]
    made._assigned(Member(), given)  # type: ignore[arg-type]
    ids = [uuid.UUID(int=number) for number in range(100)]
    fitting = [id for id in ids if made._is_in(COUNT - 1, id)]
    assert fitting == [id for id in ids if partition_of(id, COUNT) == COUNT - 1] != []
