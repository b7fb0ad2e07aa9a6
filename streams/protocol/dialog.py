"""One side of a conversation: what is remembered of it between two transactions."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace

from streams.protocol.frames import Parties
from streams.protocol.states import State

CHUNK = 64
"""Positions of this many consecutive messages share one state record."""
HELD_RUNS = 8
"""An acknowledgement names at most so many runs of numbers that are held out of order."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers that the documentation leaves open, and our choices. Durations in milliseconds.

    ``window`` messages of a dialog may be transmitted and unacknowledged; the rest waits in `cmd`.
    """

    window: int = 64
    hops: int = 16  # U-34
    time_to_live: int = 60_000  # U-35
    retries: tuple[int, ...] = (4_000, 8_000, 16_000, 32_000, 64_000)  # U-27
    recheck: int = 1_000  # a retry that is due while the previous copy has not left `out`
    closed_initiator: int = 1_800_000
    max_lifetime: int = 2_147_483_647  # seconds

    def retry_after(self, attempt: int) -> int:
        """Return how long to wait for an acknowledgement of this attempt."""
        return self.retries[min(attempt, len(self.retries) - 1)]


@dataclass(slots=True)
class Dialog:
    """An endpoint (``sys.conversation_endpoints``). Times are epoch milliseconds.

    Numbers below ``acknowledged`` are stored at the other side, or were discarded: those from
    ``discarded_from`` on, by an Error, the end of the lifetime, WITH ERROR or WITH CLEANUP. Those
    below ``transmitted`` were sent at least once, those below ``send_sequence`` were accepted from
    the application. Copies of numbers below ``suspect`` were sent before the latest retry or
    refusal and may be lost with what was retried. ``chunks`` holds the position in `cmd` of
    every accepted message from ``acknowledged`` on; ``held`` the position in `in` of what arrived
    out of order. ``last_copy`` is a position in `out` at or behind this dialog's latest copy.
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
    acknowledged: int = 0
    transmitted: int = 0
    suspect: int = 0
    receive_sequence: int = 0
    held: dict[int, int] = field(default_factory=dict)
    attempt: int = 0
    retry_at: int | None = None
    first_hop: int = 0
    status: int = 0
    status_at: int = 0
    peer_closed: bool = False
    closed_at: int | None = None
    forget_at: int | None = None
    chunks: dict[int, list[int]] = field(default_factory=dict)
    last_copy: int = -1
    discarded_from: int | None = None

    @property
    def parties(self) -> Parties:
        """Return what stands in ``sb-route`` of everything that this side sends."""
        return Parties(
            self.far_service,
            self.far_broker,
            self.service,
            self.broker_id,
            self.contract,
            self.is_initiator,
            self.locked,
        )

    @property
    def due_at(self) -> int | None:
        """Return when the endpoint wants to be looked at next, if ever."""
        times = [t for t in (self.retry_at, self.forget_at) if t is not None]
        if self.state not in (State.ER, State.CD):
            times.append(self.expires_at)
        return min(times, default=None)

    def copy(self) -> Dialog:
        """Return an independent copy, to be changed by one transaction."""
        return replace(
            self,
            held=dict(self.held),
            chunks={number: list(chunk) for number, chunk in self.chunks.items()},
        )

    def held_runs(self) -> tuple[tuple[int, int], ...]:
        """Return the lowest runs (first, last) of numbers that arrived out of order (U-26)."""
        runs: list[tuple[int, int]] = []
        for number in sorted(self.held):
            if runs and runs[-1][1] == number - 1:
                runs[-1] = (runs[-1][0], number)
            else:
                runs.append((number, number))
        return tuple(runs[:HELD_RUNS])

    def position(self, sequence: int) -> int:
        """Return where in ``cmd`` an accepted and unacknowledged message is."""
        return self.chunks[sequence // CHUNK][sequence % CHUNK]

    def remember(self, sequence: int, position: int) -> int:
        """Note where the next accepted message is; returns the number of the touched chunk."""
        number, at = divmod(sequence, CHUNK)
        chunk = self.chunks.setdefault(number, [])
        # After END WITH ERROR a chunk may begin in its middle.
        chunk.extend([-1] * (at - len(chunk)))
        chunk.append(position)
        return number

    def forget_acknowledged(self) -> list[int]:
        """Drop the chunks that lie wholly below ``acknowledged``; returns their numbers."""
        done = [n for n in self.chunks if (n + 1) * CHUNK <= self.acknowledged]
        if self.acknowledged == self.send_sequence:
            done = list(self.chunks)
        for number in done:
            del self.chunks[number]
        return done
