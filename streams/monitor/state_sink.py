"""Write a batch of state records and events to the store."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from pyspark.sql import DataFrame
from pyspark.sql import Row as SparkRow

from streams.monitor import dialogs, read
from streams.monitor.collected import collect
from streams.monitor.learned import OWN, Schemas
from streams.monitor.sink import BatchSink, Target
from streams.store import DialogGone, DialogSide, MalformedWindow, Row, Trouble
from streams.wire import Topics

MOST = 50_000
"""Maximum number of records in a batch, because their dialogs are in the driver's memory."""


class StateSink(BatchSink):
    """The ``foreachBatch`` function for records of ``dialog`` topics and of ``event``.

    Unlike a batch of figures, a batch of records has no previous values: it is aggregated here. In
    columns such as ``locked_at``, which no single batch can determine, the store keeps the earlier
    value.
    """

    def __init__(
        self, target: Target, query: str, topics: Topics, window: int, schemas: Schemas = OWN
    ) -> None:
        super().__init__(target, query)
        self._schemas = schemas
        self._topics = topics
        self._window = window

    def rows(self, frame: DataFrame) -> Iterator[Row]:
        """Return the rows of the store for a batch."""
        known = self._schemas.writers
        frame.persist()  # without the cache, each query would read Kafka again
        try:
            of_events = frame["topic"] == self._topics.event
            states = dialogs.states(frame.where(~of_events), writers=known("Dialog"))
            events = read.events(frame.where(of_events), writers=known("Event"))
            sides = collect(dialogs.sides(states), self.query)
            happened = collect(dialogs.troubles(events), self.query)
        finally:
            frame.unpersist()
        # Begin only now, because the store's transaction must not wait for Spark.
        return chain(
            chain.from_iterable(map(self._side, sides)),
            (Trouble(**row.asDict()) for row in happened),
        )

    def _side(self, row: SparkRow) -> Iterator[Row]:
        if row["unreadable"]:
            start = row["unreadable_at"] - row["unreadable_at"] % self._window
            yield MalformedWindow(
                start, start + self._window, row["topic"], row["reason"], row["unreadable"]
            )
        if row["state"] is None and row["gone_at"] is None:
            return
        who = {name: row[name] for name in ("database", "conversation", "is_initiator")}
        who["instance"] = self._topics.home("dialog", row["topic"])
        if row["state"] is not None:
            names = (name for name in _FIELDS if name not in who)
            yield DialogSide(**who, **{name: row[name] for name in names})
        if row["gone_at"] is not None:
            yield DialogGone(**who, gone_at=row["gone_at"], position=row["position"])


_FIELDS = tuple(DialogSide.__dataclass_fields__)
