"""Which senders another cluster may name: what follows from routes, and what is stated."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from streams.analysis import Estate, find_paths, flows_of
from streams.analysis.paths.path_graph import MessagePath
from streams.node import catalog_of
from streams.protocol import DEFAULT, Parties
from streams.routing import SYSTEM_SERVICE, broker_key
from streams.topology import (
    Claims,
    Cluster,
    Ingress,
    Instance,
    Topology,
    clusters_of,
    load,
    pairs_of,
    share_of,
)
from streams.topology.generate import Wish, generate_estate
from tests.topology.build import NOW, SHIPPED, shipped, write

CHAIN = """
instances:
  A:
    cluster: a
    endpoint: {forwarding: true}
    databases:
      Da:
        broker_id: DA
        services: [Asks]
        routes: [{name: R, service_name: Answers, address: 'tcp://B:4022'}]
  B:
    cluster: b
    endpoint: {forwarding: true}
    databases: {Db: {broker_id: DB, services: [Passes]}}
    msdb:
      routes:
        - {name: R1, service_name: Answers, address: 'tcp://C:4022'}
        - {name: R2, service_name: Asks, address: 'tcp://A:4022'}
  C:
    cluster: c
    databases:
      Dc:
        broker_id: DC
        services: [Answers]
        routes: [{name: R, service_name: Asks, address: 'tcp://B:4022'}]
"""
"""From a to c and back, by way of b."""

HUB = """
instances:
  Hub:
    cluster: hub
    endpoint: {forwarding: true}
    databases: {Dh: {broker_id: DH, services: [Central]}}
    msdb:
      routes:
        - {name: R1, service_name: One, address: 'tcp://One:4022'}
        - {name: R2, service_name: Two, address: 'tcp://Two:4022'}
  One:
    cluster: one
    databases:
      D1:
        broker_id: D1
        services: [One]
        routes: [{name: R, address: 'tcp://Hub:4022'}]
    msdb: {routes: [{name: R, address: 'tcp://Hub:4022'}]}
  Two:
    cluster: two
    databases:
      D2:
        broker_id: D2
        services: [Two]
        routes: [{name: R, address: 'tcp://Hub:4022'}]
    msdb: {routes: [{name: R, address: 'tcp://Hub:4022'}]}
"""
"""Everything goes over the hub, and every last resort leads there."""


def read(folder: Path, text: str) -> Topology:
    return load(write(folder, text), NOW)


def names(ingress: Ingress) -> tuple[set[str], set[str]]:
    """Return services and broker ids, without what every database has."""
    return set(ingress.services) - {SYSTEM_SERVICE}, {
        broker for broker in ingress.broker_ids if len(broker) < 20
    }


def entrances(topology: Topology, cluster: str) -> dict[tuple[str, str], tuple[set[str], set[str]]]:
    found = share_of(topology, cluster).ingress
    return {(each.gateway, each.cluster): names(each) for each in found}


def test_a_gateway_expects_who_is_behind_the_other_one() -> None:
    two = shipped("two_clusters")
    assert entrances(two, "buyer") == {("GatewayA", "seller"): ({"SupplierService"}, {"DatabaseB"})}
    assert entrances(two, "seller") == {("GatewayB", "buyer"): ({"OrderService"}, {"DatabaseA"})}


def test_a_cluster_in_the_middle_writes_as_those_behind_it(tmp_path: Path) -> None:
    """And those say what the one in the middle could not: its own services have no route there."""
    chain = read(tmp_path, CHAIN)
    assert entrances(chain, "c") == {("C", "b"): ({"Asks"}, {"DA"})}
    assert entrances(chain, "a") == {("A", "b"): ({"Answers"}, {"DC"})}
    assert entrances(chain, "b") == {
        ("B", "a"): ({"Asks"}, {"DA"}),
        ("B", "c"): ({"Answers"}, {"DC"}),
    }


def test_who_comes_by_ones_own_cluster_is_not_expected_from_outside(tmp_path: Path) -> None:
    """One leads to Two by way of the hub: frames of Two do not come to the hub from One."""
    hub = read(tmp_path, HUB)
    assert entrances(hub, "hub") == {
        ("Hub", "one"): ({"One"}, {"D1"}),
        ("Hub", "two"): ({"Two"}, {"D2"}),
    }
    assert entrances(hub, "one") == {("One", "hub"): ({"Two"}, {"D2"})}


def test_only_msdb_passes_on_what_arrives(tmp_path: Path) -> None:
    """A route of a database of its own leads nobody else's frames anywhere."""
    text = HUB.replace("msdb: {routes: [{name: R, address: 'tcp://Hub:4022'}]}", "")
    both = "services: [Two]\n        routes: [{name: Other, address: 'tcp://One:4022'}, "
    hub = read(tmp_path, text.replace("services: [Two]\n        routes: [", both))
    assert len(hub.instances["Two"].databases["D2"].routes) == 3
    assert entrances(hub, "hub") == {
        ("Hub", "one"): ({"One"}, {"D1"}),
        ("Hub", "two"): ({"Two"}, {"D2"}),
    }


def test_a_route_that_leaves_and_comes_back_lets_nobody_write_as_ones_own(tmp_path: Path) -> None:
    """The far gateway would return it. Who means that states it."""
    route = "{name: Out, service_name: Central, address: 'tcp://One:4022'}"
    hub = read(
        tmp_path, HUB.replace("services: [Central]", f"services: [Central], routes: [{route}]")
    )
    assert entrances(hub, "hub")["Hub", "one"] == ({"One"}, {"D1"})


