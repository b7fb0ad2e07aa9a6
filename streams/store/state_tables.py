"""The tables of a cluster's state: one row per side of a dialog, and samples."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Index, Table, Text

from streams.store.state_rows import (
    BufferedSample,
    DialogGone,
    DialogSide,
    HeartbeatSample,
    LagSample,
    LinkSample,
    QueueSample,
    Sample,
    Trouble,
)
from streams.store.tables import METADATA, RowKind, key_column, whole


def _name(name: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, Text, nullable=nullable)


def _instant(name: str) -> Column[int | None]:
    return Column(name, BigInteger, nullable=True)


DIALOGS = Table(
    "dialogs",
    METADATA,
    key_column(),
    _name("instance"),
    _name("database"),
    _name("conversation"),
    Column("is_initiator", Boolean, nullable=False),
    _name("service"),
    _name("far_service"),
    _name("contract"),
    _name("state"),
    whole("begun_at"),
    whole("expires_at"),
    _name("far_broker", nullable=True),
    _instant("locked_at"),
    _instant("error_at"),
    _instant("ended_at"),
    _instant("gone_at"),
    whole("progress_at"),
    whole("sent"),
    whole("acknowledged"),
    whole("received"),
    whole("depth"),
    whole("parked"),
    _instant("waiting_since"),
    whole("attempt"),
    whole("status"),
    whole("status_at"),
    whole("seen_at"),
    whole("position"),
)
_waits = (DIALOGS.c.depth > 0) | (DIALOGS.c.parked > 0)
_open = DIALOGS.c.ended_at.is_(None)
_gone = DIALOGS.c.gone_at.is_not(None)
_locked, _ended = DIALOGS.c.locked_at.is_not(None), DIALOGS.c.ended_at.is_not(None)
_failed = DIALOGS.c.error_at.is_not(None)
# Queries select a few of many dialogs, most of which have ended.
Index("dialogs_conversation", DIALOGS.c.conversation)
Index("dialogs_begun", DIALOGS.c.begun_at)
Index("dialogs_waiting", DIALOGS.c.instance, sqlite_where=_waits, postgresql_where=_waits)
Index("dialogs_open", DIALOGS.c.progress_at, sqlite_where=_open, postgresql_where=_open)
Index("dialogs_gone", DIALOGS.c.gone_at, sqlite_where=_gone, postgresql_where=_gone)
Index("dialogs_locked", DIALOGS.c.locked_at, sqlite_where=_locked, postgresql_where=_locked)
Index("dialogs_ended", DIALOGS.c.ended_at, sqlite_where=_ended, postgresql_where=_ended)
Index("dialogs_failed", DIALOGS.c.error_at, sqlite_where=_failed, postgresql_where=_failed)

TROUBLES = Table(
    "troubles",
    METADATA,
    key_column(),
    _name("instance"),
    _name("database", nullable=True),
    Column("conversation", Text, nullable=False, index=True),
    Column("is_initiator", Boolean, nullable=True),
    whole("event"),
    whole("error"),
    _name("to_service", nullable=True),
    whole("first_at"),
    Column("last_at", BigInteger, nullable=False, index=True),
)


def _samples(name: str, *columns: Column[Any]) -> Table:
    at = Column("at", BigInteger, nullable=False)
    until = Column("until", BigInteger, nullable=False, index=True)
    return Table(name, METADATA, key_column(), _name("instance"), at, until, *columns)


QUEUES = _samples(
    "queue_samples",
    whole("messages"),
    whole("dialogs"),
    whole("parked"),
    _instant("oldest_at"),
    _name("statuses"),  # JSON: [[number, messages], ...]
)
LAGS = _samples("lag_samples", _name("role"), _name("topic"), whole("records"))
HEARTBEATS = _samples("sign_samples", Column("up", Boolean, nullable=False), whole("seen_at"))
HELD = _samples("held_samples", whole("copies"), whole("bytes"))
LINKS = _samples("link_samples", _name("other"))

_SIDE = ("instance", "database", "conversation", "is_initiator")

STATE_KINDS: dict[type, RowKind] = {
    DialogSide: RowKind(
        DIALOGS,
        _SIDE,
        "position",
        kept={
            "locked_at": (),
            "error_at": (),
            "gone_at": (),
            "progress_at": ("state", "sent", "acknowledged", "received"),
            "waiting_since": ("acknowledged",),
        },
    ),
    DialogGone: RowKind(DIALOGS, _SIDE, "position", forgets=True),
    Trouble: RowKind(
        TROUBLES,
        ("instance", "database", "conversation", "is_initiator", "event", "error"),
        "last_at",
        kept={"first_at": ()},
    ),
    QueueSample: RowKind(QUEUES, ("instance", "at"), "until"),
    LagSample: RowKind(LAGS, ("instance", "role", "topic", "at"), "until"),
    HeartbeatSample: RowKind(HEARTBEATS, ("instance", "at"), "until"),
    BufferedSample: RowKind(HELD, ("instance", "at"), "until"),
    LinkSample: RowKind(LINKS, ("instance", "other", "at"), "until"),
}

SAMPLES: tuple[type[Sample], ...] = (
    QueueSample,
    LagSample,
    HeartbeatSample,
    BufferedSample,
    LinkSample,
)

AGES: tuple[Column[Any], ...] = (
    *(STATE_KINDS[kind].table.c.until for kind in SAMPLES),
    DIALOGS.c.gone_at,
    TROUBLES.c.last_at,
)
"""The columns that determine a row's age for removal; a dialog with state is never removed."""
