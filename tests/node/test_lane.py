"""The short way through a forwarder does what the long way would have done."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.node import CatalogView, Forwarder, Place, Record, catalog_of
from streams.protocol import Flag, Header, Journey, Parties
from streams.routing import Origin
from streams.wire import Envelope, MalformedError, encode_header, encode_journey, encode_parties
from streams.wire.hop import edit_at_once, instant
from tests.topology.build import NOW, SHIPPED, hidden, shipped

from .harness import topology
from .test_forwarder import NETWORK

MS = int(NOW * 1000)
HIDING = "two_clusters, hidden"
WORLDS: dict[str, CatalogView] = {name: catalog_of(shipped(name), 1) for name in SHIPPED}
WORLDS["several addresses"] = catalog_of(topology(NETWORK), 1)
WORLDS[HIDING] = catalog_of(hidden(shipped("two_clusters")), 1)
CONVERSATION = uuid.UUID(int=5)
MESSAGE = encode_header(Header(uuid.UUID(int=7), "DEFAULT", 0, MS, MS + 10**7, Flag.NONE))


def databases(catalog: CatalogView) -> list[str]:
    return sorted(d.broker_id for i in catalog.instances.values() for d in i.databases.values())


def services(catalog: CatalogView) -> list[str]:
    return sorted({name for _, _, name in catalog.services})


@st.composite
def cases(draw: st.DrawFn) -> tuple[Forwarder, Record, int]:
    catalog = WORLDS[draw(st.sampled_from(sorted(WORLDS)))]
    instance = draw(st.sampled_from(sorted(catalog.instances)))
    ids = databases(catalog)
    parties = Parties(
        draw(st.sampled_from(services(catalog))),
        draw(st.sampled_from([None, *ids])),
        draw(st.sampled_from(services(catalog))),
        draw(st.sampled_from(ids)),
        "DEFAULT",
        draw(st.booleans()),
    )
    journey = Journey(
        draw(st.sampled_from([0, 1, 2, 16, 70])),
        MS + draw(st.sampled_from([-1, 0, 1, 60_000])),
        draw(st.sampled_from([0, 0, 0, 1, 70])),
        MS - 5,
        draw(st.sampled_from([0, 0, 1, 64])),
        draw(st.sampled_from([(), (("ServerA", MS - 5),)])),
    )
    is_ack = draw(st.booleans())
    down = draw(st.sets(st.sampled_from(sorted(catalog.instances))))
    forwarder = Forwarder(instance, catalog, Envelope, lambda name: name not in down)
    record = Record(
        draw(st.sampled_from(Origin)), str(CONVERSATION).encode(), encode_parties(parties),
        encode_journey(journey), 400, is_ack, None if is_ack else MESSAGE,
    )  # fmt: skip
    return forwarder, record, MS


def fast_path_of(forwarder: Forwarder, record: Record, now: int) -> tuple[object, ...] | None:
    """Return place, instance, both headers and inside; ``None`` where the long way must decide."""
    lane = forwarder.lane(record, now)
    if lane is None:
        return None
    hop = edit_at_once(
        record.hop, instant(now), forwarder.block(now), retries=lane.retries, begun=lane.begun,
        spend=lane.spend, hide=lane.hide,
    )  # fmt: skip
    return None if hop is None else (lane.place, lane.instance, lane.route, hop, lane.inside)


@pytest.mark.long
@settings(max_examples=2_000)
@given(cases())
def test_the_short_way_does_what_the_long_way_does(case: tuple[Forwarder, Record, int]) -> None:
    forwarder, record, now = case
    outcome = forwarder.handle(record, now)
    short = fast_path_of(forwarder, record, now)
    if short is not None:
        [copy] = outcome.copies
        assert short == (copy.place, copy.instance, copy.route, copy.hop, copy.inside)
        assert outcome.event is None
        assert not outcome.statuses


def first(attempt: int = 0, hops: int = 16, lives: int = 60_000, first_hop: int = 0) -> bytes:
    return encode_journey(Journey(hops, MS + lives, attempt, MS, first_hop, (("ServerA", MS),)))


def frame(hop: bytes, service: str, broker: str | None) -> Record:
    parties = Parties(service, broker, "InitiatorService", "DatabaseA", "DEFAULT", True)
    return Record(
        Origin.OUTSIDE, str(CONVERSATION).encode(), encode_parties(parties), hop, 400, False,
        MESSAGE,
    )  # fmt: skip


def gateway(hop: bytes, down: frozenset[str] = frozenset()) -> tuple[Forwarder, Record]:
    forwarder = Forwarder("GatewayA", WORLDS["combined"], Envelope, lambda name: name not in down)
    record = frame(hop, "TargetService", "DatabaseB")
    forwarder.handle(record, MS)
    return forwarder, record


@pytest.mark.parametrize("attempt", [0, 1, 63])
def test_a_copy_with_one_address_to_go_to_takes_the_short_way(attempt: int) -> None:
    forwarder, record = gateway(first(attempt))
    short = fast_path_of(forwarder, record, MS)
    assert short is not None
    assert short[:2] == (Place.TXQ, "ServerB")


def test_a_retry_with_a_choice_of_addresses_takes_the_long_way() -> None:
    """The number of the attempt determines the address, but a first copy takes the first."""
    gate = Forwarder("Gate", WORLDS["several addresses"], Envelope, lambda _: True)
    assert fast_path_of(gate, frame(first(), "Two", None), MS) is not None
    assert fast_path_of(gate, frame(first(attempt=1), "Two", None), MS) is None


@pytest.mark.parametrize("hop", [first(hops=0), first(lives=0), b"rubbish", first()[:-1]])
def test_what_is_more_than_a_copy_to_pass_on_takes_the_long_way(hop: bytes) -> None:
    forwarder, record = gateway(first())
    assert forwarder.lane(record, MS) is not None
    assert fast_path_of(forwarder, replace(record, hop=hop), MS) is None


def test_there_is_no_short_way_to_an_instance_that_nobody_hears() -> None:
    forwarder, record = gateway(first(), frozenset({"ServerB"}))
    assert forwarder.lane(record, MS) is None


def test_a_route_is_decided_for_its_lane_before_any_record_was() -> None:
    forwarder, record = gateway(first())
    forwarder.switch(forwarder.catalog)
    lane = forwarder.lane(record, MS)
    assert lane is not None and lane.instance == "ServerB"
    with pytest.raises(MalformedError):
        forwarder.lane(replace(record, route=b"rubbish"), MS)


def test_who_begins_keeps_the_first_hop_that_it_prefers() -> None:
    """Another one than the first is the long way's: it may have to be noted anew."""
    other, now = first(first_hop=1), instant(MS)
    assert edit_at_once(other, now, b"", retries=False, begun=True, spend=False) is None
    assert edit_at_once(other, now, b"", retries=False, begun=False, spend=False) is not None
