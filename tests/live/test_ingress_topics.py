"""Whoever lists an instance's topics knows those that other clusters write."""

from __future__ import annotations

import uuid

from streams.kafka import Cluster, Message, specs_of
from streams.live.admin.repartition import _topics
from streams.live.life.records import Frame, Sieve
from streams.monitor.look import _inputs
from streams.protocol import DEFAULT, Header, Journey, Parties
from streams.topology import share_of
from streams.wire import Topics
from streams.wire.records import message_record
from tests.topology.build import shipped

BUYER = share_of(shipped("two_clusters"), "buyer")
TOPICS = Topics("t.")
ENTRANCE = "t.ingress.GatewayA.seller"


def test_a_share_has_the_topic_and_so_has_the_monitor() -> None:
    assert ENTRANCE in [spec.name for spec in specs_of(BUYER, TOPICS)]
    assert _inputs(TOPICS, BUYER, "GatewayA", "forwarder") == {
        "t.out.GatewayA": "out",
        "t.txq.GatewayA": "txq",
        ENTRANCE: "ingress",
    }
    assert ENTRANCE not in _inputs(TOPICS, BUYER, "ServerA", "forwarder")


def test_a_repartition_gives_it_as_many_partitions() -> None:
    """Else workers would refuse it; specs and command name the same topics."""
    found = _topics(Cluster("nowhere:1", TOPICS), "GatewayA", BUYER)
    assert ENTRANCE in found
    keyed = {"cmd", "out", "txq", "ingress", "in", "ack", "dialog"}
    specs = specs_of(BUYER, TOPICS)
    assert set(found) == {s.name for s in specs if s.kind in keyed and ".GatewayA" in s.name}


def test_the_story_of_a_dialog_has_what_another_cluster_wrote() -> None:
    """As a record that waits at the gateway, like one of ``txq``."""
    dialog = uuid.uuid4()
    parties = Parties("To", None, "From", "B", DEFAULT, True)
    header = Header(uuid.uuid4(), DEFAULT, 0, 1_000, 2_000)
    key, value, headers = message_record(dialog, parties, header, Journey(9, 2_000, 0, 1_000), b"x")
    message = Message(
        topic=ENTRANCE, partition=0, offset=7, key=key, value=value, timestamp=(1, 1_000),
        headers=headers,
    )  # type: ignore[call-arg]  # fmt: skip
    found = Sieve(dialog, TOPICS)(message)
    assert isinstance(found, Frame)
    assert (found.kind, found.home, found.where) == ("txq", "GatewayA", f"{ENTRANCE}/0@7")
