"""The output of an endpoint worker's transaction: frames, queue messages, results."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import NamedTuple
from xml.sax.saxutils import escape

from streams.protocol import ERROR, Ack, Header, Journey, Parties


class OutFrame(NamedTuple):
    """A frame for ``out``: an acknowledgement if ``ack`` is set, otherwise a message."""

    conversation: uuid.UUID
    parties: Parties
    journey: Journey
    header: Header | None = None
    body: bytes = b""
    ack: Ack | None = None


class QueueMessage(NamedTuple):
    """A message for a service queue, with its conversation group.

    ``parties.locked``: the initiator is known to be locked to the receiving side
    (``dialog.confirmed``). ``priority`` is the priority of the receiving endpoint.
    """

    database: str
    queue: str
    group: uuid.UUID
    conversation: uuid.UUID
    parties: Parties
    header: Header
    journey: Journey
    body: bytes
    priority: int


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command that requested one."""

    reply_to: str
    command_id: uuid.UUID
    conversation: uuid.UUID
    number: int


def error_body(code: int, text: str) -> bytes:
    """Return the body of an Error message (C-15)."""
    return (
        f'<Error xmlns="{ERROR}"><Code>{code}</Code>'
        f"<Description>{escape(text)}</Description></Error>"
    ).encode()
