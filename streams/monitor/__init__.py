"""What the stream says while it flows: how late, how often twice, by which way, what was unreadable.

PySpark Structured Streaming from Kafka into the store. The only importer of pyspark.
"""

from streams.monitor.config import MonitorConfig, duration_ms
from streams.monitor.run import run
from streams.monitor.session import open_session

__all__ = ["MonitorConfig", "duration_ms", "open_session", "run"]
