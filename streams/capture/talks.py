"""From the commands of a capture to what each dialog said: who began it, who sent how much.

Commands of one dialog stand anywhere in a file or in several: each becomes a small :class:`Talk`
under the dialog's id, and talks of the same id are merged, in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from streams.capture.record import Header
from streams.protocol import Command
from streams.protocol.frames import CommandKind
from streams.wire import MalformedError, Topics, unescape
from streams.wire.records import is_moved, read_command
from streams.wire.topics import MAX_LENGTH

UNREADABLE = ""
"""The key under which commands are counted that nobody can read."""


class Begun(NamedTuple):
    """A BEGIN; of several for one id the earliest counts, the others were refused."""

    at: int
    instance: str
    database: str
    service: str
    to: str
    broker: str | None


class Party(NamedTuple):
    """A side of a dialog that sends."""

    instance: str
    database: str
    from_initiator: bool


@dataclass(frozen=True, slots=True)
class Talk:
    """What is known of one dialog: its BEGIN, if the capture has it, and how many SENDs by whom."""

    begun: Begun | None = None
    sent: tuple[tuple[Party, int], ...] = ()


Said = tuple[str, Talk]
"""A dialog's id as text, and a part of what it said."""

_NOWHERE = Party("", "", True)


def merge(one: Talk, other: Talk) -> Talk:
    """Return what two talks of the same dialog are together."""
    begun = min((t.begun for t in (one, other) if t.begun), key=_order, default=None)
    sums = Counter(dict(one.sent))
    sums.update(dict(other.sent))
    return Talk(begun, tuple(sorted(sums.items())))


def _order(begun: Begun) -> tuple[int | str, ...]:
    return tuple("" if value is None else value for value in begun)


@dataclass(frozen=True, slots=True)
class Ear:
    """Reads the records of one capture: knows its topics' prefix and the instances' names."""

    prefix: str
    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, prefix: str, homes: Mapping[str, str]) -> Ear:
        """Return what reads a capture with this prefix from these instances, and from others.

        ``homes``: after whom topics are named (instances, pairs), and the instance that is meant.
        """
        topics = Topics(prefix)
        return cls(prefix, {topics.cmd(home): instance for home, instance in homes.items()})

    def read(self, topic: str, key: bytes | None, headers: tuple[Header, ...]) -> Iterator[Said]:
        """Yield what a record says; nothing where it is no BEGIN and no SEND."""
        if not topic.startswith(f"{self.prefix}cmd.") or is_moved(headers):
            return
        try:
            command = read_command(key, None, list(headers), 0)
        except MalformedError:
            yield UNREADABLE, Talk(sent=((_NOWHERE, 1),))
            return
        yield from _said(command, self._instance(topic))

    def _instance(self, topic: str) -> str:
        known = self.names.get(topic)
        if known is not None or len(topic) >= MAX_LENGTH:
            return known or topic
        return unescape(topic.removeprefix(f"{self.prefix}cmd."))


def _said(command: Command, instance: str) -> Iterator[Said]:
    if command.kind is CommandKind.BEGIN:
        begun = Begun(
            command.issued_at, instance, command.database, command.from_service or "",
            command.to_service or "", command.to_broker,
        )  # fmt: skip
        yield str(command.conversation), Talk(begun)
    elif command.kind is CommandKind.SEND:
        party = Party(instance, command.database, command.from_initiator)
        for conversation in dict.fromkeys((command.conversation, *command.also)):
            yield str(conversation), Talk(sent=((party, 1),))
