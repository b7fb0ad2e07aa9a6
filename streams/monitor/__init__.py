"""Spark: stream figures from Kafka, and judge captures on executors.

Structured Streaming writes latency, duplicates, paths and undecodable records from Kafka into the
store. Only this package imports pyspark.
"""

from pyspark.sql import SparkSession

from streams.monitor.access import source_options
from streams.monitor.batch import (
    ClusterRecords,
    Container,
    Slice,
    capture_records,
    kafka_records,
    sum_dialogs,
    survey_capture,
    survey_slice,
)
from streams.monitor.captures import Source, capture_rows, count_captures
from streams.monitor.config import MonitorConfig
from streams.monitor.run import run
from streams.monitor.session import batch_session, close_session, open_session

__all__ = [
    "ClusterRecords",
    "Container",
    "MonitorConfig",
    "Slice",
    "Source",
    "SparkSession",
    "batch_session",
    "capture_records",
    "capture_rows",
    "close_session",
    "count_captures",
    "kafka_records",
    "open_session",
    "run",
    "source_options",
    "sum_dialogs",
    "survey_capture",
    "survey_slice",
]
