"""Write batches of figures to the store, each in one transaction and only once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import fields
from itertools import chain
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import Row as SparkRow

from streams.errors import HoplineError
from streams.monitor.collected import collect
from streams.store import (
    COPY_COLUMNS,
    Cause,
    CopiedMessage,
    EventWindow,
    FoundMessage,
    Gap,
    Histogram,
    LatencyWindow,
    MalformedWindow,
    MissingMessage,
    Repeat,
    Row,
    merged,
)
from streams.wire import Topics
from streams.wire.place import place_of

_QUERY_ID = "sql.streaming.queryId"


class Target(Protocol):
    """A destination for rows, which writes each batch once."""

    def write(self, query: str, run: str, batch_id: int, rows: Iterable[Row], /) -> bool:
        """Write a batch; return False if it was written before."""


class BatchSink(ABC):
    """The ``foreachBatch`` function of a query.

    ``failure`` is the error if the store could not be written; the query then stops.
    """

    def __init__(self, target: Target, query: str) -> None:
        self.query = query
        self.failure: HoplineError | None = None
        self._target = target

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Write a batch; a batch repeated after a crash changes nothing."""
        run = frame.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
        self.put(str(run), batch_id, self.rows(frame))

    @abstractmethod
    def rows(self, frame: DataFrame) -> Iterable[Row]:
        """Return the rows of the store for a batch."""

    def put(self, run: str, batch_id: int, rows: Iterable[Row]) -> bool:
        """Write a batch of checkpoint ``run``; return False if it was written before."""
        try:
            return self._target.write(self.query, run, batch_id, rows)
        except HoplineError as error:
            self.failure = error
            raise


class Sink(BatchSink):
    """A sink for changed figures, each of which becomes a row of the store."""

    def __init__(self, target: Target, query: str, to_row: Callable[[SparkRow], Row]) -> None:
        super().__init__(target, query)
        self._to_row = to_row

    def rows(self, frame: DataFrame) -> Iterable[Row]:
        """Return the rows of the store for a batch."""
        return map(self._to_row, collect(frame, self.query))


class SplitSink(BatchSink):
    """A sink for rows, each of which becomes any number of rows of the store."""

    def __init__(
        self, target: Target, query: str, to_rows: Callable[[SparkRow], Iterable[Row]]
    ) -> None:
        super().__init__(target, query)
        self._to_rows = to_rows

    def rows(self, frame: DataFrame) -> Iterable[Row]:
        """Return the rows of the store for a batch."""
        return chain.from_iterable(map(self._to_rows, collect(frame, self.query)))


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
        route=row["route"],
        cause=Cause(row["cause"]) if row["cause"] else None,
        count=row["count"],
    )


def repeat_row(row: SparkRow) -> Row:
    """Return the row of the store for one of ``duplicates.REPEATS``."""
    return Repeat(**row.asDict())


def gap_row(row: SparkRow) -> Row:
    """Return the row of the store for one of ``gaps.GAPS``."""
    return Gap(**row.asDict())


def life_rows(row: SparkRow, topics: Topics) -> tuple[Row, ...]:
    """Return the store's rows for one of ``lifecycle.LIVES``; ``topics`` parses topic names."""
    made: list[Row] = []
    if row["sent"] is not None and not row["copies"]:
        made.append(_missing(row, topics))
    if row["found"]:
        made.append(
            FoundMessage(row["conversation"], row["message_id"], row["places"], row["delivered_at"])
        )
    if any(row[cause] for cause in COPY_COLUMNS):
        names = [field.name for field in fields(CopiedMessage)]
        made.append(CopiedMessage(**{name: row[name] for name in names}))
    return tuple(made)


def _missing(row: SparkRow, topics: Topics) -> Row:
    place, trouble = place_of(row["sent"], topics), row["trouble"]
    return MissingMessage(
        conversation=row["conversation"],
        from_initiator=row["from_initiator"],
        message_id=row["message_id"],
        sequence=row["sequence"],
        from_service=row["from_service"],
        to_service=row["to_service"],
        sender=(place and place.instance) or row["sent"],
        enqueued_at=row["enqueued_at"],
        expires_at=row["expires_at"],
        seen_at=row["last_at"],
        error=trouble["error"] if trouble else 0,
        error_at=trouble["at"] if trouble else None,
        error_by=trouble["instance"] if trouble else None,
    )


def _malformed(row: SparkRow) -> MalformedWindow:
    return MalformedWindow(
        row["window_start"], row["window_end"], row["topic"], row["reason"], row["count"]
    )


def _histogram(bins: Iterable[SparkRow]) -> Histogram:
    # Spark lists a value once for each partial result that it has merged.
    return merged([[(float(one["x"]), round(one["y"])) for one in bins]])
