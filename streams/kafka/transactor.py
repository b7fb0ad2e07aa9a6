"""Commit records, and offsets if there are any, in one transaction.

This module is for applications, relays and replays. Because they write statements, their records
are not compressed. Endpoint workers have their own code for transactions. A transaction is opened,
filled and committed in one call. Because an open transaction blocks read_committed consumers, a
transaction must not contain slow work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streams.errors import SurroundingsError
from streams.kafka.cluster import UNCOMPRESSED, Cluster
from streams.kafka.failure import is_forbidden, worded
from streams.kafka.fenced import FENCED, FencedError
from streams.kafka.headers import Headers
from streams.kafka.patience import Patience, StuckError

_STEP = 5.0
"""Seconds per call of Kafka's client, after which the call is retried."""
_LEAST = 0.1


_REFUSED = (
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.INVALID_MSG_SIZE,
    KafkaError.RECORD_LIST_TOO_LARGE,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_TIMESTAMP,
)
"""Permanent errors of Kafka or its client about a record."""


class Outgoing(NamedTuple):
    """A record to be written to a topic.

    Its key determines the partition unless ``partition`` is given (-1: not given); ``timestamp`` is
    in epoch milliseconds, 0 for the current time.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    partition: int = -1
    timestamp: int = 0


class AbortedError(SurroundingsError):
    """No part of the transaction took effect.

    ``refused`` is the reason if Kafka permanently rejects a record, and empty otherwise.
    """

    def __init__(self, message: str, remedy: str, refused: str = "") -> None:
        super().__init__(message, remedy)
        self.refused = refused


class Transactor:
    """Commit batches under a name; the next process with this name aborts an open transaction.

    ``timeout``: seconds to wait for Kafka. Not thread-safe.
    """

    def __init__(self, cluster: Cluster, name: str, *, timeout: float = 30.0) -> None:
        self._cluster, self._timeout = cluster, timeout
        self._name = f"{cluster.topics.prefix}{name}"
        self._patience = Patience()
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._producer = self._cluster.producer(
            transactional_id=self._name, linger_ms=0, **UNCOMPRESSED
        )
        try:
            self._certainly(lambda: self._producer.init_transactions(_STEP))
        except KafkaException as error:
            raise self._cluster.unreachable(error, self._timeout) from error

    def commit(
        self,
        records: Iterable[Outgoing],
        offsets: Sequence[TopicPartition] = (),
        member: Any = None,
    ) -> None:
        """Commit records, and ``offsets`` on behalf of a consumer group's ``member``.

        Raises AbortedError if nothing took effect, and FencedError if another process uses the
        name. After any other SurroundingsError, the outcome is unknown, and a new Transactor is
        needed.
        """
        said, until = tuple(records), time.monotonic() + self._timeout
        while True:
            try:
                self._try(said, offsets, member, until)
                return
            except StuckError as error:
                self._begin_anew()  # this aborts the open transaction, of which nothing took effect
                if time.monotonic() > until:
                    raise AbortedError(
                        f"Kafka accepted no record of a transaction: {error}.",
                        "It is safe to retry.",
                    ) from error

    def _try(
        self,
        records: Iterable[Outgoing],
        offsets: Sequence[TopicPartition],
        member: Any,
        until: float,
    ) -> None:
        try:
            self._certainly(self._producer.begin_transaction)
            for record in records:
                self._produce(record)
            if offsets:
                self._send(list(offsets), member, until)
            self._certainly(lambda: self._producer.commit_transaction(_STEP))
        except KafkaException as error:
            self._abort()
            cause = error.args[0]
            raise AbortedError(
                f"Kafka accepted no record of a transaction: {cause.str()}.",
                worded(error).remedy
                if is_forbidden(cause)
                else "It is safe to retry. If the topic is unknown, run 'hopline apply TOPOLOGY'.",
                cause.str() if cause.code() in _REFUSED else "",
            ) from error

    def _send(self, offsets: list[TopicPartition], member: Any, until: float) -> None:
        producer = self._producer

        def send() -> None:
            producer.send_offsets_to_transaction(offsets, member, _STEP)

        left = max(_LEAST, until - time.monotonic())
        self._patience.call(lambda: self._certainly(send), left)

    def _produce(self, record: Outgoing) -> None:
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                self._producer.produce(
                    record.topic,
                    key=record.key,
                    value=record.value,
                    headers=record.headers,  # type: ignore[arg-type]
                    partition=record.partition,
                    timestamp=record.timestamp,
                )
                return
            except BufferError:
                if time.monotonic() > deadline:
                    raise KafkaException(KafkaError(KafkaError._QUEUE_FULL)) from None
                self._producer.poll(0.1)

    def _abort(self) -> None:
        """Abort, and replace the client.

        The client is replaced because it counts the sequence numbers of rejected records as used,
        but the broker does not.
        """
        with suppress(KafkaException):  # a new producer also aborts the transaction
            self._certainly(lambda: self._producer.abort_transaction(_STEP))
        self._begin_anew()

    def _certainly(self, call: Callable[[], object]) -> None:
        """Repeat a call until its outcome is known; after a retriable error it is unknown."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                call()
                return
            except KafkaException as error:
                cause = error.args[0]
                if cause.code() in FENCED:
                    raise FencedError(
                        f"{self._name}: another process has taken over.",
                        "Restart this process. If another process uses its name, give each process "
                        "its own name; otherwise, this process was suspended for too long.",
                    ) from error
                if cause.fatal() or (cause.retriable() and time.monotonic() > deadline):
                    raise self._cluster.unreachable(error, self._timeout) from error
                if not cause.retriable():
                    raise
