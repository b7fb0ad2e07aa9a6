"""Another cluster whose brokers answer what they want, or whose declaration no client accepts."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from streams.kafka import RECEIVED, Cluster, KafkaError, KafkaException
from streams.kafka.failure import is_silence
from streams.node import KafkaClock
from streams.settings import NO_CREDENTIALS
from streams.topology import Cluster as Stated
from streams.wire import Topics
from streams.workers.control import RemoteClusters, remote_clusters, remote_watch
from streams.workers.control.remote_watch import RemoteWatch
from streams.workers.forwarder import remote_producer
from streams.workers.forwarder.remote_producer import RemoteProducer
from tests.running import DEADLINE, eventually
from tests.workers.hostile_broker import hostile_broker
from tests.workers.rig import pause

NOT_UTF8 = b"\xff\xfe.example"
BIG = RECEIVED // 200
"""So many brokers with names of 200 characters are more than a client receives."""


class Client:
    """A client whose next polls are given; by then, it confirms so many copies."""

    def __init__(self, poll: Callable[[Client], None]) -> None:
        self.reports: list[Any] = []
        self._poll = poll
        self.polls = 0

    def produce(self, *given: Any) -> None:
        """Note who wants to know of it."""
        self.reports.append(given[4])

    def confirm(self) -> None:
        """Confirm the first copy, if any."""
        if self.reports:
            self.reports.pop(0)(None, None)

    def poll(self, _: float) -> None:
        """Do what the test wants."""
        self.polls += 1
        self._poll(self)

    def purge(self) -> None:
        """Do nothing: the client fails there, too."""

    def flush(self, _: float) -> None:
        """Fail as in a poll."""
        self._poll(self)


class Clusters:
    """What creates the clients of a cluster, or fails to."""

    bootstrap = "there:9092"

    def __init__(self, *made: Client | Exception) -> None:
        self.made = list(made)

    def producer(self, **_: Any) -> Client:
        """Return the next client."""
        found = self.made.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


def made(*clients: Client | Exception) -> tuple[RemoteProducer[str], list[float]]:
    """Return a producer with these clients, and its time."""
    now = [100.0]
    return RemoteProducer(cast(Any, Clusters(*clients)), 1_000, lambda: now[0]), now


def take(producer: RemoteProducer[str], item: str, size: int = 300) -> bool:
    return producer.take(item, size, "txq.B", b"key", b"", [], 0)


def fail(_: Client) -> None:
    raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")


def idle(_: Client) -> None:
    pass


def test_a_client_that_fails_is_replaced_and_its_copies_come_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    producer, now = made(Client(fail), Client(fail), Client(idle))
    for _ in range(2):
        assert take(producer, "one")
        assert [item for item, _ in producer.come_back()] == ["one"]
        assert (len(producer), producer.size) == (0, 0)
        assert not take(producer, "too early")
        now[0] += 1
        leave(producer)
    assert take(producer, "two")
    assert producer.come_back() == []
    errors = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert errors == ["the client for Kafka at there:9092 has failed and is replaced"]


def test_a_client_that_fails_while_the_forwarder_waits_ends_nothing() -> None:
    producer, _ = made(Client(fail))
    assert take(producer, "one", 600)
    assert not take(producer, "no room", 600)
    producer.settle()
    assert [item for item, _ in producer.come_back()] == ["one"]


def test_a_client_that_cannot_be_created_concerns_only_its_cluster() -> None:
    refused = KafkaException(KafkaError(KafkaError._INVALID_ARG))
    producer, now = made(refused, Client(idle))
    assert not take(producer, "one")
    assert not take(producer, "one")
    now[0] += 1
    assert take(producer, "one")


def test_a_late_report_of_a_former_client_changes_nothing() -> None:
    first = Client(idle)
    producer, now = made(first, Client(idle))
    assert take(producer, "one")
    now[0] += 15
    assert [item for item, _ in producer.come_back()] == ["one"]
    leave(producer)
    assert take(producer, "two")
    first.confirm()
    assert (list(producer.in_flight()), producer.size) == (["two"], 300)


def test_a_client_is_destroyed_in_another_thread() -> None:
    """This can wait until the name of a broker is resolved."""
    threads = list[str]()

    class Slow(Client):
        def __del__(self) -> None:
            threads.append(threading.current_thread().name)

    producer, now = made(Slow(idle), Client(idle))
    assert take(producer, "one")
    now[0] += 15
    producer.come_back()
    leave(producer)
    assert threads == ["leaving"]


def test_no_client_is_created_while_the_former_one_is_being_destroyed() -> None:
    is_resolved = threading.Event()

    class Slow(Client):
        def __del__(self) -> None:
            is_resolved.wait(DEADLINE)

    producer, now = made(Slow(idle), Client(idle))
    assert take(producer, "one")
    now[0] += 15
    producer.come_back()
    assert not take(producer, "two")
    is_resolved.set()
    leave(producer)
    assert take(producer, "two")


def leave(producer: RemoteProducer[str]) -> None:
    """Wait until the former client is destroyed."""
    assert producer._leaving is not None
    producer._leaving.join(DEADLINE)


def test_a_copy_above_the_limit_does_not_wait_for_room() -> None:
    client = Client(Client.confirm)
    producer, _ = made(client)
    assert take(producer, "one")
    assert not take(producer, "alone above the limit", 1_001)
    assert client.polls == 0


def test_the_copies_of_a_batch_wait_together_for_half_a_second() -> None:
    """However slowly another cluster confirms, messages for others do not wait longer."""

    def confirm_slowly(client: Client) -> None:
        now[0] += 0.09
        client.confirm()

    producer, now = made(Client(confirm_slowly))
    for _ in range(2):
        began = now[0]
        for _ in range(100):
            take(producer, "small", 256)
            take(producer, "large", 900)
        assert 0 < now[0] - began < remote_producer._WAITING + 0.1
        producer.come_back()


@pytest.mark.parametrize("name", ["linger.ms", "queue.buffering.max.ms"])
def test_properties_that_only_a_producer_refuses_are_reported(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a cluster is left out, and the others are watched."""
    monkeypatch.setattr(remote_clusters, "RemoteWatch", watch_nothing)
    remote = RemoteClusters(Topics(), NO_CREDENTIALS, KafkaClock())
    remote.follow(catalog(bad={name: "5000"}, good={}))
    [failure] = remote.failures()
    assert failure.startswith("Cluster bad: ") and "`linger.ms`" in failure
    assert (remote.cluster_of("in bad"), remote.cluster_of("in good")) == (
        None,
        Cluster("127.0.0.1:9", Topics(), {}, foreign=True),
    )


