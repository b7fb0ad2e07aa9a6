"""Derive the flows of an estate.

No single place lists the flows, so they are derived from the clues of :mod:`.clues`. Expectations
and BEGIN DIALOG statements are used directly. Routes, bindings, priorities and contracts are used
only if there is no stronger clue for the same database and service. They are also not used if they
merely describe the return path of a dialog that the other side begins, because an unintended flow
would cause false alarms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from streams.analysis.estate import Estate
from streams.analysis.flows.clues import (
    Clue,
    Deployed,
    Evidence,
    Hint,
    begin_dialogs,
    begin_dialogs_without_broker,
    by_contract,
    contracts_of,
    expected,
    initiators,
    suggested,
)
from streams.analysis.places import Place
from streams.system_names import SYSTEM_SERVICES
from streams.topology import Service

__all__ = ["Clue", "Evidence", "Flow", "FlowKey", "flows_of"]

FlowKey = tuple[str, str, str, str, str]
"""Instance, database and service of the initiator, the target service, and the broker id."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Dialogs that a service begins with another service, and the evidence (``why``).

    ``broker`` is the broker id of BEGIN DIALOG; ``contract`` is ``None`` if unknown.
    """

    sender: Place
    to: str
    broker: str | None
    contract: str | None
    why: tuple[Evidence, ...]

    @property
    def key(self) -> FlowKey:
        """Return the names that identify the flow, as a sort key."""
        place = self.sender
        names = (place.instance.name, place.database.name, place.service)
        return (*names, self.to, self.broker or "")

    @property
    def can_begin(self) -> bool:
        """Return whether the database has the service from which the dialogs begin."""
        return self.sender.service in SYSTEM_SERVICES.union(self.sender.database.services)

    @property
    def stated(self) -> bool:
        """Return whether the flow is stated explicitly, not derived from objects."""
        return any(evidence.clue in (Clue.EXPECT, Clue.BEGIN) for evidence in self.why)

    def to_json(self) -> dict[str, Any]:
        """Return the flow as a dictionary for JSON output."""
        return {
            "from": str(self.sender),
            "to": self.to,
            "broker": self.broker,
            "contract": self.contract,
            "evidence": [
                {"kind": e.clue.value, "name": e.name, "file": e.source.file, "line": e.source.line}
                for e in self.why
            ],
        }

    def __str__(self) -> str:
        broker = f" (broker id {self.broker})" if self.broker is not None else ""
        return f"{self.sender} -> {self.to}{broker}"


def flows_of(estate: Estate) -> tuple[Flow, ...]:
    """Return the flows of a topology, sorted by name."""
    return estate.once(_conclude)


def _conclude(estate: Estate) -> tuple[Flow, ...]:
    topology = estate.topology
    book = _Book(Deployed.of(topology))
    for hint in (*expected(topology), *begin_dialogs(topology)):
        book.take(hint)
    book.close(begin_dialogs_without_broker(topology))
    for hint in suggested(topology, book.deployed):
        book.consider(hint)
    for hint in by_contract(topology, book.deployed):
        book.consider(hint)
    return book.flows()


@dataclass(slots=True)
class _Draft:
    sender: Place
    to: str
    broker: str | None
    contract: str | None
    why: list[Evidence]


@dataclass(slots=True)
class _Book:
    """The flows found so far.

    ``settled`` maps an initiator's instance and database and a target service to its flows.
    """

    deployed: Deployed
    drafts: dict[FlowKey, _Draft] = field(default_factory=dict)
    settled: dict[tuple[str, str, str], list[_Draft]] = field(default_factory=dict)
    stated: set[tuple[str, str]] = field(default_factory=set)

    def take(self, hint: Hint) -> None:
        """Add an explicit clue; guess the initiator if it is unknown."""
        for name in self._beginners(hint):
            self._add(hint, name)

    def close(self, somewhere: Iterable[Hint]) -> None:
        """Store the explicit pairs of services; opposite routes between them are return paths.

        ``somewhere`` contains pairs without a known flow, because their broker ids are unknown.
        """
        self.stated = {(draft.sender.service, draft.to) for draft in self.drafts.values()}
        for hint in somewhere:
            self.stated |= {(name, hint.to) for name in self._beginners(hint)}

    def consider(self, hint: Hint) -> None:
        """Add a clue; if a stronger clue exists, use the new one only as confirmation."""
        settled = self.settled.get(_pair(hint))
        if settled is not None:
            for draft in settled:
                if hint.evidence not in draft.why:
                    draft.why.append(hint.evidence)
                draft.contract = draft.contract or hint.contract
        elif not self._is_return_flow(hint):
            self.take(hint)

    def flows(self) -> tuple[Flow, ...]:
        """Return the derived flows."""
        return tuple(
            Flow(draft.sender, draft.to, draft.broker, draft.contract, tuple(draft.why))
            for _, draft in sorted(self.drafts.items(), key=lambda item: item[0])
        )

    def _add(self, hint: Hint, service: str) -> None:
        key = (hint.instance.name, hint.database.name, service, hint.to, hint.broker or "")
        draft = self.drafts.get(key)
        if draft is None:
            place = Place(hint.instance, hint.database, service)
            draft = _Draft(place, hint.to, hint.broker, hint.contract, [])
            self.drafts[key] = draft
            self.settled.setdefault(_pair(hint), []).append(draft)
        draft.why.append(hint.evidence)
        draft.contract = draft.contract or hint.contract

    def _is_return_flow(self, hint: Hint) -> bool:
        """Return whether the other side is the initiator, as stated or as contracts show."""
        if any((hint.to, name) in self.stated for name in hint.database.services):
            return True
        if any((name, hint.to) in self.stated for name in hint.database.services):
            return False
        accepted = self.deployed.accepted(hint.to)
        if not accepted or accepted & contracts_of(hint.database):
            return False
        here = {c for s in hint.database.services.values() for c in s.contracts}
        return any(here & contracts_of(h.database) for h in self.deployed.homes[hint.to])

    def _beginners(self, hint: Hint) -> tuple[str, ...]:
        return (hint.service,) if hint.service is not None else self._guess(hint)

    def _guess(self, hint: Hint) -> tuple[str, ...]:
        """Return the most likely initiator services.

        The candidates are the services that can only initiate. If there are none, the candidates
        are the services that share a contract with the target, or else all services. Candidates to
        which the target has a route are preferred.
        """
        every = [s for s in initiators(hint.database) if s.name != hint.to]
        accepted = self.deployed.accepted(hint.to)
        only = [s for s in every if not s.contracts]
        shared = [s for s in every if accepted.intersection(s.contracts)]
        likely = only or shared or every
        return tuple(s.name for s in self._answered(hint.to, likely) or likely)

    def _answered(self, to: str, services: list[Service]) -> list[Service]:
        if len(services) < 2:
            return services
        homes = self.deployed.homes.get(to, ())
        named = {route.service for home in homes for route in home.database.routes}
        return [service for service in services if service.name in named]


def _pair(hint: Hint) -> tuple[str, str, str]:
    return (hint.instance.name, hint.database.name, hint.to)
