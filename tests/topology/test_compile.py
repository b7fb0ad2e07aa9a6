"""What the routing decision gets of a topology, and where addresses lead."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.node.catalog_view import catalog_of
from streams.routing import LOCAL, Origin, Query, network, parse_address, plan
from streams.topology import instance_at, load, routing_instances

from .build import NOW, SHIPPED, shipped, write

YAML = """
    instances:
      A:
        aliases: [10.0.0.4]
        listeners: [tcp://listener:4022, tcp://other:5000]
        databases:
          DB: {mirror: {pair: P, role: principal}, services: [S], routes: [
            {name: Bad, service_name: S, address: nonsense},
            {name: Old, address: 'tcp://x', expires: 5}]}
      B:
        address: tcp://b.example:4100
        listeners: [tcp://listener:4022]
        endpoint: {forwarding: true, state: stopped}
        databases:
          DB: {mirror: {pair: P, role: mirror}, services: [S]}
        msdb: {broker: disabled}
"""


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_topology_loads(name: str) -> None:
    """Shipped topologies have no findings of their own, and every endpoint is started."""
    topology = shipped(name)
    assert not topology.findings and not topology.skipped
    assert all(instance.started for instance in routing_instances(topology).values())
    for instance in topology.instances.values():
        assert instance_at(topology, instance.address) == instance.name


def test_switches_are_carried_over(tmp_path: Path) -> None:
    """Endpoint, forwarding, msdb's broker, and the mirror that takes no messages (28018)."""
    a, b = routing_instances(load(write(tmp_path, YAML), NOW)).values()
    assert (a.started, a.forwarding, a.msdb_enabled) == (True, False, True)
    assert (b.started, b.forwarding, b.msdb_enabled) == (False, True, False)
    assert a.databases["DB"].enabled and not b.databases["DB"].enabled
    assert a.hosting("S") == ("DB",) and "msdb" in a.databases


def test_routes_are_carried_over(tmp_path: Path) -> None:
    """Expired routes stay in; an address that is none becomes one that leads nowhere."""
    a, _ = routing_instances(load(write(tmp_path, YAML), NOW)).values()
    local, bad, old = a.databases["DB"].routes.routes
    assert local.address == LOCAL and (old.expires, old.route_id) == (5.0, 3)
    answer = plan(a, Query("S", Origin.INSIDE, database="DB"), NOW).decision(None)
    assert [address.host for address in answer.addresses] == [bad.address.host] == ["nonsense"]


ADDRESSES = [
    ("tcp://A:4022", "A"),
    ("tcp://a", "A"),
    ("tcp://10.0.0.4:4022", "A"),
    ("tcp://10.0.0.4:4023", None),
    ("tcp://listener:4022", "A"),
    ("tcp://other:5000", "A"),
    ("tcp://B.Example:4100", "B"),
    ("tcp://B:4100", "B"),
    ("tcp://B:4022", None),
    ("tcp://nobody:4022", None),
    ("LOCAL", None),
]


@pytest.mark.parametrize(("text", "name"), ADDRESSES)
def test_where_an_address_leads(tmp_path: Path, text: str, name: str | None) -> None:
    """Name, alias and listener lead to an instance, without regard to case, at the right port."""
    address = parse_address(text)
    assert address is not None
    assert instance_at(load(write(tmp_path, YAML), NOW), address) == name


def test_loopback_leads_to_whoever_uses_it(tmp_path: Path) -> None:
    """localhost means the instance itself, at its own port only (EX-41)."""
    topology = load(write(tmp_path, YAML), NOW)
    assert instance_at(topology, network("localhost", 4100), "B") == "B"
    assert instance_at(topology, network("LOCALHOST", 4022), "B") is None
    assert routing_instances(topology)["A"].is_here(network("localhost"))


def test_loopback_leads_to_instances_of_one_machine(tmp_path: Path) -> None:
    """By port to another instance of the host, or to one with the alias ``localhost``."""
    yaml = """
        instances:
          SQL01\\A: {}
          SQL01\\B: {endpoint: {port: 4023}}
          SQL02\\A: {}
          SQL02\\B: {endpoint: {port: 4023}}
          Beside: {endpoint: {port: 4024}, aliases: [localhost]}
          Else: {endpoint: {port: 4025}}
    """
    topology = load(write(tmp_path, yaml), NOW)
    catalog = catalog_of(topology, 1)
    for host in ("SQL01", "SQL02"):
        names = {4022: f"{host}\\A", 4023: f"{host}\\B", 4024: "Beside", 4025: None}
        for port, name in names.items():
            address = network("localhost", port)
            at = topology.instances[f"{host}\\A"]
            assert instance_at(topology, address, at.name) == name
            if port != 4022:
                assert catalog.instance_at(address, at.address) == name


def test_a_listener_is_here_where_it_leads(tmp_path: Path) -> None:
    """A group's listener means the primary, so that only there it is a loop-back."""
    instances = routing_instances(load(write(tmp_path, YAML), NOW))
    assert instances["A"].is_here(network("listener"))
    assert not instances["B"].is_here(network("listener"))
