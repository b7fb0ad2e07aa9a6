"""What each of several clusters gets of a topology."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from streams.errors import UsageError
from streams.resources import topologies_dir
from streams.topology import (
    Agent,
    Neighbour,
    ShippedService,
    Stated,
    Topology,
    clusters_of,
    flatten,
    load,
    share_of,
    unflatten,
)
from tests.topology.build import write


def read(folder: Path, text: str) -> Topology:
    """Return the topology of a text."""
    return load(write(folder, text), time.time())


@pytest.fixture(scope="module")
def two() -> Topology:
    return load(topologies_dir() / "two_clusters", time.time())


def test_a_cluster_gets_its_own_instances_and_addresses_of_those_it_writes_to(
    two: Topology,
) -> None:
    assert clusters_of(two) == ("buyer", "seller")
    share = share_of(two, "buyer")
    assert set(share.instances) == {"ServerA", "ServerC", "GatewayA"}
    assert share.neighbours == {
        "GatewayB": Neighbour("GatewayB", "seller", ("tcp://GatewayB:4022",))
    }
    assert set(share.clusters) == {"buyer", "seller"}


def test_a_catalog_has_nothing_from_behind_a_neighbour(two: Topology) -> None:
    """Neither ServerB nor its services, routes and queues are known to the buyer."""
    text = str(flatten(share_of(two, "buyer")))
    assert "GatewayB" in text
    assert not [word for word in ("ServerB", "SupplierQueue") if word in text]


def test_a_share_is_a_catalog(two: Topology) -> None:
    share = share_of(two, "seller")
    back = unflatten(flatten(share))
    assert (back.instances, back.neighbours, back.clusters) == (
        share.instances, share.neighbours, share.clusters,
    )  # fmt: skip


def test_most_topologies_are_not_divided(tmp_path: Path) -> None:
    assert clusters_of(load(topologies_dir() / "hub", time.time())) == ()
    assert clusters_of(read(tmp_path, "instances: {A: {cluster: one}, B: {cluster: one}}")) == ()


def test_an_instance_without_cluster_among_others_with_one_is_reported(tmp_path: Path) -> None:
    topology = read(tmp_path, "instances: {A: {cluster: one}, B: {}}")
    with pytest.raises(UsageError, match="B has no cluster"):
        clusters_of(topology)


def test_a_cluster_without_instances_gets_nothing(two: Topology) -> None:
    with pytest.raises(UsageError, match="No instance is in the cluster elsewhere"):
        share_of(two, "elsewhere")


def test_every_form_of_a_next_hop_counts(tmp_path: Path) -> None:
    """Alias, mirror address and TRANSPORT, which takes the address from a service's name."""
    share = share_of(
        read(
            tmp_path,
            """
            instances:
              A:
                cluster: one
                databases:
                  D:
                    routes:
                      - {name: R1, service_name: S, address: 'tcp://other:4022', mirror_address: 'tcp://C:4022'}
                      - {name: R2, address: TRANSPORT}
                      - {name: R3, service_name: T, address: 'tcp://nobody:1'}
              B: {cluster: two, aliases: [other]}
              C: {cluster: two}
              E: {cluster: two, databases: {D: {services: ['tcp://E:4022/S']}}}
              F: {cluster: two}
            """,
        ),
        "one",
    )
    assert {n.name: n.addresses for n in share.neighbours.values()} == {
        "B": ("tcp://other:4022",),
        "C": ("tcp://C:4022",),
        "E": ("tcp://E:4022",),
    }


def test_a_cluster_gets_the_agents_that_have_work_in_it(two: Topology) -> None:
    """An application of one's own goes everywhere: only it knows where it has work."""
    kind, own = Stated(ShippedService.DATA_DEPENDENT_ROUTING.value), Stated("m:app")
    there = Agent("there", kind, {"service": Stated("SupplierService")})
    whole = replace(two, agents={"there": there, "own": Agent("own", own)})
    assert set(share_of(whole, "seller").agents) == {"there", "own"}
    assert set(share_of(whole, "buyer").agents) == {"own"}
