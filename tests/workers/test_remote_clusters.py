"""Watching another cluster: whenever it gets its topics, it is heard."""

from __future__ import annotations

import json
import os
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from streams.kafka import RECEIVED, Cluster, Message, create, read_all, size_of
from streams.node import KafkaClock
from streams.routing import Origin
from streams.settings import NO_CREDENTIALS
from streams.times import LATEST
from streams.topology import Cluster as Stated
from streams.wire import Topics, encode_presence
from streams.wire.evolution import ADMITS, ANNOUNCED
from streams.wire.heartbeats import Heartbeat, HeartbeatReader
from streams.wire.records import MESSAGE
from streams.wire.specs import spec
from streams.workers.control import RemoteClusters, remote_watch
from streams.workers.control.remote_watch import RemoteWatch
from streams.workers.forwarder.remote_producers import RemoteCopy, RemoteProducers
from tests.running import DEADLINE
from tests.workers.rig import HookedCluster, configure, eventually, pause


def test_a_cluster_that_gets_its_topics_late_is_heard_all_the_same(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers here may have been started long before anybody applied anything there."""
    monkeypatch.setattr(remote_watch, "_AGAIN", 0.1)
    monkeypatch.setattr(remote_watch, "_LONGEST", 0.2)
    asked: list[Any] = []

    def assign(method: Any, where: Any) -> None:
        asked.append(where)
        method(where)

    there = HookedCluster(kafka, Topics(unique), hooks={"assign": assign})
    watch = RemoteWatch("there", there, {"B"})
    try:
        eventually(lambda: len(asked) > 5 or pause(), "it asks again and again")
        topic = there.topics.presence
        create(there, [spec(topic, "presence")])
        producer = there.producer()

        def read_heartbeat() -> bool:
            headers = {ANNOUNCED: bytes(8)}
            for name in ("Stranger", "B"):
                value = encode_presence(name, "r", len(asked), 1)
                producer.produce(topic, key=name, value=value, headers=headers)
            producer.flush(5)
            return "B" in watch.presence._count or pause()  # the last that it notes

        eventually(read_heartbeat, "it is heard")
        assert watch.announced == {"B": frozenset({b"\xc3\x01" + bytes(8)})}
        assert (list(watch.claims), list(watch.admits)) == (["B"], ["B"]), "of no others"
        assert list(watch.presence._count) == ["B"]
    finally:
        watch.stop()


def test_who_may_write_knows_into_which_topic(kafka: str, unique: str) -> None:
    """Another thread writes as soon as it finds the schemas of a neighbour: not into ``txq``."""
    there = Cluster(kafka, Topics(unique))
    create(there, [spec(there.topics.presence, "presence")])
    watch, admitted = RemoteWatch("there", there, {"B"}), list[bool]()

    class Noting(dict[str, frozenset[bytes]]):
        """The schemas of neighbours; notes whether the names of the topics are known by then."""

        def __setitem__(self, name: str, schemas: frozenset[bytes]) -> None:
            admitted.append(name in watch.admits)
            super().__setitem__(name, schemas)

    watch.announced, producer, numbers = Noting(), there.producer(), iter(range(1, 10_000))

    def read_heartbeat() -> bool:
        headers = {ANNOUNCED: bytes(8), ADMITS: json.dumps(["here"])}
        value = encode_presence("B", "r", next(numbers), 1)
        producer.produce(there.topics.presence, key="B", value=value, headers=headers)
        producer.flush(5)
        return "B" in watch.presence._count or pause()

    try:
        eventually(read_heartbeat, "it is heard")
    finally:
        watch.stop()
    assert admitted and all(admitted)


@pytest.mark.long
@pytest.mark.parametrize("header", [False, True])
def test_a_batch_without_end_is_skipped_and_reported(
    kafka: str, unique: str, caplog: pytest.LogCaptureFixture, header: bool
) -> None:
    """There it may be compressed with gzip, and inflate to a thousand times its size here."""
    properties = {"message.max.bytes": "2000000", "fetch.max.bytes": "60000000"}
    there = Cluster(kafka, Topics(unique), properties)
    create(there, [spec(there.topics.presence, "presence")])
    watch, read = RemoteWatch("there", there, {"B"}), list[int]()
    note = watch._read
    watch._read = lambda message, consumer: (  # type: ignore[method-assign]
        read.append(size_of(message)),
        note(message, consumer),
    )[1]
    producer = there.producer(compression_type="none")

    def heard(number: int) -> bool:
        value = encode_presence("B", "r", number, 1)
        producer.produce(there.topics.presence, key="B", value=value)
        producer.flush(5)
        return watch.presence._count.get("B") == ("r", number) or pause()

    try:
        eventually(lambda: heard(1), "it is heard")
        large = os.urandom(RECEIVED + 1)
        parts = {"headers": {"large": large}} if header else {"value": large}
        producer.produce(there.topics.presence, key="B", **parts)
        producer.flush(5)
        eventually(lambda: "is skipped" in caplog.text or pause(), "the log")
        eventually(lambda: heard(2), "it is heard again")
        assert max(read) < RECEIVED
        [line] = [r.getMessage() for r in caplog.records if "is skipped" in r.getMessage()]
        assert line.startswith(f"the cluster there: a batch in {there.topics.presence} is larger ")
        assert watch.thread.is_alive()
    finally:
        watch.stop()


def test_a_heartbeat_that_cannot_be_read_ends_nothing(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No matter what reading it raises."""
    read = HeartbeatReader.read

    def fail(self: HeartbeatReader, key: Any, value: bytes | None) -> Heartbeat:
        if value == b"odd":
            raise ZeroDivisionError("content of the record")
        return read(self, key, value)

    monkeypatch.setattr(HeartbeatReader, "read", fail)
    there = Cluster(kafka, Topics(unique))
    create(there, [spec(there.topics.presence, "presence")])
    watch = RemoteWatch("there", there, {"B"})
    producer, numbers = there.producer(), iter(range(10_000))

    def read_heartbeat() -> bool:
        headers = {ADMITS: json.dumps(["x" * 20_000])}
        producer.produce(there.topics.presence, key="B", value=b"odd")
        value = encode_presence("B", "hostile", 1, 1)
        producer.produce(there.topics.presence, key="B", value=value, headers=headers)
        value = encode_presence("B", "r", next(numbers), 1)
        producer.produce(there.topics.presence, key="B", value=value)
        producer.flush(5)
        return "is skipped: ZeroDivisionError" in caplog.text and watch.presence._count != {}

    try:
        eventually(lambda: read_heartbeat() or pause(), "it is heard behind the odd one")
        assert watch.presence._count["B"][0] == "r"
        assert "is skipped: sb-ingress: 20,004 bytes, at most 16,384" in caplog.text
        assert "content of the record" not in caplog.text
        assert watch.thread.is_alive()
    finally:
        watch.stop()


def test_a_client_that_receives_nothing_for_a_while_is_replaced(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have forgotten the cluster, or fetch no more."""
    monkeypatch.setattr(remote_watch, "_SILENT", 0.1)
    made = list[int]()

    class Counting(HookedCluster):
        def consumer(self, group: str, **config: Any) -> Any:
            made.append(1)
            return super().consumer(group, **config)

    there = Counting(kafka, Topics(unique))
    create(there, [spec(there.topics.presence, "presence")])
    watch = RemoteWatch("there", there, {"B"})
    producer, numbers = there.producer(), iter(range(1, 10_000))

    def read_heartbeat() -> bool:
        value = encode_presence("B", "r", next(numbers), 1)
        producer.produce(there.topics.presence, key="B", value=value)
        producer.flush(5)
        return "B" in watch.presence._count or pause()

    try:
        eventually(lambda: len(made) > 1 or pause(), "another client tries")
        monkeypatch.setattr(remote_watch, "_SILENT", 15.0)
        eventually(read_heartbeat, "it is heard")
    finally:
        watch.stop()


@pytest.mark.parametrize("fails", ["consumer", "poll"])
def test_a_watch_that_fails_is_reported_and_starts_again(
    kafka: str,
    unique: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fails: str,
) -> None:
    monkeypatch.setattr(remote_watch, "_RETRY", 0.01)
    failures = list[int]()

    def fail(method: Any, *given: Any, **named: Any) -> Any:
        if is_broken:
            failures.append(1)
            raise RuntimeError("broken")
        return method(*given, **named)

    class Breaking(HookedCluster):
        def consumer(self, group: str, **config: Any) -> Any:
            made = super().consumer
            return fail(made, group, **config) if fails == "consumer" else made(group, **config)

    is_broken = True
    there = Breaking(kafka, Topics(unique), hooks={"poll": fail} if fails == "poll" else {})
    create(there, [spec(there.topics.presence, "presence")])
    remote = RemoteClusters(there.topics, NO_CREDENTIALS, KafkaClock())
    watch = remote._watches["there"] = RemoteWatch("there", there, {"B"})
    producer = there.producer()

    def read_heartbeat() -> bool:
        value = encode_presence("B", "r", 1, 1)
        producer.produce(there.topics.presence, key="B", value=value)
        producer.flush(5)
        return "B" in watch.claims or pause()

    try:
        eventually(lambda: len(failures) > 2 or pause(), "it fails again and again")
        assert list(remote.failures()) == [
            "The cluster there cannot be watched: RuntimeError('broken')."
        ]
        is_broken = False
        eventually(read_heartbeat, "it is heard")
        eventually(lambda: not list(remote.failures()) or pause(), "it is well")
    finally:
        watch.stop()
    [line] = [r.getMessage() for r in caplog.records if r.name == "hopline.control"]
    assert line == "the cluster there cannot be watched; retrying"


SCHEMA = b"\xc3\x01" + bytes(8)
"""The prefix of a schema, which is announced."""
YEAR = 365 * 24 * 3600 * 1000


@pytest.mark.parametrize("stamp", [2**63 - 1, LATEST - YEAR, 1], ids=["int64", "9998", "1970"])
def test_a_heartbeat_with_an_impossible_time_harms_no_copy(
    kafka: str, unique: str, caplog: pytest.LogCaptureFixture, stamp: int
) -> None:
    """Another cluster may let the writers of its `presence` set the timestamps."""
    there = Cluster(kafka, Topics(unique))
    create(there, [spec(there.topics.presence, "presence"), spec(there.topics.txq("B"), "txq")])
    any_time = {"message.timestamp.type": "CreateTime"}
    for limit in ("before", "after"):
        any_time[f"message.timestamp.{limit}.max.ms"] = str(2**63 - 1)
    configure(there, there.topics.presence, any_time)
    at, now = time.monotonic(), time.time_ns() // 1_000_000
    home = KafkaClock(now / 1000 - at)
    home.end_read(at)
    home.seen(now, at)
    remote = RemoteClusters(there.topics, NO_CREDENTIALS, home)
    catalog = SimpleNamespace(
        cluster="here",
        clusters={"there": Stated("there", {"bootstrap.servers": kafka})},
        neighbours={"B": SimpleNamespace(cluster="there")},
    )
    remote.follow(cast(Any, catalog))
    watch = remote._watches["there"]
    producer, numbers = there.producer(), iter(range(1, 10_000))

    def beat(stamp: int) -> int:
        """Write a heartbeat and wait until it is read."""
        number = next(numbers)
        value = encode_presence("B", "r", number, 1)
        headers = {ANNOUNCED: bytes(8)}
        topic = there.topics.presence
        producer.produce(topic, key="B", value=value, headers=headers, timestamp=stamp)
        assert producer.flush(DEADLINE) == 0
        return number

    try:
        eventually(
            lambda: (beat(now) > 0 and "B" in watch.presence._count) or pause(),
            "heartbeats are read",
        )
        last = beat(stamp)
        eventually(
            lambda: watch.presence._count.get("B") == ("r", last) or pause(),
            "the heartbeat with the impossible time is read",
        )
        assert abs(remote.ahead("B")) < 60_000
        assert watch.thread.is_alive()
        assert f"has the time {stamp} (epoch milliseconds)" in caplog.text
        producers = RemoteProducers(remote, Topics("home."))
        producers.limit(1 << 20)
        message = Message(topic="txq.A", value=b"body", key=b"key", offset=1)
        assert producers.take(RemoteCopy(message, Origin.OUTSIDE, "B"), [(MESSAGE, SCHEMA)], now)
        producers.settle()
        assert list(producers.come_back()) == []
        [copy] = read_all(there, there.topics.txq("B"))
        assert copy.value() == b"body"
        assert abs(copy.timestamp()[1] - now) < 60_000
    finally:
        remote.stop()
