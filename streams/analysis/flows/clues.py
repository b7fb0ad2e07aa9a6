"""Clues in a topology about senders and targets, from which flows are derived."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from streams.analysis.places import find_sender
from streams.errors import UsageError
from streams.routing import CONFIGURATION_SERVICE
from streams.system_names import SYSTEM_SERVICES
from streams.topology import (
    SYSTEM_CONTRACTS,
    BeginDialog,
    Database,
    Instance,
    Role,
    Service,
    Source,
    Topology,
)

_OF_THE_ENGINE = SYSTEM_SERVICES | {CONFIGURATION_SERVICE}
"""Services with which no application converses."""


class Clue(Enum):
    """The kind of a clue, from the strongest to the weakest."""

    EXPECT = "expect"
    BEGIN = "begin dialog"
    ROUTE = "route"
    BINDING = "remote service binding"
    PRIORITY = "broker priority"
    CONTRACT = "contract"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of a flow: the kind of clue, the object's name, and its place."""

    clue: Clue
    name: str
    source: Source


@dataclass(frozen=True, slots=True)
class Hint:
    """A clue that a database sends to a service; ``service`` is the initiator service, if given."""

    instance: Instance
    database: Database
    to: str
    evidence: Evidence
    service: str | None = None
    broker: str | None = None
    contract: str | None = None


@dataclass(frozen=True, slots=True)
class DeployedService:
    """A deployed service."""

    instance: Instance
    database: Database
    service: Service


@dataclass(slots=True)
class Deployed:
    """All services by name, and, by contract, the names of the services that accept it."""

    homes: dict[str, list[DeployedService]] = field(default_factory=dict)
    accepting: dict[str, set[str]] = field(default_factory=dict)

    @staticmethod
    def of(topology: Topology) -> Deployed:
        """Collect the services of all databases."""
        found = Deployed()
        for instance in topology.instances.values():
            for database in instance.databases.values():
                for service in database.services.values():
                    home = DeployedService(instance, database, service)
                    found.homes.setdefault(service.name, []).append(home)
                    for contract in service.contracts:
                        found.accepting.setdefault(contract, set()).add(service.name)
        return found

    def accepted(self, service: str) -> frozenset[str]:
        """Return the contracts that any copy of a service accepts."""
        homes = self.homes.get(service, ())
        return frozenset(contract for home in homes for contract in home.service.contracts)

    def can_be_target(self, service: str) -> bool:
        """Return whether a service can be a target: it accepts a contract, or is unknown here."""
        if service in _OF_THE_ENGINE:
            return False
        return service not in self.homes or bool(self.accepted(service))


def initiators(database: Database) -> tuple[Service, ...]:
    """Return the services of a database from which applications can begin dialogs."""
    found = (s for s in database.services.values() if s.name not in _OF_THE_ENGINE)
    return tuple(sorted(found, key=lambda service: service.name))


def contracts_of(database: Database) -> frozenset[str]:
    """Return the contracts under which a dialog can begin in a database."""
    return frozenset(database.contracts) | frozenset(SYSTEM_CONTRACTS)


def sending(topology: Topology) -> Iterator[tuple[Instance, Database]]:
    """Yield the databases that can send, because delivery is on and they are not mirrors."""
    for instance in topology.instances.values():
        for database in instance.databases.values():
            mirror = database.mirror is not None and database.mirror.role is Role.MIRROR
            if database.delivers and not mirror:
                yield instance, database


# --- Explicit statements --------------------------------------------------------------------------


def expected(topology: Topology) -> Iterator[Hint]:
    """Yield the topology's expectations, except those with a nonexistent sender."""
    for stated in topology.expect:
        try:
            place = find_sender(topology, stated.sender, stated.to)
        except UsageError:
            continue
        evidence = Evidence(Clue.EXPECT, f"{stated.sender} -> {stated.to}", stated.source)
        yield Hint(
            place.instance, place.database, stated.to, evidence, place.service, stated.broker
        )  # fmt: skip


