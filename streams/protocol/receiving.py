"""The receiving half of an endpoint: order, fragments, duplicates, parking (reference 4.3 to 4.6).

A fragment ends in one of four ways: it completes the message that is expected next, it is stored
for later, it is a duplicate (acknowledged again), or there is no room for it (not acknowledged).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from streams.errors.numbers import Number
from streams.protocol.dialog import Dialog, Limits
from streams.protocol.effects import Effect, undeliverable
from streams.protocol.frames import Ack, Message
from streams.protocol.states import State

TIMER = -1
"""What stands for a DialogTimer among the parked; other negative numbers are Errors."""


@dataclass(frozen=True, slots=True)
class Complete:
    """A whole message, and where its fragments are in ``in``."""

    message: Message
    positions: tuple[int, ...]


@dataclass(slots=True)
class Receiver:
    """Store a dialog's fragments; ``read`` returns the frame at a position of ``in``.

    ``queue_on``: whether the service's queue takes messages now.
    """

    dialog: Dialog
    limits: Limits
    read: Callable[[int], Message]
    queue_on: bool
    effects: list[Effect]

    def is_duplicate(self, message: Message) -> bool:
        """Tell whether the fragment is stored already."""
        at = message.header.at
        return at < self.dialog.received or at in self.dialog.held

    def store(self, message: Message, position: int) -> Iterator[Complete] | None:
        """Store a fragment that is no duplicate; ``None`` where there is no room for it.

        Yields the messages that are complete with it, in order; whoever takes them may stop.
        """
        dialog, header = self.dialog, message.header
        if header.fragments > self.limits.fragments(self.limits.body):
            self._refused(Number.MESSAGE_TOO_LARGE, message)
            return None
        if header.at == dialog.received:
            if self._completes(message) and not self._has_room(header.fragments):
                self._refused(Number.QUEUE_DISABLED_UNPARKED, message)
                return None
            return self._advance(message, position)
        near = header.sequence < dialog.receive_sequence + self.limits.window
        if not near or len(dialog.held) >= self.limits.window:
            self._refused(Number.OUT_OF_SEQUENCE, message)
            return None
        dialog.held[header.at] = (position, header.fragments)
        return iter(())

    def resume(self) -> Iterator[Complete]:
        """Go on with what is held: there may be room for it now."""
        held = self.dialog.held.pop(self.dialog.received, None)
        return iter(()) if held is None else self._advance(self.read(held[0]), held[0])

    def skip_to(self, message: Message) -> None:
        """Take an Error that skips what is missing (U-47)."""
        self.forget_incomplete()
        self.dialog.received = message.header.after

    def forget_incomplete(self) -> None:
        """Give up what can never be completed."""
        self.dialog.held.clear()
        self.dialog.partial.clear()

    # --- a queue that is off ---------------------------------------------------------------------

    @property
    def parks(self) -> bool:
        """Tell whether what comes next must wait: the queue is off, or others wait already."""
        return not self.queue_on or bool(self.dialog.parked)

    def park(self, sequence: int, positions: tuple[int, ...]) -> None:
        """Keep a message until its queue is on again (U-31)."""
        self.dialog.parked += [(sequence, position) for position in positions]

    def park_own(self, what: int) -> None:
        """Keep a message of our own: an Error's number below zero, or TIMER; each once."""
        if (what, 0) not in self.dialog.parked:
            self.dialog.parked.append((what, 0))

    def unpark(self) -> Iterator[Complete | int]:
        """Yield what waited, in order, once the queue is on."""
        if not self.queue_on:
            return
        parked, self.dialog.parked = self.dialog.parked, []
        fragments: list[tuple[Message, int]] = []
        for sequence, position in parked:
            if sequence < 0:
                yield sequence
                continue
            fragments.append((self.read(position), position))
            if len(fragments) == fragments[0][0].header.fragments:
                yield _joined(fragments)
                fragments = []

    # --- acknowledging ---------------------------------------------------------------------------

    def acknowledgement(
        self, now: int, attempt: int, first_hop: int, *, closed: bool = False
    ) -> Ack:
        """Return what is to be said about everything that is stored by now."""
        dialog = self.dialog
        highest = max([dialog.receive_sequence - (dialog.received[1] == 0), *_numbers(dialog)])
        held = dialog.held_runs() if dialog.held else ()
        return Ack(
            dialog.received[0], highest, attempt, first_hop, now, closed, held, dialog.received[1]
        )

    # --- storing ---------------------------------------------------------------------------------

    def _advance(self, message: Message, position: int) -> Iterator[Complete]:
        """Take the fragment that is expected, and what was held behind it."""
        dialog = self.dialog
        while True:
            if self._completes(message):
                fragments = [(self.read(p), p) for p in dialog.partial]
                fragments.append((message, position))
                dialog.partial.clear()
                if any(m.header.fragments != len(fragments) for m, _ in fragments):
                    dialog.received = (message.header.sequence, 0)
                    self._refused(Number.CORRUPTED_HEADER, message)
                    return
                dialog.received = message.header.after
                yield _joined(fragments)
            else:
                dialog.partial.append(position)
                dialog.received = message.header.after
            held = dialog.held.get(dialog.received)
            if held is None or dialog.state in (State.ER, State.CD):
                return
            position = held[0]
            message = self.read(position)
            if self._completes(message) and not self._has_room(message.header.fragments):
                return  # it stays held; the sender's next retry finds room or not
            del dialog.held[dialog.received]

    def _completes(self, message: Message) -> bool:
        return message.header.fragment + 1 >= message.header.fragments

    def _has_room(self, fragments: int) -> bool:
        """Tell whether one more message may be parked, if it must be; the first always may."""
        parked = self.dialog.parked
        return not self.parks or not parked or len(parked) + fragments <= self.limits.window

    def _refused(self, number: Number, message: Message) -> None:
        attempt, broker = message.journey.attempt, message.parties.from_broker
        self.effects.append(undeliverable(number, message.header, attempt, broker))


def _joined(fragments: list[tuple[Message, int]]) -> Complete:
    """Put a message together; it travelled as its last fragment did."""
    last = fragments[-1][0]
    positions = tuple(position for _, position in fragments)
    if len(fragments) == 1:
        return Complete(last, positions)
    body = b"".join(message.body for message, _ in fragments)
    header = replace(last.header, fragment=0, fragments=1)
    return Complete(replace(last, header=header, body=body), positions)


def _numbers(dialog: Dialog) -> list[int]:
    return [sequence for sequence, _ in dialog.held]
