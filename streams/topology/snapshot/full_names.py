"""Resolve host names in routes that no instance has: full names, and loopback by port.

Neither a view nor a script has a server's own DNS name, but most routes use that name. Scripts of
several instances on one machine often use ``localhost`` and a port. A match is assumed only if it
is unique, and each assumption is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from streams.routing import Address, AddressKind, parse_address
from streams.topology.compile import instance_at, is_loopback
from streams.topology.findings import Finding, Severity
from streams.topology.model import Instance, Topology
from streams.topology.objects import Route
from streams.topology.validate import ddl_finding


def with_full_names(topology: Topology, *, loopback: bool = False) -> Topology:
    """Return a topology in which the full names in routes are aliases of instances.

    ``loopback``: a loopback address leads to the only other instance that has its port. A snapshot
    contains the name of the machine, so there this would be wrong.
    """
    more: dict[str, dict[str, Finding]] = {}
    for instance, route, address in _addresses(topology.instances.values()):
        host = address.host.casefold()
        if instance_at(topology, address, instance.name) is not None:
            continue
        meant: list[Instance] = []
        if is_loopback(address):
            meant = _with_port(topology, instance, address.port) if loopback else []
        elif "." in host:
            meant = _meant(topology, host, address.port)
        if len(meant) == 1:
            found = more.setdefault(meant[0].name, {})
            found.setdefault(host, _finding(route, address, meant[0]))
    instances = {
        name: replace(i, aliases=(*i.aliases, *more.get(name, ())))
        for name, i in topology.instances.items()
    }
    findings = (finding for found in more.values() for finding in found.values())
    return replace(topology, instances=instances, findings=(*topology.findings, *findings))


def _addresses(instances: Iterable[Instance]) -> Iterator[tuple[Instance, Route, Address]]:
    for instance in instances:
        for database in (*instance.databases.values(), instance.msdb):
            for route in database.routes:
                for text in (route.address, route.mirror):
                    address = None if text is None else parse_address(text)
                    if address is not None and address.kind is AddressKind.NETWORK:
                        yield instance, route, address


def _with_port(topology: Topology, here: Instance, port: int) -> list[Instance]:
    """Return the other instances that have this port."""
    others = (i for i in topology.instances.values() if i.name != here.name)
    return [i for i in others if i.address.port == port]


def _meant(topology: Topology, host: str, port: int) -> list[Instance]:
    """Return the instances named like the host's first label; of several, those with the port."""
    label = host.split(".")[0]
    found = [i for i in topology.instances.values() if label in _labels(i)]
    return found if len(found) < 2 else [i for i in found if i.address.port == port]


def _labels(instance: Instance) -> set[str]:
    return {host.casefold() for host in (instance.address.host, *instance.aliases)}


def _finding(route: Route, address: Address, instance: Instance) -> Finding:
    port = f":{address.port}" if is_loopback(address) else ""
    return ddl_finding(
        f"route {route.name}: {address.host}{port} is assumed to be {instance.name}",
        "If it is another server, add its script or snapshot, or rename the instance.",
        instance.name,
        route.source,
        severity=Severity.INFO,
    )
