"""Fast decoding of numbers, names and ids in their most common form.

The values of messages often recur, so they are cached. For any other form, these functions return
``None``, and a decoder for untrusted input reads the value field by field;
``tests/wire/test_glance.py`` compares the two results.
"""

from __future__ import annotations

import uuid
from functools import lru_cache

_REMEMBERED = 4096
_new = object.__new__
_set_int, _set_is_safe = (vars(uuid.UUID)[n].__set__ for n in ("int", "is_safe"))
"""Setters of the slots, as in the constructor of ``UUID``, which forbids assignment."""
_UNKNOWN = uuid.SafeUUID.unknown


def guid(raw: bytes) -> uuid.UUID:
    """Return the UUID of sixteen bytes; ``uuid.UUID(bytes=raw)`` takes three times as long."""
    made = _new(uuid.UUID)
    _set_int(made, int.from_bytes(raw, "big"))
    _set_is_safe(made, _UNKNOWN)
    return made


@lru_cache(_REMEMBERED)
def number(raw: bytes) -> int | None:
    """Return the non-negative integer that Avro encodes as exactly these bytes.

    The caller must limit the number of bytes.
    """
    value, last = 0, len(raw) - 1
    if not 0 <= last < 9:  # a million bytes would take 30 seconds
        return None
    for place, byte in enumerate(raw):
        if (byte < 0x80) != (place == last):
            return None
        value |= (byte & 0x7F) << 7 * place
    if value & 1 or (last and not raw[last]):
        return None  # negative, too large, or longer than necessary
    return value >> 1


def instant(raw: bytes) -> int | None:
    """Return the epoch milliseconds, from 1971 to 2039, that Avro encodes as exactly these bytes.

    Nearly all times differ, so they are not cached, unlike the values of :func:`number`.
    """
    if len(raw) != 6 or not raw[5]:
        return None
    bits = int.from_bytes(raw, "little")
    if bits & 0x8080_8080_8081 != 0x0080_8080_8080:
        return None  # shorter, longer, or below zero
    return (
        (bits & 0x7F) >> 1
        | (bits & 0x7F00) >> 2
        | (bits & 0x7F_0000) >> 3
        | (bits & 0x7F00_0000) >> 4
        | (bits & 0x7F_0000_0000) >> 5
        | (bits & 0x7F00_0000_0000) >> 6
    )


@lru_cache(_REMEMBERED)
def name(raw: bytes) -> str | None:
    """Return the string of fewer than 64 bytes that Avro encodes as exactly these bytes."""
    if not raw or raw[0] != 2 * (len(raw) - 1) or raw[0] >= 0x80:
        return None
    try:
        return raw[1:].decode()
    except UnicodeDecodeError:
        return None
