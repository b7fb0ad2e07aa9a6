"""The record that caused a statement, and the ids that follow from it.

If an agent repeats a statement, the cause is the same. With the same secret, the id is also the
same.
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
    """A partition that an application's agent reads; ``topic`` is the UUID of its topic."""

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
        """Return the position (offset, n) of the statement within its source."""
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
        """Return an id for the statement that any reader of the facts can compute."""
        return uuid.uuid5(_NAMESPACE, self.facts)

    @property
    def public_conversation(self) -> uuid.UUID:
        """Return an id that only selects partitions; any reader of the facts can compute it.

        The BEGIN of a dialog without a related dialog is written to the partition of this id. So if
        the BEGIN is repeated with another secret, the same endpoint worker reads it and skips it.
        """
        return uuid.uuid5(self.public_id, "conversation")

    @property
    def following(self) -> Cause:
        """Return the cause of the next statement of the same record."""
        return replace(self, n=self.n + 1)


class StatementIds:
    """Derive ids of statements and dialogs from causes and a secret.

    Every repetition of a statement gets the same ids. Without the secret, the ids cannot be
    computed or distinguished from random ids (version 4 UUIDs). An id does not reveal any other id.
    """

    __slots__ = ("_commands", "_conversations")

    def __init__(self, secret: bytes) -> None:
        if len(secret) != SECRET_BYTES:
            raise ValueError(f"the secret must have {SECRET_BYTES} bytes, not {len(secret)}")
        # BLAKE2 with a key is a MAC; ``person`` makes the two uses of the key independent.
        self._commands = blake2b(key=secret, digest_size=16, person=b"command")
        self._conversations = blake2b(key=secret, digest_size=16, person=b"conversation")

    def command(self, cause: Cause) -> uuid.UUID:
        """Return the id of the statement."""
        made = self._commands.copy()
        made.update(cause.facts.encode())
        return uuid.UUID(bytes=made.digest(), version=4)

    def conversation(self, cause: Cause, number: int = 0) -> uuid.UUID:
        """Return the ``number``-th candidate id for a dialog that the statement begins."""
        made = self._conversations.copy()
        made.update(f"{number}{cause.facts}".encode())
        return uuid.UUID(bytes=made.digest(), version=4)
