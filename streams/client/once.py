"""Statements caused by a record, which take effect once, however often the record is read.

Use these statements in readers that may read a record again: from another cluster, from a topic
that is not a queue, or with a foreign consumer. (For a queue of the same cluster, use an Exchange.)
"""

from __future__ import annotations

import uuid

from streams.client.client import Client
from streams.client.conversation import Conversation
from streams.client.statements import Statements
from streams.protocol import Cause, Command, Source


class Once(Statements):
    """The statements caused by the record at ``offset`` of ``source``; a context manager.

    The context exits when all these statements are in Kafka; only then may the next record be
    processed. A reader that reads the record again must issue the same statements in the same
    order. Statements that were issued before are skipped, and the conversation that a statement
    begins has the same id every time.
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
        """Return the id of the dialog that the next statement begins."""
        super().new_id(related)
        return wanted or self._cause.public_conversation

    def perform(self, instance: str, command: Command, *, wait: bool = False) -> None:
        """Issue the next statement that the record causes."""
        command = command.caused_by(self._cause, self._cause.public_id)
        self._cause = self._cause.following
        self._client.perform(instance, command, wait=wait)
