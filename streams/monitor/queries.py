"""The queries of the monitor, which write from the topics to the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial, reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from streams.monitor import dialogs, duplicates, filter_dialogs, gaps, latency, lifecycle, read
from streams.monitor.access import source_options
from streams.monitor.config import MonitorConfig
from streams.monitor.learned import OWN, Schemas
from streams.monitor.sink import (
    BatchSink,
    Sink,
    SplitSink,
    Target,
    delivery_row,
    event_row,
    gap_row,
    life_rows,
    repeat_row,
)
from streams.monitor.state_sink import MOST, StateSink
from streams.wire import Topics
from streams.wire.records import MESSAGE

_HEARTBEATS = ("presence",)
_NEVER = "(?!)"
"""A pattern that matches no name."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query that is defined but not started."""

    frame: DataFrame
    sink: BatchSink
    mode: str = "update"

    @property
    def name(self) -> str:
        """Return the name for the store, the checkpoint's folder and Spark's log."""
        return self.sink.query

    def start(
        self, checkpoint: str, *, trigger_ms: int = 0, available_now: bool = False
    ) -> StreamingQuery:
        """Start the query on a checkpoint; with ``available_now`` it stops at the current end."""
        writer = self.frame.writeStream.queryName(self.name).outputMode(self.mode)
        writer = writer.foreachBatch(self.sink).option(
            "checkpointLocation", f"{checkpoint}/{self.name}"
        )
        if available_now:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{trigger_ms} milliseconds").start()


def queries(
    spark: SparkSession, config: MonitorConfig, target: Target, schemas: Schemas = OWN
) -> tuple[Query, ...]:
    """Return all queries: deliveries, events, messages, dialogs, gaps, repeats.

    ``schemas`` are the schemas with which records may have been written.
    """
    records, now = Records(spark, config, schemas), F.current_timestamp()
    topics, late = Topics(config.prefix), config.late
    deliveries = latency.windows(
        latency.legs(records.queued(), now), length=config.window, late=late
    )
    happened = duplicates.event_windows(records.events(), now, length=config.window, late=late)
    lives = lifecycle.lives(_sightings(records, now), horizon=config.horizon, late=late)
    numbers = gaps.gaps(records.queued(), now, within=config.horizon, late=late)
    twice = duplicates.repeats(records.queued(), now, within=config.horizon)
    return (
        Query(deliveries, Sink(target, "deliveries", delivery_row)),
        Query(happened, Sink(target, "events", event_row)),
        Query(lives, SplitSink(target, "messages", partial(life_rows, topics=topics)), "append"),
        Query(records.state(), StateSink(target, "dialogs", topics, config.window, schemas)),
        Query(numbers, Sink(target, "gaps", gap_row)),
        Query(twice, Sink(target, "repeats", repeat_row)),
    )


@dataclass(frozen=True, slots=True)
class Records:
    """The records of a cluster's topics, decoded with all known schemas."""

    spark: SparkSession
    config: MonitorConfig
    schemas: Schemas

    @property
    def access(self) -> Mapping[str, str]:
        """Return the options for access to the cluster."""
        return source_options(self.config.kafka)

    def raw(self, *kinds: str) -> DataFrame:
        """Return the records (``read.RAW``) of some kinds of topics."""
        config = self.config
        found = read.stream(self.spark, self.access, read.topics_of(config.prefix, *kinds))
        return filter_dialogs.only(found, config.job) if kinds != _HEARTBEATS else found

    def none(self) -> DataFrame:
        """Return an empty stream."""
        return read.stream(self.spark, self.access, _NEVER)

    def state(self) -> DataFrame:
        """Return records of dialogs and events (``dialogs.DIALOG_RAW``) in small batches."""
        config, pattern = self.config, read.topics_of(self.config.prefix, "dialog", "event")
        found = read.stream(self.spark, self.access, pattern, dialogs.DIALOG_RAW, most=MOST)
        return filter_dialogs.only(found, config.job)

    def envelopes(self, raw: DataFrame) -> DataFrame:
        """Return the envelopes of records (``read.ENVELOPE``)."""
        known = self.schemas.writers
        return read.envelopes(
            raw, routes=known("Route"), messages=known("Message"), hops=known("Hop")
        )

    def queued(self) -> DataFrame:
        """Return the envelopes of records in queues, for one query.

        Queries do not share a frame. Spark evaluates the options of ``from_avro`` again in each
        batch, with a buffer that belongs to the expression. So two simultaneous batches would fail
        with DUPLICATED_MAP_KEY.
        """
        return self.envelopes(self.raw("queue"))

    def events(self) -> DataFrame:
        """Return the events (``read.EVENT_RECORD``)."""
        return read.events(self.raw("event"), writers=self.schemas.writers("Event"))


def _sightings(records: Records, now: Column) -> DataFrame:
    """Return the sightings of messages; without ``until_idle``, heartbeats also advance time."""
    config = records.config
    # Leave out acknowledgements before decoding.
    frames = records.raw("out", "queue").where(
        F.exists("headers", lambda header: header["key"] == MESSAGE)
    )
    seen = [
        lifecycle.of_frames(
            records.envelopes(frames), now, queues=f"{config.prefix}queue.", horizon=config.horizon
        ),
        lifecycle.of_events(records.events(), now),
    ]
    # This source is always present, because a checkpoint's sources must not change.
    heartbeats = records.raw(*_HEARTBEATS) if config.until_idle is None else records.none()
    seen.append(lifecycle.heartbeats(heartbeats, now))
    return reduce(DataFrame.unionByName, seen)
