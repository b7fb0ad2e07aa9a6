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
        self._client = client
        self._cause = Cause(source, offset)

    def __enter__(self) -> Once:
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        if failure is None:
            self._client.flush()

    def new_id(
        self, related: Conversation | None = None, *, wanted: uuid.UUID | None = None
    ) -> uuid.UUID:
        """Return the id of a dialog that the next thing said begins."""
        super().new_id(related)
        return wanted or self._cause.conversation()

    def perform(self, instance: str, command: Command, *, wait: bool = False) -> None:
        """Say the next thing that the record causes."""
        command = command.caused_by(self._cause)
        self._cause = self._cause.following
        self._client.perform(instance, command, wait=wait)
