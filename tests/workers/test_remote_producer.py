"""A forwarder's way into another cluster: nobody waits, and what did not arrive comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, cast

import pytest

from streams.kafka import Cluster, Headers, KafkaError, Message, create, is_passing
from streams.kafka.reader import read_all
from streams.node.forwarder.holding import LEAST
from streams.routing import Origin
from streams.wire import Topics
from streams.wire.frame_headers import MESSAGE_CODEC
from streams.wire.records import MESSAGE
from streams.wire.specs import spec
from streams.workers.forwarder.remote_producer import RemoteProducer
from streams.workers.forwarder.remote_producers import RemoteCopy, RemoteProducers
from tests.ports import reserved
from tests.running import eventually
from tests.workers.rig import pause

LIMIT = 1_000
SCHEMA = MESSAGE_CODEC.prefix


@pytest.fixture
def away() -> Iterator[tuple[Cluster, Cluster]]:
    """Return two clusters that are away."""
    with reserved(2) as (one, other):
        yield Cluster(f"127.0.0.1:{one}"), Cluster(f"127.0.0.1:{other}")


@pytest.fixture
def nowhere(away: tuple[Cluster, Cluster]) -> RemoteProducer[str]:
    """Return the way into a cluster that is away."""
    return RemoteProducer(away[0], LIMIT)


def take(producer: RemoteProducer[str], item: str, size: int, topic: str = "txq.B") -> bool:
    return producer.take(item, size, topic, b"key", bytes(size), [("h", b"1")], 0)


def back(producer: RemoteProducer[str], count: int) -> list[tuple[str, bool]]:
    """Wait for so many that come back; each with whether it is worth another attempt."""
    found: list[tuple[str, bool]] = []

    def enough() -> bool:
        found.extend((item, is_passing(error)) for item, error in producer.come_back())
        return len(found) >= count or pause()

    eventually(enough, "what did not arrive")
    return found


def test_what_a_cluster_that_is_away_does_not_confirm_comes_back(
    nowhere: RemoteProducer[str],
) -> None:
    """To be held, and tried again; until then it counts as under way."""
    assert take(nowhere, "one", 400)
    assert take(nowhere, "two", 400)
    assert (list(nowhere.in_flight()), nowhere.size) == (["one", "two"], 800)
    assert sorted(back(nowhere, 2)) == [("one", True), ("two", True)]
    assert (len(nowhere), nowhere.size) == (0, 0)


def test_after_a_silence_another_client_tries(away: tuple[Cluster, Cluster]) -> None:
    """The one may have forgotten where the cluster is; what it had under way comes back."""
    now = [100.0]
    producer: RemoteProducer[str] = RemoteProducer(away[0], LIMIT, lambda: now[0])
    assert take(producer, "one", 400)
    first = producer._producer
    now[0] += 14
    assert (producer.come_back(), producer._producer) == ([], first)
    now[0] += 1
    assert [(item, is_passing(e)) for item, e in producer.come_back()] == [("one", True)]
    now[0] += 60
    assert (producer.come_back(), producer._producer) == ([], None)
    eventually(lambda: take(producer, "two", 400) or pause(), "another client tries")
    assert producer._producer not in (first, None)


def test_there_is_room_for_so_much_and_nobody_waits_for_more(nowhere: RemoteProducer[str]) -> None:
    """Where nothing arrives, waiting for room is in vain: at most a tenth of a second, once."""
    assert take(nowhere, "larger than the limit, and alone", LIMIT + 1)
    assert not take(nowhere, "no room", 1)
    began = time.process_time()
    assert not any(take(nowhere, "still none", 1) for _ in range(1_000))
    assert time.process_time() - began < 5
    back(nowhere, 1)
    assert take(nowhere, "room again", 1)


def test_what_has_no_body_is_bounded_as_well(nowhere: RemoteProducer[str]) -> None:
    """By the rule for what is held in memory: an EndDialog takes room, too."""
    most = LIMIT // LEAST
    assert [take(nowhere, str(n), 0) for n in range(most + 1)] == [True] * most + [False]
    assert nowhere.size == most * LEAST


def test_what_arrives_is_done_with_and_what_is_refused_comes_back(kafka: str, unique: str) -> None:
    """A copy that is too large will never be taken: there is no point in holding it."""
    cluster = Cluster(kafka, Topics(unique))
    topic = cluster.topics.txq("B")
    create(cluster, [spec(topic, "txq")])
    producer: RemoteProducer[str] = RemoteProducer(cluster, 10 << 20)
    assert take(producer, "too large", 2 << 20, topic)
    assert take(producer, "small", 10, topic)
    producer.settle()
    assert [(item, is_passing(e)) for item, e in producer.come_back()] == [("too large", False)]
    assert (len(producer), producer.size) == (0, 0)
    [arrived] = read_all(cluster, topic)
    assert (arrived.key(), arrived.value()) == (b"key", bytes(10))


def test_an_error_that_ends_the_client_is_worth_another_attempt() -> None:
    assert is_passing(KafkaError(KafkaError._FATAL, "gone", fatal=True))
    assert not is_passing(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))


class Elsewhere:
    """Other clusters of which the catalog has just changed the address."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def cluster_of(self, _: str) -> Cluster:
        """Return where a neighbour is now."""
        return self.cluster

    def knows(self, cluster: Cluster) -> bool:
        """Tell whether a cluster is one of those that count now."""
        return cluster is self.cluster

    def announced(self, _: str) -> frozenset[bytes]:
        """Return the schemas that can be read there."""
        return frozenset({SCHEMA})

    def admitted(self, _: str) -> str:
        """Return by which name the gateways there know this cluster."""
        return "here"

    def ahead(self, _: str) -> int:
        """Return by how much the clock there is ahead."""
        return 0


