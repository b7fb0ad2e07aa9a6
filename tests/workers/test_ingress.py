"""Two clusters whose gateways check who another cluster says has sent a frame.

They are two prefixes on one broker here: nobody sees more of the other one's topics.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from streams.client import Client, Conversation
from streams.errors import EventKind, Number
from streams.kafka import deploy, read_catalog
from streams.live.admin.statements import live_topology
from streams.live.views.places import Asked, places_of
from streams.live.views.table import VIEWS
from streams.protocol import END_DIALOG, Flag, Header, Journey, Limits, Parties
from streams.resources import topologies_dir
from streams.topology import Topology, load, share_of
from streams.wire.records import Wire, message_record
from tests.running import System, eventually, running
from tests.workers.estate import AUDIT, SUPPLIER, bodies
from tests.workers.rig import pause
from tests.workers.test_foreign_schemas import addressed

LIMITS = Limits(retries=(400, 800, 1_600), recheck=100)
ORDERS, AUDITS = ("OrderService", "DatabaseA"), ("AuditService", "DatabaseC")
ORDER_QUEUE = ("ServerA", "DatabaseA", "OrderQueue")


def shares(kafka: str, unique: str) -> tuple[Topology, Topology]:
    """Return what each of the two clusters gets of the shipped topology."""
    prefixes = {"buyer": f"{unique}b.", "seller": f"{unique}s."}
    whole = addressed(load(topologies_dir() / "two_clusters", time.time()), kafka, prefixes)
    return share_of(whole, "buyer"), share_of(whole, "seller")


@contextmanager
def both(kafka: str, unique: str) -> Iterator[tuple[System, System]]:
    """Run the buyer's workers, and the seller's."""
    buyer, seller = shares(kafka, unique)
    with (
        running(kafka, f"{unique}b.", buyer, limits=LIMITS) as buys,
        running(kafka, f"{unique}s.", seller, limits=LIMITS) as sells,
    ):
        yield buys, sells


def forged(
    sender: tuple[str, str],
    to: tuple[str, str],
    conversation: uuid.UUID,
    *,
    from_initiator: bool,
    ends: bool = False,
) -> Wire:
    """Return what somebody writes who says that it comes from a service."""
    now = time.time_ns() // 1_000_000
    type_, flags, body = (END_DIALOG, Flag.END, b"") if ends else ("DEFAULT", Flag.NONE, b"forged")
    header = Header(uuid.uuid4(), type_, 0, now, now + 3_600_000, flags)
    parties = Parties(*to, *sender, "DEFAULT", from_initiator)
    return message_record(conversation, parties, header, Journey(9, now + 60_000, 0, now), body)


def write(system: System, topic: str, wire: Wire) -> None:
    producer = system.cluster.producer()
    key, value, headers = wire
    producer.produce(topic, key=key, value=value, headers=headers)  # type: ignore[arg-type]
    assert producer.flush(30) == 0


def refused(system: System, conversation: uuid.UUID) -> dict[str, object]:
    """Wait until the gateway has told that it refused a frame of a conversation."""
    [reported] = system.events(
        EventKind.MESSAGE_UNDELIVERABLE,
        lambda e: (
            (e["error"], e["conversation"]) == (Number.SENDER_NOT_PERMITTED, str(conversation))
        ),
    )
    return reported


def begin(client: Client, to: str) -> Conversation:
    return client.begin("ServerA", "DatabaseA", "OrderService", to)


def converse(buys: System, sells: System, body: bytes) -> uuid.UUID:
    """Hold a dialog across the border: an order, and an answer; returns its id."""
    with buys.client() as client:
        client.send(begin(client, "SupplierService"), body, wait=True)
    [order] = sells.received(*SUPPLIER, 1)
    assert order.body == body
    with sells.client() as client:
        client.send(order.conversation, b"goods", wait=True)
    assert bodies(buys, ORDER_QUEUE, 1) == [b"goods"]
    return order.conversation.id


def senders(system: System, topic: str, dialog: uuid.UUID) -> set[str]:
    """Return the services from which frames of a dialog in a topic come."""
    frames = (r for r in system.snapshot(topic) if r["conversation"] == str(dialog))
    return {frame["route"]["from_service"] for frame in frames}


def unacknowledged(system: System) -> list[object]:
    """Return the transmission queue of ServerA."""
    topology = live_topology(read_catalog(system.cluster))
    places = places_of(topology, "ServerA")
    asked = Asked(system.cluster, topology, places, time.time_ns() // 1_000_000)
    return list(VIEWS["sys.transmission_queue"].rows(asked))


@pytest.fixture(scope="module")
def two(kafka: str) -> Iterator[tuple[System, System]]:
    with both(kafka, f"t{uuid.uuid4().hex[:12]}") as systems:
        yield systems


def test_each_cluster_writes_into_a_topic_of_its_own(two: tuple[System, System]) -> None:
    """What is written by one's own cluster, and only that, is in the transmission queue."""
    buys, sells = two
    dialog = converse(buys, sells, b"order")
    mine, other = buys.cluster.topics, sells.cluster.topics
    assert senders(sells, other.ingress("GatewayB", "buyer"), dialog) == {"OrderService"}
    assert senders(sells, other.txq("GatewayB"), dialog) == {"SupplierService"}
    assert senders(buys, mine.ingress("GatewayA", "seller"), dialog) == {"SupplierService"}
    assert senders(buys, mine.txq("GatewayA"), dialog) == {"OrderService"}


