"""The statements of a service: committed together, each caused by the current message.

A handler's statements wait until it returns (or calls :meth:`Dialog.commit`); if it raises an
error, no statement is issued. The ids of statements are derived from the message and from a secret
of the application. So a handler that runs again after a crash repeats the same statements, and the
endpoint worker skips those that it has applied.

A statement that endpoint workers could not read fails when the handler issues it, not when it is
sent: only a failure of the handler causes a rollback, and the statement's fields may come from the
message.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count

from streams.client.conversation import Conversation
from streams.client.receiver import Received
from streams.client.statements import begin_command, end_command, new_command, send_command
from streams.errors import SurroundingsError
from streams.protocol import Cause, Command, CommandKind, StatementIds
from streams.wire.records import Wire, statement_record

Confirm = Callable[[Wire], Awaitable[None]]
"""Sends a statement and waits until Kafka confirms it; raises NotConfirmedError otherwise."""


class NotConfirmedError(SurroundingsError):
    """Kafka has not accepted a statement, so no later statement must be sent before it."""


@dataclass(slots=True)
class Saying:
    """The statements that a message causes, in order.

    ``cause`` is the cause of the next statement; ``place_of`` returns a conversation's partition.
    """

    cause: Cause
    ids: StatementIds
    place_of: Callable[[uuid.UUID], int]
    confirm: Confirm
    waiting: list[Wire] = field(default_factory=list)

    def issue(self, command: Command) -> Command:
        """Add a statement, with an id derived from its cause.

        Raises an error, and adds nothing, if the statement cannot be encoded or is too large.
        """
        command = command.caused_by(self.cause, self.ids.command(self.cause))
        self.waiting.append(statement_record(command))
        self.cause = self.cause.following
        return command

    def new_id(self, related: uuid.UUID | None) -> uuid.UUID:
        """Return the id of the dialog that the next statement begins.

        The id of a related dialog is in the same partition, because an endpoint worker knows only
        the conversation groups of its own partition. The partition of any other dialog does not
        depend on the secret: see :attr:`Cause.public_conversation`.
        """
        wanted = self.place_of(self.cause.public_conversation if related is None else related)
        made = (self.ids.conversation(self.cause, number) for number in count())
        return next(id for id in made if self.place_of(id) == wanted)

    async def commit(self) -> None:
        """Send all statements one after the other; return when Kafka has confirmed them."""
        while self.waiting:
            await self.confirm(self.waiting[0])
            del self.waiting[0]


class Dialog:
    """One side of a conversation, for a service's handler."""

    def __init__(
        self,
        conversation: Conversation,
        saying: Saying,
        service: str,
        contract: str,
        confirmed: bool,
    ) -> None:
        self.conversation, self.service, self.contract = conversation, service, contract
        self.confirmed = confirmed
        """Whether the initiator is known to be locked to this side."""
        self._saying = saying

    @classmethod
    def of(cls, message: Received, saying: Saying) -> Dialog:
        """Return the dialog of a message."""
        parties = message.frame.parties
        return cls(
            message.conversation, saying, parties.to_service, parties.contract, message.confirmed
        )

    @property
    def id(self) -> uuid.UUID:
        """Return the conversation's id."""
        return self.conversation.id

    async def send(self, body: bytes, *, type: str | None = None) -> uuid.UUID:
        """SEND ON CONVERSATION; return the message's id.

        Raises StatementError if the body is too large (8459).
        """
        # Kafka's client would refuse a text only when it is sent.
        body = body if isinstance(body, bytes) else bytes(memoryview(body))
        return self._saying.issue(send_command(self.conversation, body, type)).command_id

    async def end(self, *, error: tuple[int, str] | None = None, cleanup: bool = False) -> None:
        """END CONVERSATION, WITH ERROR (code, text) or WITH CLEANUP."""
        self._saying.issue(end_command(self.conversation, error, cleanup=cleanup))

    async def timer(self, seconds: int) -> None:
        """BEGIN CONVERSATION TIMER: deliver a DialogTimer message after ``seconds`` (1 or more)."""
        self._saying.issue(new_command(self.conversation, CommandKind.TIMER, timeout=seconds))

    async def move(self, group: uuid.UUID) -> None:
        """MOVE CONVERSATION: put later messages into another conversation group."""
        self._saying.issue(new_command(self.conversation, CommandKind.MOVE, group=group))

    async def begin(
        self,
        to_service: str,
        *,
        contract: str | None = None,
        broker: str | None = None,
        lifetime: int | None = None,
        related: bool = True,
    ) -> Dialog:
        """BEGIN DIALOG from this service, by default WITH RELATED_CONVERSATION.

        A related dialog's messages reach the same handler, but never in parallel with this
        dialog's. ``contract`` defaults to this dialog's contract; ``lifetime`` is in seconds.
        """
        mine = self.conversation
        contract = self.contract if contract is None else contract
        id = self._saying.new_id(mine.id if related else None)
        began = Conversation(mine.instance, mine.database, id)
        command = begin_command(
            began,
            self.service,
            to_service,
            related=mine if related else None,
            broker=broker,
            contract=contract,
            lifetime=lifetime,
        )
        self._saying.issue(command)
        return Dialog(began, self._saying, self.service, contract, confirmed=False)

    def on(self, conversation: uuid.UUID, *, is_initiator: bool) -> Dialog:
        """Return the dialog of another conversation, whose id this service's handler has stored."""
        mine = self.conversation
        other = Conversation(mine.instance, mine.database, conversation, is_initiator)
        return Dialog(other, self._saying, self.service, self.contract, confirmed=False)

    async def commit(self) -> None:
        """Send the statements so far, and wait until Kafka has confirmed them; they are then final.

        Update tables after this call, because a table must not refer to statements that were never
        issued.
        """
        await self._saying.commit()
