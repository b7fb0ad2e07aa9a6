"""The loop of an endpoint worker: read commands and frames, run dialogs, write to queues.

A worker owns partition p of ``cmd``, ``in`` and ``ack`` together. Each turn of its loop is a
transaction shared by all its partitions:

    1. apply the records that were read, and the timers that are due, to an overlay
    2. produce: frames to ``out``, messages to queues, state, results, events
    3. send the next offsets of ``cmd``, ``in`` and ``ack`` to the transaction
    4. commit; then, and only then, merge the overlay

A crash before step 4 leaves no effects; after step 4, all effects remain. After an abort, the
overlay is dropped, and the loop seeks back because librdkafka does not.
"""

from __future__ import annotations

import logging
import threading
import time

from streams.errors import SurroundingsError
from streams.kafka import (
    PROMPT,
    ConsumerHealth,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    is_fatal,
    partitions_of,
    size_of,
    skip_key,
    take_more,
)
from streams.workers.control import Control
from streams.workers.endpoint.allowance import BYTES
from streams.workers.endpoint.apply_work import WorkApplier
from streams.workers.endpoint.assignment import Assignment
from streams.workers.endpoint.commit_work import WorkCommitter
from streams.workers.endpoint.held_back import HeldBackStatements
from streams.workers.endpoint.inputs import Intake
from streams.workers.endpoint.move_bodies import move_bodies
from streams.workers.endpoint.partition import IDLE_POLL, POLL, Partition, Work
from streams.workers.endpoint.transactions import Transactions
from streams.workers.endpoint.tuning import Tuning
from streams.workers.event_counts import Committed, Traffic
from streams.workers.pulse import beat, closing
from streams.workers.slot import Slot

log = logging.getLogger("hopline.endpoint")
REST_EVERY = 10.0
"""Seconds after which unneeded readers of bodies are closed."""
_FETCHED, _MOST_FETCHED = 256, 1 << 20
"""Bytes to fetch from a partition: for each record of a transaction, and the maximum."""


