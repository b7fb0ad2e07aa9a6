"""Receive, process, send, as one: what was received and what was said count together or not at all.

In Kafka's words: the offsets of the queue and the commands are one transaction. A process that is
killed anywhere leaves either both or neither behind, so every message is processed with effect
once, as far as its effects are statements. (Effects in a database: the inbox.)

The order of a commit, and what a failure leaves behind:

    1. statements wait in memory                      nothing: what was received comes again
    2. begin, produce them, send the offsets          nothing: Kafka aborts
    3. commit                                         either; Kafka knows, and who starts next asks
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

    For one thread, as a transaction is: each thread has an Exchange of its own. ``name`` tells this
    process (or thread) from every other one of the application, and is the same at every start: who
    starts under it ends at once what was under way when its predecessor was killed. Arguments are
    those of :class:`~streams.client.receiver.Receiver`; the statements are refused by an event
    only, as those of a client that does not wait.
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
        """Leave the group; what was received and said and not committed did not happen."""
        self._said.clear()
        self._receiver.close()

    def receive(
        self,
        timeout: float,
        top: int = 500,
        *,
        conversation: Conversation | None = None,
        group: uuid.UUID | None = None,
    ) -> tuple[Received, ...]:
        """Return what :meth:`Receiver.receive` does."""
        return self._receiver.receive(timeout, top, conversation=conversation, group=group)

    def get_conversation_group(self, timeout: float) -> uuid.UUID | None:
        """Lock what :meth:`Receiver.get_conversation_group` does."""
        return self._receiver.get_conversation_group(timeout)

    def perform(self, instance: str, command: Command, *, wait: bool = False) -> None:
        """Say something that counts when the transaction is committed."""
        refuse_to_wait(wait=wait)
        key, value, headers = command_record(command)
        self._said.append(Outgoing(self._cluster.topics.cmd(instance), key, value, headers))

    def commit(self) -> None:
        """Commit what was received and said.

        Raises SurroundingsError where it did not happen: what was received comes again, here or to
        another member of the group. Where that is not certain, because Kafka does not answer, or is
        not up to this process, because another one has started under the name (FencedError), this
        Exchange has nothing more to say: make one anew.
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
        """Take back what was said, and return what was received to its place.

        The fifth time in a row turns the queue off (event 143).
        """
        self._said.clear()
        self._receiver.rollback()
