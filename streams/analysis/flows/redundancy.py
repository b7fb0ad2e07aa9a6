"""The redundancy of paths to a broker id: the number of disjoint paths, and shared parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from streams.analysis.flows.route_index import RouteIndex
from streams.analysis.paths.moves import Key, Move
from streams.analysis.paths.path_graph import PathGraph
from streams.routing import broker_key

Edge = tuple[Key, Move]
_END = ""
"""Represents the target's database, where all paths to a broker id end."""


@dataclass(frozen=True, slots=True)
class Redundancy:
    """The paths to one broker id: the number of ``disjoint`` paths, and the parts common to all.

    Disjoint paths share no instance; elsewhere, "paths" means all paths. A direct hop from the
    sender to the target counts as one path. ``instances`` are the instances between sender and
    target that all paths share. ``routes`` are the forwarding routes that all paths share, as
    ``Instance/Database/Route``. Routes that differ only in their names are alternatives; ``diff``
    finds the routes that would match if a route did not exist. ``between``: all instances between
    sender and target on any path.
    """

    disjoint: int
    instances: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    between: frozenset[str] = frozenset()


@dataclass(slots=True)
class Graph:
    """The graph of all paths from the start to an end, key by key."""

    graph: PathGraph
    routes: RouteIndex
    _into: dict[Key, list[Edge]] = field(default_factory=dict)
    _ends: dict[str, list[Edge]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key in self.graph.reached():
            for move in self.graph.moves(key):
                end = move.ending
                if move.following is not None:
                    self._into.setdefault(move.following, []).append((key, move))
                elif end is not None and end.delivered and end.broker is not None:
                    self._ends.setdefault(broker_key(end.broker), []).append((key, move))

    def redundancy(self, broker: str) -> Redundancy:
        """Return the redundancy of a reached broker id."""
        used = self._leading_to(broker_key(broker))
        if len({key for key, _ in used}) == len(used):  # a single path
            return self._single(used[::-1])
        links: dict[str, set[str]] = {}
        for key, move in used:
            links.setdefault(key.state.instance, set()).add(_head(move))
        targets = {one for one, others in links.items() if _END in others}
        start = self.graph.start.instance
        between = frozenset(links) - targets - {start}
        shared = _shared_routes(self.graph, self.routes, used)
        if start in targets:
            return Redundancy(1, (), shared, between)
        count = _disjoint(links, start, targets)
        alone = _shared_instances(links, start, targets) if count == 1 else ()
        return Redundancy(count, alone, shared, between)

    def _single(self, path: list[Edge]) -> Redundancy:
        ends = {self.graph.start.instance, path[-1][0].state.instance}
        passed = dict.fromkeys(key.state.instance for key, _ in path)
        alone = tuple(name for name in passed if name not in ends)
        labels = (_label(self.routes, key, move) for key, move in path)
        return Redundancy(1, alone, tuple(filter(None, labels)), frozenset(alone))

    def _leading_to(self, broker: str) -> list[Edge]:
        """Return the moves on paths to a broker id, backwards from its end."""
        used = list(self._ends.get(broker, ()))
        waiting = [key for key, _ in used]
        seen = set(waiting)
        while waiting:
            for edge in self._into.get(waiting.pop(), ()):
                used.append(edge)
                if edge[0] not in seen:
                    seen.add(edge[0])
                    waiting.append(edge[0])
        return used


def _head(move: Move) -> str:
    return _END if move.following is None else move.following.state.instance


# --- Paths that share no instance: augmenting paths (Ford and Fulkerson) --------------------------


def _disjoint(links: dict[str, set[str]], start: str, targets: set[str]) -> int:
    """Return the largest number of disjoint paths between start and target."""
    flow: set[tuple[str, str]] = set()
    count = 0
    while _augment(links, start, targets, flow):
        count += 1
    return count


def _augment(
    links: dict[str, set[str]], start: str, targets: set[str], flow: set[tuple[str, str]]
) -> bool:
    """Find one more path, giving up links of earlier paths if necessary; change ``flow``.

    A place is the point at which a path enters an instance (True) or leaves it (False). An instance
    that a path already uses can only be left backwards, over a link of that path.
    """
    entered_from = {head: tail for tail, head in flow if head not in targets}
    first = (start, False)
    came: dict[tuple[str, bool], tuple[str, bool] | None] = {first: None}
    waiting = deque([first])
    while waiting:
        place = waiting.popleft()
        if place[0] in targets:
            _take(came, place, flow)
            return True
        for following in _residual(links, place, flow, entered_from, start):
            if following not in came:
                came[following] = place
                waiting.append(following)
    return False


def _residual(
    links: dict[str, set[str]],
    place: tuple[str, bool],
    flow: set[tuple[str, str]],
    entered_from: dict[str, str],
    start: str,
) -> Iterator[tuple[str, bool]]:
    name, entered = place
    if entered and name in entered_from:  # the link is in use: go back along the path that uses it
        yield (entered_from[name], False)
        return
    if not entered and name in entered_from:
        yield (name, True)
    for head in sorted(links.get(name, ())):
        if head not in (_END, start) and (name, head) not in flow:
            yield (head, True)


def _take(
    came: dict[tuple[str, bool], tuple[str, bool] | None],
    place: tuple[str, bool],
    flow: set[tuple[str, str]],
) -> None:
    before = came[place]
    while before is not None:
        if place[0] != before[0]:
            if (place[0], before[0]) in flow:
                flow.remove((place[0], before[0]))
            else:
                flow.add((before[0], place[0]))
        place, before = before, came[before]


# --- Instances and routes that all paths use -----------------------------------------------------


def _shared_instances(links: dict[str, set[str]], start: str, targets: set[str]) -> tuple[str, ...]:
    """Return the instances without which no target is reached; each path contains them all."""
    path = _path(links, start, targets, "") or []
    return tuple(name for name in path[1:-1] if _path(links, start, targets, name) is None)


def _path(
    links: dict[str, set[str]], start: str, targets: set[str], without: str
) -> list[str] | None:
    came: dict[str, str] = {start: ""}
    waiting = deque([start])
    while waiting:
        name = waiting.popleft()
        if name in targets:
            path = [name]
            while came[path[-1]]:
                path.append(came[path[-1]])
            return path[::-1]
        for head in sorted(links.get(name, ())):
            if head not in came and head not in (_END, without):
                came[head] = name
                waiting.append(head)
    return None


def _shared_routes(
    graph: PathGraph, routes: RouteIndex, used: list[tuple[Key, Move]]
) -> tuple[str, ...]:
    """Return the routes without which no path leads to the end."""
    by_key: dict[Key, list[Move]] = {}
    for key, move in used:
        by_key.setdefault(key, []).append(move)
    path = _path_without_route(graph, routes, by_key, "") or []
    labels = [label for key, move in path if (label := _label(routes, key, move))]
    return tuple(
        label for label in labels if _path_without_route(graph, routes, by_key, label) is None
    )


def _path_without_route(
    graph: PathGraph, routes: RouteIndex, by_key: dict[Key, list[Move]], without: str
) -> list[tuple[Key, Move]] | None:
    came: dict[Key, tuple[Key, Move] | None] = {graph.first: None}
    waiting = deque([graph.first])
    while waiting:
        key = waiting.popleft()
        for move in by_key.get(key, ()):
            if without and _label(routes, key, move) == without:
                continue
            if move.following is None:
                return _back_to_start(came, key, move)
            if move.following not in came:
                came[move.following] = (key, move)
                waiting.append(move.following)
    return None


def _back_to_start(
    came: dict[Key, tuple[Key, Move] | None], key: Key, move: Move
) -> list[tuple[Key, Move]]:
    path = [(key, move)]
    while (before := came[path[-1][0]]) is not None:
        path.append(before)
    return path[::-1]


def _label(routes: RouteIndex, key: Key, move: Move) -> str:
    """Return the only route of a hop; "" if there are alternatives."""
    if move.step.address is None:  # a delivery; with a broker id, no route is needed (M6)
        return ""
    at = routes.behind(key.state, move.step)
    return str(at) if at is not None and routes.alone(at) else ""
