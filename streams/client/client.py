"""Dialogs for applications: BEGIN DIALOG, SEND, RECEIVE and END CONVERSATION, over Kafka.

A statement is a record of the instance's ``cmd`` topic. It counts when the endpoint worker has
applied it; :meth:`Client.perform` with ``wait`` returns only then, and raises what SQL Server would
have answered. Without ``wait`` a statement is as durable as a Kafka record; a refusal is an event.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

from streams.errors import HoplineError, SurroundingsError, UsageError, text_of
from streams.kafka import (
    Cluster,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    partitions_of,
    watermarks,
)
from streams.protocol import Command, CommandKind
from streams.wire import MalformedError, decode_result
from streams.wire.codecs import ResultRecord
from streams.wire.partition import partition_of
from streams.wire.records import LARGEST_BODY, command_record


class StatementError(HoplineError):
    """A statement was refused; ``number`` is SQL Server's, ``detail`` says why in words."""

    exit_code = 1

    def __init__(self, number: int, detail: str = "") -> None:
        self.number, self.detail = number, detail or text_of(number)
        super().__init__(f"{number}: {self.detail}")


@dataclass(frozen=True, slots=True)
class Conversation:
    """One side of a dialog, as an application holds it: the handle, in SQL Server's words."""

    instance: str
    database: str
    id: uuid.UUID
    is_initiator: bool = True


