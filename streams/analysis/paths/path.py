"""All paths of a message, in both directions, with a verdict."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from streams.analysis.answers import decision_json
from streams.analysis.estate import Estate
from streams.analysis.flows.flows import Flow
from streams.analysis.hazards.hazards import hazards_of
from streams.analysis.hazards.passage import Passage, hops_of, steps_of
from streams.analysis.paths.network import Ending, State
from streams.analysis.paths.outline import Outline, outline
from streams.analysis.paths.path_graph import MessagePath, PathGraph
from streams.analysis.paths.returns import Returns
from streams.analysis.paths.splits import several_targets
from streams.analysis.paths.verdict import PathVerdict, judge
from streams.analysis.places import Place
from streams.topology import MSDB, Finding, Topology

LIMIT = 100
"""The default number of listed outcomes."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """An outbound path, and the return path of its acknowledgement."""

    way: MessagePath
    back: MessagePath | None


@dataclass(frozen=True, slots=True)
class Paths:
    """The result: the number of paths, a list up to the limit, and an outline if there are more."""

    sender: Place
    to: str
    broker: str | None
    conversation: uuid.UUID | None
    verdict: PathVerdict
    ways: int
    outcomes: tuple[Outcome, ...]
    hazards: tuple[Finding, ...] = ()
    outline: Outline | None = None

    @property
    def truncated(self) -> bool:
        """Return whether there are more paths than the listed outcomes."""
        return len(self.outcomes) < self.ways

    @property
    def good(self) -> bool:
        """Return whether all messages arrive without hazards."""
        return self.verdict is PathVerdict.OK

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a dictionary with the keys of the JSON output."""
        return {
            "from": str(self.sender),
            "to": self.to,
            "verdict": self.verdict.value,
            "ways": self.ways,
            "truncated": self.truncated,
            "outcomes": [self._outcome(outcome) for outcome in self.outcomes],
            "hazards": [finding.to_json() for finding in self.hazards],
        }

    def _outcome(self, outcome: Outcome) -> dict[str, Any]:
        back = outcome.back
        return {
            **_ending(outcome.way.ending),
            "share": float(outcome.way.share),
            "hops": list(self._hops(outcome.way)),
            "return": back and {**_ending(back.ending), "hops": list(self._hops(back))},
        }

    def _hops(self, path: MessagePath) -> Iterator[dict[str, Any]]:
        for number, (state, step) in enumerate(path.hops):
            decision = decision_json(state.instance, step.decision, self.conversation)
            if number == len(path.hops) - 1 and path.ending.delivered:
                decision["deliver_to"] = path.ending.at
            yield {
                "instance": state.instance,
                "decision": {
                    "table": state.database or MSDB,
                    **decision,
                    "alternatives": list(step.alternatives),
                },
                "next_hop": None if step.address is None else str(step.address),
            }


def _ending(ending: Ending) -> dict[str, Any]:
    return {
        "disposition": ending.disposition.value,
        "at": ending.at,
        "broker": ending.broker,
        "error": None if ending.error is None else int(ending.error),
    }


def find_paths(
    topology: Topology,
    sender: Place,
    to: str,
    now: float,
    *,
    broker: str | None = None,
    conversation: uuid.UUID | None = None,
    limit: int = LIMIT,
) -> Paths:
    """Follow a dialog's messages from one service to another on every path.

    ``conversation`` restricts the result to the broker id and the database of this dialog. Verdict,
    counts and shares come from the graph, regardless of the ``limit`` of the list.
    """
    estate = Estate(topology, now)
    return follow_paths(estate, sender, to, broker=broker, conversation=conversation, limit=limit)


def follow_paths(
    estate: Estate,
    sender: Place,
    to: str,
    *,
    broker: str | None = None,
    conversation: uuid.UUID | None = None,
    limit: int = LIMIT,
) -> Paths:
    """Find paths in a compiled topology; see :func:`find_paths`."""
    network = estate.network(to, conversation=conversation)
    graph = PathGraph(network, State(sender.instance.name, sender.database.name, broker))
    returns = Returns(network, sender, graph.endings())
    hazards = _hazards(estate, Flow(sender, to, broker, None, ()), graph, returns)
    fine = all(returns.arrives(ending) for ending in graph.endings())
    listed = tuple(
        Outcome(path, returns.path(path.ending)) for path in islice(graph.listed(), max(limit, 0))
    )
    return Paths(
        sender, to, broker, conversation, judge(fine, hazards), graph.count(), listed,
        hazards, outline(graph, returns) if len(listed) < graph.count() else None,
    )  # fmt: skip


def _hazards(estate: Estate, flow: Flow, graph: PathGraph, returns: Returns) -> tuple[Finding, ...]:
    places = tuple(sorted((e for e in graph.endings() if e.delivered), key=lambda e: e.at))
    backs = (returns.path(place) for place in places if returns.arrives(place))
    back = hops_of(path.hops for path in backs if path is not None)
    passage = Passage(flow, places, steps_of(graph), back)
    return hazards_of(estate, passage, several_targets(graph))
