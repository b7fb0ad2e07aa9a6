"""A service queue for applications: RECEIVE, groups and their locks (4.10 to 4.12).

A :class:`ReadyQueue` contains the messages of a queue that no committed transaction has received.
Each transaction of an application is a *holder*; its received messages and its locks are exclusive
until it commits or rolls back.

The topic contains messages in the order of arrival. They are received in a different order, which
depends on the priorities of groups and conversations; a DialogTimer or an Error precedes the other
messages of its conversation. So the received messages are not a prefix of the topic.
:class:`Progress` describes them in a few bytes that fit into the metadata of a committed offset.
"""

from __future__ import annotations

import uuid
from bisect import bisect
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace

from streams.errors import Number
from streams.protocol import DEFAULT_PRIORITY, DIALOG_TIMER, ERROR

POISON = 5
"""Number of consecutive rollbacks of receiving transactions that disable a queue (4.11)."""

Holder = Hashable
Side = tuple[uuid.UUID, bool]
"""(conversation id, is initiator) of an endpoint whose service has this queue."""


@dataclass(frozen=True, slots=True)
class ReadyRow:
    """A message in a queue; ``order`` is the message's position in the queue's topic."""

    order: int
    group: uuid.UUID
    side: Side
    type: str
    priority: int = DEFAULT_PRIORITY

    @property
    def rank(self) -> tuple[int, int]:
        """Return the rank in the conversation: timer, Error, then others by arrival (4.8)."""
        return {DIALOG_TIMER: 0, ERROR: 1}.get(self.type, 2), self.order


@dataclass(frozen=True, slots=True)
class Progress:
    """Committed progress: messages below ``next`` and in the runs ``beyond`` it were received.

    ``rollbacks`` counts rollbacks since the last commit, so that a restart does not reset the
    detection of poison messages.
    """

    next: int = 0
    beyond: tuple[tuple[int, int], ...] = ()
    rollbacks: int = 0

    @property
    def received(self) -> tuple[int, tuple[tuple[int, int], ...]]:
        """Return the progress without the rollback count."""
        return self.next, self.beyond

    def has(self, order: int) -> bool:
        """Return whether a message was received."""
        return order < self.next or any(first <= order <= last for first, last in self.beyond)

    def encode(self) -> str:
        """Return the text stored with the offset ``next``: ``r2 5+2 9``.

        The example means two rollbacks and two runs: one begins 5 after ``next`` and is 2 longer
        than a single message; the other begins 9 after the end of the first. The numbers are
        relative, and thus small, because Kafka limits the text to 4096 characters.
        """
        said, at = [f"r{self.rollbacks}"], self.next
        for first, last in self.beyond:
            said.append(f"{first - at}+{last - first}" if last > first else f"{first - at}")
            at = last
        return " ".join(said)

    @classmethod
    def decode(cls, offset: int, text: str | None) -> Progress:
        """Decode the text of :meth:`encode`; any other text means that there are no runs."""
        try:
            head, *runs = (text or "r0").split()
            rollbacks, beyond, at = int(head.removeprefix("r")), [], offset
            for run in runs:
                gap, _, longer = run.partition("+")
                first = at + int(gap)
                at = first + int(longer or 0)
                beyond.append((first, at))
            return cls(offset, tuple(beyond), rollbacks)
        except ValueError:
            return cls(offset)


