"""One partition of an endpoint worker: its endpoints and its pending work."""

from __future__ import annotations

import uuid
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

from streams.kafka import Message, size_of
from streams.node import CatalogView, Endpoint, Transaction, TrimPoint
from streams.prose import counted
from streams.protocol import DialogKey
from streams.workers.endpoint.allowance import BYTES, Allowance
from streams.workers.endpoint.bodies import Bodies
from streams.workers.endpoint.look_ahead import LookAhead


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one transaction: records, then dialogs that are due.

    ``ahead`` contains records that were read ahead; parts of work that has failed have none.
    ``probes`` contains dialogs to re-evaluate after a catalog change. ``room`` contains dialogs of
    the backlog that may transmit. With ``opens``, dialogs whose windows are opened by the records
    may also transmit.
    """

    messages: Sequence[Message] = ()
    due: Sequence[DialogKey] = ()
    probes: Sequence[DialogKey] = ()
    room: Sequence[DialogKey] = ()
    opens: bool = True
    ahead: Sequence[Message] = ()

    @property
    def timers(self) -> bool:
        """Return whether there is work other than records."""
        return bool(self.due or self.probes)

    @property
    def is_nothing(self) -> bool:
        """Return whether there is nothing to do."""
        return not self.messages and not self.timers and not self.room and not self.ahead

    def __len__(self) -> int:
        """Return the number of items to apply."""
        return len(self.messages) + len(self.due) + len(self.probes) + len(self.room)

    def halves(self) -> tuple[Work, Work] | None:
        """Split work that could not be applied; ``None`` if it is a single item."""
        messages, due, probes, room = self.messages, self.due, self.probes, self.room
        if (
            self.opens
        ):  # a failing timer must not affect the records, which may leave no room for it
            return Work((), due, probes, room, opens=False), Work(messages, opens=False)
        if room and self.timers:  # a failure in the backlog must not affect new work
            return Work((), due, probes, opens=False), Work(room=room, opens=False)
        if due and probes:
            return Work((), due, opens=False), Work(probes=probes, opens=False)
        if len(self) <= 1:
            return None
        m, d, p, r = (len(part) // 2 for part in (messages, due, probes, room))
        return (
            Work(messages[:m], due[:d], probes[:p], room[:r], opens=False),
            Work(messages[m:], due[d:], probes[p:], room[r:], opens=False),
        )

    def split(self, conversations: Container[uuid.UUID]) -> tuple[Work, Work]:
        """Divide work without records into that of some conversations, and the rest."""

        def part(is_chosen: bool) -> Work:
            due, probes, room = (
                [key for key in keys if (key[1] in conversations) is is_chosen]
                for keys in (self.due, self.probes, self.room)
            )
            return Work((), due, probes, room, opens=False)

        return part(True), part(False)

    def __str__(self) -> str:
        return (
            f"a batch of {counted(len(self.messages), 'record')}, "
            f"{counted(len(self.due), 'timer')}, {counted(len(self.probes), 'dialog')} "
            f"to re-evaluate and {len(self.room)} with room in the window"
        )


POLL = 0.05
"""Seconds to wait for a record while the partition may have timers that become due."""
IDLE_POLL = 0.25
"""Seconds to wait for a record in all other cases. A record ends the wait immediately."""


@dataclass(slots=True)
class HeldBack:
    """A held-back statement; all of ``cmd`` after it waits until ``again_at`` (monotonic).

    ``let_in``: the statement is being reread.
    """

    offset: int
    why: str
    again_at: float
    let_in: bool = False


@dataclass(slots=True)
class Partition:
    """Partition p of the three inputs, with its endpoints.

    Timers run only after the backlog of ``in`` and ``ack`` at assignment is applied, because a
    dialog must not retry while its acknowledgement is in the backlog. ``backlog`` contains the high
    watermarks at assignment; after the last record there may be transaction markers, aborted
    records, and an open transaction. The position does not advance past these, so a topic that was
    read to its end (``ends``) counts as applied.

    ``postponed`` contains dialogs whose timer cannot be applied. The timer would fail again at
    once, so the dialog waits until a record changes the dialog, the catalog changes, or the
    dialog's lifetime expires (at the given epoch milliseconds; ``None`` if it has expired).

    ``held_back`` is a statement that cannot be decoded yet; meanwhile, ``in`` and ``ack`` continue.
    ``trim_point`` is the trim point of the inputs at the last check. ``mark`` is an end of ``in``
    with its time; closed keys are removed up to the last mark that was reached. ``reached``
    contains the end of each topic at the time when the whole topic was applied, including markers.
    """

    number: int
    endpoint: Endpoint
    bodies: Bodies
    look_ahead: LookAhead
    positions: dict[str, int]
    backlog: dict[str, int]
    allowance: Allowance
    progress_at: float = 0.0
    pending: list[Message] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    mark: tuple[int, int] = (0, 0)
    postponed: dict[DialogKey, int | None] = field(default_factory=dict)
    held_back: HeldBack | None = None
    trim_point: TrimPoint | None = None
    look_at: float = 0.0

    @property
    def caught_up(self) -> bool:
        """Return whether the backlog is applied."""
        return all(self.positions[topic] >= end for topic, end in self.backlog.items())

    def read_ends(self) -> None:
        """Record the topics that were read to their ends, once all earlier records are applied."""
        if self.pending:
            return
        for topic in self.ends:
            self.backlog.pop(topic, None)
        self.reached.update(self.ends)
        self.ends.clear()

    def reaches_mark(self, topic: str) -> bool:
        """Return whether ``in`` is applied up to the mark, so that older keys may be removed."""
        end, at = self.mark
        if max(self.positions[topic], self.reached.get(topic, 0)) < end:
            return False
        self.endpoint.applied_until = max(self.endpoint.applied_until, at)
        return True

    @property
    def wants_probes(self) -> bool:
        """Return whether dialogs must be re-evaluated after a catalog change."""
        return self.caught_up and self.endpoint.has_probes

    def needs_progress(self, now: int) -> bool:
        """Return whether a dialog may be due, or may retry at its turn."""
        due = self.endpoint.next_due
        return (due is not None and due <= now) or self.endpoint.flows.has_retry

    def look_for_trim_point(self, clock: float, every: float) -> TrimPoint | None:
        """Continue the search for the trim point; restart it after ``every`` seconds.

        Call this between transactions, when the state is committed. Returns the result at the end.
        """
        if clock >= self.look_at:
            self.endpoint.retention.begin(TrimPoint(*self.positions.values()))
            self.look_at = clock + every
        found = self.endpoint.trim_point()
        self.trim_point = found or self.trim_point
        return found

    def take_work(self, now: int, most: int) -> Work:
        """Return the next transaction's work, within the allowance and ``most``."""
        most = min(most, self.allowance.records)
        self.endpoint.advance(now)
        self.endpoint.flows.limit = self.allowance.flight
        room = self.endpoint.take_turns(most) if self.caught_up else ()
        due = self._take_due(now, most)
        probes = self.endpoint.next_probes(most) if self.wants_probes else ()
        ahead = self.look_ahead.take(most)
        return Work(self._take_pending(most), due, probes, room, ahead=ahead)

    @property
    def is_busy(self) -> bool:
        """Return whether work is already pending; if so, no wait is necessary."""
        return bool(self.pending) or (self.caught_up and self.endpoint.has_turn)

    def wait(self, now: int) -> float:
        """Return the seconds to wait for a record: until a timer is due, within limits."""
        endpoint = self.endpoint
        if self.held_back is not None or self.wants_probes or not self.caught_up:
            return POLL
        if endpoint.flows.waits or endpoint.retention.goes_on or self.postponed:
            return POLL
        due = endpoint.next_due
        return IDLE_POLL if due is None else min(IDLE_POLL, max(POLL, (due - now) / 1000))

    def lessen(self, work: Work) -> Work:
        """Return less work after the allowance was halved; the timers left out become due again."""
        most = self.allowance.records
        self.arm(work.due[most:])
        self.look_ahead.put_back(work.ahead)
        due, probes, room = (part[:most] for part in (work.due, work.probes, work.room))
        return replace(work, due=due, probes=probes, room=room, ahead=())

    def _take_pending(self, most: int) -> list[Message]:
        """Return the first of the records that were read but not applied."""
        size = end = 0
        for message in self.pending[:most]:
            size += size_of(message)
            end += 1
            if size >= BYTES:
                break
        taken, self.pending = self.pending[:end], self.pending[end:]
        return taken

    def put_back(self, messages: Sequence[Message]) -> None:
        """Return records that did not fit to the front of the queue."""
        self.pending = [*messages, *self.pending]

    def give_back(self, work: Work) -> None:
        """Give back work that was taken but not started."""
        self.put_back(work.messages)
        self.look_ahead.put_back(work.ahead)
        self.arm(work.due)

    def _take_due(self, now: int, most: int) -> list[DialogKey]:
        """Return the due dialogs; :meth:`arm` gives them back."""
        if not self.caught_up:
            return []
        due = [key for key in self.endpoint.take_due(now, most) if key not in self.postponed]
        over = [key for key, until in self.postponed.items() if until is not None and until <= now]
        for key in over:
            del self.postponed[key]
        return due + over

    def close(self) -> None:
        """Close the readers."""
        self.bodies.close()
        self.look_ahead.close()

    def arm(self, keys: Iterable[DialogKey]) -> None:
        """Make dialogs that were taken but not applied due again."""
        for key in keys:
            self.endpoint.arm(key)

    def switch(self, catalog: CatalogView) -> None:
        """Switch to a new version of the catalog, and retry the postponed timers."""
        self.endpoint.switch(catalog)
        self.arm(self.postponed)
        self.postponed.clear()

    def merge(
        self,
        tx: Transaction,
        out_end: int,
        positions: dict[str, int],
        postponed: Iterable[DialogKey] = (),
    ) -> None:
        """Merge a committed transaction, and the dialogs that it postponed."""
        self.endpoint.merge(tx, out_end)
        self.positions = positions
        for key in tx.machines:
            self.postponed.pop(key, None)
        for key in postponed:
            dialog, kept = self.endpoint.dialogs.get(key), self.endpoint.dialogs.kept(key)
            if dialog is not None and kept is not None:
                self.endpoint.flows.forget(kept, dialog)
            ends = dialog.expires_at if dialog is not None else 0
            self.postponed[key] = ends if ends > tx.now else None
