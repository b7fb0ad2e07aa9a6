"""All tables of the store, in one place.

A row's key is a digest of the columns that identify it, because names and paths in received records
may be too long for a database index.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import BigInteger, Column, Float, MetaData, String, Table, Text

from streams.store.rows import EventWindow, LatencyStretch, LatencyWindow, MalformedWindow, Repeat

METADATA = MetaData()


def whole(name: str) -> Column[int]:
    """Return a column of whole numbers: counts, instants, durations."""
    return Column(name, BigInteger, nullable=False)


def _float(name: str) -> Column[float]:
    return Column(name, Float(53), nullable=False)


def _text(name: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, Text, nullable=nullable)


def key_column() -> Column[str]:
    """Return the column of a row's key."""
    return Column("key", String(40), primary_key=True)


STRETCH = 600_000
"""Length in milliseconds of the periods for which latencies are rolled up."""
MOST_WINDOWS = 100_000
"""Maximum number of latency windows that a page reads from one part of its period, or that are
merged into one stretch of time. Three hours of 20 paths with four hops each have 108,000; each
window takes up to 0.6 ms and 2.5 kB.
"""


def _latencies(name: str) -> Table:
    return Table(
        name,
        METADATA,
        key_column(),
        Column("window_start", BigInteger, nullable=False, index=True),
        whole("window_end"),
        _text("from_service"),
        _text("to_service"),
        _text("target"),
        _text("path"),
        whole("leg"),
        _text("leg_from"),
        _text("leg_to"),
        whole("hops"),
        whole("count"),
        whole("attempts"),
        whole("min"),
        whole("max"),
        _float("p50"),
        _float("p95"),
        _float("p99"),
        _text("histogram"),  # JSON: [[milliseconds, count], ...]
    )


LATENCY = _latencies("latency_windows")
STRETCHES = _latencies("latency_stretches")

EVENTS = Table(
    "event_windows",
    METADATA,
    key_column(),
    Column("window_start", BigInteger, nullable=False, index=True),
    whole("window_end"),
    whole("event"),
    whole("error"),
    _text("instance"),
    _text("database", nullable=True),
    _text("from_service", nullable=True),
    _text("to_service", nullable=True),
    _text("route", nullable=True),
    _text("cause", nullable=True),
    whole("count"),
)

MALFORMED = Table(
    "malformed_windows",
    METADATA,
    key_column(),
    Column("window_start", BigInteger, nullable=False, index=True),
    whole("window_end"),
    _text("topic"),
    _text("reason"),
    whole("count"),
)

REPEATS = Table(
    "repeats",
    METADATA,
    key_column(),
    _text("topic"),
    _text("message_id"),
    whole("fragment"),
    _text("conversation", nullable=True),
    whole("sequence"),
    whole("copies"),
    whole("first_at"),
    whole("last_at"),
)

BATCHES = Table(
    "batches",
    METADATA,
    Column("query", String(64), primary_key=True),
    Column("run", String(64), primary_key=True),  # one per checkpoint, where batch ids begin at 0
    whole("batch_id"),
    whole("late"),
    whole("late_batch"),
)

LATE = Table(
    "late_rows",
    METADATA,
    Column("query", String(64), primary_key=True),
    Column("run", String(64), primary_key=True),
    Column("batch_id", BigInteger, primary_key=True),
    whole("rows"),
    whole("first_at"),
    Column("until", BigInteger, nullable=False, index=True),
    Column("noted_at", BigInteger, nullable=False, index=True),
)

REACHED = Table(
    "reached",
    METADATA,
    Column("query", String(64), primary_key=True),
    whole("at"),
)

SETTINGS = Table(
    "settings",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)


@dataclass(frozen=True, slots=True)
class RowKind:
    """The table of one kind of row: its identifying columns, and the figure that only grows.

    ``kept`` contains columns that keep their value, if any, as long as the columns listed with them
    do not change. A row with ``forgets`` only changes an existing row.
    """

    table: Table
    identity: tuple[str, ...]
    grows: str
    kept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    forgets: bool = False

    def key(self, values: Mapping[str, Any]) -> str:
        """Return the digest of the identifying columns."""
        text = json.dumps([values[name] for name in self.identity])
        return hashlib.blake2b(text.encode("ascii"), digest_size=20).hexdigest()


_WINDOW = ("window_start", "window_end")

_PATH = ("from_service", "to_service", "target", "path", "hops", "leg", "leg_from", "leg_to")

KINDS: dict[type, RowKind] = {
    LatencyWindow: RowKind(LATENCY, (*_WINDOW, *_PATH), "count"),
    LatencyStretch: RowKind(STRETCHES, (*_WINDOW, *_PATH), "count"),
    EventWindow: RowKind(
        EVENTS,
        (
            *_WINDOW, "event", "error", "instance", "database", "from_service", "to_service",
            "route", "cause",
        ),
        "count",
    ),
    MalformedWindow: RowKind(MALFORMED, (*_WINDOW, "topic", "reason"), "count"),
    Repeat: RowKind(REPEATS, ("topic", "message_id", "fragment"), "copies"),
}  # fmt: skip