class EndpointLoop:
    """The loop of an endpoint worker as one group member; it is recreated with its clients.

    ``transactions`` belongs to the worker's slot, whose previous owner is fenced.
    """

    def __init__(
        self,
        control: Control,
        slot: Slot,
        assignment: Assignment,
        transactions: Transactions,
        tuning: Tuning,
        counts: Committed,
        traffic: Traffic,
    ) -> None:
        cluster, ownership, inputs = assignment.cluster, assignment.ownership, assignment.inputs
        self._control, self._tuning, self._counts = control, tuning, counts
        self._ownership, self._assignment = ownership, assignment
        self._transactions, self._cluster = transactions, cluster
        self._first, self._read_at, self._rest_at = 0, time.monotonic(), 0.0
        partitions = len(partitions_of(cluster, inputs.cmd))
        intake = Intake(inputs, partitions, control.try_catch_up, self._is_to_skip)
        self._health = ConsumerHealth(cluster, traffic.reader)
        consumer = self._consumer = cluster.consumer(
            f"{cluster.topics.prefix}endpoint.{ownership.home}",
            partition_assignment_strategy="range",
            enable_partition_eof=True,
            # Prefetch for one transaction only: all topics share a queue in the client, in which a
            # flood of frames would delay later statements.
            fetch_message_max_bytes=min(_MOST_FETCHED, tuning.pace.value[0] * _FETCHED),
            # With a longer wait, the client sends fewer requests but still returns records
            # immediately.
            fetch_wait_max_ms=500,
            stats=self._health.report,
            # A skipped statement would be lost, whereas frames and acknowledgements are retried.
            exact={inputs.cmd},
            **PROMPT,
            **slot.member(ownership.home, control.catalog),
        )
        self._held_back = HeldBackStatements(ownership.home, inputs.cmd, consumer)
        works = WorkApplier(intake, self._held_back, counts, control.now)
        self._committer = WorkCommitter(ownership.home, transactions, works, consumer, counts)

    def run(self, stop: threading.Event) -> None:
        """Run dialogs until ``stop``, or until the role is lost."""
        self._assignment.subscribe(self._consumer)
        with closing(self._close):
            while not stop.is_set() and self._ownership.lasts:
                self._turn()
                self._look_after_consumer()

    def _close(self) -> None:
        self._ownership.assigned = False
        self._assignment.close()
        self._consumer.close()

    def _look_after_consumer(self) -> None:
        cmd, owned = self._assignment.inputs.cmd, self._assignment.owned
        paused = [(cmd, number) for number, one in owned.items() if one.held_back is not None]
        self._health.look(self._ownership.assigned, self._consumer, paused=paused)

    def _turn(self) -> None:
        beat()
        self._read()
        self._read_at = time.monotonic()
        if not self._ownership.confirm_awake():
            return
        self._apply_what_there_is()
        if self._tuning.trims_every is not None:
            for owned in self._assignment.owned.values():
                self._look_for_trim_point(owned, self._tuning.trims_every)
        if self._read_at >= self._rest_at:
            self._rest_at = self._read_at + REST_EVERY
            for owned in self._assignment.owned.values():
                owned.bodies.rest()

    def _apply_what_there_is(self) -> None:
        """Apply the available work of all partitions, in one transaction if possible.

        A partition whose work did not fit comes first in the next turn.
        """
        self._assignment.know_progress(self._control.now())
        owned = sorted(self._assignment.owned.values(), key=self._turn_of)
        left, works = self._tuning.pace.value[0], list[tuple[Partition, Work]]()
        for one in owned:
            if left <= 0:
                break
            self._follow_catalog(one)
            self._held_back.read_again(one, self._read_at)
            self._follow_end(one)
            work = one.take_work(self._control.now(), left)
            left -= len(work)
            works.append((one, work))
        waits = self._committer.apply(works, self._read_at, self._assignment.member)
        if waits is not None:
            self._first = waits.number
        elif owned:
            self._first = owned[0].number + 1

    def _turn_of(self, owned: Partition) -> tuple[bool, int]:
        return owned.number < self._first, owned.number

    def _read(self) -> None:
        """Read the available records; wait only if there is nothing else to do."""
        busy = any(o.is_busy for o in self._assignment.owned.values())
        first = self._consumer.poll(0 if busy else self._wait())
        if first is None:
            return
        self._sort(first)
        records, wait = self._tuning.pace.value
        pending = [message for o in self._assignment.owned.values() for message in o.pending]
        if len(pending) >= records or sum(map(size_of, pending)) >= BYTES:
            return  # enough for the next transaction; the client keeps the other records
        for message in take_more(self._consumer, records, 0 if busy else wait):
            self._sort(message)

    def _wait(self) -> float:
        """Return the number of seconds to wait for a record."""
        if self._ownership.may_go:  # the role may be lost at any moment, so it must be checked
            return POLL
        now = self._control.now()
        return min((o.wait(now) for o in self._assignment.owned.values()), default=IDLE_POLL)

    def _look_for_trim_point(self, owned: Partition, every: float) -> None:
        if owned.look_for_trim_point(self._read_at, every) is None:
            return
        member, now = self._assignment.member, self._control.now()
        if not move_bodies(owned, self._assignment.young, self._transactions, member, now):
            self._counts.rolled_back += 1

    def _sort(self, message: Message) -> None:
        owned = self._assignment.owned.get(message.partition() or 0)
        if message.error() is not None:
            self._not_a_record(message, owned)
        elif owned is not None:
            owned.pending.append(message)

    def _follow_catalog(self, owned: Partition) -> None:
        if self._ownership.instance not in self._control.catalog.instances:
            raise SurroundingsError(f"The catalog no longer has {self._ownership.instance}.")
        catalog = self._ownership.catalog()
        if catalog is not owned.endpoint.catalog:
            owned.switch(catalog)

    def _follow_end(self, owned: Partition) -> None:
        """Pass a partition the number of waiting records of `in`, as of the last fetch."""
        inbox = self._assignment.inputs.inbox
        where = TopicPartition(inbox, owned.number)
        _, end = self._consumer.get_watermark_offsets(where, cached=True)
        owned.look_ahead.follow(owned.positions[inbox], end)

    def _is_to_skip(self, place: str) -> bool:
        return self._control.has(skip_key(place.removeprefix(self._cluster.topics.prefix)))

    def _not_a_record(self, message: Message, owned: Partition | None) -> None:
        error = message.error()
        assert error is not None
        if error.code() == KafkaError._PARTITION_EOF:
            if owned is not None:
                owned.ends[message.topic() or ""] = message.offset() or 0
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise SurroundingsError(f"{self._ownership.instance}: {error.str()}")
        elif is_fatal(error):
            raise KafkaException(error)
        else:
            log.warning("%s: %s", self._ownership.instance, error.str())
