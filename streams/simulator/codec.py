"""Serialize values to real copies, as cheaply as the standard library allows.

A :class:`Shape` writes the fields of a dataclass or a named tuple as a tuple, with ``marshal``; it
converts unsupported types (GUIDs, enums) according to the field's type. The bytes are compared and
hashed but never leave the process, so Python's own format is sufficient. Its version 2 gives equal
bytes for equal values. :class:`Codec` is the envelope for ``node``.
"""

from __future__ import annotations

import marshal
import types
import uuid
from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass
from enum import Enum, IntEnum, IntFlag
from functools import lru_cache
from operator import attrgetter
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from streams.node import HopView
from streams.protocol import Ack, Command, Dialog, Header, Journey, Parties, Request, Status

T = TypeVar("T")
_Turn = Callable[[Any], Any]
_FORMAT = 2


class Shape(Generic[T]):
    """The encoding of one class's values; the caller passes omitted fields to :meth:`loads`."""

    def __init__(self, kind: type[T], leave_out: Collection[str] = ()) -> None:
        hints = get_type_hints(kind)
        names = [name for name in _names(kind) if name not in leave_out]
        self.names = tuple(names)
        self._kind = kind
        self._row = attrgetter(*names)
        turns = [(at, _turns(hints[name])) for at, name in enumerate(names)]
        self._turns = [(at, *turn) for at, turn in turns if turn is not None]

    def dumps(self, value: T) -> bytes:
        """Return a value as bytes."""
        row = list(self._row(value))
        for at, there, _ in self._turns:
            row[at] = there(row[at])
        return marshal.dumps(row, _FORMAT)

    def loads(self, raw: bytes, **given: Any) -> T:
        """Decode a value from bytes; ``given`` contains the fields that the bytes omit."""
        row = marshal.loads(raw)
        for at, _, back in self._turns:
            row[at] = back(row[at])
        return self._kind(**dict(zip(self.names, row, strict=True)), **given)


def _names(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind)) if is_dataclass(kind) else kind._fields


def _turns(hint: Any) -> tuple[_Turn, _Turn] | None:
    """Return the conversions from a type to marshal's types and back; ``None`` if not needed."""
    if hint is uuid.UUID:
        return attrgetter("bytes"), _guid
    if isinstance(hint, type) and issubclass(hint, (IntEnum, IntFlag)):
        return int, hint
    if isinstance(hint, type) and issubclass(hint, Enum):
        return (lambda value: value.name), hint.__getitem__
    if isinstance(hint, type) and (is_dataclass(hint) or hasattr(hint, "_fields")):
        shape: Shape[Any] = Shape(hint)
        return shape.dumps, shape.loads
    arguments = [a for a in get_args(hint) if a not in (type(None), Ellipsis)]
    inner = [_turns(a) for a in arguments]
    if all(turn is None for turn in inner):
        return None
    there, back = zip(*(turn or (_same, _same) for turn in inner), strict=True)
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        if len(arguments) > 1:
            raise TypeError(f"no shape for {hint}")
        return _maybe(there[0]), _maybe(back[0])
    if origin is dict:
        return _pairs(*there), _pairs(*back)
    if origin in (tuple, list) and len(arguments) == 1:
        return _each(origin, there[0]), _each(origin, back[0])
    raise TypeError(f"no shape for {hint}")


@lru_cache(maxsize=65536)
def _guid(raw: bytes) -> uuid.UUID:
    return uuid.UUID(bytes=raw)


def _same(value: Any) -> Any:
    return value


def _maybe(turn: _Turn) -> _Turn:
    return lambda value: None if value is None else turn(value)


def _pairs(key: _Turn, item: _Turn) -> _Turn:
    return lambda value: {key(k): item(v) for k, v in value.items()}


def _each(kind: type, turn: _Turn) -> _Turn:
    return lambda value: kind(turn(v) for v in value)


PARTIES, HEADER, JOURNEY = Shape(Parties), Shape(Header), Shape(Journey)
ACK, STATUS = Shape(Ack), Shape(Status)
REQUEST = Shape(Request)
COMMAND = Shape(Command, leave_out={"stored_at"})
NOT_STORED = ("conversation", "chunks", "last_copy", "in_flight", "refused")
"""Fields of a dialog that its state record does not contain.

The key contains the conversation, and chunks are separate records. The last copy and the first
refused message are unknown after a restart, and messages in flight are counted again.
"""
DIALOG = Shape(Dialog, leave_out=NOT_STORED)

encode_parties = lru_cache(maxsize=4096)(PARTIES.dumps)
decode_parties = lru_cache(maxsize=4096)(PARTIES.loads)
decode_header = lru_cache(maxsize=4096)(HEADER.loads)

_HOPS, _EXPIRES, _ATTEMPT, _FIRST_HOP, _PATH = (
    JOURNEY.names.index(name)
    for name in ("hops_remaining", "expires_at", "attempt", "first_hop", "path")
)


class Hop:
    """The path of one copy (``HopView``)."""

    __slots__ = ("_row", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._row: list[Any] = marshal.loads(raw)

    @property
    def hops_remaining(self) -> int:
        """Return the number of forwarders that may still forward the copy."""
        return int(self._row[_HOPS])

    @property
    def attempt(self) -> int:
        """Return the number of the retry, or 0 for the first transmission."""
        return int(self._row[_ATTEMPT])

    @property
    def first_hop(self) -> int:
        """Return the index of the preferred next hop of the sender."""
        return int(self._row[_FIRST_HOP])

    @property
    def expires_at(self) -> int:
        """Return the end of the time to live in epoch milliseconds."""
        return int(self._row[_EXPIRES])

    @property
    def visits(self) -> int:
        """Return the number of instances on the path."""
        return len(self._row[_PATH])

    def expired(self, now: int) -> bool:
        """Return whether the time to live has expired."""
        return bool(self._row[_EXPIRES] <= now)

    def edited(
        self,
        instance: str,
        at: int,
        block: bytes,
        *,
        spend: bool,
        first_hop: int | None = None,
        hide: bool = False,
    ) -> bytes:
        """Return the bytes for the next instance; with ``hide``, they omit the path so far."""
        row = list(self._row)
        row[_HOPS] -= spend
        row[_PATH] = (*(() if hide else row[_PATH]), (instance, at))
        if first_hop is not None:
            row[_FIRST_HOP] = first_hop
        return marshal.dumps(row, _FORMAT)


class Codec:
    """Encode and decode the envelope in memory; implements ``EnvelopeCodec``."""

    @staticmethod
    def conversation(key: bytes) -> uuid.UUID:
        """Read the conversation id."""
        return _guid(key)

    @staticmethod
    def parties(raw: bytes) -> Parties:
        """Decode ``sb-route``."""
        return decode_parties(raw)

    @staticmethod
    def encode_parties(parties: Parties) -> bytes:
        """Encode ``sb-route``."""
        return encode_parties(parties)

    @staticmethod
    def header(raw: bytes) -> Header:
        """Decode ``sb-message``."""
        return decode_header(raw)

    @staticmethod
    def hop(raw: bytes) -> HopView:
        """View ``sb-hop``."""
        return Hop(raw)

    @staticmethod
    def visit(instance: str, at: int) -> bytes:
        """Return no bytes, because a visit is added directly to the path."""
        return b""
