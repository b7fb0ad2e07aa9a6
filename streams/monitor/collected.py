"""Collect the rows of a batch for the store, with a limit."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import reduce
from operator import add

from pyspark.sql import Column, DataFrame, Observation, Row
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

log = logging.getLogger("hopline.monitor")

MOST_ROWS = 250_000
"""Maximum number of rows of each of Spark's partitions; a day with 20 paths and legs has 172,800.

All rows of a batch are in the driver's memory. Only forged records can produce more rows.
"""

MOST_LARGE, LARGE = 5_000, 1_024
"""Maximum number of rows with texts of more than ``LARGE`` characters in a partition."""

_BITS = 33
"""The number of lower bits in which ``monotonically_increasing_id`` numbers a partition's rows."""


def collect(frame: DataFrame, query: str) -> list[Row]:
    """Return the rows of a batch; log how many were left out because of the limit.

    Every row is computed, because Spark stores its state only after a partition's last row is read.
    """
    numbered = frame.withColumn("_number", F.monotonically_increasing_id() % (1 << _BITS))
    most = F.when(_text(frame) > LARGE, MOST_LARGE).otherwise(MOST_ROWS)
    seen = Observation()
    counted = numbered.observe(seen, F.count(F.lit(1)).alias("rows"))
    rows = counted.where(F.col("_number") < most).drop("_number").collect()
    left_out = int(seen.get["rows"]) - len(rows)
    if left_out:
        log.warning(
            "%s: %d rows of a batch were left out, because it has more than %d rows, or more than "
            "%d rows with long texts.",
            query,
            left_out,
            MOST_ROWS,
            MOST_LARGE,
        )
    return rows


def _text(frame: DataFrame) -> Column:
    """Return the number of characters in the texts of a row."""
    lengths = (F.coalesce(F.length(name), F.lit(0)) for name in _texts(frame.schema))
    return reduce(add, lengths, F.lit(0))


def _texts(schema: StructType, prefix: str = "") -> Iterator[str]:
    """Yield the names of all texts, also of those within structures."""
    for field in schema.fields:
        if isinstance(field.dataType, StructType):
            yield from _texts(field.dataType, f"{prefix}{field.name}.")
        elif isinstance(field.dataType, StringType):
            yield f"{prefix}{field.name}"
