"""The tables of single messages; only messages with problems have rows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, String, Table, Text

from streams.store.message_rows import CopiedMessage, FoundMessage, Gap, MissingMessage
from streams.store.tables import METADATA, RowKind


def _number(name: str, *, nullable: bool = False, index: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable, index=index)


def _name(name: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, Text, nullable=nullable)


def _table(name: str, *columns: Column[Any]) -> Table:
    key = Column("key", String(40), primary_key=True)
    conversation = Column("conversation", Text, nullable=False, index=True)
    return Table(name, METADATA, key, conversation, *columns)


def _side() -> Column[bool]:
    return Column("from_initiator", Boolean, nullable=False)


MISSING = _table(
    "missing_messages",
    _side(),
    _name("message_id"),
    _number("sequence"),
    _name("from_service"),
    _name("to_service"),
    _name("sender"),
    _number("enqueued_at"),
    _number("expires_at"),
    _number("seen_at", index=True),
    _number("error"),
    _number("error_at", nullable=True),
    _name("error_by", nullable=True),
)

ACKNOWLEDGED = Table(
    "acknowledged_messages",
    METADATA,
    Column("key", String(40), primary_key=True),  # of the missing message
    _number("at", index=True),
)

FOUND = _table(
    "found_messages",
    _name("message_id"),
    _name("places"),
    _number("delivered_at", index=True),
)

COPIED = _table(
    "copied_messages",
    _side(),
    _name("message_id"),
    _number("sequence"),
    _name("from_service", nullable=True),
    _name("to_service", nullable=True),
    _name("places"),
    _number("copies"),
    _number("delivered"),
    _number("retries"),
    _number("redeliveries"),
    _number("several_routes"),
    _number("several_targets"),
    _number("replays"),
    _number("unknown"),
    _number("first_at"),
    _number("last_at", index=True),
)

GAPS = _table(
    "gaps",
    _side(),
    _name("topic"),
    _number("window_start"),
    _number("window_end", index=True),
    _number("first"),
    _number("last"),
    _number("count"),
    _number("missing"),
    _number("first_at"),
    _number("last_at"),
)

_MESSAGE = ("conversation", "message_id")

MESSAGE_KINDS: dict[type, RowKind] = {
    MissingMessage: RowKind(MISSING, _MESSAGE, "seen_at"),
    FoundMessage: RowKind(FOUND, _MESSAGE, "delivered_at"),
    # A later row of the same message concerns copies that are further apart than the horizon.
    CopiedMessage: RowKind(COPIED, (*_MESSAGE, "first_at"), "copies"),
    Gap: RowKind(GAPS, ("topic", "conversation", "from_initiator", "window_start"), "count"),
}
