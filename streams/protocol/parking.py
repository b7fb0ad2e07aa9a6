"""Deliver into the service's queue, or park messages while it is off (4.6, U-31)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streams.errors.numbers import Number
from streams.protocol.dialog import Dialog
from streams.protocol.effects import Effect, Enqueue, EnqueueError, EnqueueTimer
from streams.protocol.frames import Message, joined

TIMER = -1
"""Sequence number that marks a DialogTimer among parked messages.

Other negative numbers mark Errors.
"""


@dataclass(slots=True)
class Parking:
    """Put messages into the queue, or keep their positions until the queue accepts messages.

    ``read`` returns the frame at a position of ``in``; ``queue_on``: whether the queue accepts
    messages now.
    """

    dialog: Dialog
    read: Callable[[int], Message]
    queue_on: bool
    effects: list[Effect]

    @property
    def parks(self) -> bool:
        """Return whether the next message must wait: the queue is off, or another message waits."""
        return not self.queue_on or bool(self.dialog.parked)

    def has_room(self, fragments: int, window: int) -> bool:
        """Return whether another message may be parked; the first message always may."""
        parked = self.dialog.parked
        return not parked or len(parked) + fragments <= window

    def show(self, message: Message, sequence: int, positions: tuple[int, ...]) -> None:
        """Enqueue a message now, or park it until the queue is on again."""
        if self.parks:
            self.dialog.parked += [(sequence, position) for position in positions]
        else:
            self._enqueue(message)

    def show_own(self, what: int) -> None:
        """Enqueue a message of this side; ``what`` is the negative number of an Error, or TIMER."""
        if not self.parks:
            self._enqueue_own(what)
        elif (what, 0) not in self.dialog.parked:
            self.dialog.parked.append((what, 0))

    def unpark(self) -> None:
        """Enqueue the parked messages in order, because the queue is on again."""
        parked, self.dialog.parked = self.dialog.parked, []
        fragments: list[Message] = []
        for sequence, position in parked:
            if sequence < 0:
                self._enqueue_own(sequence)
                continue
            fragments.append(self.read(position))
            if len(fragments) == fragments[0].header.fragments:
                self._enqueue(joined(fragments))
                fragments = []

    def _enqueue(self, message: Message) -> None:
        self.effects.append(Enqueue(message.header, message.body, message.journey))

    def _enqueue_own(self, what: int) -> None:
        own = EnqueueTimer() if what == TIMER else EnqueueError(Number(-what))
        self.effects.append(own)
