"""A forwarder checks the sender of what another cluster writes, once for each route and source."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from streams.errors import EventKind, Number
from streams.node import HELD, Forwarder, Outcome, Place, Record, catalog_of
from streams.protocol import DEFAULT, Ack, Header, Journey, Parties
from streams.resources import topologies_dir
from streams.routing import SYSTEM_SERVICE, Origin
from streams.topology import load, share_of
from streams.wire import Envelope, MalformedError, decode_journey
from streams.wire.records import HOP, MESSAGE, ROUTE, ack_record, header_of, message_record

from .harness import START, conversation

TWO = load(topologies_dir() / "two_clusters", 0.0)
BUYER = share_of(TWO, "buyer")
WORLD = catalog_of(BUYER, 1)
ORDERS, AUDITS = ("OrderService", "DatabaseA"), ("AuditService", "DatabaseC")
SUPPLIER = ("SupplierService", "DatabaseB")
DIALOG = conversation(1)


def forwarder(down: str = "") -> Forwarder:
    return Forwarder("GatewayA", WORLD, Envelope, lambda name: name != down)


def frame(
    sender: tuple[str, str],
    to: tuple[str, str] = ORDERS,
    writer: str | None = "seller",
    *,
    is_ack: bool = False,
) -> Record:
    """Return a frame that came to GatewayA."""
    parties = Parties(*to, *sender, DEFAULT, False)
    journey = Journey(16, START + 60_000, 0, START)
    if is_ack:
        key, _, headers = ack_record(DIALOG, parties, Ack(1), journey)
    else:
        header = Header(uuid.UUID(int=5), DEFAULT, 0, START, START + 3_600_000)
        key, _, headers = message_record(DIALOG, parties, header, journey, b"")
    route, hop = header_of(headers, ROUTE), header_of(headers, HOP)
    assert route is not None and hop is not None
    message = header_of(headers, MESSAGE)
    return Record(Origin.OUTSIDE, key, route, hop, 100, is_ack, message, writer)


def is_refused(outcome: Outcome) -> bool:
    return outcome.event is not None and outcome.event["error"] == Number.SENDER_NOT_PERMITTED


def where(outcome: Outcome) -> list[tuple[Place, str]]:
    return [(copy.place, copy.instance) for copy in outcome.copies]


@pytest.mark.parametrize("is_ack", [False, True])
@pytest.mark.parametrize(
    "sender",
    [
        ORDERS,
        AUDITS,
        (SUPPLIER[0], ORDERS[1]),
        (AUDITS[0], SUPPLIER[1]),
        (SYSTEM_SERVICE, AUDITS[1]),
        (SUPPLIER[0].lower(), SUPPLIER[1]),
    ],
)
def test_a_sender_that_the_cluster_may_not_name_is_refused(
    sender: tuple[str, str], is_ack: bool
) -> None:
    """One of ours; one of ours under their service; theirs under one of our services."""
    outcome = forwarder().handle(frame(sender, AUDITS, is_ack=is_ack), START)
    assert is_refused(outcome)
    assert (outcome.copies, outcome.statuses) == ((), ())
    told = outcome.event
    assert told is not None
    assert told["event"] == EventKind.MESSAGE_UNDELIVERABLE
    assert (told["conversation"], told["from_service"]) == (str(DIALOG), sender[0])
    assert (
        f"the cluster seller must not write as {sender[0]} of the broker {sender[1]}"
        in (told["detail"])
    )


@pytest.mark.parametrize("is_ack", [False, True])
def test_a_sender_of_the_cluster_is_let_in(is_ack: bool) -> None:
    for sender in (SUPPLIER, (SYSTEM_SERVICE, SUPPLIER[1])):
        outcome = forwarder().handle(frame(sender, is_ack=is_ack), START)
        assert where(outcome) == [(Place.TXQ, "ServerA")]


def test_ones_own_cluster_is_trusted_as_before() -> None:
    """What lies in ``txq`` may pass through from anywhere."""
    assert where(forwarder().handle(frame(AUDITS, writer=None), START)) == [(Place.TXQ, "ServerA")]


def test_who_wrote_is_part_of_what_a_plan_is_found_by() -> None:
    """The same bytes from ``txq``, from one cluster and from another one are three questions."""
    gateway = forwarder()
    for _ in range(2):
        assert where(gateway.handle(frame(AUDITS, writer=None), START)) == [(Place.TXQ, "ServerA")]
        assert is_refused(gateway.handle(frame(AUDITS), START))
        assert is_refused(gateway.handle(frame(SUPPLIER, writer="nobody"), START))
        assert where(gateway.handle(frame(SUPPLIER), START)) == [(Place.TXQ, "ServerA")]


def test_the_short_way_is_only_for_who_may_be_named() -> None:
    gateway = forwarder()
    for record in (frame(AUDITS), frame(SUPPLIER)):
        gateway.handle(record, START)
    assert gateway.lane(frame(AUDITS), START) is None
    lane = gateway.lane(frame(SUPPLIER), START)
    assert lane is not None and lane.instance == "ServerA"


def test_what_another_cluster_has_written_takes_nobodys_place_in_memory() -> None:
    """It may know any dialog's id: a frame of its own with the same number is another copy."""
    gateway = forwarder(down="ServerA")
    own, theirs = frame(SUPPLIER, writer=None), frame(SUPPLIER)
    assert gateway.hold_key(own) != gateway.hold_key(theirs)
    assert gateway.hold_key(own) == gateway.hold_key(frame(SUPPLIER, writer=None))
    assert gateway.hold_key(theirs) != gateway.hold_key(frame(SUPPLIER, writer="another"))
    ack = replace(own, message=None, is_ack=True)
    assert gateway.hold_key(ack) != gateway.hold_key(replace(ack, writer="seller"))


def test_a_first_copy_whose_path_cannot_be_read_waits_as_any_other() -> None:
    """The fast path does not read it either, and the copy may come back from another cluster."""
    gateway, good = forwarder(down="ServerA"), frame(SUPPLIER)
    held = replace(good, hop=good.hop[:-1] + b"\x02\0")
    with pytest.raises(MalformedError):
        decode_journey(held.hop)
    assert gateway.hold_key(held)
    assert gateway.release(held, START) is HELD


def test_a_new_catalog_decides_anew_also_of_what_is_held() -> None:
    gateway = forwarder(down="ServerA")
    held = frame(SUPPLIER)
    assert gateway.handle(held, START) is HELD
    closed = [replace(each, broker_ids=()) for each in BUYER.ingress]
    gateway.switch(catalog_of(replace(BUYER, ingress=tuple(closed)), 2))
    assert is_refused(gateway.release(held, START))
    gateway.switch(catalog_of(replace(BUYER, ingress=()), 3))
    assert is_refused(gateway.release(held, START)), "the catalog has the cluster no longer"


def test_broker_ids_compare_as_everywhere() -> None:
    """A GUID may be written in any case."""
    guid = "6F1C2A04-0000-4000-8000-00000000000A"
    for stated, named in ((guid, guid.lower()), (guid.lower(), guid)):
        entrances = tuple(replace(each, broker_ids=(stated,)) for each in BUYER.ingress)
        catalog = catalog_of(replace(BUYER, ingress=entrances), 1)
        gateway = Forwarder("GatewayA", catalog, Envelope, lambda _: True)
        outcome = gateway.handle(frame((SUPPLIER[0], named)), START)
        assert where(outcome) == [(Place.TXQ, "ServerA")]