def test_half_a_surrogate_in_a_property_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_clusters, "RemoteWatch", watch_nothing)
    remote = RemoteClusters(Topics(), NO_CREDENTIALS, KafkaClock())
    remote.follow(catalog(bad={"sasl.username": "\ud800"}))
    [failure] = remote.failures()
    assert failure.startswith("Cluster bad: SystemError(")


def test_a_cluster_that_is_watched_is_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalog changes often, and clients take a while to be created."""
    checked = list[Cluster]()
    monkeypatch.setattr(remote_clusters, "RemoteWatch", watch_nothing)
    monkeypatch.setattr(remote_clusters, "check", checked.append)
    remote = RemoteClusters(Topics(), NO_CREDENTIALS, KafkaClock())
    for properties in ({}, {}, {"linger.ms": "5"}):
        remote.follow(catalog(good=properties))
    assert [c.properties for c in checked] == [{}, {"linger.ms": "5"}]


def test_the_number_of_watched_clusters_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client library has threads for each; without a free thread, a process would end."""
    monkeypatch.setattr(remote_clusters, "RemoteWatch", watch_nothing)
    monkeypatch.setattr(remote_clusters, "MOST_CLUSTERS", 1)
    remote = RemoteClusters(Topics(), NO_CREDENTIALS, KafkaClock())
    remote.follow(catalog(b={}, a={}))
    assert list(remote.failures()) == ["2 other clusters, but only 1 are watched."]
    assert remote.cluster_of("in a") is not None and remote.cluster_of("in b") is None


def watch_nothing(_: str, cluster: Cluster, *__: Any) -> Any:
    return SimpleNamespace(cluster=cluster, neighbours=(), stop=lambda: None, failure="")


def catalog(**clusters: dict[str, str]) -> Any:
    address = {"bootstrap.servers": "127.0.0.1:9"}
    return SimpleNamespace(
        cluster="here",
        clusters={n: Stated(n, {**address, **each}) for n, each in clusters.items()},
        neighbours={f"in {n}": SimpleNamespace(cluster=n) for n in clusters},
    )


def test_a_brokers_name_that_is_not_utf8_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The client library crashes if it returns such a name, and fails if it logs one."""
    monkeypatch.setattr(remote_watch, "_RETRY", 0.01)
    monkeypatch.setattr(remote_watch, "_SILENT", 0.1)
    topics = Topics()
    with hostile_broker(topics.presence, NOT_UTF8) as broker:
        there = Cluster(broker.address, topics, foreign=True)
        with pytest.raises(KafkaException) as caught:
            there._look(1)
        assert is_silence(caught.value.args[0])
        watch = RemoteWatch("there", there, {"B"})
        try:
            eventually(lambda: "UnicodeDecodeError" in watch.failure or pause(), "it is reported")
        finally:
            watch.stop()
        assert "crash" not in caplog.text
        producer: RemoteProducer[str] = RemoteProducer(there, 1_000)
        assert producer.take("one", 300, topics.presence, b"key", b"", [], 0)
        back = list[Any]()
        eventually(lambda: back.extend(producer.come_back()) or back or pause(), "it comes back")
        assert [item for item, _ in back] == ["one"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts the system's threads")
def test_a_response_with_too_many_brokers_is_refused() -> None:
    """The client would start a thread for each of them."""
    hosts = [b"h%0199d" % n for n in range(BIG)]
    with hostile_broker("txq.B", *hosts) as broker:
        there = Cluster(broker.address, foreign=True)
        before = len(os.listdir("/proc/self/task"))
        producer: RemoteProducer[str] = RemoteProducer(there, 1_000)
        assert producer.take("one", 300, "txq.B", b"key", b"", [], 0)
        back = list[Any]()
        eventually(lambda: back.extend(producer.come_back()) or back or pause(), "it comes back")
        assert broker.answers > 0
        assert len(os.listdir("/proc/self/task")) < before + 50
        assert (
            replace(there, foreign=False)._common().keys().isdisjoint({"receive.message.max.bytes"})
        )
