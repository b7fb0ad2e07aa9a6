"""The progress of running queries: rows read, late rows, and whether a query has work."""

from __future__ import annotations

import json
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.listener import StreamingQueryProgress

from streams.store import Store

_MOMENT = 3
_NONE = "1970-01-01T00:00:00.000Z"
_HEARTBEATS = "(presence)"
"""Part of the description of a source of heartbeats, whose records do not count as work."""


@dataclass(slots=True)
class Watch:
    """Follow one query by its progress reports; call :meth:`look` at least once per 100 batches.

    Figures of the last batch with records: ``took`` and ``delay`` (from the mean timestamp to the
    commit) in seconds, and ``ended`` in seconds since 1970. ``ends`` are the last known ends of
    partitions, by topic and partition, which the caller updates. ``reached``: all figures up to
    this time, in epoch milliseconds, are in the store. ``watermark``: all windows and sessions that
    ended before this time, too, are in the store.
    """

    query: StreamingQuery
    rows: int = 0
    late: int = 0
    batch: int = -1
    batches: int = 0
    took: float | None = None
    delay: float | None = None
    ended: float | None = None
    ends: Mapping[tuple[str, int], int] = field(default_factory=dict)
    reached: int | None = None
    watermark: int | None = None
    _looked: str = ""
    _active: int = 0
    _ready: bool = False
    _first: int = 0
    _left: int | None = None
    _position: dict[tuple[str, int], int] = field(default_factory=dict)

    def follow(self, query: StreamingQuery) -> None:
        """Follow another run of the same query."""
        self.query, self._ready, self._first = query, False, self.batch + 1

    @property
    def ready(self) -> bool:
        """Return whether the running query has read its topics at least once."""
        waits = self.batch >= self._first or str(self.query.status["message"]).startswith("Waiting")
        self._ready = self._ready or waits
        return self._ready

    @property
    def behind(self) -> int | None:
        """Return the number of records that are in Kafka but not in the store; None if unknown.

        A batch takes all records available at its start, so none seem to be left at its end: what
        has arrived since then counts as well. Until the query has ended a batch, nothing is known.
        """
        if self._left is None:
            return None
        known = ((self.ends.get(place, at), at) for place, at in self._position.items())
        return max(self._left, sum(max(0, end - at) for end, at in known))

    def look(self, store: Store) -> bool:
        """Process new batches; return whether the query has, or just had, work to do."""
        status = self.query.status
        # A trigger looks for data for only a moment; if this takes longer, it is waiting for
        # Kafka.
        self._active = self._active + 1 if status["isTriggerActive"] else 0
        busy = bool(status["isDataAvailable"]) or self._active > _MOMENT
        for progress in self._reports():
            self._looked = progress.timestamp
            if progress.numInputRows and progress.batchId > self.batch:
                self._count(progress, store)
                busy = True
            self._left = _left(progress)
            self._position.update(_position(progress))
            # Spark reports 1970 before a run's first watermark.
            if watermark := _milliseconds(progress.eventTime.get("watermark", _NONE)):
                self.watermark = watermark
            if not self._left:  # a batch takes all records available at its start
                self.reached = _milliseconds(progress.timestamp)
        return busy

    def _reports(self) -> list[StreamingQueryProgress]:
        """Return the reports since the last call, oldest first.

        Each report is read as one text, because pyspark's own method calls Java once for each of a
        hundred values.
        """
        recent, found = self.query._jsq.recentProgress(), []
        for place in reversed(range(len(recent))):
            report = StreamingQueryProgress.fromJson(json.loads(recent[place].json()))
            if report.timestamp <= self._looked:
                break
            found.append(report)
        return found[::-1]

    def _count(self, progress: StreamingQueryProgress, store: Store) -> None:
        self.batch = progress.batchId
        self.batches += 1
        self.rows += sum(
            source.numInputRows
            for source in progress.sources
            if _HEARTBEATS not in source.description
        )
        self._time(progress)
        late = sum(state.numRowsDroppedByWatermark for state in progress.stateOperators)
        if late:
            self.late += late
            watermark = progress.eventTime.get("watermark", _NONE)
            store.add_late(
                str(self.query.name),
                str(self.query.id),
                progress.batchId,
                late,
                first_at=_milliseconds(progress.eventTime.get("min", watermark)),
                until=_milliseconds(watermark),
                at=_milliseconds(progress.timestamp),
            )

    def _time(self, progress: StreamingQueryProgress) -> None:
        self.took = progress.durationMs.get("triggerExecution", 0) / 1000
        self.ended = _seconds(progress.timestamp) + self.took
        mean = progress.eventTime.get("avg")
        self.delay = None if mean is None else self.ended - _seconds(mean)


def _left(progress: StreamingQueryProgress) -> int:
    """Return the number of records that a batch has left unread."""
    left = (source.metrics.get("maxOffsetsBehindLatest") for source in progress.sources)
    return sum(int(float(number)) for number in left if number is not None)


def _position(progress: StreamingQueryProgress) -> dict[tuple[str, int], int]:
    """Return the offsets at which a batch has ended, by topic and partition."""
    return {
        (topic, int(partition)): int(offset)
        for source in progress.sources
        if _HEARTBEATS not in source.description
        for topic, partitions in _offsets(source.endOffset).items()
        for partition, offset in partitions.items()
    }


def _offsets(text: str) -> Mapping[str, Mapping[str, int]]:
    """Parse the offsets of a source; pyspark formats them as a Python value."""
    return (literal_eval(text) if text else None) or {}


def _milliseconds(instant: str) -> int:
    return int(_seconds(instant) * 1000)


def _seconds(instant: str) -> float:
    """Return one of Spark's timestamps, ``2026-01-01T00:00:00.000Z``, in seconds since 1970."""
    return datetime.fromisoformat(instant).timestamp()
