"""Results of a client's statements, shared by its threads.

Only one thread at a time may poll a consumer. A waiting thread polls for all threads if no other
thread does so. The polling thread distributes the results, and lets another thread poll when its
own result has arrived.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition

from streams.kafka import (
    Cluster,
    Consumer,
    KafkaException,
    Message,
    TopicPartition,
    demand_replicas,
    watermarks,
)
from streams.kafka.reader import partitions_of
from streams.wire import MalformedError, decode_result
from streams.wire.commands import ResultRecord

_TURN = 0.1
"""Seconds per poll, after which the other threads get their results and check their deadlines."""
_SILENT = 15.0
"""Seconds of polling without a record after which a new consumer is tried."""


class Answers:
    """The results of one instance for one client, since the creation of this object.

    If no results arrive, a new consumer continues, in case the first consumer has lost all brokers
    (:mod:`streams.kafka.lost_brokers`) or no longer fetches (:mod:`streams.kafka.stalled_fetch`).
    Raises SurroundingsError if the instance is not applied, if its topics have too few replicas, or
    if Kafka does not respond.
    """

    def __init__(self, cluster: Cluster, instance: str, reply_to: str, timeout: float) -> None:
        self._reply_to = reply_to.encode()
        self._topic = cluster.topics.result(instance)
        # Report an instance that is not applied immediately.
        partitions_of(cluster, self._topic, timeout=timeout)
        demand_replicas(cluster, cluster.topics.cmd(instance), timeout=timeout)
        self._cluster, self._silent = cluster, 0.0
        self._consumer, self._next = self._listening(timeout)
        self._waiting: dict[uuid.UUID, ResultRecord | None] = {}
        self._changed = Condition()
        self._polled = False
        self.trouble = ""

    def _listening(self, timeout: float) -> tuple[Consumer, int]:
        """Return a consumer that starts at the end, and the offset of that end."""
        consumer = self._made()
        try:
            _, end = watermarks(consumer, self._topic, 0, timeout=timeout)
        except KafkaException as error:
            consumer.close()
            raise self._cluster.unreachable(error, timeout) from error
        consumer.assign([TopicPartition(self._topic, 0, end)])
        return consumer, end

    def _made(self) -> Consumer:
        # If retention has removed the next record, continue from the oldest remaining record. To
        # continue at the end would be wrong: the result for which a caller waits may be before the
        # end.
        return self._cluster.consumer(
            f"{self._cluster.topics.prefix}reader",
            auto_offset_reset="earliest",
        )

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    @contextmanager
    def expected(self, command_id: uuid.UUID) -> Iterator[None]:
        """Keep the result of a statement issued in this block, for :meth:`wait`."""
        with self._changed:
            self._waiting[command_id] = None
        try:
            yield
        finally:
            with self._changed:
                del self._waiting[command_id]

    def wait(
        self, command_id: uuid.UUID, deadline: float, meanwhile: Callable[[], object]
    ) -> ResultRecord | None:
        """Return the result of an expected statement; ``None`` if none arrives by ``deadline``.

        ``deadline`` is monotonic time. ``meanwhile`` is called repeatedly; an exception from it
        ends the wait.
        """
        while True:
            meanwhile()
            with self._changed:
                found = self._waiting[command_id]
                left = deadline - time.monotonic()
                if found is not None or left <= 0:
                    return found
                if self._polled:
                    self._changed.wait(min(left, _TURN))
                    continue
                self._polled = True
            self._poll(min(left, _TURN))

    def _poll(self, timeout: float) -> None:
        message = None
        try:
            message = self._consumer.poll(timeout)
            if message is None:
                self._silent += timeout
                if self._silent >= _SILENT:
                    self._continue_anew()
        finally:
            with self._changed:
                self._polled = False
                if message is not None:
                    self._take(message)
                self._changed.notify_all()

    def _continue_anew(self) -> None:
        self._silent = 0.0
        self._consumer.close()
        self._consumer = self._made()
        self._consumer.assign([TopicPartition(self._topic, 0, self._next)])

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None:  # maybe transient: the client retries
            self.trouble = f": {error.str()}"
            return
        self.trouble, self._silent, self._next = "", 0.0, (message.offset() or 0) + 1
        if message.key() == self._reply_to:
            try:
                answer = decode_result(message.value())
            except MalformedError:
                return
            if answer.command_id in self._waiting:
                self._waiting[answer.command_id] = answer
