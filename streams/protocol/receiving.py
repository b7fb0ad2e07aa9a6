"""The receiving half of an endpoint: order, fragments, duplicates (reference 4.3 to 4.5).

A received fragment has one of four outcomes: it completes the next expected message, is stored for
later, is acknowledged again as a duplicate, or does not fit and is not acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from streams.errors.numbers import Number
from streams.protocol.chunk import Stored
from streams.protocol.dialog import HELD_RUNS, Dialog
from streams.protocol.effects import Effect, not_kept
from streams.protocol.frames import (
    Ack,
    Flag,
    Fragment,
    Header,
    Journey,
    Message,
    Run,
    following,
    joined,
)
from streams.protocol.limits import Limits
from streams.protocol.parking import Parking
from streams.protocol.states import State


class Complete(NamedTuple):
    """A complete message, and the positions of its fragments in ``in``."""

    message: Message
    positions: tuple[int, ...]


@dataclass(slots=True)
class Receiver:
    """Store a dialog's fragments; ``read`` returns the frame at a position of ``in``.

    Each run sends one acknowledgement; ``owed`` contains the attempt and the first hop of the copy
    that it answers.
    """

    dialog: Dialog
    now: int
    limits: Limits
    read: Callable[[int], Message]
    parking: Parking
    rests: Callable[[], bool]
    effects: list[Effect]
    owed: tuple[int, int] | None = None

    def is_duplicate(self, message: Message) -> bool:
        """Return whether the fragment is already stored."""
        at = message.header.at
        return at < self.dialog.received or at in self.dialog.held

    def takes(self, message: Message) -> bool:
        """Return whether a frame respects the size limits of senders; an Error is never split."""
        header = message.header
        most = 1 if header.is_a(Flag.ERROR) else self.limits.fragments(self.limits.body)
        return header.fragments <= most and len(message.body) <= self.limits.frame

    def follows(self, message: Message) -> bool:
        """Return whether this is the next message, whole, without flags, and no fragment waits."""
        header = message.header
        return (
            (header.sequence, header.fragment) == self.dialog.received
            and header.fragments == 1
            and not header.flags
            and not self.dialog.held
            and not self.parking.parks
            and len(message.body) <= self.limits.frame
        )

    def store_next(self, header: Header, journey: Journey) -> None:
        """Store a message for which :meth:`follows` is true; mark its acknowledgement as due."""
        self.dialog.received = (header.sequence + 1, 0)
        self.owed = journey.attempt, journey.first_hop

    def store(self, message: Message, position: int) -> Iterator[Complete] | None:
        """Store a fragment that is not a duplicate; return ``None`` if there is no room.

        Yields the messages that the fragment completes, in order; the caller may stop early.
        """
        dialog, header = self.dialog, message.header
        if header.at == dialog.received:
            if self._completes(message) and not self._has_room(header.fragments):
                self._refused(Number.QUEUE_DISABLED_UNPARKED, message)
                return None
            if header.fragments == 1 and not dialog.held:  # nearly always
                dialog.received = header.after
                return iter((Complete(message, (position,)),))
            return self._advance(message, position)
        near = header.sequence < dialog.receive_sequence + self.limits.widest
        if not near or len(dialog.held) >= self.limits.widest:
            self._refused(Number.OUT_OF_SEQUENCE, message)
            return None
        dialog.held[header.at] = (position, header.fragments)
        return iter(())

    def resume(self) -> Iterator[Complete]:
        """Continue with buffered fragments after room might have become available."""
        held = self.dialog.held.pop(self.dialog.received, None)
        return iter(()) if held is None else self._advance(self.read(held[0]), held[0])

    def skip_to(self, message: Message) -> None:
        """Process an Error that skips missing messages (U-47)."""
        self.forget_incomplete()
        self.dialog.received = message.header.after

    def forget_incomplete(self) -> None:
        """Drop messages that can never be completed."""
        self.dialog.held.clear()
        self.dialog.partial.clear()

    # --- acknowledging ---------------------------------------------------------------------------

    def owe(self, attempt: int, first_hop: int) -> None:
        """Mark an acknowledgement as due; it is created once, at the end of the run."""
        self.owed = attempt, first_hop

    def acknowledgement(self) -> Ack | None:
        """Return the acknowledgement of all fragments stored so far, if it is due.

        A closed initiator also reports that it is closed, because it will send no more messages.
        """
        if self.owed is None:
            return None
        dialog, (attempt, first_hop) = self.dialog, self.owed
        self.owed = None
        sequence, fragment = dialog.received
        highest = sequence - (fragment == 0)
        held = _runs(dialog.held) if dialog.held else ()
        if held:
            highest = max(highest, max(dialog.held)[0])
        closed = dialog.is_initiator and dialog.state is State.CD
        return Ack(sequence, highest, attempt, first_hop, self.now, closed, held, fragment)

    # --- storing ---------------------------------------------------------------------------------

    def _advance(self, message: Message, position: int) -> Iterator[Complete]:
        """Accept the expected fragment, and a limited number of buffered fragments that follow it.

        The remaining fragments stay buffered until :meth:`resume` continues (``Dialog.continues``).
        """
        dialog = self.dialog
        for room in reversed(range(self.limits.run)):
            if self._completes(message):
                positions = (*dialog.partial, position)
                fragments = [*(self.read(p) for p in dialog.partial), message]
                dialog.partial.clear()
                if any(m.header.fragments != len(fragments) for m in fragments):
                    dialog.received = (message.header.sequence, 0)
                    self._refused(Number.CORRUPTED_HEADER, message)
                    return
                dialog.received = message.header.after
                yield Complete(joined(fragments), positions)
            else:
                dialog.partial.append(position)
                dialog.received = message.header.after
            held = dialog.held.get(dialog.received)
            if held is None or dialog.state in (State.ER, State.CD):
                return
            if not room or self.rests():
                return
            position = held[0]
            message = self.read(position)
            if self._completes(message) and not self._has_room(message.header.fragments):
                return  # the fragment stays buffered; the sender's next retry may find room
            del dialog.held[dialog.received]

    def _completes(self, message: Message) -> bool:
        return message.header.fragment + 1 >= message.header.fragments

    def _has_room(self, fragments: int) -> bool:
        return self.parking.has_room(fragments, self.limits.window)

    def _refused(self, number: Number, message: Message) -> None:
        self.effects.append(not_kept(number, message))


def _runs(held: Mapping[Fragment, Stored]) -> tuple[Run, ...]:
    """Return the lowest runs of fragments that arrived out of order (U-26)."""
    runs: list[Run] = []
    follows: Fragment | None = None
    for at in sorted(held):
        if runs and at == follows:
            runs[-1] = (runs[-1][0], at)
        else:
            runs.append((at, at))
        follows = following(at, held[at][1])
    return tuple(runs[:HELD_RUNS])
