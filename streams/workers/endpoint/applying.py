"""Applying work in Kafka's transactions: all partitions in one, what fails alone, then in halves.

A transaction costs about the same however many partitions have a part in it, and each waits for the
one before. So all that a turn finds is committed together, as far as it fits.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from streams.errors import Number, SurroundingsError
from streams.kafka import Consumer, GoneError, Message, TopicPartition
from streams.node import Transaction
from streams.protocol import DialogKey
from streams.protocol import Message as Frame
from streams.workers.endpoint.allowance import BYTES
from streams.workers.endpoint.inputs import (
    Bodies,
    HeldBackError,
    Input,
    Intake,
    TooMuchError,
    tell_parked,
)
from streams.workers.endpoint.partition import HELD_AGAIN, Held, Partition, Work
from streams.workers.endpoint.transactions import Part, Transactions, number_of
from streams.workers.event_counts import Committed

log = logging.getLogger("hopline.endpoint")

Todo = tuple[Partition, Work]


@dataclass(frozen=True, slots=True)
class Applied:
    """Work that was applied to a transaction's overlay, and is to be committed.

    ``positions`` are the partition's from then on. ``left`` are records for which the transaction
    had no room, ``parked`` the dialogs that wait from then on.
    """

    owned: Partition
    work: Work
    tx: Transaction
    positions: dict[str, int]
    left: Sequence[Message] = ()
    parked: Sequence[DialogKey] = ()

    @property
    def part(self) -> Part:
        """Return what it has in Kafka's transaction."""
        return Part(self.tx, self.owned.number, self.positions)

    @property
    def size(self) -> int:
        """Return how many bytes of bodies it writes."""
        frames = sum(len(frame.body) for frame in self.tx.frames)
        return frames + sum(len(message.body) for message in self.tx.queued)


