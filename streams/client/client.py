"""Dialogs for applications: BEGIN DIALOG, SEND, RECEIVE and END CONVERSATION, over Kafka.

A statement is a record in the instance's ``cmd`` topic. The statement takes effect when the
endpoint worker applies it. With ``wait``, :meth:`Client.perform` returns only after that, and
raises the error that SQL Server would report. Without ``wait``, a statement is as durable as a
Kafka record, and an error is reported as an event.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable

from streams.client.answers import Answers
from streams.client.conversation import Conversation, StatementError
from streams.client.statements import Statements
from streams.errors import SurroundingsError, UsageError
from streams.kafka import (
    UNCOMPRESSED,
    Cluster,
    KafkaError,
    KafkaException,
    LostBrokers,
    Message,
    partitions_of,
)
from streams.prose import counted
from streams.protocol import Command
from streams.wire.partition import partition_of
from streams.wire.records import command_record

log = logging.getLogger("hopline.client")

_Reported = Callable[[KafkaError | None, Message], None]

_SLICE = 1.0
"""Maximum seconds per call of Kafka's client, between checks whether it has lost all brokers."""


class Client(Statements):
    """Statements of one application; a context manager for any number of threads.

    Statements of one thread on a conversation keep their order. A statement waits for Kafka as long
    as the client exists. If Kafka rejects a statement without ``wait``, or Kafka's client has lost
    all brokers (:mod:`streams.kafka.lost_brokers`), every later statement raises an error, and a
    new client is needed. ``timeout``: seconds to wait for Kafka and for the result of a statement.
    Call :meth:`close` when no other thread uses the client.
    """

    BEGIN_WAITS = True

    def __init__(
        self, cluster: Cluster, application: str = "hopline", *, timeout: float = 30
    ) -> None:
        self._cluster = cluster
        self._timeout = timeout
        self._reply_to = f"{application}/{uuid.uuid4()}"
        # Infinite: otherwise, Kafka's client would drop the older statements of a conversation
        # during a long outage, and deliver the newer statements after it.
        self._producer = cluster.producer(linger_ms=5, message_timeout_ms=0, **UNCOMPRESSED)
        self._refused, self._why = 0, ""
        # The producer cannot be replaced: Kafka may or may not have its unconfirmed statements, and
        # a statement that is written twice is applied twice.
        self._lost_brokers, self._unconfirmed = LostBrokers(cluster), 0
        self._looking = threading.Lock()
        self._answers: dict[str, Answers] = {}
        self._lock, self._asking = threading.Lock(), threading.Lock()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Flush pending statements and close the client."""
        try:
            self.flush()
        finally:
            for answers in self._answers.values():
                answers.close()
            self._answers.clear()

    def new_id(
        self, related: Conversation | None = None, *, wanted: uuid.UUID | None = None
    ) -> uuid.UUID:
        """Return the id of a new dialog, in the `cmd` partition of a ``related`` dialog.

        An endpoint worker knows only the conversation groups of its own partition.
        """
        if related is None:
            return super().new_id(wanted=wanted)
        topic = self._cluster.topics.cmd(related.instance)
        count = len(partitions_of(self._cluster, topic, timeout=self._timeout))
        where = partition_of(related.id, count)
        if wanted is None:
            while partition_of(made := uuid.uuid4(), count) != where:
                pass
            return made
        if partition_of(wanted, count) != where:
            raise UsageError(
                f"Conversation {wanted} cannot join the group of {related.id}: its partition is "
                f"{partition_of(wanted, count)}, the other in {where}.",
                "Let the client choose the id.",
            )
        return wanted

    def perform(
        self,
        instance: str,
        command: Command,
        *,
        wait: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Send a statement; with ``wait`` raise StatementError if it is rejected.

        Raises SurroundingsError if Kafka has rejected an earlier statement without ``wait``, or if
        this client has lost all brokers.
        """
        timeout = self._timeout if timeout is None else timeout
        if wait:
            self._ask(instance, command, timeout)
        else:
            self._hand_over(instance, command, timeout, self._reported)

    def _ask(self, instance: str, command: Command, timeout: float) -> None:
        answers, failed = self._answers_of(instance, timeout), list[KafkaError]()
        deadline = time.monotonic() + timeout

        def meanwhile() -> None:
            self._serve()
            if failed:
                raise self._lost() if self._unconfirmed else _not_delivered(1, failed[0].str())

        asking = command._replace(reply_to=self._reply_to)
        with answers.expected(command.command_id):
            self._hand_over(instance, asking, timeout, lambda e, _: failed.append(e) if e else None)
            answer = answers.wait(command.command_id, deadline, meanwhile)
        if answer is None:
            raise SurroundingsError(
                f"{instance} has not answered within {timeout:g} s{answers.trouble}.",
                f"Is its worker running? (hopline worker endpoint --instance {instance})",
            )
        if answer.number:
            raise StatementError(answer.number, answer.text)

    def _hand_over(
        self, instance: str, command: Command, timeout: float, reported: _Reported
    ) -> None:
        key, value, headers = command_record(command)
        topic, deadline = self._cluster.topics.cmd(instance), 0.0
        while True:
            self._serve()
            if self._refused:
                raise self._incomplete()
            try:
                # Positional arguments are faster: ..., callback, on_delivery, timestamp, headers.
                # The first two have the same meaning; Kafka's client uses the first even if it is
                # None.
                self._producer.produce(topic, value, key, -1, reported, None, 0, headers)  # type: ignore[arg-type]
                return
            # rejections are known by now; after a rejection, nothing is sent
            except KafkaException as error:
                raise _not_delivered(1, error.args[0].str()) from error
            except BufferError:  # more statements are in flight than the memory limit allows
                deadline = deadline or time.monotonic() + timeout
                if time.monotonic() > deadline:
                    left = counted(len(self._producer), "statement has", "statements have")
                    raise SurroundingsError(
                        f"{left} not been confirmed by Kafka at "
                        f"{self._cluster.bootstrap}: no answer within {timeout:g} s.",
                        "Is the broker up?",
                    ) from None
                self._producer.poll(0.1)

    def flush(self, timeout: float | None = None) -> None:
        """Wait until Kafka has the statements of all threads; raise SurroundingsError on failure.

        An error of a statement with ``wait`` was already raised in its own thread.
        """
        timeout = self._timeout if timeout is None else timeout
        deadline = time.monotonic() + timeout
        while True:
            seconds = deadline - time.monotonic()
            left = self._producer.flush(max(0.0, min(seconds, _SLICE)))
            self._serve()
            if not left or seconds <= _SLICE:
                break
        if self._refused:
            raise self._incomplete(left)
        if left:
            raise _not_delivered(left, f"no answer within {timeout:.0f} s")

    def _serve(self) -> None:
        """Process the producer's reports; raise SurroundingsError if it has lost all brokers.

        Another thread looks for lost brokers, because the search takes a few seconds while Kafka is
        down.
        """
        self._producer.poll(0)
        if self._lost_brokers.is_due(is_well=not len(self._producer)):
            threading.Thread(target=self._look, name="lost brokers", daemon=True).start()
        if self._unconfirmed:
            raise self._lost()

    def _look(self) -> None:
        """Look for lost brokers, and count the unconfirmed statements once, before the purge.

        A search may still be running when the next one starts.
        """
        with self._looking:
            if self._unconfirmed or not self._lost_brokers.are_lost(self._producer):
                return
            while self._producer.poll(0):  # its log lines would count as statements
                pass
            self._unconfirmed = len(self._producer)
            self._producer.purge()  # nothing may take effect after the error

    def _lost(self) -> SurroundingsError:
        unconfirmed = counted(self._unconfirmed, "statement is", "statements are")
        return SurroundingsError(
            f"{unconfirmed} not confirmed by Kafka at {self._cluster.bootstrap}: it is up, but "
            "this client has lost all brokers (librdkafka issue 5301).",
            "Create a new client (or run the command again), because this one sends nothing more. "
            "Some of the statements may have taken effect: 'hopline tail --conversation ID' shows "
            "which.",
        )

    def _reported(self, error: KafkaError | None, message: Message) -> None:
        if error is None or self._unconfirmed:
            return
        with self._lock:
            if not self._refused:
                self._why = error.str()
                log.error("%s: Kafka rejected a statement: %s", message.topic(), self._why)
            self._refused += 1

    def _incomplete(self, left: int = 0) -> SurroundingsError:
        then = " Then create a new client, because this one sends nothing more."
        return _not_delivered(self._refused + left, self._why, then)

    def _answers_of(self, instance: str, timeout: float) -> Answers:
        # the first of several threads starts the consumer, and the others wait
        with self._asking:
            answers = self._answers.get(instance)
            if answers is None:
                answers = Answers(self._cluster, instance, self._reply_to, timeout)
                self._answers[instance] = answers
            return answers


def _not_delivered(count: int, why: str, then: str = "") -> SurroundingsError:
    return SurroundingsError(
        f"{counted(count, 'statement')} did not reach Kafka: {why}.",
        "If the topic is unknown, run 'hopline apply TOPOLOGY'. Otherwise: is the broker "
        f"up?{then}",
    )
