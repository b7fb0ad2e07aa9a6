"""Apply work in Kafka's transactions: all partitions together, failed work alone or in halves.

A transaction takes about the same time for any number of partitions, and each transaction waits for
the previous one. So all work of a turn is committed together if it fits into one transaction.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from streams.errors import SurroundingsError
from streams.kafka import Consumer, FencedError, TopicPartition
from streams.node import TooMuchError, UnreadableError
from streams.workers.endpoint.allowance import BYTES, LONG
from streams.workers.endpoint.apply_work import Applied, WorkApplier
from streams.workers.endpoint.inputs import RejectReason
from streams.workers.endpoint.partition import Partition, Work
from streams.workers.endpoint.transactions import Transactions
from streams.workers.event_counts import Committed
from streams.workers.record_errors import Tracebacks, is_caused_by_record, number_of

log = logging.getLogger("hopline.endpoint")

Todo = tuple[Partition, Work]


class WorkCommitter:
    """Apply the work of an endpoint worker's partitions, and merge it after the commit.

    After an abort, the overlays are dropped and ``consumer`` is reset by a seek, because librdkafka
    does not reset it.
    """

    def __init__(
        self,
        home: str,
        transactions: Transactions,
        works: WorkApplier,
        consumer: Consumer,
        counts: Committed,
    ) -> None:
        self._home = home
        self._transactions, self._works = transactions, works
        self._consumer, self._counts = consumer, counts
        self._tracebacks = Tracebacks()

    def apply(self, works: Iterable[Todo], read_at: float, member: Any) -> Partition | None:
        """Apply the work of partitions, each once; the records were read at ``read_at``.

        ``member`` is the consumer group's member that owns the partitions. After a second, the work
        of the remaining partitions is returned to them. Returns the first of these partitions, if
        any.
        """
        self._read_at, self._member = read_at, member
        todo: list[Todo] = []
        for owned, work in works:
            if work.is_nothing:
                owned.read_ends()
            else:
                todo.append((owned, work))
        waiting = iter(todo)
        for owned, work in self._together(waiting) if len(todo) > 1 else waiting:
            _end(owned, work, done=self._alone(owned, work))
        left = list(waiting)
        for owned, work in left:
            owned.give_back(work)
        return left[0][0] if left else None

    # --- all partitions together -----------------------------------------------------------------

    def _together(self, waiting: Iterator[Todo]) -> list[Todo]:
        """Apply all work in one or a few transactions; return failed work, to retry it alone.

        Work for which there is no time left remains in ``waiting``.
        """
        failed: list[Todo] = []
        group: list[Applied] = []
        size, planned, began = 0, 0, time.monotonic()
        end = began + LONG
        for owned, work in waiting:
            try:
                applied = self._works.apply(owned, work, self._read_at)
            except SurroundingsError:
                self._works.abandon(group)
                raise
            except Exception:  # it fails again when it is retried alone, and is then reported
                failed.append((owned, work))
            else:
                group.append(applied)
                size, planned = size + applied.size, planned + applied.tx.planned
                if size >= BYTES or planned >= applied.tx.most:
                    failed += self._commit_group(group, began)
                    group, size, planned, began = [], 0, 0, time.monotonic()
            if time.monotonic() > end:
                break
        return failed + self._commit_group(group, began)

    def _commit_group(self, group: Sequence[Applied], began: float) -> list[Todo]:
        """Commit the work of several partitions; if that fails, return the work to retry alone.

        Returns no work if Kafka aborted, because the records are then read again.
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
        """Apply work in one transaction; bisect work that fails twice, down to a single item.

        If bodies of dialogs that are due cannot be read, these dialogs are postponed. The others
        are due again in the next turn, because the search for further unreadable bodies takes time.

        Returns ``False`` if Kafka aborted, or if a part had no room for all its records. Then later
        work must not be applied: it would advance the offsets past records that are read again, and
        these would be skipped as repeated.
        """
        for _ in range(2):
            try:
                return self._transact(owned, work)
            except SurroundingsError:
                raise
            except UnreadableError as error:  # a second attempt would search again
                failure: Exception = error
                owned.look_ahead.put_back(work.ahead)
                work = replace(work, ahead=())
                lost, rest = work.split(error.conversations)
                if not work.messages and (error.is_unfinished or not lost.is_nothing):
                    owned.arm((*rest.due, *rest.room))
                    return lost.is_nothing or self._refuse(owned, lost, _reason(error))
                break
            except Exception as error:
                failure = error
            if work.ahead:
                owned.look_ahead.give_up()
                work = replace(work, ahead=())
        halves = work.halves()
        if halves is not None:
            log.info("%s: %s failed: %r; retrying in halves", self._home, work, failure)
            return all(half.is_nothing or self._alone(owned, half) for half in halves)
        self._tracebacks.log(log, f"{self._home}: {work} failed", failure)
        return self._refuse(owned, work, _reason(failure))

    def _refuse(self, owned: Partition, work: Work, rejection: RejectReason) -> bool:
        """Report a single item, or its coordinates if its content cannot be read or written."""
        try:
            return self._transact(owned, work, rejection)
        except Exception as error:
            if not is_caused_by_record(error):
                raise
            what = f"{self._home}: rejecting {work} failed; reporting its place only"
            self._tracebacks.log(log, what, error)
        return self._transact(owned, work, rejection._replace(bare=True))

    def _transact(
        self, owned: Partition, work: Work, rejection: RejectReason | None = None
    ) -> bool:
        """Apply work, or report its ``rejection``; return ``False`` if records are read again.

        If the bodies are too large for one transaction, the allowance is halved until they fit;
        work that was already bisected is bisected further instead. A single item cannot be divided,
        so it is read regardless of its size, which a dialog's window limits.
        """
        bodies = owned.bodies
        while True:
            began = time.monotonic()
            try:
                applied = self._works.apply(owned, work, self._read_at, rejection, bodies)
                if not self._commit([applied], began):
                    return False
                if applied.left and not work.opens:
                    self._seek_back(owned)  # other parts of the bisected work follow
                    return False
                return True
            except TooMuchError:
                if work.opens and owned.allowance.records > 1:
                    owned.allowance.halve()
                    work = owned.lessen(work)
                elif len(work) == 1 and not bodies.unbounded:
                    bodies = replace(bodies, unbounded=True)
                else:
                    raise

    # --- one transaction -------------------------------------------------------------------------

    def _commit(self, applied: Sequence[Applied], began: float) -> bool:
        """Commit and merge the work applied since ``began``; return ``False`` if aborted."""
        try:
            ends = self._transactions.commit([one.part for one in applied], self._member)
        except BaseException as error:
            self._works.abandon(applied)
            if isinstance(error, FencedError):
                # Either Kafka aborted a transaction that took too long, or another process has
                # taken the slot. Kafka reports both in the same way. In the second case, this
                # process exits, so a smaller limit is harmless.
                _halve(applied)
            raise
        if ends is None:  # the same records will be read again
            self._works.abandon(applied)
            _halve(applied)
            for one in applied:
                self._seek_back(one.owned)
                one.owned.look_ahead.put_back(one.work.ahead)
            return False
        seconds = time.monotonic() - began
        for one in applied:
            one.owned.merge(one.tx, ends[one.owned.number], one.positions, postponed=one.postponed)
            one.owned.put_back(one.left)
            one.owned.look_ahead.put_back(one.ahead_left)
            one.owned.look_ahead.merge(one.early)
            one.owned.allowance.learn(seconds, one.tx.planned, len(one.tx.machines))
            self._counts.add(one.tx, seconds)
        self._counts.transactions += 1  # last: other threads then also see the counts
        return True

    def _seek_back(self, owned: Partition) -> None:
        for topic, position in owned.positions.items():
            self._consumer.seek(TopicPartition(topic, owned.number, position))
        owned.ends.clear()
        owned.pending.clear()


def _reason(failure: Exception) -> RejectReason:
    why = str(failure) if isinstance(failure, UnreadableError) else ""
    return RejectReason(number_of(failure), why)


def _halve(applied: Sequence[Applied]) -> None:
    """Halve the limit of these partitions, because an aborted transaction may be too large."""
    for one in applied:
        one.owned.allowance.halve()


def _end(owned: Partition, work: Work, *, done: bool) -> None:
    """Finish work, or return the items that were taken for it."""
    if done:
        owned.read_ends()
    else:
        owned.arm(work.due)
