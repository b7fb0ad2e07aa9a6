"""Apply one partition's work to an overlay, or reject it, without committing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from streams.kafka import Message
from streams.node import Taken, Transaction
from streams.protocol import DialogKey
from streams.protocol import Message as Frame
from streams.workers.endpoint.allowance import LONG
from streams.workers.endpoint.bodies import Bodies
from streams.workers.endpoint.held_back import HeldBackStatements
from streams.workers.endpoint.inputs import (
    HeldBackError,
    Input,
    Intake,
    RejectReason,
    report_postponed,
)
from streams.workers.endpoint.look_ahead import Early
from streams.workers.endpoint.partition import Partition, Work
from streams.workers.endpoint.transactions import Part
from streams.workers.event_counts import Committed
from streams.workers.pulse import beat


@dataclass(frozen=True, slots=True)
class Applied:
    """Work that was applied to a transaction's overlay and is to be committed.

    ``positions`` are the partition's next offsets. ``left`` contains the records for which the
    transaction had no room, and ``postponed`` the dialogs that wait after the transaction.
    ``early`` are the records that were applied before their place in the log; ``ahead_left`` are
    those for which it had no room.
    """

    owned: Partition
    work: Work
    tx: Transaction
    positions: dict[str, int]
    left: Sequence[Message] = ()
    postponed: Sequence[DialogKey] = ()
    early: Early = field(default_factory=Early)
    ahead_left: Sequence[Message] = ()

    @property
    def part(self) -> Part:
        """Return the work's part of Kafka's transaction."""
        return Part(self.tx, self.owned.number, self.positions)

    @property
    def size(self) -> int:
        """Return the size in bytes of the bodies that the work writes."""
        frames = sum(len(frame.body) for frame in self.tx.frames)
        return frames + sum(len(message.body) for message in self.tx.queued)


class WorkApplier:
    """Apply work through an ``intake``; a statement that cannot be decoded yet is ``held_back``."""

    def __init__(
        self,
        intake: Intake,
        held_back: HeldBackStatements,
        counts: Committed,
        now: Callable[[], int],
    ) -> None:
        self._intake, self._held_back = intake, held_back
        self._counts, self._now = counts, now

    def apply(
        self,
        owned: Partition,
        work: Work,
        read_at: float,
        rejection: RejectReason | None = None,
        bodies: Bodies | None = None,
    ) -> Applied:
        """Apply work whose records were read at ``read_at``, or report its ``rejection``.

        Raises TooMuchError if its bodies do not fit into one transaction.
        """
        tx = owned.endpoint.begin(
            bodies or owned.bodies,
            self._now(),
            timers=work.timers and rejection is None,
            opens=work.opens,
            most=owned.allowance.records,
            taken=Taken(work.due, work.room if rejection is None else (), work.probes),
        )
        positions = dict(owned.positions)
        left: Sequence[Message] = ()
        ahead_left: Sequence[Message] = ()
        postponed: Sequence[DialogKey] = ()
        early = Early()
        try:
            if rejection is None:
                ahead_left = self._apply_ahead(owned, tx, work, early, read_at)
                left = self._apply_records(owned, tx, work, positions, early, read_at)
            else:
                postponed = (*work.due, *work.probes, *work.room)
                tx.probed = work.probes
                self._refuse(tx, work, postponed, positions, rejection)
            tx.close()
        except BaseException:
            self.abandon([Applied(owned, work, tx, positions)])
            raise
        return Applied(owned, work, tx, positions, left, postponed, early, ahead_left)

    def abandon(self, applied: Iterable[Applied]) -> None:
        """Drop the overlays of uncommitted work."""
        for one in applied:
            one.owned.endpoint.abandon(one.tx)
            self._counts.rolled_back += 1

    def _apply_ahead(
        self, owned: Partition, tx: Transaction, work: Work, early: Early, read_at: float
    ) -> Sequence[Message]:
        """Apply the records that were read ahead and are the next messages of new dialogs.

        At least half of the transaction and of its time is left to the records of the backlog.
        Returns the records that do not fit.
        """
        position = owned.positions[self._intake.inputs.inbox]
        ahead = [message for message in work.ahead if (message.offset() or 0) >= position]
        frames = [self._intake.read(message, read_at) for message in ahead]
        tx.foresee(frame for frame in frames if isinstance(frame, Frame))
        most, end = tx.planned + tx.most // 2, time.monotonic() + LONG / 2
        for number, (message, frame) in enumerate(zip(ahead, frames, strict=True)):
            beat()
            if tx.planned >= most or time.monotonic() > end:
                return ahead[number:]
            offset = message.offset() or 0
            if isinstance(frame, Frame) and owned.look_ahead.is_wanted(tx, early, offset, frame):
                self._intake.apply(tx, owned.bodies, message, frame)
                early.add(offset, frame)
        return ()

    def _apply_records(
        self,
        owned: Partition,
        tx: Transaction,
        work: Work,
        positions: dict[str, int],
        early: Early,
        read_at: float,
    ) -> Sequence[Message]:
        """Apply records and advance the offsets; return the records that do not fit."""
        unread, inbox = list(_unread(work.messages, positions)), self._intake.inputs.inbox
        frames = {
            message.offset(): self._intake.read(message, read_at)
            for message in unread
            if message.topic() == inbox
        }
        tx.foresee(frame for frame in frames.values() if isinstance(frame, Frame))
        end = time.monotonic() + LONG  # without what is read for all records together
        for number, message in enumerate(unread):
            beat()
            if number and (tx.is_full or time.monotonic() > end):
                return unread[number:]
            topic, offset = message.topic() or "", message.offset() or 0
            if topic == inbox and (offset in early.applied or owned.look_ahead.has(offset)):
                early.skipped.add(offset)
            elif topic == inbox:
                self._intake.apply(tx, owned.bodies, message, frames[offset])
            else:
                try:
                    read = self._read(owned, message, read_at)
                except HeldBackError:
                    continue
                self._intake.apply(tx, owned.bodies, message, read)
            positions[topic] = offset + 1
        return ()

    def _read(self, owned: Partition, message: Message, read_at: float) -> Input:
        """Decode a record; raise HeldBackError if a statement waits.

        A statement that cannot be decoded is held back, and later statements wait for it.
        """
        is_statement = message.topic() == self._intake.inputs.cmd
        held, offset = owned.held_back if is_statement else None, message.offset() or 0
        if held is not None and not (held.let_in and offset <= held.offset):
            raise HeldBackError(f"waits behind the statement at offset {held.offset}")
        try:
            read = self._intake.read(message, read_at)
        except HeldBackError as error:
            self._held_back.hold_back(owned, message, str(error))
            raise
        if held is not None and offset == held.offset:
            self._held_back.resume(owned)
        return read

    def _refuse(
        self,
        tx: Transaction,
        work: Work,
        postponed: Iterable[DialogKey],
        positions: dict[str, int],
        rejection: RejectReason,
    ) -> None:
        for message in _unread(work.messages, positions):
            self._intake.refuse(tx, message, rejection)
            positions[message.topic() or ""] = (message.offset() or 0) + 1
        for key in postponed:
            report_postponed(tx, key, rejection)


def _unread(messages: Iterable[Message], positions: Mapping[str, int]) -> Iterator[Message]:
    """Yield records that are not yet applied; some are read again after a rebalance or a seek."""
    next_of = dict(positions)
    for message in messages:
        topic, offset = message.topic() or "", message.offset() or 0
        if offset >= next_of[topic]:
            next_of[topic] = offset + 1
            yield message
