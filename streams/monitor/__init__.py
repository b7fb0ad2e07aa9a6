"""What Spark does: watch a stream while it flows, and judge captures on executors.

How late, how often twice, by which way, what is unreadable: Structured Streaming from Kafka into
the store. The only importer of pyspark.
"""

from streams.monitor.captures import Source, capture_rows, count_captures
from streams.monitor.config import MonitorConfig
from streams.monitor.run import run
from streams.monitor.session import close_session, open_session

__all__ = [
    "MonitorConfig",
    "Source",
    "capture_rows",
    "close_session",
    "count_captures",
    "open_session",
    "run",
]
