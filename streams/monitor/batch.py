"""Group records of a cluster or of captures by dialog on Spark's executors.

This module makes no decisions: the caller's ``listener`` extracts the parts of dialogs from a
record, and its ``judge`` evaluates the parts of a dialog. Bodies do not leave the JVM, because a
digest replaces them. Spark spills data that does not fit into memory to disk, and each partition
returns only one sum to this process.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from py4j.protocol import Py4JError
from pyspark import RDD
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streams.errors import InputError
from streams.monitor.captures import REMEDY, demand_all, escaped
from streams.monitor.session import cause_of
from streams.schema import load
from streams.wire.evolution import learn_schemas, learned_schemas
from streams.wire.state_keys import POSITIONS_KEY

Sum = TypeVar("Sum")
Positions = dict[tuple[str, int], bytes | None]
"""Value of the latest positions record, by topic and partition; None if there is no such record."""

_ERROR, _HEAD = b"<Error ", 256
"""The start of an Error's body, and a length that is sufficient to include its code."""


class Listener(Protocol):
    """Extract the dialogs that a record concerns."""

    def read_fields(self, *fields: Any) -> Iterable[tuple[bytes, Any]]:
        """Yield (dialog, part) for a record.

        The record's fields: topic, partition, offset, milliseconds, key, headers, value, digest of
        the whole value, size of the whole value.
        """


@dataclass(frozen=True, slots=True)
class Slice:
    """The ranges of a cluster to read: start and end offsets, by topic and partition.

    ``access`` comes from :func:`streams.monitor.access.source_options`.
    """

    access: Mapping[str, str] = field(repr=False)
    ranges: Mapping[tuple[str, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Container:
    """A capture's file, its topics' prefix, and its number of records if it states one."""

    path: Path
    prefix: str
    records: int | None = None


def kafka_records(spark: SparkSession, read: Slice) -> DataFrame:
    """Return the committed records of a slice. The slice must not be empty."""
    partitions: defaultdict[str, list[int]] = defaultdict(list)
    begins: defaultdict[str, dict[str, int]] = defaultdict(dict)
    ends: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for (topic, partition), (begin, end) in sorted(read.ranges.items()):
        partitions[topic].append(partition)
        begins[topic][str(partition)], ends[topic][str(partition)] = begin, end
    options = {
        **read.access,
        "kafka.isolation.level": "read_committed",
        "kafka.allow.auto.create.topics": "false",
        "assign": json.dumps(partitions),
        "startingOffsets": json.dumps(begins),
        "endingOffsets": json.dumps(ends),
        "includeHeaders": "true",
        "failOnDataLoss": "false",  # topics may shrink while they are read
    }
    frame = spark.read.format("kafka").options(**options).load()
    return frame.withColumn("timestamp", F.unix_millis("timestamp"))


def capture_records(spark: SparkSession, containers: Sequence[Container]) -> DataFrame:
    """Return the records of captures."""
    reading = spark.read.format("avro").option("avroSchema", json.dumps(load("CapturedRecord")))
    return reading.load([escaped(container.path) for container in containers])


def survey_slice(spark: SparkSession, read: Slice) -> Positions:
    """Return the workers' positions in the state of a slice."""
    return _survey(kafka_records(spark, read))[0] if read.ranges else {}


def survey_capture(spark: SparkSession, container: Container) -> Positions:
    """Return the positions in a capture; raise InputError if it is unreadable or lacks records."""
    try:
        found, records = _survey(capture_records(spark, [container]))
    except (PySparkException, Py4JError) as error:
        raise InputError(
            f"The file cannot be read: {cause_of(error)}", file=str(container.path), remedy=REMEDY
        ) from error
    demand_all(records, container.records, container.path)
    return found


def _survey(frame: DataFrame) -> tuple[Positions, int]:
    """Return the latest positions of each partition, and the number of records."""
    noted = F.when(F.col("key") == F.lit(bytearray(POSITIONS_KEY)), F.col("offset"))
    rows = (
        frame.groupBy("topic", "partition")
        .agg(F.count("*").alias("records"), F.max_by("value", noted).alias("positions"))
        .collect()
    )
    positions = {(topic, partition): _bytes(raw) for topic, partition, _, raw in rows}
    return positions, sum(records for _, _, records, _ in rows)


@dataclass(frozen=True, slots=True)
class ClusterRecords:
    """The records of one system's topics, their prefix, and the listener that gets them."""

    records: DataFrame
    prefix: str
    listener: Listener


def sum_dialogs(
    sources: Sequence[ClusterRecords],
    judge: Callable[[Iterable[tuple[bytes, Iterable[Any]]]], Sum],
    plus: Callable[[Sum, Sum], Sum],
) -> Sum:
    """Judge every dialog with all of its parts, one partition at a time; return the total."""
    context = sources[0].records.sparkSession.sparkContext
    parts = [_parts(source) for source in sources]
    # The union of a single frame would send every part to the JVM and back.
    records = parts[0] if len(parts) == 1 else context.union(parts)
    dialogs = records.groupByKey(max(records.getNumPartitions(), context.defaultParallelism))
    return dialogs.mapPartitions(lambda some: (judge(some),)).reduce(plus)


def _parts(source: ClusterRecords) -> RDD[tuple[bytes, Any]]:
    records = _without_bodies(source.records, source.prefix)
    return records.rdd.mapPartitions(partial(_listen, source.listener, learned_schemas()))


def _without_bodies(frame: DataFrame, prefix: str) -> DataFrame:
    """Return the input of the listeners: a digest of the body, and the start of an Error."""
    value = F.coalesce("value", F.lit(bytearray()))
    has_body = F.col("topic").rlike(rf"^\Q{prefix}\E(cmd|queue)\.")
    is_error = F.substring("value", 1, len(_ERROR)) == F.lit(bytearray(_ERROR))
    return frame.select(
        "topic",
        "partition",
        "offset",
        "timestamp",
        "key",
        F.col("headers.key").alias("names"),
        F.col("headers.value").alias("values"),
        F.when(~has_body, F.col("value"))
        .when(is_error, F.substring("value", 1, _HEAD))
        .alias("value"),
        F.when(has_body, F.unhex(F.md5(value))).alias("digest"),
        F.length(value).alias("size"),
    )


def _listen(
    listener: Listener, schemas: Sequence[str], rows: Iterable[Any]
) -> Iterator[tuple[bytes, Any]]:
    learn_schemas(schemas)  # an executor has read neither the catalog nor a capture's header
    for topic, partition, offset, timestamp, key, names, values, value, digest, size in rows:
        headers = [
            (name, None if raw is None else bytes(raw))
            for name, raw in zip(names or (), values or (), strict=True)
        ]
        yield from listener.read_fields(
            topic, partition, offset, timestamp, _bytes(key), headers, _bytes(value),
            _bytes(digest) or b"", size,
        )  # fmt: skip


def _bytes(raw: bytearray | None) -> bytes | None:
    return None if raw is None else bytes(raw)
