"""The observed facts of a run: accepted messages, queue contents, events.

The invariants are checked against these facts, and the summary is computed from them. The code of
this module does not use a dialog's own state.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streams.errors import Event, EventKind, Number
from streams.node import QueueMessage, Record
from streams.protocol import Command, CommandKind, DialogKey
from streams.routing import Origin


class Direction(NamedTuple):
    """One direction of a dialog: the conversation, and the sender's side and broker id."""

    conversation: uuid.UUID
    from_initiator: bool
    broker: str


class Accepted(NamedTuple):
    """A message that an application sent and its endpoint did not reject."""

    message_id: uuid.UUID
    kind: CommandKind
    body: bytes
    at: int


class Queued(NamedTuple):
    """A message in a queue; ``at`` is in virtual microseconds.

    ``home`` is the queue's owner: the instance, or its mirrored pair.
    """

    instance: str
    at: int
    message: QueueMessage
    home: str

    @property
    def direction(self) -> Direction:
        """Return the message's dialog and direction."""
        parties = self.message.parties
        conversation = self.message.conversation
        return Direction(conversation, parties.from_initiator, parties.from_broker)


class EmittedEvent(NamedTuple):
    """An event, with its time (virtual microseconds)."""

    at: int
    event: Event


@dataclass(slots=True)
class Facts:
    """All facts; ``senders`` contains the place of each direction's endpoint.

    ``let_go`` contains the time at which each message was removed from its transmission queue
    (virtual microseconds); ``longest`` is the size of the largest accepted body.
    """

    accepted: dict[Direction, dict[int, Accepted]] = field(default_factory=dict)
    senders: dict[Direction, tuple[str, DialogKey]] = field(default_factory=dict)
    let_go: dict[Direction, dict[int, int]] = field(default_factory=dict)
    queued: list[Queued] = field(default_factory=list)
    events: list[EmittedEvent] = field(default_factory=list)
    acts: list[dict[str, Any]] = field(default_factory=list)
    received: list[dict[str, Any]] = field(default_factory=list)
    dropped: Counter[int] = field(default_factory=Counter)
    duplicates: int = 0
    longest: int = 0
    discarded: dict[Direction, dict[int, str]] = field(default_factory=dict)

    def discard(self, direction: Direction, numbers: range, why: str) -> None:
        """Record why, according to the documentation, messages will not be in any queue."""
        reasons = self.discarded.setdefault(direction, {})
        for number in numbers:
            reasons.setdefault(number, why)

    def accept(
        self, instance: str, key: DialogKey, broker: str, sequence: int, command: Command, at: int
    ) -> None:
        """Record that an endpoint assigned this number to a message."""
        conversation = key[1]
        direction = Direction(conversation, command.from_initiator, broker)
        self.senders[direction] = (instance, key)
        self.longest = max(self.longest, len(command.body or b""))
        self.accepted.setdefault(direction, {})[sequence] = Accepted(
            command.message_id(conversation), command.kind, command.body or b"", at
        )

    def note_event(self, at: int, event: Event) -> None:
        """Record an event of an endpoint worker or a forwarder."""
        self.events.append(EmittedEvent(at, event))
        if event["event"] == EventKind.MESSAGE_UNDELIVERABLE and "message_id" in event:
            if event["error"] == Number.DUPLICATE:
                self.duplicates += 1
            elif event["error"]:
                self.dropped[int(event["error"])] += 1

    def refused(self, record: Record, event: Event) -> None:
        """Record that a forwarder drops a copy of another instance; a local one is only delayed."""
        is_copy = record.origin is Origin.OUTSIDE and record.message is not None
        if is_copy and event["event"] != EventKind.MESSAGE_UNDELIVERABLE:  # counted by its event
            self.dropped[int(event["error"])] += 1

    def messages(self) -> Iterator[tuple[Direction, int, Accepted]]:
        """Iterate over every accepted message."""
        for direction, numbers in self.accepted.items():
            for sequence, accepted in numbers.items():
                yield direction, sequence, accepted
