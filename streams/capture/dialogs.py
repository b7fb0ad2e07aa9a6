"""Turn the records of a capture into dialogs: initiator, SENDs per side, and arrivals.

Records of one dialog may be anywhere in one or several files. Each record becomes a small
:class:`Talk` under the dialog's id, and talks with the same id are merged, in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from streams.capture.record import Header
from streams.protocol import Command
from streams.protocol.command import CommandKind
from streams.protocol.frames import Flag
from streams.wire import MalformedError, Topics, unescape
from streams.wire.describe import RawRecord
from streams.wire.dialog_records import QueuedRecord, StatementRecord
from streams.wire.place import place_of
from streams.wire.topics import MAX_LENGTH

UNREADABLE = ""
"""The key under which unreadable commands are counted."""


class Begin(NamedTuple):
    """A BEGIN; among several with one id, the earliest is used: the later BEGINs were rejected."""

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


class Arrival(NamedTuple):
    """A database (``instance/database``) that has messages of one side in its queues."""

    at: str
    from_initiator: bool


@dataclass(frozen=True, slots=True)
class Talk:
    """Facts about one dialog: its BEGIN if the capture has it, and the SENDs per side.

    ``arrived`` contains the number of messages by queue, if the capture has queues.
    """

    begin: Begin | None = None
    sent: tuple[tuple[Party, int], ...] = ()
    arrived: tuple[tuple[Arrival, int], ...] = ()


DialogTalk = tuple[str, Talk]
"""A dialog's id as text, and a part of its talk."""

_NOWHERE = Party("", "", True)


def merge(one: Talk, other: Talk) -> Talk:
    """Merge two talks of the same dialog."""
    begin = min((t.begin for t in (one, other) if t.begin), key=_order, default=None)
    return Talk(begin, _summed(one.sent, other.sent), _summed(one.arrived, other.arrived))


K = TypeVar("K", Party, Arrival)


def _summed(*counts: tuple[tuple[K, int], ...]) -> tuple[tuple[K, int], ...]:
    sums = Counter[K]()
    for each in counts:
        sums.update(dict(each))
    return tuple(sorted(sums.items()))


def _order(begin: Begin) -> tuple[int | str, ...]:
    return tuple("" if value is None else value for value in begin)


@dataclass(frozen=True, slots=True)
class TalkReader:
    """Read the records of one capture, given its topics' prefix and the instances' names."""

    prefix: str
    names: Mapping[str, str] = field(default_factory=dict)
    homes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, prefix: str, homes: Mapping[str, str]) -> TalkReader:
        """Return a reader for a capture with this prefix.

        ``homes``: names in topics (instances, pairs), with the instance of each.
        """
        topics = Topics(prefix)
        return cls(prefix, {topics.cmd(home): i for home, i in homes.items()}, homes)

    def read(
        self, topic: str, key: bytes | None, headers: tuple[Header, ...]
    ) -> Iterator[DialogTalk]:
        """Yield the talk in a record; only BEGIN, SEND and messages in queues contain a talk."""
        record = RawRecord(topic, 0, 0, 0, key, None, headers)
        if topic.startswith(f"{self.prefix}queue."):
            yield from self._arrived(topic, QueuedRecord(record))
        statement = StatementRecord(record)
        if not topic.startswith(f"{self.prefix}cmd.") or statement.is_moved:
            return
        try:
            command = statement.command(statement.conversation)
        except MalformedError:
            yield UNREADABLE, Talk(sent=((_NOWHERE, 1),))
            return
        yield from _talks(command, self._instance(topic))

    def _arrived(self, topic: str, queued: QueuedRecord) -> Iterator[DialogTalk]:
        place = place_of(topic, Topics(self.prefix))
        try:
            frame = queued.message
        except MalformedError:
            return  # the record is not a message of a dialog
        own = frame.header.flags & (Flag.END | Flag.ERROR | Flag.UNSEQUENCED)
        if place is not None and place.instance is not None and not own:
            home = self.homes.get(place.instance, place.instance)
            arrival = Arrival(f"{home}/{place.database}", frame.parties.from_initiator)
            yield str(frame.conversation), Talk(arrived=((arrival, 1),))

    def _instance(self, topic: str) -> str:
        known = self.names.get(topic)
        if known is not None or len(topic) >= MAX_LENGTH:
            return known or topic
        return unescape(topic.removeprefix(f"{self.prefix}cmd."))


def _talks(command: Command, instance: str) -> Iterator[DialogTalk]:
    if command.kind is CommandKind.BEGIN:
        begin = Begin(
            command.issued_at, instance, command.database, command.from_service or "",
            command.to_service or "", command.to_broker,
        )  # fmt: skip
        yield str(command.conversation), Talk(begin)
    elif command.kind is CommandKind.SEND:
        party = Party(instance, command.database, command.from_initiator)
        for conversation in dict.fromkeys((command.conversation, *command.also)):
            yield str(conversation), Talk(sent=((party, 1),))
