"""A client that asks nobody any more is told from a Kafka that is away, or well."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from streams.client.queues import QueueSettings
from streams.errors import SurroundingsError
from streams.kafka import (
    Cluster,
    KafkaError,
    KafkaException,
    LostBrokers,
    create,
    deploy,
    read_catalog,
)
from streams.kafka.follow import Follower, raw_record
from streams.resources import topologies_dir
from streams.topology import apply_sql, load
from streams.wire import Topics
from streams.wire.specs import TopicSpec
from tests.running import eventually
from tests.workers.rig import pause


@dataclass
class Client:
    """One that knows so many brokers; without any it asks nobody."""

    brokers: int = 1
    asked: int = 0

    about: list[str] = field(default_factory=list)

    def list_topics(self, topic: str = "", *, timeout: float) -> Any:
        self.asked += 1
        self.about.append(topic)
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
        self._stranded = LostBrokers(cast(Cluster, self.kafka), lambda: self.now)

    def after(self, seconds: float, *, is_well: bool = False) -> None:
        self.now += seconds
        self._stranded.look(is_well, self.client)


def test_it_is_told_after_a_while() -> None:
    watched = Watched(client=Client(brokers=0))
    watched.after(0)
    watched.after(14)
    assert watched.client.asked == 0
    with pytest.raises(SurroundingsError, match=r"k:9092 is up.*has lost all brokers"):
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


def test_a_client_that_answers_after_the_new_client_is_well() -> None:
    """Kafka has returned during the check, and the client needs a moment to connect."""

    class Returned(Client):
        def list_topics(self, topic: str = "", *, timeout: float) -> Any:
            watched.client.brokers = 1
            return super().list_topics(topic, timeout=timeout)

    watched = Watched(Returned(), Client(brokers=0))
    for _ in range(2):
        watched.after(15)
    assert (watched.client.asked, watched.kafka.asked) == (2, 1)


def test_a_client_is_asked_about_one_topic_if_it_accepts_only_small_responses() -> None:
    """The new client has no such limit, and might create the topic."""
    kafka, client, now = Client(), Client(brokers=0), [0.0]
    lost = LostBrokers(cast(Cluster, kafka), lambda: now[0], topic="presence")
    for _ in range(2):
        found = lost.finds(False, client)
        now[0] += 15
    assert (found, client.about, kafka.about) == (True, ["presence"] * 2, [""])


@pytest.fixture
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every look find its client stranded."""
    monkeypatch.setattr(LostBrokers, "finds", lambda *_: True)


@pytest.mark.usefixtures("_forgotten")
def test_who_follows_topics_is_told(kafka: str, unique: str) -> None:
    cluster = Cluster(kafka, Topics(unique))
    create(cluster, [TopicSpec(cluster.topics.event, "event", 1, {})])
    follower = Follower(cluster, [(cluster.topics.event, 1)], raw_record, lambda _: 0)
    with (
        contextlib.closing(follower),
        pytest.raises(SurroundingsError, match="has lost all brokers"),
    ):
        next(follower.onward())


def test_a_queue_s_settings_are_followed_by_another_client(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter((True,))  # the first look finds the client stranded
    monkeypatch.setattr(LostBrokers, "finds", lambda *_: next(looks, False))
    cluster = Cluster(kafka, Topics(unique))
    deploy(cluster, load(topologies_dir() / "local", 0))
    where = ("ServerA", "DatabaseB")
    settings = QueueSettings(cluster, *where, "TargetQueue")
    followed_by = settings._consumer
    topology = read_catalog(cluster).topology
    assert settings.status and topology is not None
    deploy(cluster, apply_sql(topology, *where, "ALTER QUEUE TargetQueue WITH STATUS = OFF", 0))

    def is_off() -> bool:
        settings.look()
        return not settings.status

    with contextlib.closing(settings):
        eventually(lambda: is_off() or pause(), "the settings are known")
        assert settings._consumer is not followed_by
