"""What is kept in SQL databases: the monitor's figures, and an application's outbox and inbox.

The only importer of SQLAlchemy. SQLite needs nothing; PostgreSQL needs its driver. The figures are
in this namespace; :mod:`streams.store.outbox` and :mod:`streams.store.inbox` are used by
:mod:`streams.client` and the relay.
"""

from streams.store.database import MONITOR_STORE
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
    "MONITOR_STORE",
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
