"""Which statements were seen before, of applications that may say again what they have said.

What reads a record, speaks and dies before it has noted the record as read, will read it again and
say the same again. A statement that names its cause is applied once: of each source the highest
(offset, n) is remembered, and what is not above it is passed over (design rule: applications). The
latest ones are remembered one by one, so that the answer is the same as the first time, and so that
it is noticed when what is said is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from streams.protocol.cause import Cause, Source
from streams.protocol.frames import Command

KEPT = 16
"""So many statements of a source are remembered one by one."""
MOST_SOURCES = 10_000
"""So many sources are remembered in a partition: those that have issued a statement last."""


class SeenStatement(NamedTuple):
    """A statement that was applied, or refused with ``number``."""

    offset: int
    n: int
    digest: int
    number: int = 0

    @property
    def at(self) -> tuple[int, int]:
        """Return where it stands among the statements of its source."""
        return self.offset, self.n


@dataclass(frozen=True, slots=True)
class Seen:
    """The latest statements of one source in one partition, by rising (offset, n)."""

    said: tuple[SeenStatement, ...] = ()

    def has(self, cause: Cause) -> bool:
        """Tell whether a statement was seen before, or may have been."""
        return bool(self.said) and cause.at <= self.said[-1].at

    def find(self, cause: Cause) -> SeenStatement | None:
        """Return what is remembered of a statement, if anything is."""
        return next((said for said in self.said if said.at == cause.at), None)

    def differs(self, cause: Cause, command: Command) -> bool:
        """Tell whether a statement that has the number of an old one is another one."""
        found = self.find(cause)
        if found is not None:
            return found.digest != digest_of(command)
        return self.said[0].at < cause.at  # it stands among those that are remembered

    def plus(self, cause: Cause, command: Command, number: int) -> Seen:
        """Return this with one more statement."""
        return Seen((*self.said, SeenStatement(*cause.at, digest_of(command), number))[-KEPT:])


def remember(
    known: dict[Source, Seen], latest: Mapping[Source, Seen], forgotten: Iterable[Source]
) -> None:
    """Take over what a transaction has seen: who issued a statement last is last in ``known``."""
    for source in (*forgotten, *latest):
        known.pop(source, None)
    known.update(latest)


def digest_of(command: Command) -> int:
    """Return what tells two statements apart, whenever and for whom they were made."""
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