class Applier:
    """Apply the work of an endpoint worker's partitions, and merge what is committed.

    An abort drops the overlays and seeks ``consumer`` back, because librdkafka does not.
    """

    def __init__(
        self,
        home: str,
        transactions: Transactions,
        intake: Intake,
        consumer: Consumer,
        counts: Committed,
        now: Callable[[], int],
    ) -> None:
        self._home = home
        self._transactions, self._intake, self._consumer = transactions, intake, consumer
        self._counts, self._now = counts, now

    def apply(self, works: Iterable[Todo], read_at: float, member: Any) -> None:
        """Apply the work of partitions, each once; its records were read at ``read_at``.

        ``member`` is the consumer group's member that owns the partitions.
        """
        self._read_at, self._member = read_at, member
        todo: list[Todo] = []
        for owned, work in works:
            if work.is_nothing:
                owned.read_ends()
            else:
                todo.append((owned, work))
        for owned, work in self._together(todo) if len(todo) > 1 else todo:
            _end(owned, work, done=self._alone(owned, work))

    # --- all partitions together -----------------------------------------------------------------

    def _together(self, todo: Sequence[Todo]) -> list[Todo]:
        """Apply all in one transaction, or in few; returns what has failed: it is done alone."""
        failed: list[Todo] = []
        group: list[Applied] = []
        size, began = 0, time.monotonic()
        for owned, work in todo:
            try:
                applied = self._applied(owned, work)
            except SurroundingsError:
                self._abandon(group)
                raise
            except Exception:  # alone it fails again, and is told
                failed.append((owned, work))
                continue
            group.append(applied)
            size += applied.size
            if size >= BYTES:
                failed += self._commit_group(group, began)
                group, size, began = [], 0, time.monotonic()
        return failed + self._commit_group(group, began)

    def _commit_group(self, group: Sequence[Applied], began: float) -> list[Todo]:
        """Commit the work of several partitions; returns what is to be done alone, if that fails.

        Where Kafka has aborted nothing is: it is read again.
        """
        if not group:
            return []
        try:
            done = self._commit(group, began)
        except SurroundingsError:
            raise
        except Exception:
            return [(one.owned, one.work) for one in group]
        for one in group:
            _end(one.owned, one.work, done=done)
        return []

    # --- a partition alone -----------------------------------------------------------------------

    def _alone(self, owned: Partition, work: Work) -> bool:
        """Apply work in one transaction; what fails twice is bisected until it is one thing.

        ``False``: Kafka has aborted. What follows must not be applied then: it would move the
        positions past records that are read again only to be taken for repeated ones.
        """
        for _ in range(2):
            try:
                return self._transact(owned, work)
            except GoneError as error:
                failure: Exception = error
            except SurroundingsError:
                raise
            except Exception as error:
                failure = error
        halves = work.halves()
        if halves is not None:
            log.info("%s: %s was not applied: %r; halving it", self._home, work, failure)
            return all(half.is_nothing or self._alone(owned, half) for half in halves)
        log.error("%s: %s was not applied", self._home, work, exc_info=failure)
        return self._transact(owned, work, refusal=number_of(failure))

    def _transact(self, owned: Partition, work: Work, refusal: Number | None = None) -> bool:
        """Apply work, or with ``refusal`` tell that it cannot be applied; ``False``: aborted.

        Where its bodies are too much for one transaction, the allowance is halved until they fit;
        work that is bisected already is bisected further instead. What one thing needs is read
        however much it is: a dialog's window bounds it, and less of it would never do.
        """
        bodies = owned.bodies
        while True:
            began = time.monotonic()
            try:
                return self._commit([self._applied(owned, work, refusal, bodies)], began)
            except TooMuchError:
                if work.opens and owned.allowance.records > 1:
                    owned.allowance.halve()
                    work = owned.lessen(work)
                elif len(work) == 1 and not bodies.unbounded:
                    bodies = replace(bodies, unbounded=True)
                else:
                    raise

    # --- one transaction -------------------------------------------------------------------------

    def _applied(
        self,
        owned: Partition,
        work: Work,
        refusal: Number | None = None,
        bodies: Bodies | None = None,
    ) -> Applied:
        """Apply work to an overlay, or tell with ``refusal`` that it cannot be applied."""
        tx = owned.endpoint.begin(
            bodies or owned.bodies,
            self._now(),
            timers=work.timers and refusal is None,
            due=work.due,
            most=owned.allowance.records,
            room=work.room if refusal is None else (),
            opens=work.opens,
            probes=work.probes,
        )
        positions = dict(owned.positions)
        left: Sequence[Message] = ()
        parked: Sequence[DialogKey] = ()
        try:
            if refusal is None:
                left = self._apply_records(owned, tx, work, positions)
            else:
                parked = (*work.due, *work.probes, *work.room)
                tx.probed = work.probes
                self._refuse(tx, work, parked, positions, refusal)
            tx.close()
        except BaseException:
            self._abandon([Applied(owned, work, tx, positions)])
            raise
        return Applied(owned, work, tx, positions, left, parked)

    def _apply_records(
        self, owned: Partition, tx: Transaction, work: Work, positions: dict[str, int]
    ) -> Sequence[Message]:
        """Apply records and move the positions; returns those for which the transaction is full."""
        readings = list(self._read(owned, _unread(work.messages, positions)))
        messages, inputs = [m for m, _ in readings], [read for _, read in readings]
        tx.foresee(read for read in inputs if isinstance(read, Frame))
        for number, (message, read) in enumerate(zip(messages, inputs, strict=True)):
            if number and tx.is_full and work.opens:
                return messages[number:]
            self._intake.apply(tx, owned.bodies, message, read)
            positions[message.topic() or ""] = (message.offset() or 0) + 1
        return ()

    def _read(
        self, owned: Partition, messages: Iterable[Message]
    ) -> Iterator[tuple[Message, Input]]:
        """Yield records and what they say; a statement that cannot be read is held back."""
        cmd = self._intake.inputs.cmd
        for message in messages:
            held = owned.held if message.topic() == cmd else None
            if held is not None and not (held.let_in and (message.offset() or 0) <= held.offset):
                continue  # the one that is held back comes first
            try:
                read = self._intake.read(message, self._read_at)
            except HeldBackError as error:
                self._hold_back(owned, message, str(error))
                continue
            if held is not None and message.offset() == held.offset:
                owned.held = None
                log.warning("%s: %s/%d goes on", self._home, cmd, owned.number)
            yield message, read

    def _hold_back(self, owned: Partition, message: Message, why: str) -> None:
        offset = message.offset() or 0
        if owned.held is None or owned.held.offset != offset:
            log.error(
                "%s: %s: it and what is behind it waits, all else goes on. Another version has "
                "written it: run the 'hopline apply TOPOLOGY' of that version, which announces its "
                "schemas, or 'hopline skip' with this place to give the statement up",
                self._home,
                why,
            )
        owned.held = Held(offset, why, time.monotonic() + HELD_AGAIN)
        self._consumer.pause([TopicPartition(message.topic() or "", owned.number)])

    def let_in(self, owned: Partition, clock: float) -> None:
        """Read a statement that is held back again, when it is time."""
        held, cmd = owned.held, self._intake.inputs.cmd
        if held is None or held.let_in or clock < held.again_at:
            return
        held.let_in = True
        owned.pending = [m for m in owned.pending if m.topic() != cmd]
        self._consumer.seek(TopicPartition(cmd, owned.number, owned.positions[cmd]))
        self._consumer.resume([TopicPartition(cmd, owned.number)])

    def _refuse(
        self,
        tx: Transaction,
        work: Work,
        parked: Iterable[DialogKey],
        positions: dict[str, int],
        refusal: Number,
    ) -> None:
        for message in _unread(work.messages, positions):
            self._intake.refuse(tx, message, refusal)
            positions[message.topic() or ""] = (message.offset() or 0) + 1
        for key in parked:
            tell_parked(tx, key, refusal)

    def _commit(self, applied: Sequence[Applied], began: float) -> bool:
        """Commit what was applied since ``began``, and merge it; ``False``: Kafka has aborted."""
        try:
            ends = self._transactions.commit([one.part for one in applied], self._member)
        except BaseException:
            self._abandon(applied)
            raise
        if ends is None:  # the same records are read again
            self._abandon(applied)
            for one in applied:
                one.owned.allowance.halve()
                self._seek_back(one.owned)
            return False
        seconds = time.monotonic() - began
        self._counts.transactions += 1
        for one in applied:
            one.owned.merge(one.tx, ends[one.owned.number], one.positions, parked=one.parked)
            one.owned.put_back(one.left)
            one.owned.allowance.learn(seconds, one.tx.planned, len(one.tx.machines))
            self._counts.add(one.tx, seconds)
        return True

    def _abandon(self, applied: Iterable[Applied]) -> None:
        for one in applied:
            one.owned.endpoint.abandon(one.tx)
            self._counts.rolled_back += 1

    def _seek_back(self, owned: Partition) -> None:
        for topic, position in owned.positions.items():
            self._consumer.seek(TopicPartition(topic, owned.number, position))
        owned.ends.clear()
        owned.pending.clear()


def _end(owned: Partition, work: Work, *, done: bool) -> None:
    """Take notice that work is done, or give back what was taken for it."""
    if done:
        owned.read_ends()
    else:
        owned.arm(work.due)


def _unread(messages: Iterable[Message], positions: Mapping[str, int]) -> Iterator[Message]:
    """Yield what is not applied yet: after a rebalance or a seek records may come once more."""
    next_of = dict(positions)
    for message in messages:
        topic, offset = message.topic() or "", message.offset() or 0
        if offset >= next_of[topic]:
            next_of[topic] = offset + 1
            yield message