def begin_dialogs(topology: Topology) -> Iterator[Hint]:
    """Yield the BEGIN DIALOG statements with a constant target service.

    If the code does not specify the broker id, the routes of the database give the candidates.
    """
    for instance, database, name, begin in _begins(topology):
        if begin.to is not None:
            for broker, evidence in _brokers(database, name, begin):
                yield Hint(
                    instance, database, begin.to, evidence, begin.service, broker, begin.contract
                )  # fmt: skip


def _brokers(
    database: Database, name: str, begin: BeginDialog
) -> Iterator[tuple[str | None, Evidence]]:
    if not begin.unknown_broker:
        yield begin.broker, Evidence(Clue.BEGIN, name, begin.source)
        return
    for route in database.routes:
        if route.service == begin.to and route.broker is not None:
            yield route.broker, Evidence(Clue.ROUTE, route.name, route.source)


def begin_dialogs_without_broker(topology: Topology) -> Iterator[Hint]:
    """Yield the BEGIN DIALOG statements with a known target service and an unknown broker id."""
    for instance, database, name, begin in _begins(topology):
        if begin.to is not None and begin.unknown_broker:
            evidence = Evidence(Clue.BEGIN, name, begin.source)
            yield Hint(instance, database, begin.to, evidence, begin.service)


def unsettled(
    topology: Topology,
) -> Iterator[tuple[Instance, Database, Evidence, str | None]]:
    """Yield the BEGIN DIALOG statements whose target depends on run-time values.

    The last value is the target if only the broker id is unknown, or ``None`` if the target is
    unknown.
    """
    for instance, database, name, begin in _begins(topology):
        if begin.to is None or begin.unknown_broker:
            yield instance, database, Evidence(Clue.BEGIN, name, begin.source), begin.to


def _begins(topology: Topology) -> Iterator[tuple[Instance, Database, str, BeginDialog]]:
    for instance, database in sending(topology):
        for procedure in database.procedures.values():
            for begin in procedure.begins:
                yield instance, database, procedure.name, begin


# --- What objects suggest ------------------------------------------------------------------------


def suggested(topology: Topology, deployed: Deployed) -> Iterator[Hint]:
    """Yield the clues from routes, bindings and priorities, in this order for each database."""
    for instance, database in sending(topology):
        for name, clue, to, source in _named(database):
            known = to in deployed.homes or clue is not Clue.PRIORITY
            if known and deployed.can_be_target(to):
                yield Hint(instance, database, to, Evidence(clue, name, source))


def without_services(topology: Topology) -> Iterator[tuple[Instance, Database]]:
    """Yield the databases that name a target but have no service of their own.

    Dialogs begin from a service, so the topology contains only a part of such a database.
    """
    deployed = Deployed.of(topology)
    for instance, database in sending(topology):
        if not database.services and any(map(deployed.can_be_target, _targets(database))):
            yield instance, database


def _targets(database: Database) -> Iterator[str]:
    return (to for _, _, to, _ in _named(database))


def _named(database: Database) -> Iterator[tuple[str, Clue, str, Source]]:
    for route in database.routes:
        if route.service is not None:
            yield route.name, Clue.ROUTE, route.service, route.source
    for binding in database.bindings:
        yield binding.name, Clue.BINDING, binding.service, binding.source
    for priority in database.priorities:
        if priority.remote_service is not None:
            yield priority.name, Clue.PRIORITY, priority.remote_service, priority.source


def by_contract(topology: Topology, deployed: Deployed) -> Iterator[Hint]:
    """Yield the clues from contracts that only one service accepts.

    A database counts only if one of its services accepts no contract, and so can only initiate.
    """
    for instance, database in sending(topology):
        if not any(not service.contracts for service in initiators(database)):
            continue
        for contract in database.contracts.values():
            names = deployed.accepting.get(contract.name, set())
            if len(names) == 1 and contract.name not in SYSTEM_CONTRACTS:
                evidence = Evidence(Clue.CONTRACT, contract.name, contract.source)
                (to,) = names
                yield Hint(instance, database, to, evidence, contract=contract.name)
