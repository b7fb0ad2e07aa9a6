"""From a batch of figures to rows of the store: one transaction per batch, each written once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from pyspark.sql import DataFrame
from pyspark.sql import Row as SparkRow

from streams.errors import HoplineError
from streams.store import (
    Cause,
    EventWindow,
    Histogram,
    LatencyWindow,
    MalformedWindow,
    Repeat,
    Row,
    Store,
    merged,
)

_QUERY_ID = "sql.streaming.queryId"


class BatchSink(ABC):
    """What ``foreachBatch`` calls with a batch of a query.

    ``failure`` is what the store said when it refused; the query then stops.
    """

    def __init__(self, store: Store, query: str) -> None:
        self.query = query
        self.failure: HoplineError | None = None
        self._store = store

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Write a batch; one that Spark repeats after a crash changes nothing."""
        run = frame.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
        self.put(str(run), batch_id, self.rows(frame))

    @abstractmethod
    def rows(self, frame: DataFrame) -> Iterable[Row]:
        """Return the rows of the store for a batch."""

    def put(self, run: str, batch_id: int, rows: Iterable[Row]) -> bool:
        """Write the rows of a batch of the checkpoint ``run``; False if it was written before."""
        try:
            return self._store.write(self.query, run, batch_id, rows)
        except HoplineError as error:
            self.failure = error
            raise


class Sink(BatchSink):
    """What takes the figures that a batch has changed, each a row of the store."""

    def __init__(self, store: Store, query: str, to_row: Callable[[SparkRow], Row]) -> None:
        super().__init__(store, query)
        self._to_row = to_row

    def rows(self, frame: DataFrame) -> Iterable[Row]:
        """Return the rows of the store for a batch."""
        return map(self._to_row, frame.collect())


def delivery_row(row: SparkRow) -> Row:
    """Return the row of the store for one of ``latency.WINDOWS``."""
    if row["reason"] is not None:
        return _malformed(row)
    return LatencyWindow(
        window_start=row["window_start"],
        window_end=row["window_end"],
        from_service=row["from_service"],
        to_service=row["to_service"],
        target=row["target"],
        path=row["path"],
        leg=row["leg"],
        leg_from=row["leg_from"],
        leg_to=row["leg_to"],
        hops=row["hops"],
        count=row["count"],
        attempts=row["attempts"],
        min=row["min"],
        max=row["max"],
        p50=row["p50"],
        p95=row["p95"],
        p99=row["p99"],
        histogram=_histogram(row["histogram"]),
    )


def event_row(row: SparkRow) -> Row:
    """Return the row of the store for one of ``duplicates.EVENT_WINDOWS``."""
    if row["reason"] is not None:
        return _malformed(row)
    return EventWindow(
        window_start=row["window_start"],
        window_end=row["window_end"],
        event=row["event"],
        error=row["error"],
        instance=row["instance"],
        database=row["database"],
        from_service=row["from_service"],
        to_service=row["to_service"],
        cause=Cause(row["cause"]) if row["cause"] else None,
        count=row["count"],
    )


def repeat_row(row: SparkRow) -> Row:
    """Return the row of the store for one of ``duplicates.REPEATS``."""
    return Repeat(**row.asDict())


def _malformed(row: SparkRow) -> MalformedWindow:
    return MalformedWindow(
        row["window_start"], row["window_end"], row["topic"], row["reason"], row["count"]
    )


def _histogram(bins: Iterable[SparkRow]) -> Histogram:
    # Spark lists a value once per partial result that it has merged.
    return merged([[(float(one["x"]), round(one["y"])) for one in bins]])
