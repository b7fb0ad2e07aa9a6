"""Encode values in schema order as Avro, for records that are written once per message.

A schema is converted to functions, one per field, that return the bytes of a value. Most values
recur (names, small numbers, the current time, offsets in a chunk), so their bytes are cached. This
encoder is several times as fast as a general encoder, which looks up fields by name and tries the
branches of unions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from operator import call
from struct import Struct
from typing import Any

Pack = Callable[[Any], bytes]
_NUMBERS, _TEXTS, _OPTIONAL = 1 << 14, 1 << 13, 1 << 12
"""Maximum numbers of cached values: positions of messages in flight; names and ids; other
values."""
_SHORT = 256
"""Maximum length in characters of a cached text; names are not longer."""


def base128(left: int) -> bytes:
    """Return a non-negative number in base 128, low digits first."""
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


@lru_cache(_NUMBERS)
def pack_long(value: int) -> bytes:
    """Return an integer in Avro's encoding: zig-zag, base 128, low digits first."""
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{value} does not fit into 64 bits")
    return base128((value << 1) ^ (value >> 63))


@lru_cache(_OPTIONAL)
def pack_int(value: int) -> bytes:
    """Return an integer of at most 32 bits in Avro's encoding."""
    if not -(1 << 31) <= value < 1 << 31:
        raise ValueError(f"{value} does not fit into 32 bits")
    return pack_long(value)


def pack_string(value: str) -> bytes:
    """Return a string in Avro's encoding, which begins with its length in bytes."""
    return (_name if len(value) <= _SHORT else _text)(value)


def _text(value: str) -> bytes:
    raw = value.encode("utf-8")
    return pack_long(len(raw)) + raw


_name = lru_cache(_TEXTS)(_text)


_PRIMITIVES: dict[str, Pack] = {
    "boolean": (b"\x00", b"\x01").__getitem__,
    "double": Struct("<d").pack,
    "int": pack_int,
    "long": pack_long,
    "string": pack_string,
}


def packer(schema: Any, part: slice = slice(None)) -> Callable[[Iterable[Any]], bytes]:
    """Return a function that encodes a record's values, or ``part`` of them, in field order.

    A record in an array is also a tuple of its values. Only the types in ``schemas/`` are
    supported: a union has ``null`` and one other type. Raises ValueError, TypeError or
    AttributeError for a value that does not fit.
    """
    return _record(schema, {}, part)


def _record(schema: Any, named: dict[str, Pack], part: slice = slice(None)) -> Pack:
    packs = tuple([_pack(field["type"], named) for field in schema["fields"]][part])

    def write(values: Iterable[Any]) -> bytes:
        return b"".join(map(call, packs, values))

    return write


def _pack(kind: Any, named: dict[str, Pack]) -> Pack:
    if isinstance(kind, str):
        return _PRIMITIVES.get(kind) or named[kind]
    if isinstance(kind, list):
        return _optional(_pack(kind[1], named))
    made = _MADE[kind["type"]](kind, named)
    if "name" in kind:
        named[kind["name"]] = made
    return made


def _optional(pack: Pack) -> Pack:
    def write(value: Any) -> bytes:
        return b"\x00" if value is None else b"\x02" + pack(value)

    # The encoder of strings caches short strings itself.
    return write if pack is pack_string else lru_cache(_OPTIONAL)(write)


def _array(schema: Any, named: dict[str, Pack]) -> Pack:
    pack = _pack(schema["items"], named)

    def write(values: Any) -> bytes:
        if not values:
            return b"\x00"
        return pack_long(len(values)) + b"".join(map(pack, values)) + b"\x00"

    return write


def _fixed(schema: Any, _: dict[str, Pack]) -> Pack:
    size = schema["size"]

    def write(value: bytes) -> bytes:
        if len(value) != size:
            raise ValueError(f"{len(value)} bytes instead of {size}")
        return value

    return write


def _enum(schema: Any, _: dict[str, Pack]) -> Pack:
    symbols = {symbol: pack_long(n) for n, symbol in enumerate(schema["symbols"])}
    return symbols.__getitem__


_MADE: Mapping[str, Callable[[Any, dict[str, Pack]], Pack]] = {
    "record": _record,
    "array": _array,
    "fixed": _fixed,
    "enum": _enum,
}
