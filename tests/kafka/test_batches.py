"""Requests that the controller accepts, whatever the number of topics."""

from __future__ import annotations

import pytest

from streams.kafka import Cluster, create
from streams.kafka.batches import RECORDS, batches
from streams.wire import Topics
from streams.wire.specs import instance_specs


def test_a_batch_has_no_more_records_than_a_request_may_have() -> None:
    entries = [RECORDS - 1, 1, 1, RECORDS + 5, 2]
    assert list(batches(entries, int)) == [[RECORDS - 1, 1], [1], [RECORDS + 5], [2]]
    assert [len(batch) for batch in batches(range(2_500))] == [1_000, 1_000, 500]
    assert not list(batches([]))


@pytest.mark.long
def test_the_topics_of_150_instances_are_created(kafka: str, unique: str) -> None:
    """They are more than 10,000 records with their settings."""
    cluster = Cluster(kafka, Topics(unique))
    names = [f"I{n}" for n in range(150)]
    specs = [s for n in names for s in instance_specs(cluster.topics, n, [("D", "Q", 1)], 1, [])]
    admin = cluster.admin()  # while it is held, the answers can come
    try:
        assert create(cluster, specs) == [f"created {spec.name}" for spec in specs]
    finally:
        for batch in batches([spec.name for spec in specs]):
            for future in admin.delete_topics(batch).values():
                future.exception()
