"""Relay an outbox from an application's database to ``cmd``: each statement once, in order.

The steps of its loop, and the result of a crash after each one:

    1. note in the database which rows are the batch      the same batch again, unsent
    2. produce it, with its id as metadata of an offset   Kafka aborts; as after 1
    3. commit both in one Kafka transaction               the same batch again; Kafka has its id
    4. delete the rows                                    nothing

So a starting relay needs to know only whether Kafka has the id of the batch in flight. The offset
belongs to a consumer group that has the outbox's name and reads nothing. It is stored for the
catalog topic, which every cluster has. Kafka fences a replaced relay in steps 2 and 3; in step 1,
such a relay finds another owner in the database.

A relay commits such an offset before its first batch, and again while it is idle. So an offset with
another id means that the batch was not sent. If the offset is missing, Kafka has deleted it
(``offsets.retention.minutes``); the outcome is then unknown, and the relay refuses to start.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from streams.errors import SurroundingsError
from streams.kafka import (
    AbortedError,
    Cluster,
    KafkaException,
    Outgoing,
    TopicPartition,
    Transactor,
    closed,
    note_of,
)
from streams.outbox.rows import Batch, Statement
from streams.outbox.table import OutboxTable
from streams.prose import counted
from streams.store.database import UnavailableError
from streams.wire.records import COMMAND

log = logging.getLogger("hopline.outbox")

RENEW = 600.0
"""Seconds without a batch after which the offset is committed again, before it expires."""
LOOK_AGAIN = 5.0
"""Seconds after which a missing instance is checked again, and the longest time between polls."""
_AGAIN, _LONGEST = 1.0, 30.0
"""Seconds before the first retry, and the maximum while the database is unavailable."""
_REST = 9
"""The wait after a poll that found no batch, as a multiple of the poll's duration.

