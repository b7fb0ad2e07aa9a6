"""Survey an estate: flows, single points of failure, and unused routes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any

from streams.analysis.check.certain import fails_for_certain
from streams.analysis.estate import Estate
from streams.analysis.flows.clues import unsettled, without_services
from streams.analysis.flows.flow_answer import answers_of
from streams.analysis.flows.flow_values import FlowAnswer
from streams.analysis.flows.flows import FlowKey, flows_of
from streams.analysis.flows.route_index import At
from streams.analysis.flows.unused_routes import unused_routes
from streams.analysis.known import id_unstated, known
from streams.analysis.paths.verdict import PathVerdict
from streams.errors import Number
from streams.routing import broker_key
from streams.topology import Severity, Source, Topology

_ID_NOT_HERE = (Number.TARGET_BROKER_NOT_HERE, Number.BROKER_NOT_HERE)


class FailurePoint(Enum):
    """The kinds of single points of failure."""

    INSTANCE = "instance"
    ROUTE = "route"


@dataclass(frozen=True, slots=True)
class SinglePoint:
    """A single point of failure: an instance, or a route as ``Instance/Database/Route``."""

    name: str
    kind: FailurePoint
    flows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A BEGIN DIALOG in code whose target depends on run-time values.

    ``at`` is ``Instance/Database``. ``to`` is the target, or ``None`` if the target is unknown;
    otherwise the broker id is unknown.
    """

    at: str
    procedure: str
    source: Source
    to: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the statement as a dictionary for JSON output."""
        place = {"file": self.source.file, "line": self.source.line}
        return {"at": self.at, "procedure": self.procedure, "to": self.to, **place}


@dataclass(frozen=True, slots=True)
class Survey:
    """The flows of an estate with their outcomes; see :func:`survey_flows`.

    ``unknown_ids``: the broker ids of failing messages that no database is known to have, but that
    a database of the last instance may have, because scripts do not contain broker ids.
    ``services_unknown``: the databases (or instances) whose services the topology does not contain,
    so that flows which begin there are not among the answers. ``certain``: the flows that fail for
    a reason that ``check`` reports as an error, and not only because a part of the estate is
    missing (decision 53).
    """

    answers: tuple[FlowAnswer, ...]
    single_points: tuple[SinglePoint, ...]
    unused: tuple[At, ...]
    unsettled: tuple[Unsettled, ...] = ()
    unknown_ids: frozenset[str] = frozenset()
    services_unknown: tuple[str, ...] = ()
    certain: frozenset[FlowKey] = frozenset()

    def count(self, verdict: PathVerdict) -> int:
        """Return the number of flows that have the given verdict."""
        return sum(answer.verdict is verdict for answer in self.answers)

    @property
    def good(self) -> bool:
        """Return whether the messages of every flow reach all targets, without hazards."""
        return self.count(PathVerdict.OK) == len(self.answers)

    def reaches(self, severity: Severity) -> bool:
        """Return whether a flow fails for certain; below ERROR, whether any flow is not ok."""
        return bool(self.certain) if severity is Severity.ERROR else not self.good

    def points(self, kind: FailurePoint) -> tuple[SinglePoint, ...]:
        """Return the single points of failure of a kind."""
        return tuple(point for point in self.single_points if point.kind is kind)

    def to_json(self) -> dict[str, Any]:
        """Return the survey as a dictionary for JSON output."""
        return {
            "flows": [
                {**answer.to_json(), "certain": answer.flow.key in self.certain}
                for answer in self.answers
            ],
            "single_points": [
                {"name": p.name, "kind": p.kind.value, "flows": list(p.flows)}
                for p in self.single_points
            ],
            "unused_routes": [_route_json(at) for at in self.unused],
            "unsettled": [begin.to_json() for begin in self.unsettled],
            "services_unknown": list(self.services_unknown),
            "summary": {
                **{verdict.value: self.count(verdict) for verdict in PathVerdict},
                "single_points": len(self.single_points),
                "unused_routes": len(self.unused),
                "unsettled": len(self.unsettled),
                "services_unknown": len(self.services_unknown),
            },
        }


def survey_flows(
    topology: Topology, now: float, senders: Sequence[str] = (), targets: Sequence[str] = ()
) -> Survey:
    """Analyse all flows of a topology; ``now`` is in epoch seconds.

    ``senders`` and ``targets`` are patterns with ``*`` and ``?``. ``senders`` match
    ``Instance[/Database[/Service]]``; ``targets`` match the target service, or the
    ``Instance[/Database]`` that the messages reach. By default, all flows are analysed.
    """
    estate = Estate(topology, now)
    answers = tuple(a for a in answers_of(estate) if _wanted(a, senders, targets))
    unused = (at for at in unused_routes(estate) if _concerns(at, senders, targets))
    return Survey(
        answers,
        tuple(_points(answers)),
        tuple(unused),
        tuple(_unsettled(topology, senders)),
        frozenset(_unknown_ids(estate, answers)),
        tuple(_services_unknown(estate, senders)),
        frozenset(a.flow.key for a in answers if fails_for_certain(estate, a)),
    )


def _unknown_ids(estate: Estate, answers: Iterable[FlowAnswer]) -> Iterator[str]:
    for failure in (failure for answer in answers for failure in answer.failures):
        end = failure.ending
        if end.error not in _ID_NOT_HERE or end.broker is None:
            continue
        databases = estate.topology.instances[end.instance].databases.values()
        unstated = any(id_unstated(estate.topology.instances[end.instance], d) for d in databases)
        if unstated and broker_key(end.broker) not in known(estate).brokers:
            yield broker_key(end.broker)


def _services_unknown(estate: Estate, senders: Sequence[str]) -> Iterator[str]:
    """Yield the databases without services; if there is no service at all, the instances."""
    topology = estate.topology
    begins = {(f.sender.instance.name, f.sender.database.name) for f in flows_of(estate)}
    places = [(i.name, d.name) for i, d in without_services(topology)]
    found: list[tuple[str, ...]] = [place for place in places if place not in begins]
    if not found and not begins and not known(estate).services:
        found = [(name,) for name in topology.instances]
    yield from ("/".join(place) for place in found if _matches(senders, _prefixes(*place)))


def _unsettled(topology: Topology, senders: Sequence[str]) -> Iterator[Unsettled]:
    for instance, database, evidence, to in unsettled(topology):
        if _matches(senders, _prefixes(instance.name, database.name)):
            at = f"{instance.name}/{database.name}"
            yield Unsettled(at, evidence.name, evidence.source, to)


def _wanted(answer: FlowAnswer, senders: Sequence[str], targets: Sequence[str]) -> bool:
    place = answer.flow.sender
    names = _prefixes(place.instance.name, place.database.name, place.service)
    reached = [
        name for end in answer.forth.places for name in _prefixes(end.instance, end.database)
    ]
    return _matches(senders, names) and _matches(targets, (answer.flow.to, *reached))


def _concerns(at: At, senders: Sequence[str], targets: Sequence[str]) -> bool:
    names = _prefixes(at.instance.name, at.database.name)
    return _matches(senders, names) and _matches(targets, (at.route.service or "",))


def _prefixes(*parts: str | None) -> tuple[str, ...]:
    stated = [part for part in parts if part is not None]
    return tuple("/".join(stated[: count + 1]) for count in range(len(stated)))


def _matches(patterns: Sequence[str], names: Iterable[str]) -> bool:
    folded = [name.casefold() for name in names]
    return not patterns or any(fnmatchcase(n, p.casefold()) for p in patterns for n in folded)


def _points(answers: Iterable[FlowAnswer]) -> Iterator[SinglePoint]:
    """Yield the single points of failure, starting with those that affect the most flows."""
    found: dict[tuple[FailurePoint, str], list[str]] = {}
    for answer in answers:
        for part in answer.forth.redundancy.values():
            for kind, names in (
                (FailurePoint.INSTANCE, part.instances),
                (FailurePoint.ROUTE, part.routes),
            ):
                for name in names:
                    found.setdefault((kind, name), []).append(str(answer.flow))
    for kind, name in sorted(found, key=lambda key: (key[0].value, -len(found[key]), key[1])):
        yield SinglePoint(name, kind, tuple(dict.fromkeys(found[kind, name])))


def _route_json(at: At) -> dict[str, Any]:
    route, source = at.route, at.route.source
    return {
        "route": route.name, "at": f"{at.instance.name}/{at.database.name}",
        "service": route.service, "broker": route.broker, "address": route.address,
        "file": source.file, "line": source.line, "column": source.column,
    }  # fmt: skip
