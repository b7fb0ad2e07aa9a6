"""The relay of an outbox: from an application's database to ``cmd``, once each and in order.

A turn of its loop, and what is left behind by a crash after each step:

    1. note in the database which rows are the batch      the same batch again, unsent
    2. produce it, with its id as metadata of an offset   Kafka aborts; as after 1
    3. commit both in one Kafka transaction               the same batch again; Kafka has its id
    4. delete the rows                                    nothing

So the one question at the start is whether Kafka has the id of the batch that is under way. The
offset belongs to a group that has the outbox's name and reads nothing; it stands at the catalog,
because that is in every cluster. A relay that was replaced is fenced by Kafka at 2 and 3, and finds
another owner in the database at 1.

A relay commits such an offset before it takes its first batch, and again while it has nothing to
do. So an offset with another id says that the batch was not sent, and no offset at all says that
Kafka has forgotten it (``offsets.retention.minutes``): then nobody knows, and the relay refuses.
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
from streams.outbox.table import Batch, OutboxTable, Statement
from streams.wire.records import COMMAND

log = logging.getLogger("hopline.outbox")

RENEW = 600.0
"""Seconds without a batch after which the offset is committed again, so that it is not too old."""
LOOK_AGAIN = 5.0
"""Seconds after which an instance that nobody had applied is looked for again."""
_AGAIN = 1.0


class Relay:
    """Relay one outbox into one cluster; whoever starts next for the same outbox takes over.

    ``poll``: seconds between two looks at an empty outbox.
    """

    def __init__(
        self, cluster: Cluster, outbox: OutboxTable, *, poll: float = 0.1, timeout: float = 30.0
    ) -> None:
        self._cluster, self._outbox, self._poll, self._timeout = cluster, outbox, poll, timeout
        self._known: set[str] = set()
        self._absent: dict[str, float] = {}
        self._mark = TopicPartition(cluster.topics.catalog, 0)
        self._observer = cluster.consumer(f"{cluster.topics.prefix}outbox.{outbox.id}")
        # In this order: nobody else can commit any more, then the database says what is under way.
        self._transactor = Transactor(cluster, f"outbox.{outbox.id}", timeout=timeout)
        unfinished = outbox.claim()
        known = self._last_batch()
        if unfinished is not None:
            if known is None:
                raise _forgotten(unfinished)
            if known == unfinished.id:
                outbox.finish(unfinished)
        self._last, self._committed_at = known or "", 0.0
        self._commit((), self._last)
        self.relayed = 0

    def close(self) -> None:
        """Let the broker go."""
        self._observer.close()

    def run(self, stop: threading.Event) -> None:
        """Relay until ``stop``; raises SurroundingsError where another relay has taken over."""
        while not stop.is_set():
            try:
                if not self.turn():
                    stop.wait(self._poll)
            except AbortedError as error:  # nothing happened: the same batch again
                log.warning("%s %s", error.message, error.remedy)
                stop.wait(_AGAIN)

    def turn(self) -> int:
        """Relay one batch; returns how many statements there were.

        Raises AbortedError where Kafka takes nothing of it, FencedError and SupersededError where
        another relay has taken over.
        """
        batch = self._next()
        if batch is None:
            if time.monotonic() - self._committed_at > RENEW:
                self._commit((), self._last)
            return 0
        self._commit([self._record(statement) for statement in batch.statements], batch.id)
        self._outbox.finish(batch)
        self.relayed += len(batch.statements)
        return len(batch.statements)

    def _commit(self, records: Sequence[Outgoing], batch: str) -> None:
        mark = TopicPartition(self._mark.topic, self._mark.partition, 0, closed(batch))
        self._transactor.commit(records, [mark], self._observer.consumer_group_metadata())
        self._last, self._committed_at = batch, time.monotonic()

    @property
    def absent(self) -> tuple[str, ...]:
        """Return the instances that nobody has applied yet: what is said there waits."""
        return tuple(self._absent)

    def _next(self) -> Batch | None:
        """Return a batch for instances that are there; what is said to others waits for them."""
        now = time.monotonic()
        self._absent = {name: until for name, until in self._absent.items() if until > now}
        while True:
            batch = self._outbox.take(int(time.time()), without=self._absent)
            if batch is None:
                return None
            absent = [name for name in batch.instances if not self._has(name)]
            if not absent:
                return batch
            self._outbox.release(batch)
            self._absent.update(dict.fromkeys(absent, now + LOOK_AGAIN))

    def _has(self, instance: str) -> bool:
        if instance in self._known:
            return True
        topic = self._cluster.topics.cmd(instance)
        try:
            found = topic in self._cluster.admin().list_topics(timeout=self._timeout).topics
        except KafkaException as error:
            raise self._cluster.unreachable(error, self._timeout) from error
        if found:
            self._known.add(instance)
        else:
            log.warning("Topic %s does not exist: what is said there waits.", topic)
        return found

    def _record(self, said: Statement) -> Outgoing:
        topic = self._cluster.topics.cmd(said.instance)
        key = str(said.conversation).encode("ascii")
        return Outgoing(topic, key, said.body, [(COMMAND, said.command)])

    def _last_batch(self) -> str | None:
        """Return the id of the last batch that Kafka has; ``None`` where it has no offset."""
        try:
            [known] = self._observer.committed([self._mark], timeout=self._timeout)
        except KafkaException as error:
            raise self._cluster.unreachable(error, self._timeout) from error
        return note_of(known) if known.offset >= 0 else None


def _forgotten(batch: Batch) -> SurroundingsError:
    since = datetime.fromtimestamp(batch.at, UTC).isoformat(timespec="seconds")
    return SurroundingsError(
        f"{len(batch.statements)} statements are under way since {since}, and Kafka has forgotten "
        "the relay's position: whether it has them is not known any more.",
        f"Look for one (hopline tail --conversation {batch.statements[0].conversation}). "
        "Is it there, delete the rows from hopline_outbox whose positions hopline_relay "
        "names. Set batch, batch_at and positions there to NULL in either case.",
    )
