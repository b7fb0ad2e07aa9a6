"""Messages that did not arrive, and statements that were refused, in a range of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streams.dashboard.figures import Window
from streams.errors import text_of
from streams.store import EventWindow, Missing, Report
from streams.store.message_alarms import SEVERITIES


@dataclass(frozen=True, slots=True)
class MissingCounts:
    """Messages that did not arrive, by the rules of the alarms.

    ``lost``: those last seen in the range that raise an alarm; ``others``: those that do not, by
    location; ``outside``: those that raise an alarm, but were last seen at other times. The oldest
    ``left_out`` messages of all times were not evaluated.
    """

    lost: int = 0
    others: Mapping[str, int] = field(default_factory=dict)
    outside: int = 0
    left_out: int = 0

    @property
    def is_any(self) -> bool:
        """Return whether there is any missing message."""
        return bool(self.lost or self.others or self.outside or self.left_out)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Statements refused, and dialogs failed, with one number in one database (event 124)."""

    error: int
    text: str
    place: str
    count: int


def read_missing(report: Report, window: Window) -> MissingCounts:
    """Count the missing messages of a range."""
    found = report.missing(window.now)
    return count_missing(found, window, max(0, report.missing_count() - len(found)))


def count_missing(found: Sequence[Missing], window: Window, left_out: int = 0) -> MissingCounts:
    """Count missing messages by location and range; only alarms count outside the range."""
    within = [m for m in found if window.since <= m.message.seen_at < window.until]
    alarming = sum(missing.whereabouts in SEVERITIES for missing in found)
    lost = sum(missing.whereabouts in SEVERITIES for missing in within)
    others = Counter(m.whereabouts.value for m in within if m.whereabouts not in SEVERITIES)
    return MissingCounts(lost, dict(others.most_common()), alarming - lost, left_out)


def refusals_of(events: Sequence[EventWindow]) -> tuple[Refusal, ...]:
    """Return refused statements and failed dialogs, most frequent first."""
    return tuple(
        Refusal(row.error, text_of(row.error), "/".join(filter(None, places)), row.count)
        for row in events
        for places in [(row.instance, row.database)]
    )
