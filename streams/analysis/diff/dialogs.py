"""Compare two topologies dialog by dialog, for real conversations.

A dialog's id matters only where the hash selects a broker id or a database; dialogs with the same
selections have the same result. So the result of each combination is computed once and then looked
up for all dialogs.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from streams.analysis.diff.compare import Change, compare_dialogs
from streams.analysis.diff.course import Course
from streams.analysis.diff.reach import Choices, Direction, Reach
from streams.analysis.estate import Estate
from streams.routing import order_databases, pick_broker

_KEPT = 65536

Decided = tuple[tuple[int, ...], tuple[str, ...]]
"""The choices that an id determines: indexes among broker ids, and a database of each group."""


class Fate(NamedTuple):
    """The destinations of a dialog's messages: databases before and after the change."""

    known: bool
    """Whether either topology has the sender."""
    before: tuple[str, ...]
    after: tuple[str, ...]
    change: Change | None


@dataclass(slots=True)
class Dialogs:
    """Two topologies that are queried dialog by dialog."""

    old: Estate
    new: Estate
    _olds: _Side = field(init=False)
    _news: _Side = field(init=False)

    def __post_init__(self) -> None:
        self._olds, self._news = _Side(self.old), _Side(self.new)

    def fate(self, direction: Direction, conversation: uuid.UUID) -> Fate:
        """Return the destinations of the messages that one side of a dialog sends."""
        before = self._olds.reach(direction, conversation)
        after = self._news.reach(direction, conversation)
        known = before.missing is None or after.missing is None
        return Fate(known, _places(before), _places(after), compare_dialogs(before, after))


class _Side:
    """One of the topologies, with cached results."""

    def __init__(self, estate: Estate) -> None:
        self._estate = estate
        self._choices = lru_cache(_KEPT)(self._look)
        self._known: dict[tuple[Direction, Decided], Reach] = {}

    def reach(self, direction: Direction, conversation: uuid.UUID) -> Reach:
        decided = _decide(self._choices(direction), conversation)
        found = self._known.get((direction, decided))
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            found = Course(self._estate, direction, conversation).reach()
            self._known[direction, decided] = found
        return found

    def _look(self, direction: Direction) -> Choices:
        return Course(self._estate, direction).choices()


def _decide(choices: Choices, conversation: uuid.UUID) -> Decided:
    return (
        tuple(pick_broker(count, conversation) for count in choices.counts),
        tuple(order_databases(names, conversation)[0] for names in choices.candidates),
    )


def _places(reach: Reach) -> tuple[str, ...]:
    return tuple(target.at for target in reach.arrivals)
