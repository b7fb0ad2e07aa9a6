"""A client that asks nobody any more is told from a Kafka that is away, or well."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from streams.errors import SurroundingsError
from streams.kafka import Cluster, KafkaError, KafkaException, Stranded


@dataclass
class Client:
    """One that knows so many brokers; without any it asks nobody."""

    brokers: int = 1
    asked: int = 0

    def list_topics(self, *, timeout: float) -> Any:
        self.asked += 1
        if not self.brokers:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return self

    @property
    def admin(self) -> Any:
        """Return itself, as a cluster's new client."""
        return lambda: self


@dataclass
class Watched:
    """A client under a clock."""

    kafka: Client = field(default_factory=Client)
    client: Client = field(default_factory=Client)
    now: float = 100.0

    def __post_init__(self) -> None:
        self.kafka.bootstrap = "k:9092"  # type: ignore[attr-defined]
        self._stranded = Stranded(cast(Cluster, self.kafka), lambda: self.now)

    def after(self, seconds: float, *, is_well: bool = False) -> None:
        self.now += seconds
        self._stranded.look(is_well, self.client)


def test_it_is_told_after_a_while() -> None:
    watched = Watched(client=Client(brokers=0))
    watched.after(0)
    watched.after(14)
    assert watched.client.asked == 0
    with pytest.raises(SurroundingsError, match=r"k:9092 is there.*has forgotten where"):
        watched.after(1)


def test_nothing_is_told_of_a_kafka_that_is_away_and_it_is_looked_at_again() -> None:
    watched = Watched(Client(brokers=0), Client(brokers=0))
    for _ in range(3):
        watched.after(15)
    assert (watched.client.asked, watched.kafka.asked) == (2, 2)
    watched.kafka.brokers = 1
    with pytest.raises(SurroundingsError):
        watched.after(15)


def test_nothing_is_told_of_a_client_that_waits_or_is_well() -> None:
    watched = Watched()
    for _ in range(3):
        watched.after(15)
    assert (watched.client.asked, watched.kafka.asked) == (2, 0)
    watched.client.brokers = 0
    watched.after(15, is_well=True)
    watched.after(1)
    watched.after(14)
    assert (watched.client.asked, watched.kafka.asked) == (2, 0)
