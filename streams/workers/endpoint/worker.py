"""The endpoint worker: applications' commands and arriving frames in, dialogs and queues out.

It owns partition p of ``cmd``, ``in`` and ``ack`` together. A turn of its loop is a transaction,
which all its partitions share:

    1. apply the records that were read, and the timers that are due, to an overlay
    2. produce: frames to ``out``, messages to queues, state, results, events
    3. send the next offsets of ``cmd``, ``in`` and ``ack`` to the transaction
    4. commit; then, and only then, merge the overlay

A crash before 4 leaves nothing behind; after 4 everything. An abort drops the overlay and seeks
back, because librdkafka does not.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping

from streams.errors import SurroundingsError
from streams.kafka import (
    Cluster,
    Consumer,
    KafkaError,
    KafkaException,
    LostBrokers,
    Message,
    is_fatal,
    partitions_of,
    skip_key,
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
from streams.workers.endpoint.standby import Standby
from streams.workers.endpoint.transactions import Transactions
from streams.workers.endpoint.tuning import AS_USUAL, Tuning
from streams.workers.event_counts import Committed, EventCounts, Traffic
from streams.workers.ownership import PairOwnership
from streams.workers.pulse import beat, rest
from streams.workers.slot import UNNAMED, Slot

log = logging.getLogger("hopline.endpoint")

AHEAD_KBYTES = 16 << 10
FETCH_BYTES = 256 << 10
"""Bytes that one answer of the broker has of a partition at most; one record may have more."""


class EndpointWorker:
    """One replica of an instance's endpoint worker; ``slot`` names it across restarts, if any.

    With ``pair`` it runs the dialogs of that mirrored pair, while its instance is the principal.
    As a ``standby`` it begins when nobody else works in its slot. ``young`` is set from outside:
    where the records begin, if any, that are kept for their age.
    """

    role = "endpoint"

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        control: Control,
        *,
        pair: str | None = None,
        slot: str = "",
        standby: bool = False,
        tuning: Tuning = AS_USUAL,
    ) -> None:
        self.instance = instance
        self.ownership = PairOwnership(control, instance, pair)
        self._cluster = cluster
        self._control = control
        self._pair = pair
        # As the same static member, whoever has the slot next is dealt its partitions at once.
        named = slot or (UNNAMED if standby or pair is not None else "")
        self._slot = Slot(str(self.ownership), self.role, named)
        self._tuning = tuning
        self._standby = Standby(control, self._slot) if standby else None
        self.assignment = Assignment(cluster, instance, control, self.ownership, tuning)
        self._inputs = self.assignment.inputs
        self.counts, self.traffic = Committed(), Traffic()
        self._turns = 0
        self.young: Mapping[tuple[str, int], int] = {}

    def run(self, stop: threading.Event) -> None:
        """Run dialogs until ``stop``; raises FencedError where another worker has the slot."""
        while self.ownership.begins(stop):
            try:
                self._serve(stop)
            except Exception as error:
                if self.ownership.confirm():
                    raise
                log.info("%s: the role has gone: %s", self.ownership, error)
            finally:
                rest()

    def _serve(self, stop: threading.Event) -> None:
        topic = self._cluster.topics.dialog(self.ownership.home)
        if self._standby is not None and not self._standby.wait(self.assignment, topic, stop):
            return
        # Who has lost a pair's slot may have lost the role: nobody here begins anew by himself.
        own = self._pair is None
        self._slot.hold(self._control, stop, lambda: self._work(stop), anew=own)

    def _work(self, stop: threading.Event) -> None:
        cluster, inputs, home = self._cluster, self._inputs, self.ownership.home
        self._transactions = Transactions(cluster, home, self._slot, inputs, stop)
        if not self.ownership.confirm():  # its successor was fenced by mistake, and begins anew
            return
        partitions = len(partitions_of(cluster, inputs.cmd))
        intake = Intake(inputs, partitions, self._control.catch_up, self._is_to_skip)
        consumer = cluster.consumer(
            f"{cluster.topics.prefix}endpoint.{home}",
            partition_assignment_strategy="range",
            enable_partition_eof=True,
            # Read ahead for one transaction: all topics share a queue in the client, and what
            # fills it, frames of a flood, say, is what a statement behind it waits for.
            queued_min_messages=self._tuning.pace.value[0],
            queued_max_messages_kbytes=AHEAD_KBYTES,
            fetch_message_max_bytes=FETCH_BYTES,
            fetch_queue_backoff_ms=10,
            # Who waits longer asks less often, and is answered as soon as there is anything.
            fetch_wait_max_ms=500,
            stats=self.traffic.reader,
            **self._slot.member(home, self._control.catalog),
        )
        self.assignment.subscribe(consumer)
        self._held_back = HeldBackStatements(home, inputs.cmd, consumer)
        works = WorkApplier(intake, self._held_back, self.counts, self._control.now)
        self._committer = WorkCommitter(home, self._transactions, works, consumer, self.counts)
        lost_brokers = LostBrokers(cluster)
        try:
            while not stop.is_set() and self.ownership.lasts:
                self._turn(consumer)
                lost_brokers.look(self.ownership.assigned, consumer)
        finally:
            self.assignment.close()
            consumer.close()

    def _turn(self, consumer: Consumer) -> None:
        beat()
        self._read(consumer)
        self._read_at = time.monotonic()
        if not self.ownership.confirm_awake():
            return
        self._apply_what_there_is()
        if self._tuning.trims_every is not None:
            for owned in self.assignment.owned.values():
                self._look_for_trim_point(owned, self._tuning.trims_every)

    def _apply_what_there_is(self) -> None:
        """Apply what is to be done in all partitions, in one transaction where that is possible.

        A partition for which there is no room any more is an earlier one the next time.
        """
        self.assignment.know_progress(self._control.now())
        owned = list(self.assignment.owned.values())
        self._turns += 1
        first = self._turns % max(1, len(owned))
        left, works = self._tuning.pace.value[0], list[tuple[Partition, Work]]()
        for one in (*owned[first:], *owned[:first]):
            if left <= 0:
                break
            self._follow_catalog(one)
            self._held_back.read_again(one, self._read_at)
            work = one.take_work(self._control.now(), left)
            left -= len(work)
            works.append((one, work))
        self._committer.apply(works, self._read_at, self.assignment.member)

    def _read(self, consumer: Consumer) -> None:
        """Read what there is; waits for it only where nothing else is to be done."""
        busy = any(o.is_busy for o in self.assignment.owned.values())
        first = consumer.poll(0 if busy else self._wait())
        if first is None:
            return
        self._sort(first)
        records, wait = self._tuning.pace.value
        pending = [message for o in self.assignment.owned.values() for message in o.pending]
        if len(pending) >= records or sum(map(len, pending)) >= BYTES:
            return  # enough for the next transaction; the client holds the rest back
        for message in consumer.consume(records, 0 if busy else wait):
            self._sort(message)

    def _wait(self) -> float:
        """Return how many seconds to wait for a record."""
        if self._pair is not None:  # the role may go at any moment, and must be seen to
            return POLL
        now = self._control.now()
        return min((o.wait(now) for o in self.assignment.owned.values()), default=IDLE_POLL)

    def _look_for_trim_point(self, owned: Partition, every: float) -> None:
        if owned.look_for_trim_point(self._read_at, every) is None:
            return
        member, now = self.assignment.member, self._control.now()
        if not move_bodies(owned, self.young, self._transactions, member, now):
            self.counts.rolled_back += 1

    def _sort(self, message: Message) -> None:
        owned = self.assignment.owned.get(message.partition() or 0)
        if message.error() is not None:
            self._not_a_record(message, owned)
        elif owned is not None:
            owned.pending.append(message)

    def _follow_catalog(self, owned: Partition) -> None:
        if self.instance not in self._control.catalog.instances:
            raise SurroundingsError(f"The catalog has {self.instance} no longer.")
        catalog = self.ownership.catalog()
        if catalog is not owned.endpoint.catalog:
            owned.switch(catalog)

    def _is_to_skip(self, place: str) -> bool:
        return self._control.has(skip_key(place.removeprefix(self._cluster.topics.prefix)))

    @property
    def held_back(self) -> int:
        """Return in how many partitions a statement is held back that cannot be read yet."""
        return sum(owned.held_back is not None for owned in list(self.assignment.owned.values()))

    @property
    def assigned(self) -> bool:
        """Tell whether it has its partitions and what lives in them, or stands by with all that."""
        if self._standby is not None and self._standby.is_ready:
            return True
        return self.ownership.is_served

    @property
    def committed(self) -> int:
        """Return how many transactions Kafka has committed."""
        return self.counts.transactions

    @property
    def event_counts(self) -> EventCounts:
        """Return what events it has written."""
        return self.counts.events

    @property
    def trim_points(self) -> dict[tuple[str, int], int]:
        """Return below which positions nothing is needed any more; any thread may ask."""
        return {
            (topic, owned.number): position
            for owned in list(self.assignment.owned.values())
            for topic, position in zip(self._inputs, owned.trim_point or (), strict=False)
        }

    def _not_a_record(self, message: Message, owned: Partition | None) -> None:
        error = message.error()
        assert error is not None
        if error.code() == KafkaError._PARTITION_EOF:
            if owned is not None:
                owned.ends[message.topic() or ""] = message.offset() or 0
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise SurroundingsError(f"{self.instance}: {error.str()}")
        elif is_fatal(error):
            raise KafkaException(error)
        else:
            log.warning("%s: %s", self.instance, error.str())