Such a poll has read all rows that must wait, either because their instance is missing or because
the rows are too large.
"""
_MOST_NAMES, _NAME_SHOWN = 100, 100
"""The maximum number of missing instances that are listed, and of characters of each name."""


class Relay:
    """Relay one outbox into one cluster; the next relay of the same outbox takes over.

    ``poll``: seconds between two polls of an empty outbox; the pause is longer if many rows must
    wait.
    """

    def __init__(
        self, cluster: Cluster, outbox: OutboxTable, *, poll: float = 0.1, timeout: float = 30.0
    ) -> None:
        self._cluster, self._outbox, self._poll, self._timeout = cluster, outbox, poll, timeout
        self._topics: frozenset[str] = frozenset()
        self._list_again = self._look_again = self._measure_again = self._rest = 0.0
        self._present: frozenset[str] = frozenset()
        self._absent: tuple[str, ...] = ()
        self._too_large: Sequence[int] = ()
        self._mark = TopicPartition(cluster.topics.catalog, 0)
        self._observer = cluster.consumer(f"{cluster.topics.prefix}outbox.{outbox.id}")
        # The order matters: no other process may be able to commit before the batch in flight is
        # read.
        self._transactor = Transactor(cluster, f"outbox.{outbox.id}", timeout=timeout)
        unfinished = outbox.claim()
        known = self._last_batch()
        if unfinished is not None:
            if not unfinished.statements:  # its rows were deleted, so nothing can be lost
                outbox.finish(unfinished)
            elif known is None:
                raise _forgotten(unfinished)
            elif known == unfinished.id:
                outbox.finish(unfinished)
        self._last, self._committed_at = known or "", 0.0
        self._commit((), self._last)
        self.relayed = 0

    def close(self) -> None:
        """Close the producer."""
        self._observer.close()

    def run(self, stop: threading.Event) -> None:
        """Relay until ``stop``; raise SurroundingsError if another relay has taken over.

        While the database is unavailable, the relay waits, and logs this once.
        """
        wait = 0.0
        while not stop.is_set():
            try:
                found = self.turn()
                if wait:
                    log.warning("The outbox in %s is available again.", self._outbox.address)
                wait = 0.0
                if not found:
                    stop.wait(max(self._poll, self._rest))
            except UnavailableError as error:
                if not wait:
                    log.warning("%s The relay waits until it is available.", error.message)
                wait = min(2 * wait or _AGAIN, _LONGEST)
                stop.wait(wait)
            except AbortedError as error:  # the batch had no effect and is relayed again
                log.warning("%s %s", error.message, error.remedy)
                stop.wait(_AGAIN)

    def turn(self) -> int:
        """Relay one batch; return the number of statements.

        Raises AbortedError if Kafka does not accept the statements, UnavailableError if the
        database is unavailable, FencedError and SupersededError if another relay has taken over.
        """
        batch = self._next()
        if batch is None:
            if time.monotonic() - self._committed_at > RENEW:
                self._commit((), self._last)
            return 0
        try:
            if batch.id != self._last:  # otherwise its rows could not be deleted after the commit
                self._commit([self._record(statement) for statement in batch.statements], batch.id)
        except AbortedError as error:
            if error.refused:  # the next batch leaves out oversized rows
                self._outbox.release(batch)
            raise
        self._outbox.finish(batch)
        self.relayed += len(batch.statements)
        return len(batch.statements)

    def _commit(self, records: Sequence[Outgoing], batch: str) -> None:
        mark = TopicPartition(self._mark.topic, self._mark.partition, 0, closed(batch))
        self._transactor.commit(records, [mark], self._observer.consumer_group_metadata())
        self._last, self._committed_at = batch, time.monotonic()

    @property
    def absent(self) -> tuple[str, ...]:
        """Return the first instances that are not applied, with long names truncated.

        The statements for these instances wait.
        """
        return self._absent

    def _next(self) -> Batch | None:
        """Return a batch for existing instances; statements for other instances wait."""
        if time.monotonic() >= self._list_again:
            self._look()
        batch = self._take()
        # All rows may be for instances not checked yet; each check scans the table.
        if batch is None and time.monotonic() >= self._look_again:
            self._look()
            batch = self._take()
        return batch

    def _take(self) -> Batch | None:
        started = time.monotonic()
        while (batch := self._outbox.take(int(time.time()), self._present)) is not None:
            if batch.id == self._last or all(map(self._has, batch.instances)):
                return batch
            self._outbox.release(batch)  # a former relay has completed the batch
        self._rest = min(_REST * (time.monotonic() - started), LOOK_AGAIN)
        return None

    def _look(self) -> None:
        """Determine which of the statements' instances exist."""
        now = time.monotonic()
        self._look_again = now + _AGAIN
        warns = now >= self._list_again
        if warns:
            self._topics = self._listed()
            self._list_again = now + LOOK_AGAIN
        if now >= self._measure_again:  # this reads the size of every row of the table
            self._report_too_large()
            self._measure_again = now + RENEW
        present, absent = set(filter(self._has, self._present)), list[str]()
        for name in self._outbox.instances():
            if self._has(name):
                present.add(name)
            elif len(absent) < _MOST_NAMES:
                absent.append(name[:_NAME_SHOWN])
        for name in absent:
            if warns or name not in self._absent:
                log.warning(
                    "The instance %s is not in the cluster yet, so its statements wait.", name
                )
        self._present, self._absent = frozenset(present), tuple(absent)

    def _has(self, instance: str) -> bool:
        return self._cluster.topics.cmd(instance) in self._topics

    def _report_too_large(self) -> None:
        found = self._outbox.too_large()
        if found and found != self._too_large:
            log.error(
                "Rows of hopline_outbox are too large for Kafka and are not relayed: positions %s.",
                ", ".join(map(str, found)),
            )
        self._too_large = found

    def _listed(self) -> frozenset[str]:
        try:
            return frozenset(self._cluster.admin().list_topics(timeout=self._timeout).topics)
        except KafkaException as error:
            raise self._cluster.unreachable(error, self._timeout) from error

    def _record(self, said: Statement) -> Outgoing:
        topic = self._cluster.topics.cmd(said.instance)
        key = said.conversation.encode("utf-8")  # invalid ids are reported by the endpoint worker
        return Outgoing(topic, key, said.body, [(COMMAND, said.command)])

    def _last_batch(self) -> str | None:
        """Return the id of the last batch that Kafka has; ``None`` if there is no offset."""
        try:
            [known] = self._observer.committed([self._mark], timeout=self._timeout)
        except KafkaException as error:
            raise self._cluster.unreachable(error, self._timeout) from error
        return note_of(known) if known.offset >= 0 else None


def _forgotten(batch: Batch) -> SurroundingsError:
    since = datetime.fromtimestamp(batch.at, UTC).isoformat(timespec="seconds")
    unconfirmed = counted(len(batch.statements), "statement is", "statements are")
    return SurroundingsError(
        f"{unconfirmed} unconfirmed since {since}, and Kafka has lost "
        "the relay's offset, so they may or may not have been written.",
        f"Look for one of them (hopline tail --conversation {batch.statements[0].conversation}). "
        "If it was written, delete the rows from hopline_outbox whose positions hopline_relay "
        "lists. "
        "In either case, set batch, batch_at and positions in hopline_relay to NULL.",
    )
