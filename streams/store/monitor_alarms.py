"""Alarms about the monitor itself: figures that are incomplete, late, old, or missing."""

from __future__ import annotations

from collections.abc import Iterator

from streams.prose import counted, listed
from streams.store.alarm import Alarm, AlarmKind, Facts, Severity
from streams.store.freshness import Freshness, Reading

_PLACE = "monitor"
_START = "Start 'hopline monitor'; it resumes from its checkpoint."


def late(facts: Facts) -> Iterator[Alarm]:
    """Return an alarm for each query with rows that were too late for their windows."""
    for query, rows in sorted(facts.late.items()):
        if rows:
            yield Alarm(
                Severity.INFO,
                AlarmKind.LATE,
                f"{counted(rows, 'row')} arrived too late and are not counted in any window.",
                query,
                "The counts of their windows are too low; 'hopline verify' counts everything.",
                rows,
            )


def reading(facts: Facts) -> Iterator[Alarm]:
    """Return an alarm unless the figures describe the present."""
    fresh = facts.fresh
    match fresh.reading:
        case Reading.UNKNOWN:
            what = "No monitor has read the topics yet, so nothing is known about messages."
            yield Alarm(Severity.WARNING, AlarmKind.STALE, what, _PLACE, _START)
        case Reading.STOPPED:
            what = "No monitor is running, so these figures are outdated."
            yield Alarm(
                Severity.WARNING, AlarmKind.STALE, what, _PLACE, _START, since=fresh.last_written
            )
        case Reading.BEHIND:
            yield Alarm(
                Severity.WARNING,
                AlarmKind.BEHIND,
                f"{_distance(fresh)} ({listed(fresh.behind)}). Dialogs and messages are judged by "
                "what it has read.",
                _PLACE,
                "Wait until it has caught up. If it falls behind again, give it more cores "
                "(--master).",
                since=fresh.as_of,
            )


def _distance(fresh: Freshness) -> str:
    if fresh.as_of is None:
        return "The monitor has not yet read all records once"
    return f"The monitor is {(fresh.now - fresh.as_of) // 1_000:,} s behind"
