"""The inbox: the messages that an application has processed, in one transaction with its rows."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

METADATA = sa.MetaData()

INBOX = sa.Table(
    "hopline_inbox",
    METADATA,
    sa.Column("reader", sa.String(128), primary_key=True),
    sa.Column("conversation", sa.String(36), primary_key=True),
    sa.Column("is_initiator", sa.Boolean, primary_key=True),
    sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("message", sa.String(36), primary_key=True),
    sa.Column("received_at", sa.BigInteger, nullable=False, index=True),  # epoch seconds
)
"""The key includes the message id, because an Error and a DialogTimer have no sequence number."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A message that one reader has processed."""

    reader: str
    conversation: uuid.UUID
    is_initiator: bool
    sequence: int
    message: uuid.UUID
    received_at: int


def addition(entry: Entry, dialect: str) -> sa.Executable:
    """Return a statement that inserts and returns a row, or returns no row if it exists.

    (Some drivers report no row count for INSERT.) If another transaction is inserting the same row,
    the statement waits for the end of that transaction.
    """
    insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
    return (
        insert(INBOX)
        .values(
            reader=entry.reader,
            conversation=str(entry.conversation),
            is_initiator=entry.is_initiator,
            sequence=entry.sequence,
            message=str(entry.message),
            received_at=entry.received_at,
        )
        .on_conflict_do_nothing()
        .returning(INBOX.c.sequence)
    )


def removal(reader: str, before: int) -> sa.Executable:
    """Return a statement that deletes a reader's rows older than a time (epoch seconds)."""
    return INBOX.delete().where(INBOX.c.reader == reader, INBOX.c.received_at < before)
