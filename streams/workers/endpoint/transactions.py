"""Kafka's transactions for an endpoint worker, which are committed or have no effect.

A transaction always contains the next offsets of ``cmd``, ``in`` and ``ack``: only these offsets
fence a predecessor that was declared dead but is still alive. After a timeout, a commit is
repeated; it never counts as aborted. If a call before the commit does not return, the client is
replaced; the new client has the same name and aborts the open transaction.

Kafka does not check which client uses a producer id, and many users may write events. If another
client writes an event with this producer's id, Kafka rejects our events and the end of our
transaction, even after a restart. The worker then continues with another transactional id and
another producer id, and writes its events after each commit, without a producer id. If the process
is killed between a commit and its events, these events are lost.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from streams.errors import SurroundingsError
from streams.kafka import (
    FENCED,
    WITHOUT_ID,
    Cluster,
    FencedError,
    KafkaError,
    KafkaException,
    LostBrokers,
    Message,
    Patience,
    Producer,
    StuckError,
    TopicPartition,
)
from streams.kafka.cluster import TRANSACTION_TIMEOUT_MS
from streams.node import Transaction
from streams.wire.state import Positions
from streams.wire.topics import escape
from streams.workers.endpoint.inputs import Inputs
from streams.workers.endpoint.output import Output
from streams.workers.pulse import beat
from streams.workers.record_errors import REJECTED
from streams.workers.slot import UNNAMED, Slot

log = logging.getLogger("hopline.endpoint")


class Part(NamedTuple):
    """One partition's part of a transaction.

    ``positions``: the next offsets of its inputs. ``moved`` are bodies that are copied to the ends
    of ``cmd`` and ``in``.
    """

    tx: Transaction
    partition: int
    positions: Mapping[str, int]
    moved: Sequence[Message] = ()


_INIT = 30.0
"""Seconds to wait for the end of the last transaction: twice its transaction timeout."""


@dataclass(slots=True)
class Suffix:
    """The end of a transactional id; empty until another client has used the producer id."""

    text: str = ""

    def renew(self) -> None:
        """Choose another random suffix, because Kafka may never release the previous id."""
        self.text = f".{uuid.uuid4().hex[:8]}"


class Transactions:
    """The transactions of one slot, one at a time; raises FencedError if the slot is lost.

    If Kafka does not respond, ``stop`` ends the wait. ``suffix`` is renewed before FencedError is
    raised, unless the transaction may have timed out.
    """

    def __init__(
        self,
        cluster: Cluster,
        home: str,
        slot: Slot,
        inputs: Inputs,
        stop: threading.Event,
        suffix: Suffix,
    ) -> None:
        self._cluster = cluster
        self._slot = slot
        self._instance = home
        # Escaped, so that permissions for one instance's ids do not match another instance's ids.
        self._name = f"{cluster.topics.prefix}endpoint.{escape(home)}.{slot.name or UNNAMED}"
        self._suffix = suffix
        self._reporter: Producer | None = None
        self._began = time.monotonic()
        self._inputs = inputs
        self._stop = stop
        self._patience = Patience()
        self._begin_anew()

    def _begin_anew(self) -> None:
        suffix = self._suffix.text
        self._producer = self._cluster.producer(
            transactional_id=f"{self._name}{suffix}",
            linger_ms=1_000,  # wait until the flush (rounds.py)
            delivery_report_only_error=False,
        )
        if suffix and self._reporter is None:
            self._reporter = self._cluster.producer(linger_ms=0, message_timeout_ms=0, **WITHOUT_ID)
        self._guard(self._init)
        self._output = Output(
            self._cluster.topics, self._instance, self._producer, self._stop, self._reporter
        )

    def _init(self) -> None:
        """Abort the open transaction of this id, or use another id if Kafka cannot end it."""
        try:
            self._producer.init_transactions(_INIT)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.CONCURRENT_TRANSACTIONS:
                raise
            self._suffix.renew()
            log.warning(
                "%s: Kafka has not ended the last transaction of %s; continuing as %s%s",
                self._instance, self._name, self._name, self._suffix.text,
            )  # fmt: skip
            self._begin_anew()

    def commit(self, parts: Sequence[Part], member: Any) -> Mapping[int, int] | None:
        """Write and commit all parts; return the offset in ``out`` of each partition's last copy.

        ``None`` means that the transaction was aborted without any effect, and that its records are
        not the cause. If Kafka rejects a record, the transaction is aborted and KafkaException is
        raised. ``member`` is the consumer group's member that owns the partitions.
        """
        self._output.begin()
        self._began = time.monotonic()
        self._guard(self._producer.begin_transaction)
        try:
            self._write(parts, member)
            self._send_offsets(parts, member)
            self._guard(lambda: self._producer.commit_transaction(15))
        except StuckError as error:
            log.warning("%s: sending offsets: %s; starting a new producer", self._instance, error)
            self._begin_anew()
            return None
        except KafkaException as error:
            cause = error.args[0]
            if cause.code() in FENCED or cause.fatal():
                raise self._lost(cause, self._producer) from error
            log.warning("%s: transaction aborted: %s", self._instance, cause.str())
            self._abort()
            if cause.code() in REJECTED:
                # The client counts the sequence numbers of the rejected batch as used, but the
                # broker does not. It would also reject the next batch, so start a new producer.
                self._begin_anew()
            elif cause.txn_requires_abort():
                return None
            raise  # a record that Kafka rejects; bisection finds it
        except BaseException:
            self._abort()
            raise
        self._output.report()
        return {part.partition: self._output.out_end(part.partition) for part in parts}

    def _write(self, parts: Sequence[Part], member: Any) -> None:
        try:
            for part in parts:
                self._output.move(part.tx, part.moved)
                positions = Positions(*(part.positions[topic] for topic in self._inputs))
                self._output.write(part.tx, part.partition, positions)
            self._output.send()
        except KafkaException as error:
            if error.args[0].code() == KafkaError._STATE:
                # A record was rejected while other records were being written. After that, the
                # client does not accept records, and reports the reason only for a call like this
                # one.
                self._send_offsets(parts, member)
            raise

    def _send_offsets(self, parts: Sequence[Part], member: Any) -> None:
        offsets = [
            TopicPartition(topic, part.partition, part.positions[topic])
            for part in parts
            for topic in self._inputs
        ]
        producer = self._producer
        self._patience.call(
            lambda: self._guard(lambda: producer.send_offsets_to_transaction(offsets, member, 5))
        )

    def _abort(self) -> None:
        self._guard(self._abort_or_begin_anew)

    def _abort_or_begin_anew(self) -> None:
        """Abort; if the client accepts no records after an early abort, replace it.

        The coordinator may not know the transaction yet (librdkafka issue 4849). For a
        fenced client, :meth:`_guard` raises FencedError instead.
        """
        try:
            self._producer.abort_transaction(15)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.INVALID_TXN_STATE:
                raise
            log.warning("%s: %s; starting a new producer", self._instance, error.args[0].str())
            self._begin_anew()

    def _lost(self, cause: KafkaError, producer: Producer) -> FencedError:
        """Return the error for a producer that Kafka no longer accepts.

        While a call did not return, the producer's successor in this process may have fenced it.
        """
        is_early = time.monotonic() - self._began < TRANSACTION_TIMEOUT_MS / 1_000
        if is_early and producer is self._producer:
            self._suffix.renew()
        return self._slot.lost(cause)

    def _guard(self, call: Callable[[], object]) -> None:
        """Repeat a call until its outcome is known; after a retriable error it is unknown."""
        lost_brokers, producer = None, self._producer
        while True:
            beat()
            try:
                call()
                return
            except KafkaException as error:
                cause = error.args[0]
                if cause.code() in FENCED or cause.fatal():
                    raise self._lost(cause, producer) from error
                if not cause.retriable():
                    raise
                if self._stop.is_set():
                    # If it stops now, nothing is committed, because the next owner fences the
                    # transaction.
                    raise SurroundingsError(
                        f"{self._instance} was stopped while Kafka did not respond: {cause.str()}."
                    ) from error
                log.warning("%s: %s; retrying", self._instance, cause.str())
                lost_brokers = lost_brokers or LostBrokers(self._cluster)
                lost_brokers.look(False, self._producer)
