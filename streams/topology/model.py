"""A topology: instances, their databases and clusters, and expectations."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from streams.routing import AUTO_CREATED_LOCAL, DEFAULT_PORT, Address, network, parse_address
from streams.topology.agents import Agent
from streams.topology.findings import NOWHERE, Finding, Skipped, Source
from streams.topology.objects import Database, Route
from streams.topology.security import Encryption, Grant

MSDB = "msdb"
_BROKER_IDS = uuid.UUID("5a3d8cc0-7f0b-5c54-9b7e-6d1f6a1c2e11")


class EndpointState(Enum):
    """The state of an instance's endpoint for Service Broker."""

    STARTED = "started"
    STOPPED = "stopped"
    DISABLED = "disabled"


class Transport(Enum):
    """How the transport uses several addresses (U-19)."""

    FAILOVER = "failover"
    ALL = "all"
    SEEDED = "seeded"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An instance's endpoint FOR SERVICE_BROKER; ``port`` is its LISTENER_PORT.

    ``algorithms`` and ``authentication`` are the words of the statement, in order. ``hide_path``:
    copies that leave the Kafka cluster through this instance have only this instance in their path.
    """

    state: EndpointState = EndpointState.STARTED
    forwarding: bool = False
    forward_size_mb: int = 10
    transport: Transport = Transport.FAILOVER
    port: int | None = None
    name: str | None = None
    encryption: Encryption = Encryption.REQUIRED
    algorithms: tuple[str, ...] = ()
    authentication: tuple[str, ...] = ()
    hide_path: bool = False
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Instance:
    """A SQL Server process.

    ``stated_address`` is the explicit address, if any; see :attr:`address`.

    ``partitions``: the number of Kafka partitions of the topics with its dialogs.
    """

    name: str
    msdb: Database
    databases: Mapping[str, Database] = field(default_factory=dict)
    stated_address: str | None = None
    aliases: tuple[str, ...] = ()
    listeners: tuple[str, ...] = ()
    endpoint: Endpoint = field(default_factory=Endpoint)
    cluster: str | None = None
    partitions: int = 1
    grants: tuple[Grant, ...] = ()
    source: Source = field(default=NOWHERE, compare=False)

    @property
    def address(self) -> Address:
        """Return the instance's address: the explicit address, or else its name and port."""
        stated = parse_address(self.stated_address) if self.stated_address else None
        if stated is not None:
            return stated
        # The host of a named instance such as SQL01\PROD is SQL01; instances differ in their ports.
        host = self.name.split("\\", 1)[0]
        return network(host, self.endpoint.port or DEFAULT_PORT)

    @property
    def started(self) -> bool:
        """Return whether the instance can use the network."""
        return self.endpoint.state is EndpointState.STARTED

    def database(self, name: str) -> Database | None:
        """Return a database, which may be ``msdb``, by its case-insensitive name."""
        folded = name.casefold()
        if folded == MSDB:
            return self.msdb
        exact = self.databases.get(name)
        if exact is not None:
            return exact
        return next((d for d in self.databases.values() if d.name.casefold() == folded), None)


@dataclass(frozen=True, slots=True)
class Claims:
    """The senders that a cluster may name in frames for other clusters.

    ``None`` means that the senders follow from the topology (:mod:`streams.topology.ingress`).
    """

    services: tuple[str, ...] | None = None
    broker_ids: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Kafka cluster: a trust domain, with its librdkafka properties.

    ``prefix`` is the prefix of its topics, by default the same in all clusters. ``credentials`` is
    the name of the credentials in the settings that are used to write to the cluster; the default
    is the cluster's name. ``claims`` contains the senders that the cluster may name in other
    clusters.
    """

    name: str
    properties: Mapping[str, str] = field(default_factory=dict)
    prefix: str | None = None
    credentials: str | None = None
    claims: Claims | None = None
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An instance of another cluster to which routes lead, with its few known properties.

    ``addresses`` contains the instance's addresses in routes.
    """

    name: str
    cluster: str
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ingress:
    """A topic of ``gateway`` to which only the other ``cluster`` writes.

    A frame in it must have one of the ``services`` and one of the ``broker_ids`` as its sender.
    """

    gateway: str
    cluster: str
    services: tuple[str, ...]
    broker_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Expectation:
    """An assertion of the topology's author about one flow, evaluated by ``check``."""

    sender: str
    to: str
    verdict: str | None = None
    at: tuple[str, ...] | None = None
    broker: str | None = None
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Topology:
    """The content of a folder. ``findings`` and ``skipped`` concern the files.

    ``cuts`` contains pairs of instances without a connection, for what-if questions; no folder
    contains them. ``neighbours`` and ``ingress`` are set only in one cluster's share: the remote
    instances to which its instances write, and the clusters that write to its instances. ``agents``
    implement services; only the process that runs the agents needs them.
    """

    instances: Mapping[str, Instance] = field(default_factory=dict)
    clusters: Mapping[str, Cluster] = field(default_factory=dict)
    expect: tuple[Expectation, ...] = ()
    findings: tuple[Finding, ...] = field(default=(), compare=False)
    skipped: tuple[Skipped, ...] = field(default=(), compare=False)
    cuts: frozenset[frozenset[str]] = frozenset()
    neighbours: Mapping[str, Neighbour] = field(default_factory=dict)
    agents: Mapping[str, Agent] = field(default_factory=dict)
    ingress: tuple[Ingress, ...] = ()

    def instance(self, name: str) -> Instance | None:
        """Return an instance by its name; names are case-insensitive."""
        exact = self.instances.get(name)
        if exact is not None:
            return exact
        folded = name.casefold()
        return next((i for i in self.instances.values() if i.name.casefold() == folded), None)


def bare_endpoint(like: Endpoint, **changes: Any) -> Endpoint:
    """Return an endpoint with only those settings of another endpoint that T-SQL cannot express."""
    return Endpoint(transport=like.transport, hide_path=like.hide_path, **changes)


def default_broker_id(instance: str, database: str) -> str:
    """Return the stable GUID of a database without an explicit one."""
    return str(uuid.uuid5(_BROKER_IDS, f"{len(instance)}:{instance}/{database}"))


def renewed_broker_id(broker_id: str) -> str:
    """Return the broker id after NEW_BROKER: a different id, but the same at each call."""
    return str(uuid.uuid5(_BROKER_IDS, f"NEW_BROKER {broker_id}"))


def empty_database(instance: str, name: str, source: Source = NOWHERE) -> Database:
    """Return a database as CREATE DATABASE leaves it: delivery on, AutoCreatedLocal (C-01)."""
    # master has no AutoCreatedLocal; every user database and msdb have one.
    routes = (
        ()
        if name.casefold() == "master"
        else (Route(AUTO_CREATED_LOCAL, None, None, "LOCAL", route_id=1, source=source),)
    )
    return Database(name, default_broker_id(instance, name), routes=routes, source=source)
