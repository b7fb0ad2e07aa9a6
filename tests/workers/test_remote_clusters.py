"""Watching another cluster: whenever it gets its topics, it is heard."""

from __future__ import annotations

from typing import Any

import pytest

from streams.kafka import Cluster, LostBrokers, create
from streams.wire import Topics, encode_presence
from streams.wire.evolution import ANNOUNCED
from streams.wire.specs import spec
from streams.workers.control import remote_clusters
from tests.workers.rig import HookedCluster, eventually, pause


def test_a_cluster_that_gets_its_topics_late_is_heard_all_the_same(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers here may have been started long before anybody applied anything there."""
    monkeypatch.setattr(remote_clusters, "_AGAIN", 0.1)
    monkeypatch.setattr(remote_clusters, "_LONGEST", 0.2)
    asked: list[Any] = []

    def assign(method: Any, where: Any) -> None:
        asked.append(where)
        method(where)

    there = HookedCluster(kafka, Topics(unique), hooks={"assign": assign})
    watch = remote_clusters._Watch("there", there, {"B"})
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
            return "B" in watch.announced or pause()

        eventually(read_heartbeat, "it is heard")
        assert watch.announced == {"B": frozenset({b"\xc3\x01" + bytes(8)})}
        assert (list(watch.claims), list(watch.admits)) == (["B"], ["B"]), "of no others"
        assert list(watch.presence._count) == ["B"]
    finally:
        watch.stop()


def test_a_client_that_has_forgotten_the_cluster_is_replaced(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Cluster(kafka, Topics(unique))
    create(there, [spec(there.topics.presence, "presence")])
    consumers: list[Any] = []

    def finds(self: LostBrokers, is_well: bool, *clients: Any) -> bool:
        if clients[0] not in consumers:
            consumers.append(clients[0])
        return is_well and len(consumers) == 1

    monkeypatch.setattr(LostBrokers, "finds", finds)
    watch = remote_clusters._Watch("there", there, {"B"})
    producer = there.producer()

    def read_heartbeat() -> bool:
        value = encode_presence("B", "r", len(consumers), 1)
        producer.produce(there.topics.presence, key="B", value=value)
        producer.flush(5)
        return "B" in watch.claims or pause()

    try:
        eventually(read_heartbeat, "it is heard")
        assert len(consumers) == 2
    finally:
        watch.stop()
