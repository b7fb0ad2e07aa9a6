"""The statements of an application, regardless of how they are delivered.

:class:`~streams.client.client.Client` sends them to Kafka immediately, an
:class:`~streams.client.exchange.Exchange` in one transaction with the received messages, an
:class:`~streams.client.outbox.Outbox` in one transaction with the application's own tables, and
:class:`~streams.client.once.Once` once for each record of another source. Code that takes
:class:`Statements` works with all four.
"""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from typing import Any, TypedDict, Unpack

from streams.client.conversation import Conversation, StatementError
from streams.errors import Number, UsageError
from streams.protocol import LARGEST_CODE, Command, CommandKind
from streams.wire.records import LARGEST_BODY


class DialogOptions(TypedDict, total=False):
    """The options of BEGIN DIALOG other than the two services.

    ``broker``: broker id of the target, ``contract``: DEFAULT if not given, ``lifetime``: in
    seconds, ``group``: conversation group to join, ``conversation``: id of the dialog, or a new id
    if not given.
    """

    broker: str | None
    contract: str | None
    lifetime: int | None
    group: uuid.UUID | None
    conversation: uuid.UUID | None


class Statements(ABC):
    """BEGIN DIALOG, SEND, END CONVERSATION, BEGIN CONVERSATION TIMER and MOVE CONVERSATION.

    With ``wait``, a call returns when its statement is applied, and raises StatementError if it is
    rejected. Only a :class:`~streams.client.client.Client` can wait: a statement in a transaction
    is not applied before the commit.
    """

    BEGIN_WAITS = False
    """The default of ``wait`` for BEGIN."""

    def begin(
        self,
        instance: str,
        database: str,
        from_service: str,
        to_service: str,
        *,
        related: Conversation | None = None,
        wait: bool | None = None,
        **options: Unpack[DialogOptions],
    ) -> Conversation:
        """BEGIN DIALOG, which sends nothing to the network.

        The dialog joins the conversation group of ``related``, which must belong to the same
        database. Raises UsageError if the dialog cannot join the group.
        """
        conversation = self.new_id(related, wanted=options.get("conversation"))
        handle = Conversation(instance, database, conversation)
        command = begin_command(handle, from_service, to_service, related=related, **options)
        self.perform(instance, command, wait=self.BEGIN_WAITS if wait is None else wait)
        return handle

    def new_id(
        self, related: Conversation | None = None, *, wanted: uuid.UUID | None = None
    ) -> uuid.UUID:
        """Return the id of a new dialog: ``wanted``, or a random one.

        Raises UsageError if the dialog could not join the group of ``related``.
        """
        if related is not None:
            raise UsageError(
                "Only a Client can begin a dialog that is related to another one.",
                "Give the conversation group: group=.",
            )
        return wanted or uuid.uuid4()

    def send(
        self, on: Conversation, body: bytes, *, type: str | None = None, wait: bool = False
    ) -> uuid.UUID:
        """SEND; return the message's id. Raises StatementError if the body is too large (8459)."""
        command = send_command(on, body, type)
        self.perform(on.instance, command, wait=wait)
        return command.command_id

    def end(
        self,
        on: Conversation,
        *,
        error: tuple[int, str] | None = None,
        cleanup: bool = False,
        wait: bool = False,
    ) -> None:
        """END CONVERSATION, WITH ERROR (code, text) or WITH CLEANUP."""
        self.perform(on.instance, end_command(on, error, cleanup=cleanup), wait=wait)

    def timer(self, on: Conversation, seconds: int, *, wait: bool = False) -> None:
        """BEGIN CONVERSATION TIMER: deliver a DialogTimer message after ``seconds`` (1 or more)."""
        command = new_command(on, CommandKind.TIMER, timeout=seconds)
        self.perform(on.instance, command, wait=wait)

    def move(self, on: Conversation, group: uuid.UUID, *, wait: bool = False) -> None:
        """MOVE CONVERSATION: put later messages into another conversation group.

        Messages already in the queue keep their group, because it is the key of their record.
        """
        command = new_command(on, CommandKind.MOVE, group=group)
        self.perform(on.instance, command, wait=wait)

    @abstractmethod
    def perform(self, instance: str, command: Command, *, wait: bool = False) -> None:
        """Issue a statement; raise UsageError if ``wait`` is set but this object cannot wait."""


def refuse_to_wait(*, wait: bool) -> None:
    """Raise UsageError if ``wait`` is set for a statement in an uncommitted transaction."""
    if wait:
        raise UsageError(
            "A statement in a transaction is applied after the commit, so wait=True is impossible.",
            "Leave wait out; an error is reported as an event.",
        )


def new_command(on: Conversation, kind: CommandKind, **said: Any) -> Command:
    """Return a statement with a new id; ``said`` contains the given fields."""
    now = time.time_ns() // 1_000_000
    return Command(on.id, uuid.uuid4(), kind, on.database, on.is_initiator, now, **said)


def begin_command(
    handle: Conversation,
    from_service: str,
    to_service: str,
    *,
    related: Conversation | None = None,
    **options: Unpack[DialogOptions],
) -> Command:
    """Return a BEGIN DIALOG; the conversation's id is that of ``handle``."""
    return new_command(
        handle,
        CommandKind.BEGIN,
        from_service=from_service,
        to_service=to_service,
        to_broker=options.get("broker"),
        contract=options.get("contract"),
        lifetime=options.get("lifetime"),
        group=options.get("group"),
        related=None if related is None else related.id,
    )


def send_command(on: Conversation, body: bytes, type: str | None) -> Command:
    """Return a SEND; raise StatementError if its body is too large (8459)."""
    if len(body) > LARGEST_BODY:
        detail = f"{len(body)} bytes; the limit is {LARGEST_BODY}"
        raise StatementError(Number.MESSAGE_TOO_LARGE, detail)
    return new_command(on, CommandKind.SEND, type=type, body=body)


def end_command(on: Conversation, error: tuple[int, str] | None, *, cleanup: bool) -> Command:
    """Return an END CONVERSATION; raise StatementError if its error code is not an int (8402)."""
    code, text = error or (None, None)
    if code is not None and code > LARGEST_CODE:
        raise StatementError(Number.ERROR_CODE_NOT_INT, f"{code}; the limit is {LARGEST_CODE}")
    return new_command(on, CommandKind.END, error_code=code, error_text=text, cleanup=cleanup)
