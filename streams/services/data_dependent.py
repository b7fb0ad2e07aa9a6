"""Data-dependent routing: a dialog's first message selects its service (section 6).

The router is the target of an *inbound* dialog. It classifies the dialog's first message, and
begins an *outbound* dialog with the classifier's service, under the same contract and in the same
conversation group. From then on, it forwards all messages in both directions. When one of the
dialogs ends, the router ends the other one.

The rows of ``resolved_conversations`` connect the two dialogs, with one row for each direction. The
rows are deleted when both dialogs have ended. A process that crashes between writing two rows gets
the message again. It then checks the row of the message's own dialog, which is always stored and
deleted last. Messages without a row are ignored, except the first message of a dialog. Messages of
an ended conversation are also ignored.

Every id is derived from the message that caused it, so processing a message again repeats its
statements.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from streams.protocol import DIALOG_TIMER, END_DIALOG, ERROR
from streams.xml_reader import parse_xml

Classifier = Callable[[bytes], str | None]
"""Returns the name of the service for a body; ``None`` or any exception is a failure."""
FAILED = 1
"""The error code of a dialog whose first message could not be classified (U-41)."""
_LONGEST_NAME, _LONGEST_TEXT = 256, 3000


@dataclass(frozen=True, slots=True)
class Handle:
    """One side of a conversation, as statements refer to it."""

    conversation: uuid.UUID
    is_initiator: bool


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message as RECEIVE returns it."""

    handle: Handle
    message_id: uuid.UUID
    sequence: int
    type: str
    body: bytes
    contract: str


@dataclass(frozen=True, slots=True)
class Begin:
    """BEGIN DIALOG from the router's service, with a given id, RELATED to another conversation."""

    command_id: uuid.UUID
    handle: Handle
    related: Handle
    to_service: str
    contract: str


@dataclass(frozen=True, slots=True)
class Send:
    """SEND ON CONVERSATION."""

    command_id: uuid.UUID
    handle: Handle
    type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class End:
    """END CONVERSATION, or END CONVERSATION WITH ERROR if there is a code."""

    command_id: uuid.UUID
    handle: Handle
    code: int | None = None
    text: str = ""


Action = Begin | Send | End


@dataclass(frozen=True, slots=True)
class Turn:
    """The result of one message: ordered lists of statements, rows to store, and rows to delete."""

    actions: tuple[Action, ...] = ()
    stored: tuple[tuple[Handle, Handle], ...] = ()
    deleted: tuple[Handle, ...] = ()


@dataclass(frozen=True, slots=True)
class Router:
    """The routing service ``service`` of the database ``broker_id``."""

    service: str
    broker_id: str
    classify: Classifier

    def route(self, resolved: Mapping[Handle, Handle], message: Incoming) -> Turn:
        """Decide on one message; ``resolved`` are the rows that were stored before the message."""
        far = resolved.get(message.handle)
        if message.type in (END_DIALOG, ERROR):
            return self._end(message, far)
        if message.type == DIALOG_TIMER:
            return Turn()
        if far is not None:
            return Turn((Send(self._id(message, "send"), far, message.type, message.body),))
        return self._begin(message) if _is_first(message) else Turn()

    def _begin(self, message: Incoming) -> Turn:
        name = _name(self.classify, message.body, self.service)
        if name is None:
            return Turn((_refusal(self._id(message, "end"), message.handle),))
        command = self._id(message, "begin")
        far = Handle(uuid.uuid5(command, "conversation"), is_initiator=True)
        begin = Begin(command, far, message.handle, name, message.contract)
        send = Send(self._id(message, "send"), far, message.type, message.body)
        return Turn((begin, send), stored=((far, message.handle), (message.handle, far)))

    def _end(self, message: Incoming, far: Handle | None) -> Turn:
        """End the other dialog first, in the same way as the sender did, and then this dialog."""
        here = End(self._id(message, "end"), message.handle)
        if far is None:
            return Turn((here,))
        there = End(self._id(message, "end other"), far)
        if message.type == ERROR:
            code, text = read_error(message.body)
            # A broker's own errors have negative codes, which applications must not use (8419).
            error_code = min(abs(code) or FAILED, 2**31 - 1)
            there = End(there.command_id, far, error_code, f"forwarded: {text}"[:_LONGEST_TEXT])
        return Turn((there, here), deleted=(far, message.handle))

    def _id(self, message: Incoming, what: str) -> uuid.UUID:
        return _id(self.broker_id, message, what)


@dataclass(frozen=True, slots=True)
class Redirector:
    """The redirection variant: answer with the service's name, and end the dialog.

    The initiator then begins its own dialog with that service, which gives end-to-end security;
    only the first message passes through the router.
    """

    service: str
    broker_id: str
    classify: Classifier
    reply_type: str

    def route(self, message: Incoming) -> Turn:
        """Decide on one message; this does not need any state."""
        end = End(_id(self.broker_id, message, "end"), message.handle)
        if message.type in (END_DIALOG, ERROR):
            return Turn((end,))
        if message.type == DIALOG_TIMER or not _is_first(message):
            return Turn()
        name = _name(self.classify, message.body, self.service)
        if name is None:
            return Turn((_refusal(end.command_id, message.handle),))
        send_id = _id(self.broker_id, message, "send")
        return Turn((Send(send_id, message.handle, self.reply_type, name.encode()), end))


def read_error(body: bytes) -> tuple[int, str]:
    """Return the code and description of an Error message; code 1 if the body is unreadable."""
    root = parse_xml(body)
    if root is None:
        return FAILED, ""
    code = root.findtext(f"{{{ERROR}}}Code", "").strip()
    readable = re.fullmatch(r"-?[0-9]{1,10}", code) and -(2**31) <= int(code) < 2**31
    return int(code) if readable else FAILED, root.findtext(f"{{{ERROR}}}Description", "")


def _is_first(message: Incoming) -> bool:
    """Return whether the message is the first of a dialog in which the router is the target."""
    return message.sequence == 0 and not message.handle.is_initiator


def _name(classify: Classifier, body: bytes, own: str) -> str | None:
    """Return a valid name, except the router's, because a dialog with itself would never end."""
    try:
        name = classify(body)
        units = len(name.encode("utf-16-le")) // 2 if name else 0
    except Exception:  # the classifier is user code; any failure in it counts for the message
        return None
    return name if 0 < units <= _LONGEST_NAME and name != own else None


def _refusal(command_id: uuid.UUID, handle: Handle) -> End:
    return End(command_id, handle, FAILED, "the message does not name its target service")


def _id(broker_id: str, message: Incoming, what: str) -> uuid.UUID:
    side = "initiator" if message.handle.is_initiator else "target"
    name = f"{broker_id}:{message.handle.conversation}:{side}:{what}"
    return uuid.uuid5(message.message_id, name)
