"""What running queries have done so far: rows read, rows too late, whether any has work."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.listener import StreamingQueryProgress

from streams.store import Store

_MOMENT = 3
_SIGNS = "(presence)"
"""What is in the description of a source of signs of life: they are no work."""


@dataclass(slots=True)
class Watch:
    """Follows one query by its progress reports; :meth:`look` more often than 100 batches take."""

    query: StreamingQuery
    rows: int = 0
    late: int = 0
    batch: int = -1
    _looked: str = ""
    _active: int = 0

    @property
    def ready(self) -> bool:
        """Tell whether the query has seen its topics once."""
        return self.batch >= 0 or str(self.query.status["message"]).startswith("Waiting")

    def look(self, store: Store) -> bool:
        """Take note of new batches and tell whether the query has, or just had, work to do."""
        status = self.query.status
        # To look for data takes a moment in every trigger; more than that is waiting for Kafka.
        self._active = self._active + 1 if status["isTriggerActive"] else 0
        busy = bool(status["isDataAvailable"]) or self._active > _MOMENT
        last = self.query.lastProgress
        if last is None or last.timestamp == self._looked:
            return busy
        self._looked = last.timestamp
        for progress in self.query.recentProgress:
            if progress.numInputRows and progress.batchId > self.batch:
                self._count(progress, store)
                busy = True
        return busy

    def _count(self, progress: StreamingQueryProgress, store: Store) -> None:
        self.batch = progress.batchId
        self.rows += sum(
            source.numInputRows for source in progress.sources if _SIGNS not in source.description
        )
        late = sum(state.numRowsDroppedByWatermark for state in progress.stateOperators)
        if late:
            self.late += late
            store.add_late(str(self.query.name), str(self.query.id), progress.batchId, late)
