"""The queries of the monitor, from the topics to the store."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from streams.monitor import dialogs, duplicates, latency, read
from streams.monitor.config import MonitorConfig
from streams.monitor.sink import BatchSink, Sink, delivery_row, event_row, repeat_row
from streams.monitor.state_sink import MOST, StateSink
from streams.store import Store
from streams.wire import Topics


@dataclass(frozen=True, slots=True)
class Query:
    """A query that is defined and not started."""

    frame: DataFrame
    sink: BatchSink

    @property
    def name(self) -> str:
        """Return the name: in the store, of the checkpoint's part, in Spark's log."""
        return self.sink.query

    def start(
        self, checkpoint: str, *, trigger_ms: int = 0, available_now: bool = False
    ) -> StreamingQuery:
        """Start it on a checkpoint; with ``available_now`` it ends at the end of what is there."""
        writer = self.frame.writeStream.queryName(self.name).outputMode("update")
        writer = writer.foreachBatch(self.sink).option(
            "checkpointLocation", f"{checkpoint}/{self.name}"
        )
        if available_now:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{trigger_ms} milliseconds").start()


def queries(spark: SparkSession, config: MonitorConfig, store: Store) -> tuple[Query, ...]:
    """Return what the monitor computes: deliveries, events, dialogs, repeats."""
    queue = read.stream(spark, config.bootstrap, read.topics_of(config.prefix, "queue"))
    event = read.stream(spark, config.bootstrap, read.topics_of(config.prefix, "event"))
    now = F.current_timestamp()
    envelopes = read.envelopes(queue)
    deliveries = latency.windows(
        latency.legs(envelopes, now), length=config.window, late=config.late
    )
    happened = duplicates.event_windows(
        read.events(event), now, length=config.window, late=config.late
    )
    twice = duplicates.repeats(envelopes, now, within=config.repeat)
    state = read.stream(
        spark,
        config.bootstrap,
        read.topics_of(config.prefix, "dialog", "event"),
        dialogs.DIALOG_RAW,
        most=MOST,
    )
    topics = Topics(config.prefix)
    return (
        Query(deliveries, Sink(store, "deliveries", delivery_row)),
        Query(happened, Sink(store, "events", event_row)),
        Query(state, StateSink(store, "dialogs", topics, config.window)),
        Query(twice, Sink(store, "repeats", repeat_row)),
    )
