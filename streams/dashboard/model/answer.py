"""The predicted path of a dialog, from :mod:`streams.analysis`, and its place in the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from streams.analysis import Paths, PathVerdict, Questions, path_text
from streams.analysis.paths.path_graph import MessagePath
from streams.dashboard.model.placing import Pair
from streams.errors import HoplineError
from streams.prose import WIDTH, wrapping_at

_LISTED = 20


@dataclass(frozen=True, slots=True)
class Where:
    """The answer as text, with its links in both directions; or why it was ``refused``."""

    verdict: str = ""
    text: str = ""
    there: frozenset[Pair] = frozenset()
    back: frozenset[Pair] = frozenset()
    instances: frozenset[str] = frozenset()
    refused: str = ""

    @property
    def tone(self) -> str:
        """Return the CSS class of the verdict."""
        bad = self.refused or self.verdict == PathVerdict.BROKEN.value
        return "bad" if bad else "warn" if self.verdict == PathVerdict.HAZARD.value else "good"


def where_to(questions: Questions, sender: str, to: str) -> Where:
    """Predict the paths from ``Instance/Database[/Service]`` to a service."""
    try:
        paths = questions.path(sender, to, limit=_LISTED)
    except HoplineError as error:
        return Where(refused=f"{error.message} {error.remedy}".strip())
    there = frozenset(_links(outcome.way for outcome in paths.outcomes))
    back = frozenset(_links(outcome.back for outcome in paths.outcomes if outcome.back))
    with wrapping_at(WIDTH):  # independent of the terminal that started the dashboard
        text = path_text(paths)
    return Where(paths.verdict.value, text, there, back, frozenset(_instances(paths)))


def _links(paths: Iterable[MessagePath]) -> Iterator[Pair]:
    for path in paths:
        names = [state.instance for state, _ in path.hops]
        yield from ((one, other) for one, other in pairwise(names) if one != other)


def _instances(paths: Paths) -> Iterator[str]:
    for outcome in paths.outcomes:
        for state, _ in outcome.way.hops:
            yield state.instance


def senders_of(questions: Questions, most: int = 400) -> tuple[str, ...]:
    """Return the places that can begin dialogs, as text."""
    places = (
        f"{instance.name}/{database.name}/{service}"
        for instance in questions.topology.instances.values()
        for database in instance.databases.values()
        for service in database.services
    )
    return tuple(sorted(places)[:most])


def services_of(questions: Questions, most: int = 400) -> tuple[str, ...]:
    """Return the names of all services."""
    names = {
        service
        for instance in questions.topology.instances.values()
        for database in instance.databases.values()
        for service in database.services
    }
    return tuple(sorted(names)[:most])
