"""What the brokers' own settings are, and what is reported about them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from streams.kafka import Cluster
from streams.kafka.brokers import find_long_transactions


class NoBrokers:
    """An administration client of a Kafka whose only broker has lost its session for a moment."""

    def list_topics(self, **_: Any) -> SimpleNamespace:
        return SimpleNamespace(brokers={})


def test_a_kafka_that_lists_no_brokers_has_no_findings() -> None:
    """Otherwise `hopline apply` would end with a ValueError of the client."""
    cluster = cast(Cluster, SimpleNamespace(admin=NoBrokers))
    assert find_long_transactions(cluster) == ()
