"""How long messages took, per window and way: as a whole, and leg by leg."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streams.monitor.read import event_time

HISTOGRAM_BINS = 512
"""A window's histogram is exact up to so many different values; beyond, neighbours are merged."""

LEGS = (
    "at", "reason", "topic", "from_service", "to_service", "visits", "leg", "ms", "attempt",
)  # fmt: skip
"""One row per leg of a delivery, or (``reason``, ``topic``) per record that cannot be read."""

WINDOWS = (
    "window_start", "window_end", "reason", "topic", "from_service", "to_service", "target",
    "path", "leg", "leg_from", "leg_to", "hops", "count", "attempts", "min", "max",
    "p50", "p95", "p99", "histogram",
)  # fmt: skip


def legs(envelopes: DataFrame, now: Column) -> DataFrame:
    """Return the legs (LEGS) of envelopes (``read.ENVELOPE``); ``now`` is the batch's time.

    Leg 0 is the whole way. A message without a path never travelled (it was made in the queue's own
    database, like a dialog timer's): its leg 0 has no ``ms`` and no visits.
    """
    instants = F.concat(F.array("enqueued_at"), F.col("path.at"))
    timed = envelopes.select(
        "reason",
        "stored_at",
        F.when(F.col("reason").isNotNull(), F.col("topic")).alias("topic"),
        "from_service",
        "to_service",
        F.col("path.instance").alias("visits"),
        "attempt",
        instants.alias("instants"),
        _last("path.at").alias("delivered_at"),
        F.coalesce(F.size("path"), F.lit(0)).alias("last_leg"),
    )
    single = timed.select(
        "*",
        event_time("delivered_at", now).alias("at"),
        F.explode(F.sequence(F.lit(0), "last_leg")).alias("leg"),
    )
    start = F.get("instants", F.greatest(F.col("leg") - 1, F.lit(0)))
    end = F.when(F.col("leg") == 0, F.col("delivered_at")).otherwise(F.get("instants", "leg"))
    return single.withColumn("ms", end - start).select(*LEGS)


def windows(legs: DataFrame, *, length: int, late: int) -> DataFrame:
    """Return latencies (WINDOWS) per window of ``length`` ms and way; exact percentiles.

    Rows that are ``late`` ms behind the newest one are left out once that has been seen.
    """
    grouped = legs.withWatermark("at", f"{late} milliseconds").groupBy(
        F.window("at", f"{length} milliseconds").alias("window"),
        "reason",
        "topic",
        "from_service",
        "to_service",
        "visits",
        "leg",
    )
    figures = grouped.agg(
        F.count(F.lit(1)).alias("count"),
        F.sum("attempt").alias("attempts"),
        F.min("ms").alias("min"),
        F.max("ms").alias("max"),
        F.percentile("ms", [0.5, 0.95, 0.99]).alias("percentiles"),
        F.histogram_numeric(F.col("ms").cast("double"), F.lit(HISTOGRAM_BINS)).alias("histogram"),
    )
    # Left out here and not before: Spark moves a condition on decoded columns below the decoding
    # and decodes twice. One that depends on an aggregate stays.
    travelled = F.col("reason").isNotNull() | F.col("max").isNotNull()
    return figures.where(travelled).select(
        F.unix_millis("window.start").alias("window_start"),
        F.unix_millis("window.end").alias("window_end"),
        "reason",
        "topic",
        "from_service",
        "to_service",
        _last("visits").alias("target"),
        F.array_join("visits", ">").alias("path"),
        "leg",
        F.coalesce(F.get("visits", _from()), F.lit("")).alias("leg_from"),
        F.when(F.col("leg") == 0, _last("visits"))
        .otherwise(F.get("visits", F.col("leg") - 1))
        .alias("leg_to"),
        (F.size("visits") - 1).alias("hops"),
        "count",
        "attempts",
        "min",
        "max",
        *(F.get("percentiles", i).alias(name) for i, name in enumerate(("p50", "p95", "p99"))),
        "histogram",
    ).select(*WINDOWS)


def _last(array: str) -> Column:
    return F.get(array, F.size(array) - 1)


def _from() -> Column:
    # The whole way begins where the first visit was; leg 1 begins before it, at the command.
    return F.when(F.col("leg") == 0, F.lit(0)).otherwise(F.col("leg") - 2)
