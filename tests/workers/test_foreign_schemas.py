"""Design, several clusters: a forwarder writes only what the other cluster has announced.

Two clusters are two prefixes on one broker here: nobody sees more of the other one's topics.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from streams.errors import EventKind, Number
from streams.kafka import KafkaError, deploy, headers_of, read_catalog
from streams.protocol import Header, Journey, Parties
from streams.resources import topologies_dir
from streams.topology import Topology, load, share_of
from streams.wire.evolution import ANNOUNCED, announcement
from streams.wire.records import HOP, MESSAGE, Headers, header_of, message_record
from streams.wire.single_object import prefix_of
from streams.workers.forwarder.loop import IDLE_POLL, POLL
from streams.workers.forwarder.remote_producer import RemoteProducer
from tests.workers.rig import Rig, Waits, eventually, pause, rig
from tests.workers.tomorrow import announce, newer, under

PARTIES = Parties("SupplierService", "DatabaseB", "OrderService", "DatabaseA", "DEFAULT", True)
Pair = tuple[Rig, Rig]


@pytest.fixture
def pair(kafka: str, unique: str) -> Iterator[Pair]:
    """Return the buyer's cluster and the seller's, in which nothing runs yet."""
    prefixes = {"buyer": f"{unique}b.", "seller": f"{unique}s."}
    topology = addressed(load(topologies_dir() / "two_clusters", time.time()), kafka, prefixes)
    with ExitStack() as stack:
        made = [
            stack.enter_context(rig(kafka, prefix, share_of(topology, name)))
            for name, prefix in prefixes.items()
        ]
        for each in made:
            deploy(each.cluster, each.topology)
        yield made[0], made[1]


def addressed(topology: Topology, kafka: str, prefixes: dict[str, str]) -> Topology:
    where = {"bootstrap.servers": kafka}
    clusters = {
        name: replace(topology.clusters[name], properties=where, prefix=prefix)
        for name, prefix in prefixes.items()
    }
    return replace(topology, clusters=clusters)


def arrive(buyer: Rig, body: bytes, name: str = "", schema: object = None) -> uuid.UUID:
    """Let a message come to GatewayA, with one header in another schema; returns its dialog."""
    expires_at = time.time_ns() // 1_000_000 + 60_000
    header, conversation = Header(uuid.uuid4(), "DEFAULT", 0, 0, 2**47), uuid.uuid4()
    journey = Journey(9, expires_at, 0, 0)
    key, value, headers = message_record(conversation, PARTIES, header, journey, body)
    written: Headers = under(headers, name, schema) if name else headers
    buyer.produce(buyer.topics.txq("GatewayA"), key, value, written)
    return conversation


@pytest.mark.long
@pytest.mark.parametrize(("header", "name"), [(MESSAGE, "Message"), (HOP, "Hop")])
def test_what_the_other_cluster_could_not_read_is_told_and_not_written(
    pair: Pair, header: str, name: str
) -> None:
    """Not even held: the sender keeps its message, and its retry goes when it is announced."""
    buyer, seller = pair
    schema = newer(name)
    announce(buyer, schema)
    seller.control("GatewayB")
    buyer.forwarder("GatewayA")
    dialog = arrive(buyer, b"of tomorrow", header, schema)
    if name == "Hop":  # a forwarder writes its own version of that
        [passed] = seller.until(seller.topics.ingress("GatewayB", "buyer"), 1)
        assert passed.value() == b"of tomorrow"
        return
    [reported] = buyer.events(1, error=Number.TRANSPORT_SEND_ERROR)
    assert reported["conversation"] == str(dialog)
    fingerprint = prefix_of(schema)[2:].hex()
    assert f"has not announced the schema {fingerprint} of {header}" in reported["detail"]
    arrive(buyer, b"of today")
    [passed] = seller.until(seller.topics.ingress("GatewayB", "buyer"), 1)
    assert passed.value() == b"of today", "the other one is not there, nor does it hold this up"

    announce(seller, schema)
    remote = buyer.control("GatewayA").remote
    eventually(lambda: prefix_of(schema) in (remote.announced("GatewayB") or ()) or pause(), "told")
    arrive(buyer, b"of tomorrow", header, schema)
    found = seller.until(seller.topics.ingress("GatewayB", "buyer"), 2)
    assert [m.value() for m in found] == [b"of today", b"of tomorrow"]


@pytest.mark.long
def test_nothing_is_written_into_a_cluster_that_was_not_heard(pair: Pair) -> None:
    """Who says nothing cannot be asked what it reads, nor what time it is: its copies are held."""
    buyer, seller = pair
    waits = Waits()
    forwarder = buyer.forwarder("GatewayA", hooks={"poll": waits})
    eventually(lambda: IDLE_POLL in waits.seen or pause(), "it has nothing to do")
    arrive(buyer, b"early")
    eventually(lambda: forwarder.worker.pending[0] == 1 or pause(), "it is held")
    assert set(waits.next(10)) == {POLL}, "it looks often whether the next hop is there"
    assert seller.records(seller.topics.ingress("GatewayB", "buyer")) == []
    seller.control("GatewayB")
    [passed] = seller.until(seller.topics.ingress("GatewayB", "buyer"), 1)
    assert passed.value() == b"early"


def test_what_nobody_can_hold_comes_back_as_rubbish(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that is no id is found when a copy comes back; the forwarder goes on."""
    buyer, seller = pair

    def take(self: RemoteProducer[object], item: object, *_: object) -> bool:
        self._back.append((item, KafkaError(KafkaError._MSG_TIMED_OUT)))
        return True

    seller.control("GatewayB")
    forwarder = buyer.forwarder("GatewayA")
    heard = buyer.control("GatewayA").remote.announced
    eventually(lambda: heard("GatewayB") or pause(), "the seller is heard")
    monkeypatch.setattr(RemoteProducer, "take", take)
    _, value, headers = message_record(
        uuid.uuid4(), PARTIES, Header(uuid.uuid4(), "T", 0, 0, 2**47), Journey(9, 2**47, 0, 0), b"x"
    )
    buyer.produce(buyer.topics.txq("GatewayA"), b"nobody", value, headers)
    [reported] = buyer.events(1, event=EventKind.CORRUPTED_MESSAGE)
    assert reported["topic"] == buyer.topics.txq("GatewayA")
    assert forwarder.failure is None


@pytest.mark.long
def test_who_has_not_read_the_catalog_yet_says_nothing_of_schemas(pair: Pair) -> None:
    """Else its neighbours would give copies up whenever it is started."""
    _, seller = pair
    seller.control("GatewayB")
    found = seller.until(seller.topics.presence, 3)
    said = [header_of(headers_of(m), ANNOUNCED) for m in found]
    assert said[0] is None
    assert set(said[1:]) <= {None, announcement(read_catalog(seller.cluster).objects)}
