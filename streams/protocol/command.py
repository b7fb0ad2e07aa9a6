"""The statements of applications.

Statements are named tuples because each message needs at least one to be created and hashed, which
takes three times as long with a frozen dataclass.
"""

from __future__ import annotations

import uuid
from enum import Enum
from typing import NamedTuple

from streams.protocol.cause import Cause

LARGEST_CODE = 2**31 - 1
"""The largest code of END CONVERSATION WITH ERROR, which is an int."""


class CommandKind(Enum):
    """The kinds of statements."""

    BEGIN = "BEGIN"
    SEND = "SEND"
    END = "END"
    TIMER = "TIMER"
    MOVE = "MOVE"


class Command(NamedTuple):
    """A statement of an application. ``stored_at`` is its record's time by the writer's clock.

    ``lifetime`` of BEGIN and ``timeout`` of TIMER are in seconds. ``related`` is a conversation
    whose group the new dialog joins; ``group`` is the group of BEGIN or MOVE. ``also`` lists
    further conversations, of the same side, on which SEND sends the same message. If one
    conversation rejects the message, none of them sends it. A statement with a ``cause`` is applied
    once, however often it is issued.
    """

    conversation: uuid.UUID
    command_id: uuid.UUID
    kind: CommandKind
    database: str
    from_initiator: bool = True
    issued_at: int = 0
    reply_to: str | None = None
    from_service: str | None = None
    to_service: str | None = None
    to_broker: str | None = None
    contract: str | None = None
    lifetime: int | None = None
    group: uuid.UUID | None = None
    type: str | None = None
    error_code: int | None = None
    error_text: str | None = None
    cleanup: bool = False
    body: bytes | None = None
    stored_at: int = 0
    related: uuid.UUID | None = None
    timeout: int | None = None
    also: tuple[uuid.UUID, ...] = ()
    cause: Cause | None = None

    def caused_by(self, cause: Cause, command_id: uuid.UUID) -> Command:
        """Return the statement with a cause and with the id that was derived from it."""
        return self._replace(command_id=command_id, cause=cause)

    def message_id(self, conversation: uuid.UUID) -> uuid.UUID:
        """Return the id of the message that the statement sends on one of its conversations."""
        if conversation is self.conversation or conversation == self.conversation:
            return self.command_id
        return uuid.uuid5(self.command_id, conversation.hex)
