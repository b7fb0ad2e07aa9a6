"""Read captures on Spark's executors with its Avro source, and judge them with the given functions.

This module makes no decisions. Files are split into blocks if possible. Spark groups the parts of
one dialog and spills data that does not fit into memory. Each partition is judged by the same
function as in a single process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from py4j.protocol import Py4JError
from pyspark import RDD
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from streams.errors import InputError
from streams.monitor.session import batch_session, cause_of
from streams.prose import counted
from streams.schema import load
from streams.wire.evolution import learn_schemas, learned_schemas

Headers = tuple[tuple[str, bytes | None], ...]
Row = TypeVar("Row")
Sum = TypeVar("Sum")

REMEDY = "The file is damaged or incomplete. Copy it again, or capture or generate it again."
_READ = {"topic", "key", "headers"}
"""Bodies are not needed, so they are skipped instead of being decoded."""


class RowReader(Protocol):
    """Extract the parts of dialogs from a captured record."""

    def read(self, topic: str, key: bytes | None, headers: Headers, /) -> Iterable[tuple[str, Any]]:
        """Yield (dialog, part)."""


@dataclass(frozen=True, slots=True)
class Source:
    """A capture's file, its reader, and its number of records if it states one."""

    path: Path
    reader: RowReader
    records: int | None = None


def count_captures(
    sources: Sequence[Source],
    merge: Callable[[Any, Any], Any],
    judge: Callable[[Iterable[tuple[str, Any]]], Iterable[Row]],
    count: Callable[[Iterable[Row]], Sum],
    plus: Callable[[Sum, Sum], Sum],
    *,
    master: str,
    log: Path,
) -> Sum:
    """Start Spark, judge captures, count each partition's rows on its executor, and add the counts.

    Raises InputError for a file that is unreadable or lacks records, and SurroundingsError if Spark
    fails.
    """
    with batch_session(master=master, log=log, name="hopline diff") as spark:
        rows = capture_rows(spark, sources, merge, judge)
        return rows.mapPartitions(lambda part: (count(part),)).reduce(plus)


def capture_rows(
    spark: SparkSession,
    sources: Sequence[Source],
    merge: Callable[[Any, Any], Any],
    judge: Callable[[Iterable[tuple[str, Any]]], Iterable[Row]],
) -> RDD[Row]:
    """Return the results of ``judge`` for every dialog with all its parts, as a lazy RDD.

    Raises InputError for a file that is unreadable or lacks records.
    """
    parts = spark.sparkContext.union([_parts(spark, source) for source in sources])
    dialogs = parts.reduceByKey(merge, parts.getNumPartitions())
    return dialogs.mapPartitions(judge)


def _parts(spark: SparkSession, source: Source) -> RDD[tuple[str, Any]]:
    reading = spark.read.format("avro").option("avroSchema", _schema())
    frame = reading.load(escaped(source.path)).select("topic", "key", "headers")
    _demand_complete(frame, source)
    return frame.rdd.mapPartitions(partial(_read, source.reader, learned_schemas()))


def _schema() -> str:
    """Return the reader's schema with only the needed fields, because Spark decodes all fields."""
    schema = load("CapturedRecord")
    return json.dumps({**schema, "fields": [f for f in schema["fields"] if f["name"] in _READ]})


def _read(
    reader: RowReader, schemas: Sequence[str], rows: Iterable[Any]
) -> Iterator[tuple[str, Any]]:
    learn_schemas(schemas)  # an executor has read neither the catalog nor a capture's header
    for topic, key, headers in rows:
        pairs = ((h.key, None if h.value is None else bytes(h.value)) for h in headers)
        yield from reader.read(topic, None if key is None else bytes(key), tuple(pairs))


def _demand_complete(frame: DataFrame, source: Source) -> None:
    """Read the file once without decoding records, so that an error names the file."""
    try:
        found = frame.count()
    except (PySparkException, Py4JError) as error:
        raise InputError(
            f"The file cannot be read: {cause_of(error)}", file=str(source.path), remedy=REMEDY
        ) from error
    demand_all(found, source.records, source.path)


def demand_all(found: int, stated: int | None, path: Path) -> None:
    """Raise InputError if a file does not have the number of records that it states."""
    if stated is not None and found != stated:
        raise InputError(
            f"The file has {counted(found, 'record')}, but its header states {stated}.",
            file=str(path),
            remedy=REMEDY,
        )


def escaped(path: Path) -> str:
    """Return a path in which the characters that Spark treats as a pattern are escaped."""
    return "file:" + re.sub(r"([\\{}\[\]*?])", r"\\\1", path.absolute().as_posix())
