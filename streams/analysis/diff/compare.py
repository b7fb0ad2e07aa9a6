"""Classify the effect of a topology change on a flow, or on one of the flow's dialogs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum

from streams.analysis.diff.reach import Reach, Target


class Change(Enum):
    """The effect on a flow, worst first; the values are used in JSON output."""

    STOPS = "stops"
    MOVES = "moves"
    REDUNDANCY = "redundancy"
    PATH = "way"
    BEGINS = "begins"


_RANK = {change: rank for rank, change in enumerate(Change)}


def rank(change: Change) -> int:
    """Return the rank of a change; 0 is the worst."""
    return _RANK[change]


def worst(changes: Iterable[Change | None]) -> Change | None:
    """Return the worst effect, or ``None`` without effects."""
    return min((c for c in changes if c is not None), key=rank, default=None)


def compare_flows(before: Reach, after: Reach, open_only: Collection[Target] = ()) -> Change | None:
    """Compare the databases that the dialogs of a flow reach before and after a change.

    A database whose broker id is now reached elsewhere has moved; a database that is no longer
    reached by any path has stopped, even if its dialogs now reach another database. Dialogs that
    now reach no database have also stopped. If different dialogs now reach the same databases,
    because the hash selects among more or fewer broker ids, dialogs have moved. ``open_only`` are
    databases that only dialogs with their broker ids still reach: these dialogs do not stop, and
    the others move.
    """
    if not before.arrivals:
        return Change.BEGINS if after.arrivals else None
    gone = lost(before, after)
    come = lost(after, before)
    moved = {target.broker for target in come}
    stopped = [t for t in gone if t.broker not in moved and t not in open_only]
    if stopped or after.unreachable > before.unreachable:
        return Change.STOPS
    if gone or come or spread_otherwise(before, after):
        return Change.MOVES
    return _paths_changed(before, after)


def compare_dialogs(before: Reach, after: Reach) -> Change | None:
    """Compare the databases that a dialog reaches; the dialog stops only if it now reaches none."""
    if not before.arrivals:
        return Change.BEGINS if after.arrivals else None
    if not after.arrivals:
        return Change.STOPS
    if before.arrivals.keys() != after.arrivals.keys():
        return Change.MOVES
    return _paths_changed(before, after)


def spread_otherwise(before: Reach, after: Reach) -> bool:
    """Return whether the same databases are reached by different dialogs than before."""
    pairs = ((old, after.arrivals.get(target)) for target, old in before.arrivals.items())
    return any(new is not None and new.dialogs != old.dialogs for old, new in pairs)


def lost(before: Reach, after: Reach) -> tuple[Target, ...]:
    """Return the databases that are no longer reached."""
    return tuple(target for target in before.arrivals if target not in after.arrivals)


def _paths_changed(before: Reach, after: Reach) -> Change | None:
    pairs = [(before.arrivals[target], after.arrivals[target]) for target in before.arrivals]
    if any(new.path_count < old.path_count or new.returns < old.returns for old, new in pairs):
        return Change.REDUNDANCY
    more = any((new.path_count, new.returns) != (old.path_count, old.returns) for old, new in pairs)
    return Change.PATH if more or before.edges != after.edges else None
