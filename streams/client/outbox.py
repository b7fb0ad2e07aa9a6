"""Statements committed together with an application's own rows: SEND in a database transaction.

::

    with Session(engine) as session, session.begin():
        session.add(order)
        outbox = Outbox(session)
        dialog = outbox.begin("ServerA", "DatabaseA", "Orders", "Billing")
        outbox.send(dialog, order.as_xml())

A rollback removes the statements. After the commit, the relay (``hopline outbox``) writes them to
Kafka, each once and in order.
"""

from __future__ import annotations

from typing import Any, Protocol

from streams.client.statements import Statements, refuse_to_wait
from streams.outbox.rows import Statement
from streams.outbox.table import METADATA, insertion
from streams.protocol import Command
from streams.wire import encode_command

__all__ = ["METADATA", "Executes", "Outbox"]


class Executes(Protocol):
    """A synchronous SQLAlchemy Connection or Session, on PostgreSQL or SQLite."""

    def execute(self, statement: Any, /) -> Any:
        """Execute a statement in the current transaction."""


class Outbox(Statements):
    """Issue statements in the transaction of ``session``; as thread-safe as the session.

    ``METADATA.create_all(engine)`` creates the tables; ``hopline outbox --ddl`` prints them. Errors
    of statements are reported only by events.
    """

    def __init__(self, session: Executes) -> None:
        self._session = session

    def perform(self, instance: str, command: Command, *, wait: bool = False) -> None:
        """Insert a statement."""
        refuse_to_wait(wait=wait)
        row = Statement(
            str(command.command_id),
            instance,
            str(command.conversation),
            command.kind.value,
            encode_command(command),
            command.body,
        )
        self._session.execute(insertion(row))
