"""Duplicates that an endpoint removed, by cause, and duplicates that reached a queue."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streams.errors import EventKind, Number
from streams.monitor.read import event_time, flagged, names_a_dialog, uuid_text
from streams.protocol.frames import Flag
from streams.store import Cause

_COUNTED = (
    "reason", "topic", "event", "error", "instance", "database", "from_service", "to_service",
    "route", "cause", "count",
)  # fmt: skip
EVENT_WINDOWS = ("window_start", "window_end", *_COUNTED)
"""Events per window, or records that cannot be read (``reason``, ``topic``)."""

REPEATS = (
    "topic", "message_id", "fragment", "conversation", "sequence", "copies", "first_at", "last_at",
)  # fmt: skip

SKEW_MS = 60_000
"""Maximum clock skew in milliseconds; messages from further in the future are left out."""


def event_windows(events: DataFrame, now: Column, *, length: int, late: int) -> DataFrame:
    """Return the number of events (EVENT_WINDOWS) per window of ``length`` ms.

    Takes ``read.EVENT_RECORD``; ``now`` is the batch's time, ``late`` the watermark in ms.
    """
    timed = events.select(
        event_time("at", now).alias("at"),
        "reason",
        F.when(F.col("reason").isNotNull(), F.col("topic")).alias("topic"),
        "event",
        "error",
        "instance",
        "database",
        "from_service",
        "to_service",
        "route",
        cause().alias("cause"),
    )
    keys = [name for name in timed.columns if name != "at"]
    windowed = timed.withWatermark("at", f"{late} milliseconds").groupBy(
        F.window("at", f"{length} milliseconds").alias("window"), *keys
    )
    return windowed.agg(F.count(F.lit(1)).alias("count")).select(
        F.unix_millis("window.start").alias("window_start"),
        F.unix_millis("window.end").alias("window_end"),
        *_COUNTED,
    )


def cause() -> Column:
    """Return the cause of the duplicate that an event reports; null if no duplicate was removed."""
    undeliverable = F.col("event") == int(EventKind.MESSAGE_UNDELIVERABLE)
    removed = undeliverable & (F.col("error") == int(Number.DUPLICATE))
    refused = undeliverable & (F.col("error") == int(Number.ANOTHER_INSTANCE_CONVERSES))
    return (
        F.when(removed & F.col("attempt").isNull(), Cause.UNKNOWN.value)
        .when(removed & (F.col("attempt") > 0), Cause.RETRY.value)
        .when(removed, Cause.REDELIVERY.value)
        .when(refused, Cause.SEVERAL_TARGETS.value)
    )


def repeats(envelopes: DataFrame, now: Column, *, within: int) -> DataFrame:
    """Return the messages that are in the same queue more than once (REPEATS).

    Any such message violates exactly-once, and the alarm is raised in the batch of the second copy.
    All copies of a message have the same enqueued time, which is therefore part of the key and also
    the event time. So a pair of copies is never split between windows. The state drops a message
    when later messages were enqueued more than ``within`` ms after it. Unsequenced messages have no
    exactly-once guarantee.
    """
    enqueued = F.timestamp_millis(F.col("enqueued_at"))
    bound = now + F.make_interval(secs=F.lit(SKEW_MS / 1000))
    sought = (enqueued <= bound) & ~flagged(Flag.UNSEQUENCED) & names_a_dialog()
    arrived = F.coalesce(F.get("path.at", F.size("path") - 1), F.unix_millis("stored_at"))
    copies = envelopes.select(
        F.when(sought, enqueued).alias("enqueued"),
        "topic",
        "message_id",
        "fragment",
        "conversation",
        "sequence",
        F.when(sought, arrived).alias("arrived"),
    )
    counted = (
        copies.withWatermark("enqueued", f"{within} milliseconds")
        .groupBy("enqueued", "topic", "message_id", "fragment", "conversation", "sequence")
        .agg(
            F.count(F.lit(1)).alias("copies"),
            F.min("arrived").alias("first_at"),
            F.max("arrived").alias("last_at"),
        )
    )
    # An undecodable record has no time; latency.windows explains why it is only left out here.
    alarms = counted.where((F.col("copies") > 1) & F.col("first_at").isNotNull())
    for identifier in ("message_id", "conversation"):
        alarms = alarms.withColumn(identifier, uuid_text(identifier))
    return alarms.select(*REPEATS)
