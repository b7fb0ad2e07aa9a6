"""The endpoint worker: applications' commands and arriving frames in, dialogs and queues out.

It owns partition p of ``cmd``, ``in`` and ``ack`` together. A turn of its loop is a transaction:

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
from collections.abc import Sequence

from streams.errors import Number, SurroundingsError
from streams.kafka import Cluster, Consumer, KafkaError, Message, TopicPartition, partitions_of
from streams.protocol import Limits
from streams.workers.control import Control
from streams.workers.inputs import Inputs, Intake
from streams.workers.partitions import Partition, Partitions
from streams.workers.transactions import FencedError, Transactions, number_of

log = logging.getLogger("hopline.endpoint")

BATCH = 1_000
POLL = 0.05


class EndpointWorker:
    """One replica of an instance's endpoint worker; ``slot`` names it across restarts."""

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        control: Control,
        *,
        slot: str = "0",
        limits: Limits | None = None,
    ) -> None:
        self.instance = instance
        self._cluster = cluster
        self._control = control
        self._slot = slot
        self._inputs = Inputs.of(cluster.topics, instance)
        self.partitions = Partitions(cluster, instance, self._inputs, control, limits or Limits())
        self.committed = 0

    def run(self, stop: threading.Event) -> None:
        """Run dialogs until ``stop``; raises FencedError where another worker has the slot."""
        cluster, inputs = self._cluster, self._inputs
        self._transactions = Transactions(cluster, self.instance, self._slot, inputs, stop)
        self._intake = Intake(inputs, len(partitions_of(cluster, inputs.cmd)))
        consumer = self._consumer = cluster.consumer(
            f"{cluster.topics.prefix}endpoint.{self.instance}",
            partition_assignment_strategy="range",
        )
        self.partitions.subscribe(consumer)
        try:
            while not stop.is_set():
                self._turn(consumer)
        finally:
            self.partitions.close()
            consumer.close()

    def _turn(self, consumer: Consumer) -> None:
        first = consumer.poll(POLL)
        if first is not None:
            for message in [first, *consumer.consume(BATCH, 0)]:
                if message.error() is not None:
                    self._consumer_error(message)
                    continue
                owned = self.partitions.owned.get(message.partition() or 0)
                if owned is not None:
                    owned.pending.append(message)
        for owned in list(self.partitions.owned.values()):
            world = self._control.world
            if world is not owned.endpoint.world:
                if self.instance not in world.instances:
                    raise SurroundingsError(f"The catalog has {self.instance} no longer.")
                owned.endpoint.switch(world)
            pending, owned.pending = owned.pending, []
            if pending or self._is_due(owned):
                self._apply(owned, pending)

    def _is_due(self, owned: Partition) -> bool:
        """Tell whether timers want a transaction, and know then how far the forwarder has come."""
        if not owned.caught_up:
            return False
        due = owned.endpoint.next_due
        if owned.endpoint.has_probes:
            return True
        return due is not None and due <= time.time_ns() // 1_000_000

    def _apply(self, owned: Partition, messages: Sequence[Message]) -> bool:
        """Apply a batch in one transaction; what fails twice is bisected down to one record.

        ``False``: Kafka has aborted. What follows must not be applied then: it would move the
        positions past records that are read again only to be taken for repeated ones.
        """
        number = Number.CORRUPTED_HEADER
        for attempt in range(2):
            try:  # the second time without timers: what they say must not condemn the records
                return self._transact(owned, messages, timers=not (attempt and messages))
            except (FencedError, SurroundingsError):
                raise
            except Exception as error:
                log.exception("%s: a batch of %d was not applied", self.instance, len(messages))
                number = number_of(error)
        if len(messages) > 1:
            middle = len(messages) // 2
            return self._apply(owned, messages[:middle]) and self._apply(owned, messages[middle:])
        if messages:
            return self._transact(owned, messages, timers=False, refusal=number)
        raise SurroundingsError(f"{self.instance}: timers cannot be applied, see the log.")

    def _transact(
        self,
        owned: Partition,
        messages: Sequence[Message],
        *,
        timers: bool,
        refusal: Number | None = None,
    ) -> bool:
        endpoint, now = owned.endpoint, time.time_ns() // 1_000_000
        self.partitions.know_progress(owned, now)
        tx = endpoint.begin(owned.bodies, now, timers=timers and owned.caught_up)
        positions = dict(owned.positions)
        try:
            for message in messages:
                topic, offset = message.topic() or "", message.offset() or 0
                # After a rebalance or a seek, what was fetched before may come once more.
                if offset < positions[topic]:
                    continue
                if refusal is None:
                    self._intake.take(tx, owned.bodies, message)
                else:
                    self._intake.refuse(tx, message, refusal)
                positions[topic] = offset + 1
            tx.close()
            out_end = self._transactions.commit(tx, owned.number, positions, self.partitions.member)
        except BaseException:
            endpoint.abandon(tx)
            raise
        if out_end is None:  # aborted: the same records are read again
            endpoint.abandon(tx)
            self._seek_back(owned)
            return False
        endpoint.merge(tx, out_end)
        owned.positions = positions
        self.committed += 1
        return True

    def _seek_back(self, owned: Partition) -> None:
        for topic, position in owned.positions.items():
            self._consumer.seek(TopicPartition(topic, owned.number, position))
        owned.pending.clear()

    def _consumer_error(self, message: Message) -> None:
        error = message.error()
        assert error is not None
        if error.fatal() or error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise SurroundingsError(f"{self.instance}: {error.str()}")
        log.warning("%s: %s", self.instance, error.str())
