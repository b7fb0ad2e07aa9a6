"""What the monitor has computed, in a SQL database: written by the monitor, read by reports.

The only importer of SQLAlchemy. SQLite needs nothing; PostgreSQL needs its driver.
"""

from streams.store.quantiles import Histogram, merged, percentile
from streams.store.report import LATENCY_DIMENSIONS, EventTotal, LatencySummary, Report
from streams.store.rows import (
    Cause,
    EventWindow,
    LatencyWindow,
    MalformedWindow,
    Progress,
    Repeat,
    Row,
)
from streams.store.store import Store

__all__ = [
    "LATENCY_DIMENSIONS",
    "Cause",
    "EventTotal",
    "EventWindow",
    "Histogram",
    "LatencySummary",
    "LatencyWindow",
    "MalformedWindow",
    "Progress",
    "Repeat",
    "Report",
    "Row",
    "Store",
    "merged",
    "percentile",
]
