"""What a record makes an application say, once, however often the record is read.

For readers that may read a record again: of another cluster, of a topic that is not a queue, or
with a consumer that is not ours. (A queue of the same cluster is an Exchange's.)
"""

from __future__ import annotations

import uuid

from streams.client.client import Client
from streams.client.conversation import Conversation
from streams.client.statements import Statements
from streams.protocol import Cause, Command, Source


class Once(Statements):
    """The statements that the record at ``offset`` of ``source`` causes; a context manager.

    It ends when Kafka has all of them: only then may the next record be dealt with. Whoever reads
    the record again must say the same in the same order. What was said already is passed over, and
    the id of a conversation that is begun here is the same each time.
    """

    def __init__(self, client: Client, source: Source, offset: int) -> None:
        self._client, self._source, self._offset = client, source, offset
        self._said = 0

    def __enter__(self) -> Once:
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        if failure is None:
            self._client.flush()

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
    ) -> Conversation:
        """BEGIN DIALOG; ``lifetime`` in seconds."""
        return super().begin(
            instance,
            database,
            from_service,
            to_service,
            broker=broker,
            contract=contract,
            lifetime=lifetime,
            conversation=conversation or uuid.uuid5(self._next.id, "conversation"),
            group=group,
        )

    @property
    def _next(self) -> Cause:
        return Cause(self._source, self._offset, self._said)

    def perform(self, instance: str, command: Command) -> None:
        """Say the next thing that the record causes."""
        cause = self._next
        self._said += 1
        self._client.perform(instance, command._replace(command_id=cause.id, cause=cause))
