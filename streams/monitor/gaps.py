"""The second half of the exactly-once check: missing sequence numbers in a queue's dialogs."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streams.monitor.read import event_time, flagged, names_a_dialog, uuid_text
from streams.protocol.frames import Flag

GAPS = (
    "topic", "conversation", "from_initiator", "window_start", "window_end", "first", "last",
    "count", "missing", "first_at", "last_at",
)  # fmt: skip


def gaps(envelopes: DataFrame, now: Column, *, within: int, late: int) -> DataFrame:
    """Return stretches of dialogs with missing sequence numbers (GAPS), as soon as they are known.

    Each direction of a dialog is divided into windows of twice ``within`` ms that overlap by half,
    so that neighbours delivered at most ``within`` ms apart share a window. A queue receives a
    dialog's messages in order, so all numbers between the smallest and the largest number of a
    window must be present. The state of a window is small: the count, sum and exclusive or of its
    numbers. If more numbers arrived twice than are missing, the gap is not visible, but repeats
    raise a separate alarm. In such a stretch ``missing`` is 0, which also withdraws an earlier
    report, so the result does not depend on batch boundaries. An Error deliberately skips numbers
    (U-47), and messages that a broker creates have no numbers.
    """
    sequenced = ~flagged(Flag.ERROR, Flag.UNSEQUENCED) & (F.col("fragment") == 0)
    numbered = sequenced & names_a_dialog()
    arrived = envelopes.withColumn("arrived", F.get("path.at", F.size("path") - 1))
    timed = arrived.select(
        event_time("arrived", now).alias("at"),
        "topic",
        "conversation",
        "from_initiator",
        F.when(numbered, F.col("sequence")).alias("number"),
    )
    stretches = (
        timed.withWatermark("at", f"{late} milliseconds")
        .groupBy(
            F.window("at", f"{2 * within} milliseconds", f"{within} milliseconds").alias("window"),
            "topic",
            "conversation",
            "from_initiator",
        )
        .agg(
            F.min("number").alias("first"),
            F.max("number").alias("last"),
            F.count("number").alias("count"),
            F.try_sum("number").alias("total"),
            F.bit_xor("number").alias("xor"),
            F.unix_millis(F.min("at")).alias("first_at"),
            F.unix_millis(F.max("at")).alias("last_at"),
        )
    )
    span = F.col("last") - F.col("first") + 1
    # The type is double, because the product of two numbers may not fit into a long.
    expected = (F.col("first") + F.col("last")).cast("double") * span / 2
    whole = (F.col("total") == expected) & (
        F.col("xor") == _xor_up_to(F.col("last")).bitwiseXOR(_xor_up_to(F.col("first") - 1))
    )
    other = (span == F.col("count")) & ~whole
    absent = F.greatest(span - F.col("count"), F.when(other, 1).otherwise(0))
    return (
        stretches.withColumn("missing", absent)
        .where((F.col("missing") > 0) | (F.col("count") > span))
        .select(
            "*",
            F.unix_millis("window.start").alias("window_start"),
            F.unix_millis("window.end").alias("window_end"),
        )
        .withColumn("conversation", uuid_text("conversation"))
        .select(*GAPS)
    )


def _xor_up_to(number: Column) -> Column:
    """Return 0 xor 1 xor ... xor ``number``, which is at least -1."""
    rest = F.pmod(number, F.lit(4))
    return F.when(rest == 0, number).when(rest == 1, 1).when(rest == 2, number + 1).otherwise(0)
