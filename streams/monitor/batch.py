"""Records of a cluster or of captures, brought together dialog by dialog on Spark's executors.

Nothing is decided here: who listens says what a record is about, who judges what the parts of a
dialog come to. Bodies do not leave the JVM: a digest stands for them. What does not fit into memory
Spark writes to disk, and what comes back to this process is one sum for each partition.
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
"""The latest record of positions of each partition, by topic and partition; None: it has none."""

_ERROR, _HEAD = b"<Error ", 256
"""How an Error's body begins, and how much of it has its code."""


class Listener(Protocol):
    """What hears from a record which dialogs it is about."""

    def read_fields(self, *fields: Any) -> Iterable[tuple[bytes, Any]]:
        """Yield (dialog, part) for a record.

        The fields: topic, partition, offset, milliseconds, key, headers, value, value's digest.
        """


@dataclass(frozen=True, slots=True)
class Slice:
    """What of a cluster is read: from one offset up to another, by topic and partition.

    ``access`` is of :func:`streams.monitor.access.source_options`.
    """

    access: Mapping[str, str] = field(repr=False)
    ranges: Mapping[tuple[str, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Container:
    """A capture's file, its topics' prefix, and how many records it has where it says so."""

    path: Path
    prefix: str
    records: int | None = None


def kafka_records(spark: SparkSession, read: Slice) -> DataFrame:
    """Return the committed records of a slice, which must have some."""
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
    """Return how far workers had come, by the state in a slice."""
    return _survey(kafka_records(spark, read))[0] if read.ranges else {}


def survey_capture(spark: SparkSession, container: Container) -> Positions:
    """Return the same of a capture; raises InputError where it cannot be read or lacks records."""
    try:
        found, records = _survey(capture_records(spark, [container]))
    except (PySparkException, Py4JError) as error:
        raise InputError(
            f"The file cannot be read: {cause_of(error)}", file=str(container.path), remedy=REMEDY
        ) from error
    demand_all(records, container.records, container.path)
    return found


def _survey(frame: DataFrame) -> tuple[Positions, int]:
    """Return the latest positions of each partition, and how many records there are."""
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
    """Records of topics with a prefix, and who listens to them."""

    records: DataFrame
    prefix: str
    listener: Listener


def sum_dialogs(
    sources: Sequence[ClusterRecords],
    judge: Callable[[Iterable[tuple[bytes, Iterable[Any]]]], Sum],
    plus: Callable[[Sum, Sum], Sum],
) -> Sum:
    """Judge every dialog with all of its parts, a partition of them at a time; add up the sums."""
    context = sources[0].records.sparkSession.sparkContext
    parts = [_parts(source) for source in sources]
    # A union of one would send every part to the JVM and back.
    records = parts[0] if len(parts) == 1 else context.union(parts)
    dialogs = records.groupByKey(max(records.getNumPartitions(), context.defaultParallelism))
    return dialogs.mapPartitions(lambda some: (judge(some),)).reduce(plus)


def _parts(source: ClusterRecords) -> RDD[tuple[bytes, Any]]:
    records = _without_bodies(source.records, source.prefix)
    return records.rdd.mapPartitions(partial(_listen, source.listener, learned_schemas()))


def _without_bodies(frame: DataFrame, prefix: str) -> DataFrame:
    """Return what listeners are given: of a body its digest, and of an Error how it begins."""
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
    )


def _listen(
    listener: Listener, schemas: Sequence[str], rows: Iterable[Any]
) -> Iterator[tuple[bytes, Any]]:
    learn_schemas(schemas)  # an executor has read no catalog and no capture's header
    for topic, partition, offset, timestamp, key, names, values, value, digest in rows:
        headers = [
            (name, None if raw is None else bytes(raw))
            for name, raw in zip(names or (), values or (), strict=True)
        ]
        yield from listener.read_fields(
            topic, partition, offset, timestamp, _bytes(key), headers, _bytes(value),
            _bytes(digest) or b"",
        )  # fmt: skip


def _bytes(raw: bytearray | None) -> bytes | None:
    return None if raw is None else bytes(raw)
