"""All tables of the store, in one place.

A row's key is a digest of the columns that identify it: names and paths come from the network and
may be longer than what a database puts into an index.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Column, Float, MetaData, String, Table, Text

from streams.store.rows import EventWindow, LatencyWindow, MalformedWindow, Repeat

METADATA = MetaData()


def _integer(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


def _float(name: str) -> Column[float]:
    return Column(name, Float(53), nullable=False)


def _text(name: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, Text, nullable=nullable)


def _key() -> Column[str]:
    return Column("key", String(40), primary_key=True)


LATENCY = Table(
    "latency_windows",
    METADATA,
    _key(),
    Column("window_start", BigInteger, nullable=False, index=True),
    _integer("window_end"),
    _text("from_service"),
    _text("to_service"),
    _text("target"),
    _text("path"),
    _integer("leg"),
    _text("leg_from"),
    _text("leg_to"),
    _integer("hops"),
    _integer("count"),
    _integer("attempts"),
    _integer("min"),
    _integer("max"),
    _float("p50"),
    _float("p95"),
    _float("p99"),
    _text("histogram"),  # JSON: [[milliseconds, count], ...]
)

EVENTS = Table(
    "event_windows",
    METADATA,
    _key(),
    Column("window_start", BigInteger, nullable=False, index=True),
    _integer("window_end"),
    _integer("event"),
    _integer("error"),
    _text("instance"),
    _text("database", nullable=True),
    _text("from_service", nullable=True),
    _text("to_service", nullable=True),
    _text("cause", nullable=True),
    _integer("count"),
)

MALFORMED = Table(
    "malformed_windows",
    METADATA,
    _key(),
    Column("window_start", BigInteger, nullable=False, index=True),
    _integer("window_end"),
    _text("topic"),
    _text("reason"),
    _integer("count"),
)

REPEATS = Table(
    "repeats",
    METADATA,
    _key(),
    _text("topic"),
    _text("message_id"),
    _integer("fragment"),
    _text("conversation", nullable=True),
    _integer("sequence"),
    _integer("copies"),
    _integer("first_at"),
    _integer("last_at"),
)

BATCHES = Table(
    "batches",
    METADATA,
    Column("query", String(64), primary_key=True),
    Column("run", String(64), primary_key=True),  # one per checkpoint: batch ids begin at 0 in each
    _integer("batch_id"),
    _integer("late"),
    _integer("late_batch"),
)

SETTINGS = Table(
    "settings",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Kind:
    """Where one kind of row is kept: what identifies it, and the figure that only ever grows."""

    table: Table
    identity: tuple[str, ...]
    grows: str

    def key(self, values: Mapping[str, Any]) -> str:
        """Return the digest of the identifying columns."""
        text = json.dumps([values[name] for name in self.identity])
        return hashlib.blake2b(text.encode("ascii"), digest_size=20).hexdigest()


_WINDOW = ("window_start", "window_end")

KINDS: dict[type, Kind] = {
    LatencyWindow: Kind(
        LATENCY,
        (
            *_WINDOW, "from_service", "to_service", "target", "path", "hops", "leg", "leg_from",
            "leg_to",
        ),
        "count",
    ),
    EventWindow: Kind(
        EVENTS,
        (
            *_WINDOW, "event", "error", "instance", "database", "from_service", "to_service",
            "cause",
        ),
        "count",
    ),
    MalformedWindow: Kind(MALFORMED, (*_WINDOW, "topic", "reason"), "count"),
    Repeat: Kind(REPEATS, ("topic", "message_id", "fragment"), "copies"),
}  # fmt: skip
