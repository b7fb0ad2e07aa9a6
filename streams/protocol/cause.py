"""The record that caused a statement, and the ids that follow from it.

A repeated statement has the same cause, and with the same secret also the same id.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from hashlib import blake2b

SECRET_BYTES = 32
"""Length of the secret of an application's agents."""
_NAMESPACE = uuid.UUID("6d9d9c0e-5d0b-5c55-9a6b-0a8a7d1f5c11")


@dataclass(frozen=True, slots=True)
class Source:
    """A partition of a topic as an application's agent reads it; ``topic`` is the topic's UUID."""

    application: str
    agent: str
    topic: uuid.UUID
    partition: int

    def __str__(self) -> str:
        return f"{self.application}/{self.agent} of {self.topic}/{self.partition}"


@dataclass(frozen=True, slots=True)
class Cause:
    """The ``n``-th statement (from 0) that the record at ``offset`` of a source caused."""

    source: Source
    offset: int
    n: int = 0

    @property
    def at(self) -> tuple[int, int]:
        """Return the position of the statement among those of its source."""
        return self.offset, self.n

    @property
    def facts(self) -> str:
        """Return all facts as text; different causes have different texts."""
        where = self.source
        return repr(
            (where.application, where.agent, where.topic.hex, where.partition, self.offset, self.n)
        )

    @property
    def public_id(self) -> uuid.UUID:
        """Return an id for the statement, which any reader of the facts can compute."""
        return uuid.uuid5(_NAMESPACE, self.facts)

    @property
    def public_conversation(self) -> uuid.UUID:
        """Return an id that any reader of the facts can compute; it selects partitions only.

        A dialog that is related to no other one is begun in the partition of this id. So the BEGIN
        reaches the same endpoint worker when it is repeated with another secret, and the worker
        skips it.
        """
        return uuid.uuid5(self.public_id, "conversation")

    @property
    def following(self) -> Cause:
        """Return the cause of the record's next statement."""
        return replace(self, n=self.n + 1)


class StatementIds:
    """Derive ids of statements and dialogs from causes and a secret.

    The ids are the same for every repetition. Without the secret, they can neither be computed nor
    be distinguished from random ids (UUIDs of version 4). No id reveals another one.
    """

    __slots__ = ("_commands", "_conversations")

    def __init__(self, secret: bytes) -> None:
        if len(secret) != SECRET_BYTES:
            raise ValueError(f"the secret must have {SECRET_BYTES} bytes, not {len(secret)}")
        # BLAKE2 with a key is a MAC; ``person`` separates the two uses of the key.
        self._commands = blake2b(key=secret, digest_size=16, person=b"command")
        self._conversations = blake2b(key=secret, digest_size=16, person=b"conversation")

    def command(self, cause: Cause) -> uuid.UUID:
        """Return the id of the statement."""
        made = self._commands.copy()
        made.update(cause.facts.encode())
        return uuid.UUID(bytes=made.digest(), version=4)

    def conversation(self, cause: Cause, number: int = 0) -> uuid.UUID:
        """Return the ``number``-th id that is possible for a dialog that the statement begins."""
        made = self._conversations.copy()
        made.update(f"{number}{cause.facts}".encode())
        return uuid.UUID(bytes=made.digest(), version=4)
