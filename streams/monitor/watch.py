"""What running queries have done so far: rows read, rows too late, whether any has work."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql.streaming import StreamingQuery

from streams.store import Store


@dataclass(slots=True)
class Watch:
    """Follows one query by its progress reports; :meth:`look` more often than 100 batches take."""

    query: StreamingQuery
    rows: int = 0
    late: int = 0
    batch: int = -1
    _run: str = field(init=False)

    def __post_init__(self) -> None:
        self._run = str(self.query.id)

    @property
    def ready(self) -> bool:
        """Tell whether the query has seen its topics once."""
        return self.batch >= 0 or str(self.query.status["message"]).startswith("Waiting")

    def look(self, store: Store) -> bool:
        """Take note of new batches and tell whether the query has, or just had, work to do."""
        busy = bool(self.query.status["isDataAvailable"])
        for progress in self.query.recentProgress:
            if progress.numInputRows == 0 or progress.batchId <= self.batch:
                continue
            busy = True
            self.batch = progress.batchId
            self.rows += progress.numInputRows
            late = sum(state.numRowsDroppedByWatermark for state in progress.stateOperators)
            if late:
                self.late += late
                store.add_late(str(self.query.name), self._run, progress.batchId, late)
        return busy
