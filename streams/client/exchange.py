"""Receive, process and send in one Kafka transaction.

The offsets of the queue and the commands are committed together. A killed process has committed
either both or neither, so every message takes effect exactly once if all its effects are
statements. (For effects in a database, use the inbox.)

The steps of a commit, and the state after a failure in each step:

    1. statements wait in memory                      nothing: messages are redelivered
    2. begin, produce them, send the offsets          nothing: Kafka aborts
    3. commit                                         all or nothing; the next start asks Kafka
"""

from __future__ import annotations

import uuid

from streams.client.begin import Begin
from streams.client.conversation import Conversation
from streams.client.receiver import Received, Receiver
from streams.client.statements import Statements, refuse_to_wait
from streams.kafka import AbortedError, Cluster, Outgoing, Transactor
from streams.protocol import Command
from streams.wire.records import command_record


class Exchange(Statements):
    """Receive from a queue and answer, in transactions; a context manager.

    A transaction belongs to one thread, so each thread needs its own Exchange. ``name`` identifies
    this process (or thread) within the application. Use the same name at every restart, so that the
    transaction of a killed predecessor is aborted immediately. The other arguments are those of
    :class:`~streams.client.receiver.Receiver`. Errors of statements are reported only by events.
    """

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        database: str,
        queue: str,
        group: str,
        *,
        name: str,
        timeout: float = 30,
        begin: Begin | None = None,
    ) -> None:
        self._cluster = cluster
        self._said: list[Outgoing] = []
        self._transactor = Transactor(cluster, f"client.{name}", timeout=timeout)
        self._receiver = Receiver(
            cluster, instance, database, queue, group, member=name, begin=begin
        )

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the group; uncommitted messages and statements are rolled back."""
        self._said.clear()
        self._receiver.close()

    def receive(
        self,
        timeout: float | None,
        top: int = 500,
        *,
        conversation: Conversation | None = None,
        group: uuid.UUID | None = None,
    ) -> tuple[Received, ...]:
        """Receive like :meth:`Receiver.receive`."""
        return self._receiver.receive(timeout, top, conversation=conversation, group=group)

    def get_conversation_group(self, timeout: float | None) -> uuid.UUID | None:
        """Lock a group, like :meth:`Receiver.get_conversation_group`."""
        return self._receiver.get_conversation_group(timeout)

    def perform(self, instance: str, command: Command, *, wait: bool = False) -> None:
        """Add a statement, which takes effect when the transaction is committed."""
        refuse_to_wait(wait=wait)
        key, value, headers = command_record(command)
        self._said.append(Outgoing(self._cluster.topics.cmd(instance), key, value, headers))

    def commit(self) -> None:
        """Commit received messages and statements.

        Raises SurroundingsError if the commit failed; the messages are then redelivered to this or
        another member of the group. If the outcome is unknown because Kafka does not respond, or if
        another process has started under the name (FencedError), this Exchange is unusable. Create
        a new Exchange.
        """
        said, self._said = self._said, []
        try:
            self._receiver.commit(
                lambda offsets, member: self._transactor.commit(said, offsets, member)
            )
        except AbortedError:
            self._receiver.rollback(counts=False)
            raise

    def rollback(self) -> None:
        """Drop the statements, and make the received messages available again.

        The fifth rollback in a row disables the queue (event 143).
        """
        self._said.clear()
        self._receiver.rollback()
