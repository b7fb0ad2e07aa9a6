"""One version of the catalog in the form that workers need.

The view is immutable; a worker replaces it when a new version is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from streams.protocol import DEFAULT_PRIORITY, Parties
from streams.routing import Address, Instance, broker_key, parse_address
from streams.system_names import SYSTEM_SERVICES
from streams.topology import (
    SYSTEM_CONTRACTS,
    SYSTEM_MESSAGE_TYPES,
    Cluster,
    Database,
    Mirror,
    Neighbour,
    Priority,
    Topology,
    Transport,
    Validation,
    contract_of,
    directory,
    queues_by_service,
    queues_of,
    routing_instances,
    schemas_by_type,
)
from streams.topology.compile import found_at


@dataclass(frozen=True, slots=True)
class Service:
    """A service, its queue, and the existing contracts that it accepts as a target.

    ``queue_on``: whether the queue accepts messages; ``partitions``: the number of partitions of
    the queue's topic.
    """

    queue: str
    contracts: frozenset[str] = frozenset()
    queue_on: bool = True
    partitions: int = 1


@dataclass(frozen=True, slots=True)
class MessageType:
    """The validation of a message type; ``schema`` is the text of its collection for VALID_XML."""

    validation: Validation = Validation.NONE
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class Contract:
    """The side that may send each message type: ``initiator``, ``target`` or ``any``."""

    types: Mapping[str, str]

    def allows(self, message_type: str, *, initiator: bool) -> bool:
        """Return whether a side may send a message type; false for unknown types."""
        return self.types.get(message_type) in ("any", "initiator" if initiator else "target")


SYSTEM_QUEUE = "ServiceBrokerQueue"
"""The queue of a database's system service, which the database itself reads immediately."""
Key = tuple[str, str, str]
"""(instance, database, name)"""

_Names = tuple[str | None, str | None, str | None]
"""The contract, local service and remote service of a priority; ``None`` matches any."""
_MATCHES: tuple[tuple[bool, bool, bool], ...] = (
    (True, True, True),
    (True, True, False),
    (True, False, True),
    (True, False, False),
    (False, True, True),
    (False, True, False),
    (False, False, True),
    (False, False, False),
)
"""Whether a priority names the contract, the local and the remote service; best match first."""


@dataclass(frozen=True, slots=True)
class Senders:
    """The senders that another cluster may name in its frames."""

    services: frozenset[str]
    brokers: frozenset[str]

    def allow(self, parties: Parties) -> bool:
        """Return whether the other cluster may send a frame with the sender in ``parties``."""
        return parties.from_service in self.services and (
            broker_key(parties.from_broker) in self.brokers
        )


@dataclass(frozen=True, slots=True)
class CatalogView:
    """All instances of a cluster at one version of its catalog.

    ``addresses`` maps (host in lower case, port) to an instance, which may be one of the
    ``neighbours`` in another cluster. ``forward_bytes`` maps each instance to its
    MESSAGE_FORWARD_SIZE, and ``partitions`` to the number of partitions of its topics. ``mirrors``
    maps (instance, database) to the database's role in a mirrored pair. ``reading_groups`` contains
    the consumer groups whose positions limit the trimming of a queue. ``hides`` contains, for each
    instance, the next hops from which it hides the path so far. ``ingress`` contains, for each
    gateway, the other clusters that write to it, with their allowed senders. ``cluster`` is the
    name of this cluster in those clusters.
    """

    version: int
    instances: Mapping[str, Instance]
    addresses: Mapping[tuple[str, int], str]
    transports: Mapping[str, Transport]
    forward_bytes: Mapping[str, int]
    partitions: Mapping[str, int]
    services: Mapping[Key, Service]
    contracts: Mapping[Key, Contract]
    message_types: Mapping[Key, MessageType]
    priorities: Mapping[tuple[str, str], Mapping[_Names, int]]
    error_epochs: Mapping[tuple[str, str], int]
    mirrors: Mapping[tuple[str, str], Mirror]
    neighbours: Mapping[str, Neighbour]
    clusters: Mapping[str, Cluster]
    reading_groups: Mapping[Key, str]
    hides: Mapping[str, frozenset[str]]
    ingress: Mapping[str, Mapping[str, Senders]]
    cluster: str

    def instance_at(self, address: Address, own: Address | None = None) -> str | None:
        """Return the instance at an address, as seen from the instance at ``own``, if any."""
        return found_at(self.addresses, address, own)

    def priority(
        self, instance: str, database: str, contract: str, service: str, far_service: str
    ) -> int:
        """Return the priority of a new conversation endpoint, taken from the best match (4.12)."""
        levels = self.priorities.get((instance, database))
        if levels is None:
            return DEFAULT_PRIORITY
        asked = (contract, service, far_service)
        for match in _MATCHES:
            level = levels.get(_stated(asked, match))
            if level is not None:
                return level
        return DEFAULT_PRIORITY


def _stated(asked: tuple[str, str, str], match: tuple[bool, bool, bool]) -> _Names:
    """Return the names of a priority that matches ``asked`` in exactly the names of ``match``."""
    contract, local, remote = match
    return asked[0] if contract else None, asked[1] if local else None, asked[2] if remote else None


