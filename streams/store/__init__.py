"""The monitor's figures in a SQL database: SQLite, which needs no setup, or PostgreSQL."""

from streams.store.alarm import Alarm, AlarmKind, Severity
from streams.store.database import MONITOR_STORE
from streams.store.dialogs import DialogCounts, LockTime, Waiting, Which
from streams.store.drops import Drop, drops_of
from streams.store.exactly_once import ExactlyOnce, Verdict, exactly_once
from streams.store.figures import (
    COPY_COLUMNS,
    LATENCY_DIMENSIONS,
    EventTotal,
    LatencySummary,
    Report,
)
from streams.store.freshness import Freshness, Reading
from streams.store.links import Link
from streams.store.mapping import as_columns
from streams.store.message_rows import (
    CopiedMessage,
    FoundMessage,
    Gap,
    MessageRow,
    MissingMessage,
)
from streams.store.missing import Missing, Whereabouts
from streams.store.quantiles import Histogram, merged, percentile, percentiles
from streams.store.rollup import roll_up
from streams.store.rows import (
    Cause,
    EventWindow,
    LatencyStretch,
    LatencyWindow,
    MalformedWindow,
    Progress,
    Repeat,
    Row,
)
from streams.store.situation import Situation
from streams.store.state_rows import (
    BufferedSample,
    DialogGone,
    DialogSide,
    HeartbeatSample,
    LagSample,
    LinkSample,
    QueueSample,
    Sample,
    StateRow,
    Trouble,
)
from streams.store.store import Store

__all__ = [
    "COPY_COLUMNS",
    "LATENCY_DIMENSIONS",
    "MONITOR_STORE",
    "Alarm",
    "AlarmKind",
    "BufferedSample",
    "Cause",
    "CopiedMessage",
    "DialogCounts",
    "DialogGone",
    "DialogSide",
    "Drop",
    "EventTotal",
    "EventWindow",
    "ExactlyOnce",
    "FoundMessage",
    "Freshness",
    "Gap",
    "HeartbeatSample",
    "Histogram",
    "LagSample",
    "LatencyStretch",
    "LatencySummary",
    "LatencyWindow",
    "Link",
    "LinkSample",
    "LockTime",
    "MalformedWindow",
    "MessageRow",
    "Missing",
    "MissingMessage",
    "Progress",
    "QueueSample",
    "Reading",
    "Repeat",
    "Report",
    "Row",
    "Sample",
    "Severity",
    "Situation",
    "StateRow",
    "Store",
    "Trouble",
    "Verdict",
    "Waiting",
    "Whereabouts",
    "Which",
    "as_columns",
    "drops_of",
    "exactly_once",
    "merged",
    "percentile",
    "percentiles",
    "roll_up",
]
