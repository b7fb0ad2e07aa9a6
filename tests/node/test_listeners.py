"""Availability groups (reference 2.4, rule 10): a listener leads to whoever is primary now."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from streams.errors import UsageError
from streams.node import CatalogView, Forwarder, Place, Record, catalog_of
from streams.protocol import DEFAULT, Header, Journey, Parties
from streams.routing import Origin, parse_address
from streams.topology import Role, Topology, failover, flatten, instance_at, unflatten
from streams.wire import Envelope
from streams.wire.records import HOP, MESSAGE, ROUTE, header_of, message_record

from .evidence import shows
from .harness import START, conversation, topology

GROUP = topology("""
instances:
  Home:
    databases:
      A:
        broker_id: A
        services: [Initiator]
        routes:
          - {name: ByListener, service_name: Target, address: 'tcp://AG-Listener:4022'}
          - {name: Plain, service_name: Plain, address: 'tcp://One:4022'}
  One:
    listeners: [tcp://ag-listener:4022]
    databases:
      T:
        broker_id: T
        mirror: {pair: AG, role: principal}
        services: [Target, Plain]
      U: {broker_id: U, mirror: {pair: Other, role: principal}}
  Two:
    listeners: [tcp://ag-listener:4022]
    databases:
      T:
        broker_id: T
        mirror: {pair: AG, role: mirror}
        services: [Target, Plain]
""")
LISTENER = parse_address("tcp://ag-listener:4022")
assert LISTENER is not None


def sent_to(forwarder: Forwarder, service: str, origin: Origin = Origin.INSIDE) -> tuple[str, str]:
    """Decide one copy; returns the place and the instance that it goes to."""
    parties = Parties(service, None, "Initiator", "A", DEFAULT, True)
    header = Header(uuid.UUID(int=5), DEFAULT, 0, START, START + 3_600_000)
    journey = Journey(16, START + 60_000, 0, START)
    key, _, headers = message_record(conversation(1), parties, header, journey, b"")
    route, hop = header_of(headers, ROUTE), header_of(headers, HOP)
    assert route is not None and hop is not None
    record = Record(origin, key, route, hop, 9, False, header_of(headers, MESSAGE))
    (copy,) = forwarder.handle(record, START).copies
    return copy.place.value, copy.instance


def at_home(catalog: CatalogView) -> Forwarder:
    return Forwarder("Home", catalog, Envelope, lambda _: True)


def live(changed: Topology, version: int) -> CatalogView:
    """Return what a worker makes of the catalog after a change."""
    return catalog_of(unflatten(flatten(changed)), version)


@shows("P8")
def test_a_listener_leads_to_the_primary() -> None:
    """All replicas name the listener; the one with the principal's role is meant, in any case."""
    assert sent_to(at_home(live(GROUP, 1)), "Target") == (Place.TXQ.value, "One")
    assert instance_at(GROUP, LISTENER) == "One"


@shows("P8")
def test_after_a_failover_new_copies_follow_the_listener() -> None:
    """The same forwarder, the same route, the next version of the catalog: the new primary.

    That the former primary still is one of another group changes nothing.
    """
    forwarder = at_home(live(GROUP, 1))
    assert sent_to(forwarder, "Target")[1] == "One"
    forwarder.switch(live(failover(GROUP, "AG", "Two"), 2))
    assert sent_to(forwarder, "Target")[1] == "Two"


def test_a_listener_that_is_given_to_another_instance_moves_new_copies() -> None:
    """Without roles the catalog says whose listener it is."""
    instances = dict(GROUP.instances)
    instances["One"] = replace(instances["One"], listeners=())
    instances["Two"] = replace(instances["Two"], databases={})
    forwarder = at_home(live(GROUP, 1))
    forwarder.switch(live(Topology(instances), 2))
    assert sent_to(forwarder, "Target")[1] == "Two"
    forwarder.switch(live(Topology({**instances, "Two": GROUP.instances["Home"]}), 3))
    assert forwarder.catalog.instance_at(LISTENER) is None  # nobody's any more


@shows("P7")
def test_an_address_of_a_mirrored_database_does_not_follow() -> None:
    """Rule 9: a plain address keeps leading to its instance, primary or not."""
    forwarder = at_home(live(failover(GROUP, "AG", "Two"), 2))
    assert sent_to(forwarder, "Plain") == (Place.TXQ.value, "One")


def test_only_the_primary_takes_the_listener_for_itself() -> None:
    """What arrives is delivered by the primary; the other replica has the database closed."""
    catalog = live(failover(GROUP, "AG", "Two"), 2)
    two = Forwarder("Two", catalog, Envelope, lambda _: True)
    assert sent_to(two, "Target", Origin.OUTSIDE) == (Place.IN.value, "Two")
    assert not catalog.instances["One"].is_here(LISTENER) and catalog.instances["Two"].is_here(
        LISTENER
    )
    assert catalog.instances["One"].hosting("Target") == ()


def test_every_failover_has_a_higher_epoch() -> None:
    """Roles and epoch change together, on every database of the pair and on no other."""
    once = failover(GROUP, "AG", "two")
    twice = failover(once, "AG", "One")

    def parts(of: Topology) -> list[tuple[Role, int]]:
        mirrors = [of.instances[name].databases["T"].mirror for name in ("One", "Two")]
        return [(m.role, m.epoch) for m in mirrors if m is not None]

    assert parts(once) == [(Role.MIRROR, 1), (Role.PRINCIPAL, 1)]
    assert parts(twice) == [(Role.PRINCIPAL, 2), (Role.MIRROR, 2)]
    assert once.instances["Home"] == GROUP.instances["Home"]
    assert once.instances["One"].databases["U"] == GROUP.instances["One"].databases["U"]
    assert unflatten(flatten(twice)) == twice


@pytest.mark.parametrize(("pair", "to"), [("AG", "Home"), ("No", "One"), ("AG", "Nowhere")])
def test_who_is_of_no_pair_cannot_take_its_role(pair: str, to: str) -> None:
    """Wrong use says which instances could."""
    with pytest.raises(UsageError) as caught:
        failover(GROUP, pair, to)
    assert ("One, Two" in caught.value.remedy) is (pair == "AG")
