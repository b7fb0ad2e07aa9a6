"""Deduplicate statements of applications that may repeat them.

An agent that crashes before it commits repeats its statements. A statement with a cause is applied
once: the highest (offset, n) of each source is stored, and statements at or below it are skipped
(docs/command_contract.md). The latest statements are stored individually. So a repetition gets the
same result as the first time, and a different statement with the same cause is detected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from streams.protocol.cause import Cause, Source
from streams.protocol.command import Command

KEPT = 16
"""Maximum number of statements of a source that are stored individually."""
MOST_SOURCES = 10_000
"""Maximum number of sources stored in a partition; the most recent sources are kept."""


class SeenStatement(NamedTuple):
    """A statement that was applied, or was rejected with the error ``number``."""

    offset: int
    n: int
    digest: int
    number: int = 0

    @property
    def at(self) -> tuple[int, int]:
        """Return the position (offset, n) of the statement within its source."""
        return self.offset, self.n


@dataclass(frozen=True, slots=True)
class Seen:
    """The latest statements of one source in one partition, in ascending order of (offset, n)."""

    said: tuple[SeenStatement, ...] = ()

    def has(self, cause: Cause) -> bool:
        """Return whether a statement was seen before, or might have been."""
        return bool(self.said) and cause.at <= self.said[-1].at

    def find(self, cause: Cause) -> SeenStatement | None:
        """Return the stored statement, or ``None`` if it is no longer stored."""
        return next((said for said in self.said if said.at == cause.at), None)

    def differs(self, cause: Cause, command: Command) -> bool:
        """Return whether a statement differs from the stored statement at the same position."""
        found = self.find(cause)
        if found is not None:
            return found.digest != digest_of(command)
        return self.said[0].at < cause.at  # its position is among those of the stored statements

    def plus(self, cause: Cause, command: Command, number: int) -> Seen:
        """Return a copy to which a statement was added."""
        return Seen((*self.said, SeenStatement(*cause.at, digest_of(command), number))[-KEPT:])


def remember(
    known: dict[Source, Seen], latest: Mapping[Source, Seen], forgotten: Iterable[Source]
) -> None:
    """Merge the sources that a transaction has seen; the latest source is the last in ``known``."""
    for source in (*forgotten, *latest):
        known.pop(source, None)
    known.update(latest)


def digest_of(command: Command) -> int:
    """Return a digest of a statement's content, independent of time and recipient."""
    made = blake2b(digest_size=8)
    made.update(
        repr(
            (
                *(command.conversation.hex, command.kind.name, command.database),
                *(command.from_initiator, command.from_service, command.to_service),
                *(command.to_broker, command.contract, command.lifetime),
                *(str(command.group), str(command.related), command.timeout, command.type),
                *(command.error_code, command.error_text, command.cleanup),
                *(conversation.hex for conversation in command.also),
            )
        ).encode("utf-8", "surrogatepass")
    )
    made.update(command.body or b"")
    return int.from_bytes(made.digest(), "big", signed=True)
