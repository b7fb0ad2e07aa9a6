"""Data classes for the analysis of a flow: targets, failures, and return paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from streams.analysis.flows.flows import Flow
from streams.analysis.flows.journey import Hops, Journey
from streams.analysis.flows.redundancy import Redundancy
from streams.analysis.hazards.passage import Hop, Passage
from streams.analysis.paths.network import Ending
from streams.analysis.paths.path_graph import PathGraph
from streams.analysis.paths.splits import Split
from streams.analysis.paths.verdict import PathVerdict
from streams.analysis.security.values import DialogSecurity
from streams.errors import text_of
from streams.routing import broker_key
from streams.topology import Finding


@dataclass(frozen=True, slots=True)
class Reached:
    """A database that receives dialogs of a flow, and its share of them."""

    at: str
    broker: str
    share: Fraction


@dataclass(frozen=True, slots=True)
class Failure:
    """An end without delivery: its kind, place and reason, with the first path to it."""

    ending: Ending
    share: Fraction
    hops: Hops

    @property
    def instances(self) -> tuple[str, ...]:
        """Return the instances on the path, in order."""
        return tuple(state.instance for state, _ in self.hops)

    def to_json(self) -> dict[str, Any]:
        """Return the failure as a dictionary for JSON output."""
        error = self.ending.error
        return {
            "disposition": self.ending.disposition.value,
            "at": self.ending.at,
            "broker": self.ending.broker,
            "error": None if error is None else int(error),
            "reason": None if error is None else text_of(error),
            "share": float(self.share),
            "hops": list(self.instances),
        }


@dataclass(frozen=True, slots=True)
class Back:
    """The return path of acknowledgements: the shortest path that arrives, if any.

    ``failures`` are the ends of paths that do not reach the initiator's database; ``between``
    contains the instances on all paths that reach it.
    """

    place: Ending
    journey: Journey = field(repr=False, compare=False)
    hops: Hops
    arrives: bool
    failures: tuple[Failure, ...] = ()
    between: frozenset[str] = frozenset()

    @property
    def at(self) -> str:
        """Return the sender's database, ``instance/database``."""
        return self.place.at

    @property
    def instances(self) -> tuple[str, ...]:
        """Return the instances on the path, in order, from the target."""
        return tuple(state.instance for state, _ in self.hops)


@dataclass(frozen=True, slots=True)
class Forth:
    """The outbound path, which is the same for every service of the sender's database."""

    graph: PathGraph = field(repr=False, compare=False)
    count: int
    reached: tuple[Reached, ...]
    places: tuple[Ending, ...]
    redundancy: Mapping[str, Redundancy]
    failures: tuple[Failure, ...]
    splits: tuple[Split, ...]
    steps: tuple[Hop, ...] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Later:
    """The outcome for messages of a dialog that is locked to a broker id."""

    broker: str
    journey: Journey
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class FlowAnswer:
    """The outcome of a flow.

    ``forth``: its outbound paths, which other flows may share. ``backs``: the return paths from
    each reached database. ``hazards``: problems that exist even though all messages arrive.
    ``security``: the security of its dialogs, for each target and each ENCRYPTION.
    """

    flow: Flow
    verdict: PathVerdict
    backs: tuple[Back, ...]
    hazards: tuple[Finding, ...]
    forth: Forth = field(repr=False)
    passage: Passage = field(repr=False, compare=False)
    security: tuple[DialogSecurity, ...] = field(repr=False, compare=False)

    @property
    def reached(self) -> tuple[Reached, ...]:
        """Return the databases that receive the flow's dialogs."""
        return self.forth.reached

    @property
    def path_count(self) -> int:
        """Return the number of paths."""
        return self.forth.count

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Return the ends without delivery."""
        return self.forth.failures

    @property
    def redundancy(self) -> Mapping[str, int]:
        """Return the number of disjoint paths for each broker id."""
        return {broker: part.disjoint for broker, part in self.forth.redundancy.items()}

    @property
    def single_points(self) -> tuple[str, ...]:
        """Return the instances, and the routes as ``Instance/Database/Route``, that all paths use.

        The paths to each reached broker id are considered separately.
        """
        parts = self.forth.redundancy.values()
        return tuple(dict.fromkeys(name for p in parts for name in (*p.instances, *p.routes)))

    @property
    def returns(self) -> bool:
        """Return whether databases are reached, and all reached databases can acknowledge."""
        return bool(self.backs) and all(back.arrives for back in self.backs)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a dictionary for JSON output."""
        redundancy = self.redundancy
        return {
            **self.flow.to_json(),
            "verdict": self.verdict.value,
            "ways": self.path_count,
            "reached": [
                {"at": r.at, "broker": r.broker, "share": float(r.share),
                 "redundancy": redundancy.get(broker_key(r.broker), 0)}
                for r in self.reached
            ],
            "single_points": list(self.single_points),
            "failures": [failure.to_json() for failure in self.failures],
            "hazards": [finding.to_json() for finding in self.hazards],
            "returns": self.returns,
            "back": [
                {"from": b.at, "arrives": b.arrives, "hops": list(b.instances)} for b in self.backs
            ],
            "security": [judged.to_json() for judged in self.security],
        }  # fmt: skip