def test_without_a_known_return_path_routes_name_the_senders(tmp_path: Path) -> None:
    """A topology may have nothing but the address of the other company's gateway."""
    text = """
    instances:
      A:
        cluster: here
        databases:
          D:
            broker_id: D
            services: [Asks]
            routes: [{name: R, service_name: Answers, broker_instance: X, address: 'tcp://B:4022'}]
      B: {cluster: there}
    """
    assert entrances(read(tmp_path, text), "here") == {("A", "there"): ({"Answers"}, {"X"})}


def test_a_service_of_ones_own_needs_the_broker_id_of_the_other_side(tmp_path: Path) -> None:
    """Both sides may have it (load balancing); which of them sends, the broker id says."""
    topology = read(tmp_path, HUB.replace("services: [Central]", "services: [One]"))
    senders = catalog_of(share_of(topology, "hub"), 1).ingress["Hub"]["one"]
    assert senders.allow(parties("One", "D1"))
    assert not senders.allow(parties("One", "DH"))


def test_what_is_stated_counts(tmp_path: Path) -> None:
    """What is not stated of the two follows from the routes; an empty list lets nothing in."""
    stated = HUB + (
        "clusters:\n  one: {claims: {services: [Else, One]}}\n  two: {claims: {broker_ids: []}}\n"
    )
    hub = read(tmp_path, stated)
    [one, two] = share_of(hub, "hub").ingress
    assert one.services == ("Else", "One")
    assert names(one)[1] == {"D1"}
    assert (names(two)[0], two.broker_ids) == ({"Two"}, ())


def test_claims_are_read_and_written_strictly(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="'service'"):
        read(tmp_path, "clusters: {one: {claims: {service: [A]}}}")
    assert Cluster("one").claims is None
    topology = read(tmp_path, "clusters: {one: {prefix: p., claims: {services: [A]}}}")
    assert topology.clusters["one"].claims == Claims(("A",))
    assert topology.clusters["one"].properties == {}


# --- every path that a topology has ---------------------------------------------------------------


def divided(topology: Topology, seed: int) -> Topology:
    """Return the topology with its instances in three clusters; partners of a pair stay together.

    Each cluster but the last has at least one of them.
    """
    chance = random.Random(seed)
    together = {i.name: p.name for p in pairs_of(topology).values() for i in p.partners}
    units = sorted({together.get(name, name) for name in topology.instances})
    chance.shuffle(units)
    of = {unit: f"c{min(n, chance.randrange(3))}" for n, unit in enumerate(units)}
    moved = {
        name: replace(i, cluster=of[together.get(name, name)])
        for name, i in topology.instances.items()
    }
    return replace(topology, instances=moved, clusters={})


def parties(service: str, broker: str) -> Parties:
    return Parties("to", None, service, broker, DEFAULT, True)


class Border:
    """Checks paths as the forwarders of all clusters would."""

    def __init__(self, topology: Topology) -> None:
        self.instances = topology.instances
        self.catalogs = {c: catalog_of(share_of(topology, c), 1) for c in clusters_of(topology)}
        self.passed = 0

    def refused(self, path: MessagePath, sender: Parties) -> Iterator[str]:
        """Yield where a path is closed that has not been in that cluster before."""
        met: set[str | None] = set()
        hops = [self.instances[state.instance] for state, _ in path.hops]
        for here, following in pairwise(hops):
            met.add(here.cluster)
            if here.cluster != following.cluster and following.cluster not in met:
                self.passed += 1
                if not self._admits(here, following, sender):
                    yield f"{sender} from {here.name} to {following.name}"

    def _admits(self, here: Instance, following: Instance, sender: Parties) -> bool:
        catalog = self.catalogs[following.cluster or ""]
        senders = catalog.ingress.get(following.name, {}).get(here.cluster or "")
        return senders is not None and senders.allow(sender)


def closed(topology: Topology) -> tuple[list[str], int]:
    """Return the paths that a claim check would close, and how many were checked."""
    if not clusters_of(topology):
        return [], 0
    border, found = Border(topology), []
    for flow in flows_of(Estate(topology, NOW)):
        sender = flow.sender
        paths = find_paths(topology, sender, flow.to, NOW, broker=flow.broker, limit=20)
        for outcome in paths.outcomes:
            if not outcome.way.ending.delivered:
                continue
            there = parties(sender.service, sender.database.broker_id)
            found += border.refused(outcome.way, there)
            if outcome.back is not None and outcome.back.ending.delivered:
                ending = outcome.way.ending
                at = topology.instances[ending.instance].database(ending.database or "")
                assert at is not None
                found += border.refused(outcome.back, parties(flow.to, at.broker_id))
    return found, border.passed


@pytest.mark.parametrize("name", SHIPPED)
def test_every_path_of_a_shipped_topology_is_open(name: str) -> None:
    """However its instances are divided among clusters."""
    for seed in range(12):
        assert closed(divided(shipped(name), seed))[0] == []


@pytest.mark.parametrize("seed", range(6))
def test_every_path_of_an_estate_is_open(seed: int) -> None:
    estate = generate_estate(Wish(instances=24, routes=150, seed=seed)).topology
    found, passed = closed(divided(estate, seed))
    assert found == []
    assert passed > 20, "many of its ways cross a border"


@pytest.mark.parametrize("name", SHIPPED)
def test_nobody_outside_may_write_with_a_broker_id_of_the_clusters_own(name: str) -> None:
    for seed in range(12):
        topology = divided(shipped(name), seed)
        for cluster in clusters_of(topology):
            share = share_of(topology, cluster)
            own = {
                broker_key(d.broker_id)
                for i in share.instances.values()
                for d in (*i.databases.values(), i.msdb)
            }
            for each in share.ingress:
                assert not own & set(map(broker_key, each.broker_ids))