@pytest.mark.long
def test_a_dialog_from_ones_own_service_cannot_begin_outside(two: tuple[System, System]) -> None:
    """It is dropped and told, and what comes behind it passes."""
    buys, sells = two
    entrance, dialog = buys.cluster.topics.ingress("GatewayA", "seller"), uuid.uuid4()
    write(buys, entrance, forged(ORDERS, AUDITS, dialog, from_initiator=True))
    reported = refused(buys, dialog)
    assert (reported["instance"], reported["from_service"], reported["to_service"]) == (
        "GatewayA", "OrderService", "AuditService",
    )  # fmt: skip
    converse(buys, sells, b"behind it")
    with buys.client() as client:
        client.send(begin(client, "AuditService"), b"honest", wait=True)
    assert bodies(buys, AUDIT, 1) == [b"honest"], "the forged one would have been before it"


@pytest.mark.long
def test_nobody_outside_ends_a_dialog_of_others(two: tuple[System, System]) -> None:
    """Written by one's own cluster the same frame ends it: the entrance makes the difference."""
    buys, _ = two
    with buys.client() as client:
        dialog = begin(client, "AuditService")
        client.send(dialog, b"one", wait=True)
        assert bodies(buys, AUDIT, 1) == [b"one"]
        eventually(lambda: not unacknowledged(buys) or pause(), "the broker id is locked")
        ending = forged(AUDITS, ORDERS, dialog.id, from_initiator=False, ends=True)
        topics = buys.cluster.topics
        write(buys, topics.ingress("GatewayA", "seller"), ending)
        refused(buys, dialog.id)
        client.send(dialog, b"two", wait=True)
        assert bodies(buys, AUDIT, 1) == [b"two"]
    write(buys, topics.txq("GatewayA"), ending)
    [ended] = buys.received(*ORDER_QUEUE, 1)
    assert (ended.conversation.id, ended.type) == (dialog.id, END_DIALOG)


@pytest.mark.long
def test_a_cluster_that_comes_later_is_let_in_live(kafka: str, unique: str) -> None:
    """Until a gateway says that it reads a topic of its own, a cluster writes as it always did."""
    buyer, seller = shares(kafka, unique)
    with (
        running(kafka, f"{unique}b.", buyer, limits=LIMITS) as buys,
        running(kafka, f"{unique}s.", replace(seller, ingress=()), limits=LIMITS) as sells,
    ):
        topics = sells.cluster.topics
        entrance = topics.ingress("GatewayB", "buyer")
        before = converse(buys, sells, b"before")
        assert senders(sells, topics.txq("GatewayB"), before) == {"OrderService", "SupplierService"}
        deploy(sells.cluster, seller)
        control = buys.workers[0].process._control
        assert control is not None
        eventually(
            lambda: control.remote.admitted("GatewayB") == "buyer" or pause(), "GatewayB says so"
        )
        after = converse(buys, sells, b"after")
        assert senders(sells, entrance, after) == {"OrderService"}
        assert senders(sells, topics.txq("GatewayB"), after) == {"SupplierService"}
