"""The statements of an application, whichever way they are handed over.

:class:`~streams.client.client.Client` hands them to Kafka at once, an
:class:`~streams.client.exchange.Exchange` in one transaction with what was received, an
:class:`~streams.client.outbox.Outbox` in one transaction with the application's own tables. What
speaks on a conversation asks for :class:`Statements` and works with all three.
"""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from typing import Any

from streams.client.conversation import Conversation, StatementError
from streams.errors import Number
from streams.protocol import Command, CommandKind
from streams.wire.records import LARGEST_BODY


class Statements(ABC):
    """BEGIN DIALOG, SEND, END CONVERSATION, BEGIN CONVERSATION TIMER and MOVE CONVERSATION."""

    def begin(
        self,
        instance: str,
        database: str,
        from_service: str,
        to_service: str,
        *,
        broker: str | None = None,
        contract: str | None = None,
        lifetime: int | None = None,
        conversation: uuid.UUID | None = None,
        group: uuid.UUID | None = None,
    ) -> Conversation:
        """BEGIN DIALOG; ``lifetime`` in seconds. Nothing is sent to the network by it."""
        handle = Conversation(instance, database, conversation or self.new_id())
        command = begin_command(
            handle, from_service, to_service, broker, contract, lifetime, group=group
        )
        self.perform(instance, command)
        return handle

    def new_id(self) -> uuid.UUID:
        """Return an id for a new dialog."""
        return uuid.uuid4()

    def send(self, on: Conversation, body: bytes, *, type: str | None = None) -> uuid.UUID:
        """SEND; returns the message's id. Raises StatementError where it is too large (8459)."""
        command = send_command(on, body, type)
        self.perform(on.instance, command)
        return command.command_id

    def end(
        self, on: Conversation, *, error: tuple[int, str] | None = None, cleanup: bool = False
    ) -> None:
        """END CONVERSATION, WITH ERROR (code, text) or WITH CLEANUP."""
        self.perform(on.instance, end_command(on, error, cleanup=cleanup))

    def timer(self, on: Conversation, seconds: int) -> None:
        """BEGIN CONVERSATION TIMER: a DialogTimer comes after ``seconds``, from 1 up."""
        self.perform(on.instance, new_command(on, CommandKind.TIMER, timeout=seconds))

    def move(self, on: Conversation, group: uuid.UUID) -> None:
        """MOVE CONVERSATION: what arrives from now on belongs to another conversation group.

        What is in the queue already keeps its group: that is the key of its record.
        """
        self.perform(on.instance, new_command(on, CommandKind.MOVE, group=group))

    @abstractmethod
    def perform(self, instance: str, command: Command) -> None:
        """Hand over a statement."""


def new_command(on: Conversation, kind: CommandKind, **said: Any) -> Command:
    """Return a statement with an id of its own; ``said`` are its fields, as far as it has them."""
    now = time.time_ns() // 1_000_000
    return Command(on.id, uuid.uuid4(), kind, on.database, on.is_initiator, now, **said)


def begin_command(
    handle: Conversation,
    from_service: str,
    to_service: str,
    broker: str | None,
    contract: str | None,
    lifetime: int | None,
    *,
    group: uuid.UUID | None = None,
    related: Conversation | None = None,
) -> Command:
    """Return a BEGIN DIALOG."""
    return new_command(
        handle,
        CommandKind.BEGIN,
        from_service=from_service,
        to_service=to_service,
        to_broker=broker,
        contract=contract,
        lifetime=lifetime,
        group=group,
        related=None if related is None else related.id,
    )


def send_command(on: Conversation, body: bytes, type: str | None) -> Command:
    """Return a SEND; raises StatementError where its body is too large (8459)."""
    if len(body) > LARGEST_BODY:
        detail = f"{len(body)} bytes; the limit is {LARGEST_BODY}"
        raise StatementError(Number.MESSAGE_TOO_LARGE, detail)
    return new_command(on, CommandKind.SEND, type=type, body=body)


def end_command(on: Conversation, error: tuple[int, str] | None, *, cleanup: bool) -> Command:
    """Return an END CONVERSATION."""
    code, text = error or (None, None)
    return new_command(on, CommandKind.END, error_code=code, error_text=text, cleanup=cleanup)
