"""What a service says: statements that count together, each caused by the message at hand.

A handler's statements wait until it returns (or calls :meth:`Dialog.commit`); where it raises, none
of them was said. Their ids follow from the message, so a handler that runs again after a crash says
the same once more, and the endpoint worker leaves aside what it has seen.
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
from streams.protocol import Cause, Command, CommandKind

Confirm = Callable[[Command], Awaitable[None]]
"""Return when Kafka has a statement; raises NotConfirmedError where it has not."""


class NotConfirmedError(SurroundingsError):
    """Kafka has not taken a statement: what comes behind it must not be said in its stead."""


@dataclass(slots=True)
class Saying:
    """What a message makes its handler say, in order; ``place_of`` is a conversation's partition.

    ``cause`` is that of the next statement.
    """

    cause: Cause
    place_of: Callable[[uuid.UUID], int]
    confirm: Confirm
    waiting: list[Command] = field(default_factory=list)

    def issue(self, command: Command) -> Command:
        """Take a statement, under the id that follows from its cause."""
        command = command.caused_by(self.cause)
        self.cause = self.cause.following
        self.waiting.append(command)
        return command

    def new_id(self, related: uuid.UUID | None) -> uuid.UUID:
        """Return the id of the dialog that the next statement begins.

        That of a related one is in the same partition: an endpoint worker knows the conversation
        groups of its own only.
        """
        made = map(self.cause.conversation, count())
        wanted = None if related is None else self.place_of(related)
        return next(id for id in made if wanted is None or self.place_of(id) == wanted)

    async def commit(self) -> None:
        """Return when Kafka has all of it, one after the other."""
        while self.waiting:
            await self.confirm(self.waiting[0])
            del self.waiting[0]


class Dialog:
    """One side of a conversation, as a service holds it."""

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
        """Whether this side is known to be the one that the initiator is locked to."""
        self._saying = saying

    @classmethod
    def of(cls, message: Received, saying: Saying) -> Dialog:
        """Return the dialog that a message belongs to."""
        parties = message.frame.parties
        return cls(
            message.conversation, saying, parties.to_service, parties.contract, message.confirmed
        )

    @property
    def id(self) -> uuid.UUID:
        """Return the conversation's id."""
        return self.conversation.id

    async def send(self, body: bytes, *, type: str | None = None) -> uuid.UUID:
        """SEND ON CONVERSATION; returns the message's id.

        Raises StatementError where the body is too large (8459).
        """
        return self._saying.issue(send_command(self.conversation, body, type)).command_id

    async def end(self, *, error: tuple[int, str] | None = None, cleanup: bool = False) -> None:
        """END CONVERSATION, WITH ERROR (code, text) or WITH CLEANUP."""
        self._saying.issue(end_command(self.conversation, error, cleanup=cleanup))

    async def timer(self, seconds: int) -> None:
        """BEGIN CONVERSATION TIMER: a DialogTimer comes after ``seconds``, from 1 up."""
        self._saying.issue(new_command(self.conversation, CommandKind.TIMER, timeout=seconds))

    async def move(self, group: uuid.UUID) -> None:
        """MOVE CONVERSATION: what arrives from now on belongs to another conversation group."""
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
        """BEGIN DIALOG from this service, WITH RELATED_CONVERSATION unless told otherwise.

        A related dialog's messages come to the same handler after those of this one, never beside
        them. ``contract`` is this dialog's if not given, ``lifetime`` in seconds.
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
        """Return another conversation of this service, which its handler has remembered."""
        mine = self.conversation
        other = Conversation(mine.instance, mine.database, conversation, is_initiator)
        return Dialog(other, self._saying, self.service, self.contract, confirmed=False)

    async def commit(self) -> None:
        """Return when Kafka has everything that was said until now; it is said for good.

        What a handler keeps in a table it puts there behind this: a table must not know what was
        never said.
        """
        await self._saying.commit()
