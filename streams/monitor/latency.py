"""Latency of messages per window and path, as a whole and for each leg."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streams.monitor.read import event_time, flagged
from streams.protocol.frames import Flag
from streams.protocol.limits import Limits

HISTOGRAM_BINS = 2048
"""Maximum number of bins of a window's histogram; with more values, neighbours are merged.
"""

MOST_VISITS = Limits().hops + 2
"""Maximum visits of a path with legs: those of all hops, of the sender and of the database."""

LONGEST_PATH = 2_048
"""Maximum characters of a path; for a path with legs, this includes its two service names.

Each leg is a row with the whole path, so a forged path of 16 kB would take a megabyte.
"""

LEGS = (
    "at", "reason", "topic", "from_service", "to_service", "target", "path", "hops", "leg",
    "leg_from", "leg_to", "ms", "attempt",
)  # fmt: skip
"""One row per leg of a delivery, or per record that cannot be read (``reason``, ``topic``)."""

WINDOWS = (
    "window_start", "window_end", "reason", "topic", "from_service", "to_service", "target",
    "path", "leg", "leg_from", "leg_to", "hops", "count", "attempts", "min", "max",
    "p50", "p95", "p99", "histogram",
)  # fmt: skip


def legs(envelopes: DataFrame, now: Column) -> DataFrame:
    """Return the legs (LEGS) of envelopes (``read.ENVELOPE``); ``now`` is the batch's time.

    Leg 0 is the whole path. A path that is longer than any path of Hopline (MOST_VISITS,
    LONGEST_PATH) has only this leg, and long names are clipped. System messages (EndDialog, Error)
    and messages that never left an instance (created in the queue's own database, one visit) have a
    leg 0 without ``ms`` and visits.
    """
    system = flagged(Flag.END, Flag.ERROR, Flag.UNSEQUENCED)
    travelled = (F.size("path") > 1) & ~system
    timed = envelopes.select(
        "reason",
        "stored_at",
        F.when(F.col("reason").isNotNull(), F.col("topic")).alias("topic"),
        "from_service",
        "to_service",
        F.when(travelled, F.col("path.instance")).alias("visits"),
        "attempt",
        F.when(travelled, F.concat(F.array("enqueued_at"), F.col("path.at"))).alias("instants"),
        _last("path.at").alias("delivered_at"),
    )
    named = timed.withColumn("way", _path()).select(
        "*",
        event_time("delivered_at", now).alias("at"),
        _last("way").alias("target"),
        F.array_join("way", ">").alias("path"),
        (F.size("way") - 1).alias("hops"),
        F.coalesce(F.size("visits"), F.lit(0)).alias("last_leg"),
    )
    size = F.length("path") + F.length("from_service") + F.length("to_service")
    usual = (F.col("last_leg") <= MOST_VISITS) & (size <= LONGEST_PATH)
    legs = F.when(usual, F.col("last_leg")).otherwise(0)
    single = named.select("*", F.explode(F.sequence(F.lit(0), legs)).alias("leg"))
    # Leg 0 is timed from the command to the last visit, but is named after the first and the last
    # visit.
    whole = F.col("leg") == 0
    end = F.when(whole, F.col("last_leg")).otherwise(F.col("leg"))
    start = F.when(whole, 0).otherwise(F.col("leg") - 1)
    named_leg = single.select(
        "*",
        F.coalesce(F.get("visits", F.when(whole, 0).otherwise(start - 1)), F.lit("")).alias(
            "leg_from"
        ),
        F.get("visits", end - 1).alias("leg_to"),
        (F.get("instants", end) - F.get("instants", start)).alias("ms"),
    )
    clipped = ("target", "path", "leg_from", "leg_to")
    return named_leg.withColumns({name: _clipped(name) for name in clipped}).select(*LEGS)


def windows(legs: DataFrame, *, length: int, late: int) -> DataFrame:
    """Return latencies (WINDOWS) per window of ``length`` ms and path, with exact percentiles.

    Rows ``late`` ms older than the newest row are left out once the watermark has passed them.
    """
    figures = (
        legs.withWatermark("at", f"{late} milliseconds")
        .groupBy(F.window("at", f"{length} milliseconds").alias("window"), *LEGS[1:-2])
        .agg(
            F.count(F.lit(1)).alias("count"),
            F.sum("attempt").alias("attempts"),
            F.min("ms").alias("min"),
            F.max("ms").alias("max"),
            F.percentile("ms", [0.5, 0.95, 0.99]).alias("percentiles"),
            F.histogram_numeric(F.col("ms").cast("double"), F.lit(HISTOGRAM_BINS)).alias(
                "histogram"
            ),
        )
    )
    # Rows are left out only here, because Spark moves a condition on decoded columns below the
    # decoding and decodes twice. A condition that depends on an aggregate is not moved.
    kept = figures.where(F.col("reason").isNotNull() | F.col("max").isNotNull())
    return kept.select(
        "*",
        F.unix_millis("window.start").alias("window_start"),
        F.unix_millis("window.end").alias("window_end"),
        *(F.get("percentiles", i).alias(name) for i, name in enumerate(("p50", "p95", "p99"))),
    ).select(*WINDOWS)


def _path() -> Column:
    """Return the visits without the target's own instance, which is part of the target's name."""
    rest = F.slice("visits", 1, F.size("visits") - 1)
    own = F.startswith(_last("visits"), F.concat(F.get(rest, F.size(rest) - 1), F.lit("/")))
    shorter = F.slice("visits", 1, F.size("visits") - 2)
    return F.when(own, F.concat(shorter, F.array(_last("visits")))).otherwise(F.col("visits"))


def _clipped(name: str) -> Column:
    short = F.concat(F.substring(name, 1, LONGEST_PATH), F.lit("..."))
    return F.when(F.length(name) > LONGEST_PATH, short).otherwise(F.col(name))


def _last(array: str) -> Column:
    return F.get(array, F.size(array) - 1)