def _levels(rules: Iterable[Priority]) -> dict[_Names, int]:
    """Map contract, local and remote service to a level; of identical rules, the first counts."""
    found: dict[_Names, int] = {}
    for rule in rules:
        found.setdefault((rule.contract, rule.local_service, rule.remote_service), rule.level)
    return found


def catalog_of(topology: Topology, version: int) -> CatalogView:
    """Prepare a topology for workers."""
    instances = topology.instances
    databases = [(name, d) for name, i in instances.items() for d in i.databases.values()]
    every = [*databases, *((name, i.msdb) for name, i in instances.items())]
    contracts = _contracts(databases, every)
    return CatalogView(
        version=version,
        instances=routing_instances(topology),
        addresses={**directory(topology), **_abroad(topology)},
        transports={name: i.endpoint.transport for name, i in instances.items()},
        forward_bytes={name: i.endpoint.forward_size_mb << 20 for name, i in instances.items()},
        partitions={name: i.partitions for name, i in instances.items()},
        services=_services(databases, every, contracts),
        contracts=contracts,
        message_types=_message_types(databases, every),
        priorities={(n, d.name): _levels(d.priorities) for n, d in databases if d.priorities},
        error_epochs={(name, d.name): d.error_epoch for name, d in databases},
        mirrors={(name, d.name): d.mirror for name, d in databases if d.mirror is not None},
        neighbours=topology.neighbours,
        clusters=topology.clusters,
        reading_groups=_reading_groups(databases),
        hides={
            name: _foreign(topology, i.cluster)
            for name, i in instances.items()
            if i.endpoint.hide_path
        },
        ingress=_ingress(topology),
        cluster=next((i.cluster for i in instances.values() if i.cluster is not None), ""),
    )


_Databases = Sequence[tuple[str, Database]]
"""Databases with the names of their instances; ``every`` also contains the msdb databases."""


def _services(
    databases: _Databases, every: _Databases, contracts: Mapping[Key, Contract]
) -> dict[Key, Service]:
    found: dict[Key, Service] = {}
    for name, database in databases:
        queues = queues_by_service(database)
        for key, service in database.services.items():
            queue = queues[key]
            accepts = frozenset(
                one for one in service.contracts if (name, database.name, one) in contracts
            )
            found[name, database.name, service.name] = Service(
                queue.name, accepts, queue.status, queue.partitions
            )
    system = Service(SYSTEM_QUEUE)
    return found | {(name, d.name, own): system for name, d in every for own in SYSTEM_SERVICES}


def _contracts(databases: _Databases, every: _Databases) -> dict[Key, Contract]:
    found: dict[Key, Contract] = {}
    for name, database in databases:
        accepted = (c for service in database.services.values() for c in service.contracts)
        _add_contracts(found, name, database, (*accepted, *database.contracts))
    for name, database in every:
        _add_contracts(found, name, database, SYSTEM_CONTRACTS)
    return found


def _add_contracts(
    found: dict[Key, Contract], instance: str, database: Database, names: Iterable[str]
) -> None:
    for name in dict.fromkeys(names):  # many services may accept a contract of many types
        contract = contract_of(database, name)
        if contract is not None:
            types = {message: sender.value for message, sender in contract.messages.items()}
            found[instance, database.name, name] = Contract(types)


def _message_types(databases: _Databases, every: _Databases) -> dict[Key, MessageType]:
    """Return all message types; a type that only a contract names is not validated."""
    system = {
        (name, d.name, kind.name): MessageType(kind.validation)
        for name, d in every
        for kind in SYSTEM_MESSAGE_TYPES.values()
    }
    named = {
        (name, d.name, kind): MessageType()
        for name, d in databases
        for contract in d.contracts.values()
        for kind in contract.messages
    }
    own: dict[Key, MessageType] = {}
    for name, database in databases:
        schemas = schemas_by_type(database)
        for kind in database.message_types.values():
            own[name, database.name, kind.name] = MessageType(kind.validation, schemas[kind.name])
    return named | system | own


def _reading_groups(databases: _Databases) -> dict[Key, str]:
    return {
        (name, d.name, queue.name): queue.reading_group
        for name, d in databases
        for queue in queues_of(d)
        if queue.reading_group is not None and not queue.retention
    }


def _foreign(topology: Topology, cluster: str | None) -> frozenset[str]:
    """Return the neighbours: instances of other clusters."""
    others = (i.name for i in topology.instances.values() if i.cluster != cluster)
    return frozenset((*others, *topology.neighbours))


def _ingress(topology: Topology) -> dict[str, dict[str, Senders]]:
    found: dict[str, dict[str, Senders]] = {}
    for each in topology.ingress:
        senders = Senders(frozenset(each.services), frozenset(map(broker_key, each.broker_ids)))
        found.setdefault(each.gateway, {})[each.cluster] = senders
    return found


def _abroad(topology: Topology) -> dict[tuple[str, int], str]:
    """Return the neighbours' addresses; a neighbour that has moved can still be in the catalog."""
    stated = ((n.name, parse_address(a)) for n in topology.neighbours.values() for a in n.addresses)
    return {(a.host.casefold(), a.port): name for name, a in stated if a is not None}