class Client:
    """Statements of one application; use as a context manager, from one thread.

    ``timeout``: seconds to wait for Kafka and for the answer to a statement.
    """

    def __init__(
        self, cluster: Cluster, application: str = "hopline", *, timeout: float = 30
    ) -> None:
        self._cluster = cluster
        self._timeout = timeout
        self._reply_to = f"{application}/{uuid.uuid4()}"
        self._producer = cluster.producer(linger_ms=5)
        self._failed: list[KafkaError] = []
        self._answers: dict[uuid.UUID, ResultRecord] = {}
        self._results: dict[str, Consumer] = {}

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Deliver what is on its way and let the broker go."""
        try:
            self.flush()
        finally:
            for consumer in self._results.values():
                consumer.close()
            self._results.clear()

    def begin(
        self,
        instance: str,
        database: str,
        from_service: str,
        to_service: str,
        *,
        broker: str | None = None,
        contract: str | None = None,
        lifetime: int | None = None,
        conversation: uuid.UUID | None = None,
        group: uuid.UUID | None = None,
        related: Conversation | None = None,
        wait: bool = True,
    ) -> Conversation:
        """BEGIN DIALOG; ``lifetime`` in seconds. Nothing is sent to the network by it.

        The dialog joins the conversation group of ``related``, one of the same database; raises
        UsageError where ``conversation`` is not one that :meth:`new_id` could return for it.
        """
        if conversation is None:
            conversation = self.new_id(related)
        elif related is not None:
            where = self._partition(related.instance)
            if where(conversation) != where(related.id):
                raise UsageError(
                    f"Conversation {conversation} cannot join the group of {related.id}: the one "
                    f"is in partition {where(conversation)}, the other in {where(related.id)}.",
                    "Let the client choose the id.",
                )
        handle = Conversation(instance, database, conversation)
        command = replace(
            self._command(handle, CommandKind.BEGIN),
            from_service=from_service,
            to_service=to_service,
            to_broker=broker,
            contract=contract,
            lifetime=lifetime,
            group=group,
            related=None if related is None else related.id,
        )
        self.perform(instance, command, wait=wait)
        return handle

    def new_id(self, related: Conversation | None = None) -> uuid.UUID:
        """Return an id for a new dialog, one in the partition of `cmd` of a ``related`` one.

        An endpoint worker knows the conversation groups of its own partition only.
        """
        if related is None:
            return uuid.uuid4()
        where = self._partition(related.instance)
        while where(made := uuid.uuid4()) != where(related.id):
            pass
        return made

    def send(
        self, on: Conversation, body: bytes, *, type: str | None = None, wait: bool = False
    ) -> uuid.UUID:
        """SEND; returns the message's id."""
        if len(body) > LARGEST_BODY:
            raise StatementError(8459, f"{len(body)} bytes; the limit is {LARGEST_BODY}")
        command = replace(self._command(on, CommandKind.SEND), type=type, body=body)
        self.perform(on.instance, command, wait=wait)
        return command.command_id

    def end(
        self,
        on: Conversation,
        *,
        error: tuple[int, str] | None = None,
        cleanup: bool = False,
        wait: bool = False,
    ) -> None:
        """END CONVERSATION, WITH ERROR (code, text) or WITH CLEANUP."""
        code, text = error or (None, None)
        command = replace(
            self._command(on, CommandKind.END), error_code=code, error_text=text, cleanup=cleanup
        )
        self.perform(on.instance, command, wait=wait)

    def timer(self, on: Conversation, seconds: int, *, wait: bool = False) -> None:
        """BEGIN CONVERSATION TIMER: a DialogTimer comes after ``seconds``, from 1 up."""
        command = replace(self._command(on, CommandKind.TIMER), timeout=seconds)
        self.perform(on.instance, command, wait=wait)

    def move(self, on: Conversation, group: uuid.UUID, *, wait: bool = False) -> None:
        """MOVE CONVERSATION: what arrives from now on belongs to another conversation group.

        What is in the queue already keeps its group: that is the key of its record.
        """
        command = replace(self._command(on, CommandKind.MOVE), group=group)
        self.perform(on.instance, command, wait=wait)

    def perform(
        self, instance: str, command: Command, *, wait: bool = False, timeout: float | None = None
    ) -> None:
        """Hand over a statement; with ``wait`` raises StatementError where it is refused."""
        timeout = self._timeout if timeout is None else timeout
        if wait:
            self._listen(instance, timeout)
            command = replace(command, reply_to=self._reply_to)
        self._hand_over(instance, command, timeout)
        if wait:
            self.flush(timeout)
            answer = self._await(instance, command.command_id, timeout)
            if answer.number:
                raise StatementError(answer.number, answer.text)

    def _hand_over(self, instance: str, command: Command, timeout: float) -> None:
        key, value, headers = command_record(command)
        deadline = time.monotonic() + timeout
        while True:
            try:
                self._producer.produce(
                    self._cluster.topics.cmd(instance),
                    key=key,
                    value=value,
                    headers=headers,  # type: ignore[arg-type]
                    on_delivery=self._reported,
                )
                self._producer.poll(0)
                return
            except BufferError:  # more statements are under way than memory is meant for
                if time.monotonic() > deadline:
                    raise SurroundingsError(
                        f"{len(self._producer)} statements wait for Kafka at "
                        f"{self._cluster.bootstrap}: no answer within {timeout:g} s.",
                        "Is the broker up?",
                    ) from None
                self._producer.poll(0.1)

    def flush(self, timeout: float | None = None) -> None:
        """Return when Kafka has every statement; raises SurroundingsError where it has not."""
        timeout = self._timeout if timeout is None else timeout
        left = self._producer.flush(timeout)
        failed, self._failed = self._failed, []
        if left or failed:
            why = failed[0].str() if failed else f"no answer within {timeout:.0f} s"
            raise SurroundingsError(
                f"{left + len(failed)} statements did not reach Kafka: {why}.",
                "Unknown topic: run 'hopline apply TOPOLOGY'. Else: is the broker up?",
            )

    def _partition(self, instance: str) -> Callable[[uuid.UUID], int]:
        topic = self._cluster.topics.cmd(instance)
        count = len(partitions_of(self._cluster, topic, timeout=self._timeout))
        return lambda conversation: partition_of(conversation, count)

    def _command(self, on: Conversation, kind: CommandKind) -> Command:
        return Command(
            on.id,
            uuid.uuid4(),
            kind,
            on.database,
            on.is_initiator,
            issued_at=time.time_ns() // 1_000_000,
        )

    def _reported(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._failed.append(error)

    def _listen(self, instance: str, timeout: float) -> None:
        if instance in self._results:
            return
        topic = self._cluster.topics.result(instance)
        # An instance that nobody has applied is told at once.
        partitions_of(self._cluster, topic, timeout=timeout)
        consumer = self._cluster.consumer(self._reply_to)
        try:
            _, high = watermarks(consumer, topic, 0, timeout=timeout)
        except KafkaException as error:
            consumer.close()
            raise self._cluster.unreachable(error, timeout) from error
        consumer.assign([TopicPartition(topic, 0, high)])
        self._results[instance] = consumer

    def _await(self, instance: str, command_id: uuid.UUID, timeout: float) -> ResultRecord:
        deadline, why = time.monotonic() + timeout, ""
        while command_id not in self._answers:
            left = deadline - time.monotonic()
            message = self._results[instance].poll(max(0.0, left))
            if message is None or left < 0:
                raise SurroundingsError(
                    f"{instance} has not answered within {timeout:g} s{why}.",
                    f"Does its worker run? (hopline worker endpoint --instance {instance})",
                )
            error = message.error()
            if error is not None:  # it may pass: the client goes on trying
                why = f": {error.str()}"
            elif message.key() == self._reply_to.encode():
                try:
                    answer = decode_result(message.value())
                except MalformedError:
                    continue
                self._answers[answer.command_id] = answer
        return self._answers.pop(command_id)
