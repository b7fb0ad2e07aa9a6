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
from streams.workers.endpoint.partition import Partition
from streams.workers.endpoint.tuning import AS_USUAL

COUNT = 4
NOW = 1_000_000


class Member:
    """A consumer that is given partitions."""

    def consumer_group_metadata(self) -> str:
        return "member"

    def memberid(self) -> str:
        return "member"

    def assign(self, _: Any) -> None:
        pass


class Aside(Member):
    """A consumer of the forwarder's group, which has passed a hundred records of ``out``."""

    def committed(self, where: list[TopicPartition], **_: Any) -> list[TopicPartition]:
        return [TopicPartition(one.topic, one.partition, 100) for one in where]


def progress(next_due: int | None, *, retries: bool) -> int:
    """Return what a partition knows of the forwarder's offset before its next transaction."""
    cluster, ownership = SimpleNamespace(topics=Topics()), SimpleNamespace(home="A")
    made = Assignment(cluster, "A", None, ownership, AS_USUAL)  # type: ignore[arg-type]
    flows = SimpleNamespace(has_retry=retries)
    endpoint: Any = SimpleNamespace(next_due=next_due, flows=flows, left_out=0, applied_until=0)
    positions = dict.fromkeys(made.inputs, 0)
    nothing: Any = None
    owned = Partition(0, endpoint, nothing, nothing, positions, {}, nothing, mark=(1, NOW))
    made.owned[0], made._aside = owned, Aside()  # type: ignore[assignment]
    made.know_progress(NOW)
    left_out: int = endpoint.left_out
    return left_out


@pytest.mark.parametrize(
    ("next_due", "retries", "known"),
    [(None, False, 0), (NOW + 1, False, 0), (NOW, False, 100), (NOW + 1, True, 100)],
)
def test_the_forwarders_offset_is_read_before_every_kind_of_retry(
    next_due: int | None, retries: bool, known: int
) -> None:
    """After a stall, dialogs retry at their turn: with an old offset they waited for a second."""
    assert progress(next_due, retries=retries) == known


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
