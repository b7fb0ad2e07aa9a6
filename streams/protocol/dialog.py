"""One side of a conversation: its state between two transactions."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import takewhile
from operator import attrgetter

from streams.protocol.chunk import CHUNK, Chunk, Stored
from streams.protocol.frames import Fragment, Parties, following, parties_of
from streams.protocol.limits import Limits
from streams.protocol.states import State

ADDRESSES = 64
"""An address index below this value takes one byte on the wire."""
HELD_RUNS = 8
"""Maximum number of runs of out-of-order fragments in an acknowledgement."""
DEFAULT_PRIORITY = 5
EVERYTHING = 2**63 - 1
"""A value after every time (epoch milliseconds) and after every number."""

DialogKey = tuple[str, uuid.UUID, bool]
"""(database, conversation id, is initiator)"""


@dataclass(slots=True)
class Dialog:
    """An endpoint (``sys.conversation_endpoints``). Times are in epoch milliseconds.

    Sending: fragments before ``acknowledged`` are stored on the other side (or were discarded);
    those before ``transmitted`` were sent at least once; messages below ``send_sequence`` were
    accepted from the application. Fragments before ``suspect`` were sent before the latest retry or
    refusal, so their copies may be lost as well. ``chunks`` lists the positions in `cmd` of all
    accepted messages that are not completely acknowledged, in order. ``last_copy`` is a position in
    `out` at or after this dialog's latest copy. ``discarded_from`` is the number of the first
    message that was discarded before it was acknowledged.

    ``first_hop`` is the last address that worked. ``unheard`` counts acknowledgements that seem to
    be lost; after each of them, the next acknowledgement is sent to other addresses.

    Receiving: fragments before ``received`` are stored. ``partial`` contains the positions in `in`
    of the stored fragments of an incomplete message, and ``held`` the positions of out-of-order
    fragments. ``parked`` contains (number, position) of each message for a queue that is off; the
    number -1 is the dialog's own timer, and any other negative number is an Error. Messages of the
    other side with numbers from ``deaf_from`` on are not enqueued: either the application has ended
    the dialog, or this side has rejected a message for the reason ``refusal``.
    """

    conversation: uuid.UUID
    database: str
    broker_id: str
    is_initiator: bool
    state: State
    service: str
    far_service: str
    far_broker: str | None
    contract: str
    group: uuid.UUID
    handle: uuid.UUID
    created_at: int
    expires_at: int
    locked: bool = False
    send_sequence: int = 0
    acknowledged: Fragment = (0, 0)
    transmitted: Fragment = (0, 0)
    suspect: Fragment = (0, 0)
    received: Fragment = (0, 0)
    held: dict[Fragment, Stored] = field(default_factory=dict)
    partial: list[int] = field(default_factory=list)
    parked: list[tuple[int, int]] = field(default_factory=list)
    attempt: int = 0
    retry_at: int | None = None
    first_hop: int = 0
    unheard: int = 0
    status: int = 0
    status_at: int = 0
    peer_closed: bool = False
    closed_at: int | None = None
    forget_at: int | None = None
    timer_at: int | None = None
    priority: int = DEFAULT_PRIORITY
    confirmed: bool = False
    refusal: int = 0
    deaf_from: int | None = None
    discarded_from: int | None = None
    error_epoch: int = 0
    chunks: dict[int, Chunk] = field(default_factory=dict)
    last_copy: int = -1
    in_flight: int = field(default=-1, compare=False)
    """Number of fragments between ``acknowledged`` and ``transmitted``; -1 if not counted yet."""
    refused: int = field(default=EVERYTHING, compare=False)
    """Number of the first message whose first copy the local forwarder has refused; not stored."""

    @property
    def parties(self) -> Parties:
        """Return the ``sb-route`` of all frames that this side sends."""
        return parties_of(_who(self))

    @property
    def receive_sequence(self) -> int:
        """Return the number of the next expected or incomplete message."""
        return self.received[0]

    @property
    def all_acknowledged(self) -> bool:
        """Return whether this side has no messages in the transmission queue."""
        return self.acknowledged[0] >= self.send_sequence

    @property
    def needs_bodies(self) -> bool:
        """Return whether bodies of the dialog might be needed again."""
        return not self.all_acknowledged or bool(self.held or self.partial or self.parked)

    def needed_commands(self) -> Iterator[int]:
        """Yield the positions in ``cmd`` of accepted, unacknowledged messages.

        The positions are not always in order, because bodies may have been moved.
        """
        if not self.all_acknowledged:
            first, at = divmod(self.acknowledged[0], CHUNK)
            for number, chunk in self.chunks.items():
                yield from chunk.positions[at:] if number == first else chunk.positions

    @property
    def continues(self) -> bool:
        """Return whether the next fragment is buffered: the last event delivered its maximum."""
        return self.received in self.held and self.state not in (State.ER, State.CD)

    def next_frames(self, most: int) -> Iterator[int]:
        """Yield the positions in ``in`` of the fragments to deliver next when the queue is on."""
        yield from (position for number, position in self.parked if number >= 0)
        yield from self.follow({}, most)

    def needed_frames(self) -> Iterator[int]:
        """Yield the positions in ``in`` of stored fragments that are not enqueued."""
        yield from (position for position, _ in self.held.values())
        yield from self.partial
        yield from (position for number, position in self.parked if number >= 0)

    def move_bodies(self, commands: Mapping[int, int], frames: Mapping[int, int]) -> list[int]:
        """Update the positions of moved bodies; return the numbers of the changed chunks."""
        moving = commands.keys()
        touched = [n for n, chunk in self.chunks.items() if not moving.isdisjoint(chunk.positions)]
        for number in touched:
            chunk = self.chunks[number]
            moved = (commands.get(position, position) for position in chunk.positions)
            self.chunks[number] = Chunk(moved, chunk.fragments)
        self.held = {at: (frames.get(p, p), n) for at, (p, n) in self.held.items()}
        self.partial = [frames.get(p, p) for p in self.partial]
        self.parked = [(n, frames.get(p, p) if n >= 0 else p) for n, p in self.parked]
        return touched

    def window(self, limits: Limits) -> int:
        """Return the number of fragments that may be in flight when it is the dialog's turn.

        The number exceeds ``limits.window`` only if the other side has an endpoint and no retry is
        in progress.
        """
        gets_through = self.acknowledged > (0, 0) and not self.attempt
        return limits.widest if gets_through else limits.window

    def has_room(self, limits: Limits) -> bool:
        """Return whether accepted messages are waiting although the window has room.

        Until the fragments have been counted, the result is based on messages and may be wrong.
        """
        in_flight = self.in_flight
        if in_flight < 0:
            in_flight = self.transmitted[0] - self.acknowledged[0]
        waits = self.transmitted[0] < self.send_sequence
        return waits and not self.status and in_flight < self.window(limits)

    @property
    def next_position(self) -> int:
        """Return the position in ``cmd`` of the next message to transmit; -1 if unknown."""
        number, at = divmod(self.transmitted[0], CHUNK)
        chunk = self.chunks.get(number)
        return -1 if chunk is None or at >= len(chunk) else chunk.positions[at]

    def count_in_flight(self) -> int:
        """Return ``in_flight``; count it on first use, because the state record lacks it."""
        if self.in_flight < 0:
            self.in_flight = self.count(self.acknowledged, self.transmitted)
        return self.in_flight

    def waiting(self, limits: Limits, most: int) -> Iterator[tuple[Fragment, int]]:
        """Yield up to ``most`` fragments that fit into the window, and their positions in `cmd`."""
        if self.status:  # at most the first fragment is sent, as a probe
            return
        at = self.transmitted
        for _ in range(min(most, self.window(limits) - self.count_in_flight())):
            if at[0] >= self.send_sequence:
                return
            position, fragments = self.stored(at[0])
            yield at, position
            at = following(at, fragments)

    @property
    def is_retrying(self) -> bool:
        """Return whether the oldest message was retried and is not acknowledged yet.

        The result is false for a closed endpoint, which only asks whether its peer is closed.
        """
        return self.attempt > 0 and self.retry_at is not None and self.state is not State.CD

    @property
    def due_at(self) -> int | None:
        """Return the time of the endpoint's next timer, retry or expiry, or ``None``."""
        times = [t for t in (self.retry_at, self.forget_at, self.timer_at) if t is not None]
        if self.state not in (State.ER, State.CD):
            times.append(self.expires_at)
        return min(times, default=None)

    def copy(self) -> Dialog:
        """Return a copy for one transaction; it shares the chunks, so copy a chunk to change it."""
        made = Dialog(*_values(self))
        made.held, made.partial, made.parked = dict(self.held), self.partial[:], self.parked[:]
        made.chunks = self.chunks.copy()
        return made

    def assume(self, last_copy: int) -> None:
        """Complete a decoded dialog; if it has a status, assume that all copies were refused."""
        self.last_copy = last_copy
        if self.status:
            self.refused = 0

    def count_lost_acks(self) -> None:
        """Count an acknowledgement that seems lost, so that the next one takes another path."""
        self.unheard = (self.unheard + 1) % ADDRESSES

    # --- fragments stored out of order -----------------------------------------------------------

    def follow(self, arrived: Mapping[Fragment, int], most: int) -> Iterator[int]:
        """Yield the positions of stored fragments: first those next in order, then ``partial``.

        ``arrived`` contains the fragment counts of newly arrived messages; ``most`` is the maximum
        number of out-of-order fragments to deliver together.
        """
        at = self.received
        while at in arrived or at in self.held:
            stored = self.held.get(at)
            if stored is not None:
                if most <= 0:
                    break
                most -= 1
                yield stored[0]
            fragments = arrived[at] if stored is None else stored[1]
            at = following(at, fragments)
        if at != self.received:
            yield from self.partial

    # --- accepted messages -----------------------------------------------------------------------

    def stored(self, sequence: int) -> Stored:
        """Return the position and the fragment count of an accepted, unacknowledged message."""
        return self.chunks[sequence // CHUNK][sequence % CHUNK]

    def after(self, at: Fragment) -> Fragment:
        """Return the fragment that follows a fragment of an accepted, unacknowledged message."""
        return following(at, self.stored(at[0])[1])

    def count(self, at: Fragment, end: Fragment) -> int:
        """Return the number of fragments from ``at`` up to, but not including, ``end``."""
        if end <= at:
            return 0
        (first, behind), (last, before) = at, end
        whole = (self.chunks[n // CHUNK][n % CHUNK][1] for n in range(first, last))
        return sum(whole) - behind + before

    def remember(self, position: int, fragments: int) -> int:
        """Store the position of the next accepted message; return its chunk's number."""
        number, at = divmod(self.send_sequence, CHUNK)
        chunk = self.chunks.setdefault(number, Chunk())
        # after END WITH ERROR, the first number may be in the middle of a chunk
        for _ in range(at - len(chunk)):
            chunk.append(-1, 1)
        chunk.append(position, fragments)
        self.send_sequence += 1
        return number

    def forget_acknowledged(self) -> list[int]:
        """Drop the chunks that end before ``acknowledged``; return their numbers."""
        before = self.acknowledged[0] // CHUNK
        done = list(takewhile(lambda number: number < before, self.chunks))
        if self.all_acknowledged:
            done = list(self.chunks)
        for number in done:
            del self.chunks[number]
        return done


_who = attrgetter(
    "far_service", "far_broker", "service", "broker_id", "contract", "is_initiator", "locked"
)
_values = attrgetter(*(f.name for f in fields(Dialog)))
"""Return all fields, to copy a dialog much faster than with ``dataclasses.replace``."""
