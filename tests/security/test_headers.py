"""Headers of batches are requested by another client, with the same user (decision 46)."""

from __future__ import annotations

from confluent_kafka import TopicPartition

from tests.security.system import Guarded


def test_a_worker_reads_the_headers_of_its_statements(system: Guarded) -> None:
    """With SCRAM and TLS, and no right beyond those that it needs anyway."""
    cluster = system.cluster("endpoint.ServerA")
    place = cluster.topics.cmd("ServerA"), 0
    consumer, stored = cluster.consumer("endpoint.ServerA"), cluster.stored_batches()
    assert stored is not None
    low, high = consumer.get_watermark_offsets(TopicPartition(*place), timeout=30)
    found = stored.first_with_records(place, low, 10)
    assert low < found.offsets.stop <= high
    stored.close()
    consumer.close()
