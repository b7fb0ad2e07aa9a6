"""The graph of instances: selection, health, traffic."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase

from streams.dashboard.model.placing import Pair, Picture, neighbours, place
from streams.store import Alarm, HeartbeatSample, LagSample, Link, QueueSample, Severity
from streams.topology import Finding
from streams.topology import Severity as Weight

MOST = 40
"""The maximum number of instances in the graph; a filter finds the others."""


class Health(Enum):
    """The health of an instance or a link; the value is a CSS class."""

    BAD = "bad"
    WARN = "warn"
    GOOD = "good"
    QUIET = "quiet"


class Show(Enum):
    """Which instances to show."""

    ALL = ""
    TRAFFIC = "traffic"
    TROUBLE = "trouble"


@dataclass(frozen=True, slots=True)
class Known:
    """The figures of the store for a time range, and the topology."""

    links: Sequence[Link] = ()
    queues: Sequence[QueueSample] = ()
    lags: Sequence[LagSample] = ()
    heartbeats: Sequence[HeartbeatSample] = ()
    alarms: Sequence[Alarm] = ()
    instances: Collection[str] = ()
    findings: Sequence[Finding] = ()
    begins: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Node:
    """An instance of the graph; rates are messages per second, ``waiting`` is its queue's depth."""

    name: str
    health: Health
    why: str
    rate: float
    waiting: int
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True, slots=True)
class Edge:
    """A link in the graph."""

    link: Link
    health: Health
    why: str
    width: float

    @property
    def name(self) -> str:
        """Return the link's name in URLs."""
        return f"{self.link.instance}>{self.link.other}"


@dataclass(frozen=True, slots=True)
class Filter:
    """The filter: a pattern or part of a name, and the number of steps from matching instances."""

    pattern: str = ""
    show: Show = Show.ALL
    around: int = 0


@dataclass(frozen=True, slots=True)
class Graph:
    """The graph; ``matching`` of ``all`` instances match the filter."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    picture: Picture
    matching: int
    all: int


def graph_of(known: Known, wanted: Filter, chosen: Collection[str] = ()) -> Graph:
    """Return the filtered graph, reduced to the instances with problems and the busiest ones.

    ``chosen`` instances are always included.
    """
    nodes = {node.name: node for node in nodes_of(known)}
    pairs = [(link.instance, link.other) for link in known.links]
    matching = matching_of(nodes.values(), pairs, wanted)
    shown = _most_important(matching, MOST) | (set(chosen) & nodes.keys())
    picture = place(shown, pairs, known.begins)
    drawn = tuple(_at(nodes[name], picture) for name in sorted(shown))
    edges = [edge_of(k) for k in known.links if k.instance in shown and k.other in shown]
    return Graph(drawn, tuple(edges), picture, len(matching), len(nodes))


def _at(node: Node, picture: Picture) -> Node:
    x, y = picture.places[node.name]
    return Node(node.name, node.health, node.why, node.rate, node.waiting, x, y)


def matching_of(nodes: Iterable[Node], pairs: Sequence[Pair], wanted: Filter) -> list[Node]:
    """Return the instances that match a filter, with their neighbours."""
    by_name = {node.name: node for node in nodes}
    fitting = {node.name for node in by_name.values() if _fits(node, wanted)}
    near = neighbours(by_name, pairs) if wanted.around else {}
    for _ in range(wanted.around):
        fitting |= {other for name in fitting for other in near[name]}
    return [by_name[name] for name in sorted(fitting)]


def _fits(node: Node, wanted: Filter) -> bool:
    if wanted.show is Show.TRAFFIC and not (node.rate or node.waiting):
        return False
    if wanted.show is Show.TROUBLE and node.health not in (Health.BAD, Health.WARN):
        return False
    parts = wanted.pattern.casefold().split()
    return not parts or any(fits_name(node.name.casefold(), part) for part in parts)


def fits_name(name: str, pattern: str) -> bool:
    """Return whether a name matches a pattern with ``*``, or contains a pattern without it."""
    return fnmatchcase(name, pattern) if "*" in pattern else pattern in name


def _most_important(nodes: Sequence[Node], most: int) -> set[str]:
    weight = {Health.BAD: 0, Health.WARN: 1, Health.GOOD: 2, Health.QUIET: 2}
    ordered = sorted(nodes, key=lambda n: (weight[n.health], -n.rate, -n.waiting, n.name))
    return {node.name for node in ordered[:most]}


def nodes_of(known: Known) -> list[Node]:
    """Return every known instance with its health."""
    names = {*known.instances, *(heartbeat.instance for heartbeat in known.heartbeats)}
    names |= {name for link in known.links for name in (link.instance, link.other)}
    through = rates_of(known.links)
    waiting = {queue.instance: queue.messages for queue in known.queues}
    reasons_by_name = reasons_of(known, names)
    made = []
    for name in sorted(names):
        reasons = reasons_by_name.get(name, [])
        health, why = (
            min(reasons, key=lambda r: _WORST.index(r[0]))
            if reasons
            else _calm(through.get(name, 0.0))
        )
        made.append(Node(name, health, why, through.get(name, 0.0), waiting.get(name, 0)))
    return made


def _calm(rate: float) -> tuple[Health, str]:
    return (Health.GOOD, "no problems") if rate else (Health.QUIET, "no traffic")


_WORST = (Health.BAD, Health.WARN, Health.GOOD, Health.QUIET)


def rates_of(links: Iterable[Link]) -> dict[str, float]:
    """Return each instance's rate of received or sent messages, whichever is larger."""
    took: dict[str, float] = defaultdict(float)
    gave: dict[str, float] = defaultdict(float)
    for link in links:
        gave[link.instance] += link.rate
        took[link.other] += link.rate
    return {name: max(took[name], gave[name]) for name in took.keys() | gave.keys()}


def reasons_of(known: Known, names: Collection[str]) -> dict[str, list[tuple[Health, str]]]:
    """Return the problems of each instance: no heartbeat, alarms, findings."""
    reasons: dict[str, list[tuple[Health, str]]] = defaultdict(list)
    for heartbeat in known.heartbeats:
        if not heartbeat.up:
            reasons[heartbeat.instance].append((Health.BAD, "sends no heartbeat"))
    for alarm in known.alarms:
        name = alarm.where.partition("/")[0]
        if name in names and alarm.severity is not Severity.INFO:
            bad = alarm.severity is Severity.ERROR
            reasons[name].append((Health.BAD if bad else Health.WARN, alarm.what))
    for finding in known.findings:
        name = finding.subject.partition("/")[0]
        if name in names and finding.severity is Weight.ERROR:
            reasons[name].append((Health.WARN, f"{finding.code}: {finding.message}"))
    return reasons


def edge_of(link: Link) -> Edge:
    """Return a link of the graph: its width is logarithmic, one step for ten times the rate."""
    width = 1.0 + 1.6 * math.log10(1 + 9 * link.rate) if link.rate else 1.0
    return Edge(link, *health_of(link), min(width, 9.0))


def health_of(link: Link) -> tuple[Health, str]:
    """Return the health of a link, and the reason."""
    if link.up is False:
        return Health.BAD, f"{link.other} sends no heartbeat"
    if link.held_copies:
        return Health.WARN, f"{link.instance} buffers copies for it"
    if link.up_share is not None and link.up_share < 0.995:
        return Health.WARN, f"{link.other} was down for part of this time"
    return (Health.GOOD, "messages pass") if link.count else (Health.QUIET, "no traffic")
