"""Data classes for the content of foreign recordings, and for what could not be imported."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from streams.protocol import Flag
from streams.protocol.command import CommandKind
from streams.wire.bounds import SHORT

_KINDS, _OTHER = 200, "something else"
"""Maximum number of reported kinds, because a file may be full of unknown names."""
_NAMES = uuid.uuid5(uuid.NAMESPACE_URL, "hopline:conversation")


class ForeignRow(NamedTuple):
    """A row of a saved table: its line or number (from 1), and its cells by column.

    Columns are lower case. A cell is text, or any type of JSON or Parquet.
    """

    place: int
    cells: Mapping[str, Any]


class ForeignStatement(NamedTuple):
    """A statement; ``at`` is in epoch milliseconds; ``rank`` orders statements with the same time.

    ``sequence`` is the message's number in its direction, if known.
    """

    at: int
    rank: int
    conversation: uuid.UUID
    from_initiator: bool
    kind: CommandKind
    instance: str | None
    database: str | None
    sequence: int | None = None
    type: str | None = None
    body: bytes | None = None
    error_code: int | None = None
    error_text: str | None = None
    cleanup: bool = False


class TraceEvent(NamedTuple):
    """A trace event, with the field names of ``schemas/Event.avsc``."""

    at: int
    rank: int
    conversation: uuid.UUID | None
    event: Mapping[str, Any]


class Party(NamedTuple):
    """Facts about a dialog as a whole, including the place of its *initiator*."""

    conversation: uuid.UUID
    from_service: str | None = None
    to_service: str | None = None
    contract: str | None = None
    instance: str | None = None
    database: str | None = None


class Typed(NamedTuple):
    """The type of a message, as seen by another instance."""

    conversation: uuid.UUID
    from_initiator: bool
    sequence: int
    type: str


class Endpoint(NamedTuple):
    """One side of a dialog by its handle, the only id of messages in queues."""

    instance: str
    handle: uuid.UUID
    conversation: uuid.UUID
    is_initiator: bool
    sent: int | None = None
    received: int | None = None


class Waiting(NamedTuple):
    """A message in a queue or transmission queue, under its endpoint's handle.

    ``incoming``: sent by the other side.
    """

    instance: str
    database: str | None
    handle: uuid.UUID
    incoming: bool
    at: int
    sequence: int
    type: str | None
    body: bytes | None
    flags: Flag = Flag.NONE


Finding = ForeignStatement | TraceEvent | Party | Typed | Endpoint | Waiting


@dataclass(slots=True)
class Left:
    """The number of omissions of one kind, and the place of the first omission."""

    count: int
    first: str


@dataclass(slots=True)
class Report:
    """The result of an import; ``left`` and ``noted`` are by kind, in words."""

    rows: Counter[str] = field(default_factory=Counter)
    made: Counter[str] = field(default_factory=Counter)
    left: dict[str, Left] = field(default_factory=dict)
    noted: dict[str, Left] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)

    def skip(self, kind: str) -> None:
        """Count an entry that does not concern Service Broker."""
        self.skipped[kind if kind in self.skipped or len(self.skipped) < _KINDS else _OTHER] += 1

    def leave(self, kind: str, where: str, count: int = 1) -> None:
        """Count an entry that concerns Service Broker but could not be imported."""
        _count(self.left, kind, where, count)

    def note(self, kind: str, where: str, count: int = 1) -> None:
        """Count an entry that was imported with a remark."""
        _count(self.noted, kind, where, count)

    @property
    def good(self) -> bool:
        """Return whether all entries that concern Service Broker were imported."""
        return not self.left

    def to_json(self) -> dict[str, Any]:
        """Return the report as a dictionary for JSON output."""
        return {
            "rows": dict(self.rows),
            "made": dict(self.made),
            "left": _left_out(self.left),
            "noted": _left_out(self.noted),
            "skipped": dict(self.skipped),
        }


def _count(into: dict[str, Left], kind: str, where: str, count: int) -> None:
    if kind not in into and len(into) >= _KINDS:
        kind = _OTHER
    if kind in into:
        into[kind].count += count
    else:
        into[kind] = Left(count, where)


def _left_out(kinds: Mapping[str, Left]) -> list[dict[str, Any]]:
    return [{"kind": k, "count": one.count, "first": one.first} for k, one in kinds.items()]


def conversation_named(name: str) -> uuid.UUID:
    """Return a conversation's id: the text if it is a GUID, or else an id derived from the text.

    The same name means the same conversation in every import and in `hopline inspect`.
    """
    return (_short_named if len(name) <= SHORT else _named)(name)


def _named(name: str) -> uuid.UUID:
    text = name.strip()
    if len(text) >= 32:
        try:
            return uuid.UUID(text)
        except ValueError:
            pass
    return uuid.uuid5(_NAMES, name.encode("utf-8", "replace").decode())


_short_named = lru_cache(65_536)(_named)