def test_a_way_to_an_address_that_counts_no_more_is_given_up_when_it_is_empty(
    away: tuple[Cluster, Cluster],
) -> None:
    """Its client would try to connect, and tell of it, for as long as the worker lives."""
    elsewhere = Elsewhere(away[0])
    producers = RemoteProducers(cast(Any, elsewhere), Topics())
    producers.limit(LIMIT)
    assert producers.take(remote_copy("one"), [(MESSAGE, SCHEMA)], 1)
    elsewhere.cluster = away[1]
    assert producers.take(remote_copy("two"), [(MESSAGE, SCHEMA)], 1)
    assert len(list(producers.in_flight())) == 2
    found: list[str] = []

    def enough() -> bool:
        found.extend(c.instance for c, error in producers.come_back() if error is None)
        return len(found) == 2 or pause()

    eventually(enough, "both come back")
    assert sorted(found) == ["one", "two"]
    assert [way.cluster for way in producers._all] == [elsewhere.cluster]


def test_the_headers_of_the_source_count_while_its_copy_is_in_flight(
    away: tuple[Cluster, Cluster],
) -> None:
    """The copy has three of them, but the source is kept with all."""
    producers = RemoteProducers(cast(Any, Elsewhere(away[0])), Topics())
    producers.limit(10_000)
    [large, other] = (remote_copy("one", [("any", bytes(8_000))]) for _ in range(2))
    assert producers.take(large, [(MESSAGE, SCHEMA)], 1)
    assert 5_000 < producers._all[0].size < 8_000
    assert not producers.take(other, [(MESSAGE, SCHEMA)], 1)
    assert len(list(producers.in_flight())) == 1


def remote_copy(neighbour: str, headers: Headers | None = None) -> RemoteCopy:
    """Return a copy for a neighbour."""
    message = Message(topic="txq.A", value=b"body", key=b"key", offset=1, headers=headers)
    return RemoteCopy(message, Origin.OUTSIDE, neighbour)
