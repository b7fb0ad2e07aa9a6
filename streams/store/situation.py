"""The state of a cluster, now or at an instant: dialogs, queues, links, lag, alarms."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from streams.errors import Number
from streams.store.alarm import Alarm, Facts
from streams.store.alarms import ALARMING, LAG_LOOKS, decide
from streams.store.dialogs import (
    DialogCounts,
    LockTime,
    Waiting,
    Which,
    count_dialogs,
    find_dialogs,
    find_waiting,
    group_dialogs,
    lock_time,
)
from streams.store.drops import Drop, find_drops
from streams.store.figures import Report
from streams.store.freshness import Freshness
from streams.store.late import late_since
from streams.store.links import Link, find_links
from streams.store.parked import find_parked
from streams.store.rows import MalformedWindow
from streams.store.sampled import looked_at, samples_at, samples_in
from streams.store.state_rows import DialogSide, HeartbeatSample, LagSample, QueueSample, Trouble
from streams.store.state_tables import DIALOGS, TROUBLES
from streams.store.store import Store
from streams.store.tables import MALFORMED

RECENT = 600_000
"""Maximum age in milliseconds of an occurrence that still raises an alarm."""
_SOME, _REFUSED = 500, 1_000


class Situation:
    """Queries on a store about a cluster. Every call reads the store again.

    Instants are epoch milliseconds; windows of time are [start, end). If ``at`` is None, the result
    is that of the last samples; :meth:`looked_at` returns their time. A dialog is judged at the
    time up to which the monitor has read dialogs: what it has not read may have changed the dialog.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def looked_at(self) -> int | None:
        """Return the time of the last samples ("figures as of"); None if there are none."""
        return looked_at(self._store)

    def freshness(self, now: int) -> Freshness:
        """Return how far the monitor has read."""
        return Freshness(now, self._store.reached(), self.looked_at())

    def dialog(self, conversation: str) -> tuple[DialogSide, ...]:
        """Return the sides of one dialog, the initiator's first."""
        sides = self._store.read(DialogSide, conversation=conversation.lower())
        return tuple(sorted(sides, key=lambda d: (not d.is_initiator, d.instance, d.database)))

    def dialogs(
        self, which: Which, now: int, *, instance: str | None = None, limit: int = 100
    ) -> tuple[DialogSide, ...]:
        """Return dialogs of a kind, most urgent first."""
        judged_at = self._judged_at(now)
        return find_dialogs(self._store, which, judged_at, instance=instance, limit=limit)

    def dialog_counts(self, now: int, start: int, end: int) -> DialogCounts:
        """Return the number of dialogs of each kind, and of dialog events in a window."""
        return count_dialogs(self._store, self._judged_at(now), start, end)

    def lock_time(self, start: int, end: int) -> LockTime:
        """Return how long initiators that were locked in a window had waited for the lock."""
        return lock_time(self._store, start, end)

    def troubles(self, conversation: str | None = None, *, since: int = 0) -> tuple[Trouble, ...]:
        """Return events with an error that name a dialog, newest first."""
        found = sa.select(TROUBLES).where(TROUBLES.c.last_at >= since)
        if conversation is not None:
            found = found.where(TROUBLES.c.conversation == conversation.lower())
        return self._store.select(Trouble, found.order_by(TROUBLES.c.last_at.desc()).limit(1_000))

    def waiting(self) -> dict[str, tuple[Waiting, ...]]:
        """Return the messages that are waiting, by instance and transmission status."""
        return find_waiting(self._store)

    def queues(self, at: int | None = None) -> tuple[QueueSample, ...]:
        """Return the transmission queues, sorted by instance."""
        return samples_at(self._store, QueueSample, at)

    def queues_over_time(
        self, start: int, end: int, instance: str | None = None
    ) -> tuple[QueueSample, ...]:
        """Return the samples of transmission queues in [start, end), by instance, oldest first."""
        return samples_in(self._store, QueueSample, start, end, instance)

    def lags(self, at: int | None = None) -> tuple[LagSample, ...]:
        """Return the lag of workers, sorted by instance, role and topic."""
        return samples_at(self._store, LagSample, at)

    def heartbeats(self, at: int | None = None) -> tuple[HeartbeatSample, ...]:
        """Return the last heartbeat sample of each instance."""
        return samples_at(self._store, HeartbeatSample, at)

    def links(
        self, start: int, end: int, *, of: str | None = None, latency: bool = True
    ) -> tuple[Link, ...]:
        """Return the links in a time window, sorted by name.

        ``of`` keeps the links of one instance; without ``latency``, links have no percentiles, and
        the query is fast even for thousands of links.
        """
        return find_links(self._store, start, end, of=of, latency=latency)

    def drops(self, start: int, end: int) -> tuple[Drop, ...]:
        """Return drops and delays in a window of time, most frequent first."""
        return find_drops(self._store, start, end)

    def alarms(self, now: int) -> tuple[Alarm, ...]:
        """Return all current alarms, most severe first."""
        return decide(self._facts(now))

    def _facts(self, now: int) -> Facts:
        report, recent, fresh = Report(self._store), now - RECENT, self.freshness(now)
        judged_at = fresh.until("dialogs")
        groups = group_dialogs(self._store, judged_at)
        refused = sa.select(TROUBLES).where(
            TROUBLES.c.error == int(Number.ANOTHER_INSTANCE_CONVERSES), TROUBLES.c.last_at >= recent
        )
        malformed = sa.select(MALFORMED).where(MALFORMED.c.window_end >= recent)
        return Facts(
            fresh=fresh,
            repeats=report.repeats(),
            refused=self._store.select(Trouble, refused.limit(_REFUSED)),
            refusing={side.conversation: side for side in self._initiators(refused)},
            dialogs=groups,
            some={
                w: find_dialogs(self._store, w, judged_at, limit=_SOME)
                for w in ALARMING
                if groups[w]
            },
            parked=find_parked(self._store),
            links=self.links(recent, now, latency=False),
            lags=samples_in(self._store, LagSample, now - LAG_LOOKS, now + 1),
            malformed=self._store.select(MalformedWindow, malformed),
            late=late_since(self._store, recent),
            missing=report.missing(now),
            gaps=report.gaps(),
        )

    def _judged_at(self, now: int) -> int | None:
        """Return the time at which dialogs are judged; None if not all have been read once."""
        return Freshness(now, self._store.reached()).until("dialogs")

    def _initiators(self, troubles: sa.Select[Any]) -> tuple[DialogSide, ...]:
        named = troubles.with_only_columns(TROUBLES.c.conversation)
        sides = sa.select(DIALOGS).where(DIALOGS.c.conversation.in_(named), DIALOGS.c.is_initiator)
        return self._store.select(DialogSide, sides.limit(_REFUSED))
