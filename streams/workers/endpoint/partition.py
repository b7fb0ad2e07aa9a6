"""One partition of an endpoint worker: what lives in it, and what is to be done in it next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from streams.kafka import Message
from streams.node import CatalogView, Endpoint, Transaction, TrimPoint
from streams.protocol import DialogKey
from streams.workers.endpoint.allowance import BYTES, Allowance
from streams.workers.endpoint.inputs import Bodies


@dataclass(frozen=True, slots=True)
class Work:
    """What one transaction is to apply: records, then dialogs whose time has come.

    ``probes`` are dialogs that look again after a catalog change. ``room`` are dialogs of the
    backlog whose turn it is; with ``opens`` those transmit, too, whose windows the records open.
    """

    messages: Sequence[Message] = ()
    due: Sequence[DialogKey] = ()
    probes: Sequence[DialogKey] = ()
    room: Sequence[DialogKey] = ()
    opens: bool = True

    @property
    def timers(self) -> bool:
        """Tell whether anything but records is wanted."""
        return bool(self.due or self.probes)

    @property
    def is_nothing(self) -> bool:
        """Tell whether there is nothing to do."""
        return not self.messages and not self.timers and not self.room

    def __len__(self) -> int:
        """Return how many things are to be applied."""
        return len(self.messages) + len(self.due) + len(self.probes) + len(self.room)

    def halves(self) -> tuple[Work, Work] | None:
        """Split what could not be applied; ``None`` where it is one thing."""
        messages, due, probes, room = self.messages, self.due, self.probes, self.room
        if self.opens:  # what waits in the backlog must not condemn what is new
            return Work(messages, due, probes, opens=False), Work(room=room, opens=False)
        if messages and self.timers:  # nor what timers say the records
            return Work(messages, opens=False), Work((), due, probes, opens=False)
        if due and probes:
            return Work((), due, opens=False), Work(probes=probes, opens=False)
        if len(self) <= 1:
            return None
        m, d, p, r = (len(part) // 2 for part in (messages, due, probes, room))
        return (
            Work(messages[:m], due[:d], probes[:p], room[:r], opens=False),
            Work(messages[m:], due[d:], probes[p:], room[r:], opens=False),
        )

    def __str__(self) -> str:
        return (
            f"a batch of {len(self.messages)} records, {len(self.due)} timers, {len(self.probes)} "
            f"dialogs to re-evaluate and {len(self.room)} with room in the window"
        )


POLL = 0.05
"""Seconds to wait for a record while time alone may give the partition something to do."""
IDLE_POLL = 0.25
"""Seconds to wait for a record while nothing else is expected. A record ends the wait at once."""


@dataclass(slots=True)
class HeldBack:
    """A statement that is held back, with all of ``cmd`` behind it, until ``again_at`` (monotonic).

    ``let_in``: it is being read again.
    """

    offset: int
    why: str
    again_at: float
    let_in: bool = False


@dataclass(slots=True)
class Partition:
    """Partition p of the three inputs, with the endpoints that live in it.

    Timers run only when the backlog of ``in`` and ``ack`` that was there at assignment is applied:
    an acknowledgement that waits there must not be answered with a retry. ``backlog`` holds the
    high watermarks of then; behind the last record there may be markers of transactions, records of
    aborted ones, and of one that is still open. No position ever gets there, so having read to the
    end (``ends``) counts as well.

    ``parked`` are dialogs whose timer cannot be applied. It would fail again at once, so it waits
    until something else touches the dialog, the catalog changes, or the dialog's lifetime is over
    (epoch milliseconds; ``None`` where it is already).

    ``held`` is a statement that cannot be read yet; ``in`` and ``ack`` go on without it.

    ``trim_point`` is what nobody needs of the inputs, as of when that was looked at last.

    ``mark`` says where ``in`` ended, and when: closed keys are forgotten up to the last mark that
    was reached. ``reached`` is where a topic ended when all of it was applied, markers included.
    """

    number: int
    endpoint: Endpoint
    bodies: Bodies
    positions: dict[str, int]
    backlog: dict[str, int]
    allowance: Allowance
    progress_at: float = 0.0
    pending: list[Message] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    mark: tuple[int, int] = (0, 0)
    parked: dict[DialogKey, int | None] = field(default_factory=dict)
    held_back: HeldBack | None = None
    trim_point: TrimPoint | None = None
    look_at: float = 0.0

    @property
    def caught_up(self) -> bool:
        """Tell whether the backlog is applied."""
        return all(self.positions[topic] >= end for topic, end in self.backlog.items())

    def read_ends(self) -> None:
        """Note, when all before is applied, which topics were read to their ends."""
        if self.pending:
            return
        for topic in self.ends:
            self.backlog.pop(topic, None)
        self.reached.update(self.ends)
        self.ends.clear()

    def reaches_mark(self, topic: str) -> bool:
        """Tell whether ``in`` is applied up to the mark; if so, keys of before may be forgotten."""
        end, at = self.mark
        if max(self.positions[topic], self.reached.get(topic, 0)) < end:
            return False
        self.endpoint.applied_until = max(self.endpoint.applied_until, at)
        return True

    @property
    def wants_probes(self) -> bool:
        """Tell whether dialogs may and want to try again after a change of the catalog."""
        return self.caught_up and self.endpoint.has_probes

    def has_due(self, now: int) -> bool:
        """Tell whether the time of any dialog may have come."""
        due = self.endpoint.next_due
        return due is not None and due <= now

    def look_for_trim_point(self, clock: float, every: float) -> TrimPoint | None:
        """Look a little further what is needed of the inputs; begin anew ``every`` so many seconds.

        Between two transactions: what is seen is committed. Returns what was found, at the end.
        """
        if clock >= self.look_at:
            self.endpoint.retention.begin(TrimPoint(*self.positions.values()))
            self.look_at = clock + every
        found = self.endpoint.trim_point()
        self.trim_point = found or self.trim_point
        return found

    def take_work(self, now: int, most: int) -> Work:
        """Return what the next transaction is to apply, within the allowance and ``most``."""
        most = min(most, self.allowance.records)
        self.endpoint.advance(now)
        self.endpoint.flows.limit = self.allowance.flight
        room = self.endpoint.take_turns(most) if self.caught_up else ()
        due = self._take_due(now, most)
        probes = self.endpoint.next_probes(most) if self.wants_probes else ()
        return Work(self._take_pending(most), due, probes, room)

    @property
    def is_busy(self) -> bool:
        """Tell whether there is something to do already, and nothing to wait for."""
        return bool(self.pending) or (self.caught_up and self.endpoint.has_turn)

    def wait(self, now: int) -> float:
        """Return how many seconds to wait for a record: until a timer is due, within limits."""
        endpoint = self.endpoint
        if self.held_back is not None or self.wants_probes or not self.caught_up:
            return POLL
        if endpoint.flows.waits or endpoint.retention.goes_on or self.parked:
            return POLL
        due = endpoint.next_due
        return IDLE_POLL if due is None else min(IDLE_POLL, max(POLL, (due - now) / 1000))

    def lessen(self, work: Work) -> Work:
        """Return what is left of work when the allowance was halved; timers are given back."""
        most = self.allowance.records
        self.arm(work.due[most:])
        return replace(work, due=work.due[:most], probes=work.probes[:most], room=work.room[:most])

    def _take_pending(self, most: int) -> list[Message]:
        """Return the first of the records that were read and not applied yet."""
        size = end = 0
        for message in self.pending[:most]:
            size += len(message)
            end += 1
            if size >= BYTES:
                break
        taken, self.pending = self.pending[:end], self.pending[end:]
        return taken

    def put_back(self, messages: Sequence[Message]) -> None:
        """Let records be the next ones again that there was no more room for."""
        self.pending = [*messages, *self.pending]

    def _take_due(self, now: int, most: int) -> list[DialogKey]:
        """Return the dialogs whose time has come; :meth:`arm` gives them back."""
        if not self.caught_up:
            return []
        due = [key for key in self.endpoint.take_due(now, most) if key not in self.parked]
        over = [key for key, until in self.parked.items() if until is not None and until <= now]
        for key in over:
            del self.parked[key]
        return due + over

    def arm(self, keys: Iterable[DialogKey]) -> None:
        """Let dialogs be due again that were taken and not applied."""
        for key in keys:
            self.endpoint.arm(key)

    def switch(self, catalog: CatalogView) -> None:
        """Take over a new version of the catalog; under it a parked timer may do."""
        self.endpoint.switch(catalog)
        self.arm(self.parked)
        self.parked.clear()

    def merge(
        self,
        tx: Transaction,
        out_end: int,
        positions: dict[str, int],
        parked: Iterable[DialogKey] = (),
    ) -> None:
        """Take over a committed transaction, and what it has told to be parked."""
        self.endpoint.merge(tx, out_end)
        self.positions = positions
        for key in tx.machines:
            self.parked.pop(key, None)
        for key in parked:
            dialog = self.endpoint.dialogs.get(key)
            if dialog is not None:
                self.endpoint.flows.forget(key, dialog)
            ends = dialog.expires_at if dialog is not None else 0
            self.parked[key] = ends if ends > tx.now else None
