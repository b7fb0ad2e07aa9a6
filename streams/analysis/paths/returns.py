"""Return paths of acknowledgements: the shortest return path from every target database.

Unlike outbound paths, return paths are not counted, because one path that arrives is enough. So a
single backward search covers all databases together, regardless of cycles.

There are three different searches for return paths. This search finds whether any path arrives,
from hundreds of databases. The search in ``flows.flow_answer`` also finds the paths that fail and
the instances in between. The search in ``diff.course`` counts the paths. In all three searches,
:meth:`Ending.is_home` decides whether an acknowledgement has arrived, and :class:`Network` decides
which steps follow a state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from fractions import Fraction

from streams.analysis.paths.moves import HOPS
from streams.analysis.paths.network import Ending, Network, State, Step
from streams.analysis.paths.path_graph import MessagePath, PathGraph
from streams.analysis.places import Place


class Returns:
    """The return paths to a sender, from the databases in which messages of ``network`` end."""

    def __init__(self, network: Network, sender: Place, endings: Iterable[Ending]) -> None:
        self._network = network.backwards(sender.service)
        self._home = (sender.instance.name, sender.database.name)
        self._broker = sender.database.broker_id
        starts = {self._start(ending) for ending in endings if ending.delivered}
        self._distance = self._search(starts)
        self._paths = {start: self._path(start) for start in starts}

    def path(self, ending: Ending) -> MessagePath | None:
        """Return the shortest return path that reaches the sender.

        If none reaches the sender, return the first return path; None for an undelivered message.
        """
        return self._paths[self._start(ending)] if ending.delivered else None

    def arrives(self, ending: Ending) -> bool:
        """Return whether an acknowledgement from an end reaches the initiator's database."""
        path = self.path(ending)
        return path is not None and self._is_home(path.ending)

    def _start(self, ending: Ending) -> State:
        return State(ending.instance, ending.database, self._broker)

    def _is_home(self, ending: Ending | None) -> bool:
        return ending is not None and ending.is_home(self._home)

    def _search(self, starts: set[State]) -> dict[State, int]:
        """Return, for each state from which a path leads to the sender, the number of decisions."""
        before: dict[State, set[State]] = {}
        ends: list[State] = []
        open_, seen = list(starts), set(starts)
        while open_:
            state = open_.pop()
            for step in self._network.steps(state):
                if self._is_home(step.ending):
                    ends.append(state)
                elif step.following is not None:
                    before.setdefault(step.following, set()).add(state)
                    if step.following not in seen:
                        seen.add(step.following)
                        open_.append(step.following)
        return _distances(ends, before)

    def _path(self, start: State) -> MessagePath | None:
        hops: list[tuple[State, Step]] = []
        share, state, forwards = Fraction(1), start, 0
        while True:
            step = self._nearest(state)
            if step is None or (step.forwards and forwards >= HOPS):
                return next(PathGraph(self._network, start).listed(), None)
            hops.append((state, step))
            share, forwards = share * step.share, forwards + step.forwards
            if step.following is None:
                assert step.ending is not None, "a step leads on or ends"
                return MessagePath(tuple(hops), step.ending, share)
            state = step.following

    def _nearest(self, state: State) -> Step | None:
        """Return the next step on the shortest path to the sender; ties are broken by name."""
        far = len(self._distance) + 1
        found: tuple[int, Step | None] = (far, None)
        for step in self._network.steps(state):
            away = 0 if self._is_home(step.ending) else far
            if step.following is not None:
                away = self._distance.get(step.following, far)
            if away < found[0]:
                found = (away, step)
        return found[1]


def _distances(ends: list[State], before: dict[State, set[State]]) -> dict[State, int]:
    found = dict.fromkeys(ends, 1)
    queue = deque(ends)
    while queue:
        state = queue.popleft()
        for earlier in before.get(state, ()):
            if earlier not in found:
                found[earlier] = found[state] + 1
                queue.append(earlier)
    return found
