"""What the stream says while it flows: how late, how often twice, by which way, what is unreadable.

PySpark Structured Streaming from Kafka into the store. The only importer of pyspark.
"""

from streams.monitor.config import MonitorConfig
from streams.monitor.run import run
from streams.monitor.session import close_session, open_session

__all__ = ["MonitorConfig", "close_session", "open_session", "run"]