@dataclass(slots=True)
class ReadyQueue:
    """The ready messages of one queue, or of one partition of its topic.

    ``on``: whether RECEIVE is possible. ``poison_handling``: the queue's POISON_MESSAGE_HANDLING.
    """

    progress: Progress = field(default_factory=Progress)
    on: bool = True
    poison_handling: bool = True
    _ready: dict[uuid.UUID, dict[Side, dict[int, ReadyRow]]] = field(default_factory=dict)
    _locks: dict[uuid.UUID, Holder] = field(default_factory=dict)
    _received: dict[Holder, list[ReadyRow]] = field(default_factory=dict)
    _seen: int = 0

    def put(self, row: ReadyRow) -> None:
        """Add a message of the topic, in order; skip a message that was already received."""
        self._seen = max(self._seen, row.order + 1)
        if not self.progress.has(row.order):
            self._add(row)

    def skip(self, order: int) -> None:
        """Count an unreadable record of the topic as received."""
        self._seen = max(self._seen, order + 1)
        self._finish([order])

    # --- statements ------------------------------------------------------------------------------

    def receive(
        self,
        holder: Holder,
        top: int = 1,
        *,
        conversation: Side | None = None,
        group: uuid.UUID | None = None,
    ) -> tuple[ReadyRow, ...] | Number:
        """RECEIVE TOP (``top``): return messages of one conversation group and lock the group.

        Without WHERE, the group is the unlocked group with the highest priority. Returns 9617 if
        the queue is off, and nothing if there are no messages.
        """
        if not self.on:
            return Number.QUEUE_DISABLED
        chosen = self._group_of(conversation) if conversation is not None else group
        if chosen is None and conversation is None:
            chosen = self._next_group(holder)
        if chosen is None or not self._may_lock(chosen, holder):
            return ()
        sides = self._ready.get(chosen, {})
        wanted = [conversation] if conversation is not None else self._by_priority(sides)
        found = [row for side in wanted for row in _in_order(sides.get(side, {}))][:top]
        if found:
            self._locks[chosen] = holder
            self._received.setdefault(holder, []).extend(found)
            for row in found:
                self._remove(row)
        return tuple(found)

    def get_conversation_group(self, holder: Holder) -> uuid.UUID | None:
        """GET CONVERSATION GROUP: lock and return the next group, a different one at each call."""
        group = self._next_group(holder, new=True)
        if group is not None:
            self._locks[group] = holder
        return group

    # --- transactions ----------------------------------------------------------------------------

    def commit(self, holder: Holder) -> Progress:
        """Commit a transaction: its messages are permanently received.

        Return the progress to store.
        """
        rows = self._received.pop(holder, [])
        self._unlock(holder)
        self._finish([row.order for row in rows], rollbacks=0 if rows else None)
        return self.progress

    def rollback(self, holder: Holder, *, counts: bool = True) -> Progress:
        """Roll back a transaction: return its messages to their places in the queue.

        A rollback is counted if ``counts`` is set. The fifth consecutive rollback of a receiving
        transaction disables the queue (event 143).
        """
        rows = self._received.pop(holder, [])
        self._unlock(holder)
        for row in rows:
            self._add(row)
        rollbacks = self.progress.rollbacks + (counts and bool(rows))
        self._finish([], rollbacks=rollbacks)
        if self.poison_handling and rollbacks >= POISON:
            self.on = False
        return self.progress

    def copy(self) -> ReadyQueue:
        """Return an independent copy of the queue."""
        ready = {
            group: {side: dict(rows) for side, rows in sides.items()}
            for group, sides in self._ready.items()
        }
        received = {holder: list(rows) for holder, rows in self._received.items()}
        return replace(self, _ready=ready, _locks=dict(self._locks), _received=received)

    def turn_on(self) -> None:
        """STATUS = ON: reset the count of rollbacks."""
        self.on = True
        self._finish([], rollbacks=0)

    def orders(self) -> Iterator[int]:
        """Yield the positions of messages that no transaction has received."""
        for sides in self._ready.values():
            for rows in sides.values():
                yield from rows

    def holds(self, holder: Holder) -> bool:
        """Return whether a transaction has received anything."""
        return bool(self._received.get(holder))

    def urgency(self, holder: Holder, *, new: bool = False) -> tuple[int, int] | None:
        """Return the urgency of the next RECEIVE (lower is more urgent); ``None`` without messages.

        With ``new``, return the urgency of an unlocked group.
        """
        group = self._next_group(holder, new=new) if self.on else None
        return None if group is None else self._urgency(group)

    def __len__(self) -> int:
        return sum(len(rows) for sides in self._ready.values() for rows in sides.values())

    # --- order -----------------------------------------------------------------------------------

    def _next_group(self, holder: Holder, *, new: bool = False) -> uuid.UUID | None:
        """Return the group with the highest priority, then with the oldest message."""
        free = [
            group
            for group in self._ready
            if self._may_lock(group, holder) and not (new and group in self._locks)
        ]
        return min(free, key=self._urgency, default=None)

    def _urgency(self, group: uuid.UUID) -> tuple[int, int]:
        rows = [row for side in self._ready[group].values() for row in side.values()]
        return -max(row.priority for row in rows), min(row.order for row in rows)

    def _by_priority(self, sides: dict[Side, dict[int, ReadyRow]]) -> list[Side]:
        def urgency(side: Side) -> tuple[int, int]:
            rows = sides[side].values()
            return -max(row.priority for row in rows), min(row.order for row in rows)

        return sorted(sides, key=urgency)

    def _group_of(self, side: Side) -> uuid.UUID | None:
        return next((group for group, sides in self._ready.items() if side in sides), None)

    def _may_lock(self, group: uuid.UUID, holder: Holder) -> bool:
        return self._locks.get(group, holder) == holder

    def _unlock(self, holder: Holder) -> None:
        self._locks = {g: owner for g, owner in self._locks.items() if owner != holder}

    # --- content ---------------------------------------------------------------------------

    def _add(self, row: ReadyRow) -> None:
        self._ready.setdefault(row.group, {}).setdefault(row.side, {})[row.order] = row

    def _remove(self, row: ReadyRow) -> None:
        sides = self._ready[row.group]
        del sides[row.side][row.order]
        if not sides[row.side]:
            del sides[row.side]
        if not sides:
            del self._ready[row.group]

    def _finish(self, orders: list[int], rollbacks: int | None = None) -> None:
        """Mark messages as permanently received.

        Runs are merged if no message waits between them, because offsets without a message belong
        to transaction markers. So there are never more runs than waiting messages.
        """
        old, waiting = self.progress, sorted(self._waiting())
        end = max(old.next, waiting[0] if waiting else self._seen)
        beyond: list[tuple[int, int]] = []
        for first, last in sorted([*old.beyond, *((order, order) for order in orders)]):
            if first <= end:
                end = max(end, last + 1)
            elif beyond and first <= self._seen and _none_between(waiting, beyond[-1][1], first):
                beyond[-1] = (beyond[-1][0], last)
            else:
                beyond.append((first, last))
        self.progress = Progress(
            end, tuple(beyond), old.rollbacks if rollbacks is None else rollbacks
        )

    def _waiting(self) -> Iterator[int]:
        yield from self.orders()
        for received in self._received.values():
            yield from (row.order for row in received)


def _none_between(waiting: list[int], after: int, before: int) -> bool:
    return bisect(waiting, after) == bisect(waiting, before)


def _in_order(rows: dict[int, ReadyRow]) -> list[ReadyRow]:
    return sorted(rows.values(), key=lambda row: row.rank)
