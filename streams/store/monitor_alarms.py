"""Alarms about the monitor itself: figures that are incomplete, late, old, or missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime

from streams.prose import counted, listed
from streams.store.alarm import Alarm, AlarmKind, Facts, Severity
from streams.store.freshness import Freshness, Reading
from streams.store.late import LateRows, span_of

_PLACE = "monitor"
_FIGURES = {
    "deliveries": "Deliveries and latencies",
    "events": "Duplicates, drops and other events",
    "messages": "Missing messages and causes of duplicates",
    "gaps": "Gaps",
    "repeats": "Repeats",
}
"""The figures of each query that may leave out rows."""
_START = "Start 'hopline monitor'; it resumes from its checkpoint."


def late(facts: Facts) -> Iterator[Alarm]:
    """Return an alarm for each query whose recent batches left out late rows."""
    groups: defaultdict[str, list[LateRows]] = defaultdict(list)
    for batch in facts.late:
        groups[batch.query].append(batch)
    for query, batches in sorted(groups.items()):
        rows = sum(batch.rows for batch in batches)
        first, until = span_of(batches)
        yield Alarm(
            Severity.INFO,
            AlarmKind.LATE,
            f"{counted(rows, 'row')} arrived too late to be counted. {_FIGURES.get(query, query)} "
            f"from {_clock(first)} to {_clock(until)} UTC may be incomplete.",
            query,
            "Use 'hopline verify', which counts everything, for that time. Later figures are "
            "complete.",
            rows,
            batches[0].noted_at,
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


def _clock(instant: int) -> str:
    return f"{datetime.fromtimestamp(instant / 1_000, UTC):%Y-%m-%d %H:%M:%S}"


def _distance(fresh: Freshness) -> str:
    if fresh.as_of is None:
        return "The monitor has not yet read all records once"
    return f"The monitor is {(fresh.now - fresh.as_of) // 1_000:,} s behind"
