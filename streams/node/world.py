"""What a worker knows of the catalog at one version, in the form in which it asks.

A worker replaces the whole value when a new version is complete; nothing in it ever changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streams.protocol import DEFAULT
from streams.routing import Address, Instance
from streams.topology import (
    Database,
    Mirror,
    Topology,
    Transport,
    contract_of,
    directory,
    queue_of,
    routing_instances,
)


@dataclass(frozen=True, slots=True)
class Service:
    """A service as a dialog meets it: its queue, and the contracts that it accepts as target."""

    queue: str
    contracts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Contract:
    """Who may send which message type: ``initiator``, ``target`` or ``any``."""

    types: Mapping[str, str]

    def allows(self, message_type: str, *, initiator: bool) -> bool:
        """Tell whether a side may send a message type; unknown types may not be sent."""
        return self.types.get(message_type) in ("any", "initiator" if initiator else "target")


Key = tuple[str, str, str]
"""(instance, database, name)"""


@dataclass(frozen=True, slots=True)
class World:
    """All instances of a cluster at one version of its catalog.

    ``addresses`` maps (host in lower case, port) to the instance there; ``forward_bytes`` is each
    instance's MESSAGE_FORWARD_SIZE, ``partitions`` how many its topics have; ``mirrors`` maps
    (instance, database) to its part in a mirrored pair.
    """

    version: int
    instances: Mapping[str, Instance]
    addresses: Mapping[tuple[str, int], str]
    transports: Mapping[str, Transport]
    forward_bytes: Mapping[str, int]
    partitions: Mapping[str, int]
    services: Mapping[Key, Service]
    contracts: Mapping[Key, Contract]
    mirrors: Mapping[tuple[str, str], Mirror]

    def instance_at(self, address: Address) -> str | None:
        """Return the instance that an address leads to; ``None`` where no one lives there."""
        return self.addresses.get((address.host.casefold(), address.port))


def world_of(topology: Topology, version: int) -> World:
    """Prepare a topology for the questions of workers."""
    services: dict[Key, Service] = {}
    contracts: dict[Key, Contract] = {}
    for name, instance in topology.instances.items():
        for database in instance.databases.values():
            for service in database.services.values():
                queue = queue_of(database, service.name)
                assert queue is not None, "every service has a queue"
                services[name, database.name, service.name] = Service(
                    queue.name, frozenset(service.contracts)
                )
                for contract in service.contracts:
                    _add_contract(contracts, database, name, contract)
            for contract in (DEFAULT, *database.contracts):
                _add_contract(contracts, database, name, contract)
    return World(
        version,
        routing_instances(topology),
        directory(topology),
        {name: i.endpoint.transport for name, i in topology.instances.items()},
        {name: i.endpoint.forward_size_mb << 20 for name, i in topology.instances.items()},
        {name: i.partitions for name, i in topology.instances.items()},
        services,
        contracts,
        {
            (name, database.name): database.mirror
            for name, instance in topology.instances.items()
            for database in instance.databases.values()
            if database.mirror is not None
        },
    )


def _add_contract(
    contracts: dict[Key, Contract], database: Database, instance: str, name: str
) -> None:
    found = contract_of(database, name)
    if found is not None:
        types = {message: sender.value for message, sender in found.messages.items()}
        contracts[instance, database.name, name] = Contract(types)
