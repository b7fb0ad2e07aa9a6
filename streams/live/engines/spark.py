"""Verify with Spark, for more records than one process can read in seconds (pyspark, Java)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streams.capture import CaptureReader
from streams.kafka import Cluster
from streams.live.engines.engine import CaptureSource, ClusterSource, Positions, Source
from streams.monitor import (
    ClusterRecords,
    Container,
    Slice,
    SparkSession,
    batch_session,
    capture_records,
    kafka_records,
    source_options,
    sum_dialogs,
    survey_capture,
    survey_slice,
)
from streams.report.account import Account, Judge
from streams.report.snapshot import Range


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Read and judge on executors, which return only sums to this process."""

    spark: SparkSession
    name: str = "spark"

    def survey_cluster(
        self, cluster: Cluster, ranges: Mapping[tuple[str, int], Range]
    ) -> Positions:
        """Return the latest positions of each partition."""
        return survey_slice(self.spark, Slice(source_options(cluster), ranges))

    def survey_capture(self, capture: CaptureReader) -> Positions:
        """Return the latest positions of each partition; raises InputError."""
        return survey_capture(self.spark, _container(capture))

    def judge(self, sources: Sequence[Source], judge: Judge) -> Account:
        """Collect the parts of each dialog on one executor, and judge them there."""
        return sum_dialogs([self._records(source) for source in sources], judge.judge, judge.plus)

    def _records(self, source: Source) -> ClusterRecords:
        match source:
            case ClusterSource():
                read = Slice(source_options(source.cluster), source.ranges)
                records = kafka_records(self.spark, read)
            case CaptureSource():
                records = capture_records(self.spark, [_container(f) for f in source.files])
        return ClusterRecords(records, source.prefix, source.reader())


@contextmanager
def spark_engine(master: str, log: Path, clusters: Sequence[Cluster] = ()) -> Iterator[SparkEngine]:
    """Start Spark, and stop it afterwards; ``clusters`` are the clusters to read.

    Raises UsageError if Spark cannot reach one of the clusters, and SurroundingsError if Spark
    fails.
    """
    demand_reachable(clusters)  # before Spark starts, which takes longer
    with batch_session(master=master, log=log, name="hopline verify") as spark:
        yield SparkEngine(spark)


def demand_reachable(clusters: Sequence[Cluster]) -> None:
    """Raise UsageError if Spark's client cannot use the properties of a cluster."""
    for cluster in clusters:
        source_options(cluster)


def _container(capture: CaptureReader) -> Container:
    records = capture.counts.records if capture.counts else None
    return Container(capture.path, capture.metadata.prefix, records)
