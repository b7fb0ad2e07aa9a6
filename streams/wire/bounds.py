"""Check the limits of a record from outside, because Avro's reader accepts more than its writer.

Avro's reader accepts a number of more than 32 bits in an ``int``, and a string of any length. Such
values would later be written to an event or to another instance, where they do not fit, so they are
rejected when they are read. An expiry (a field ``...expires_at``) that would overflow when a time
to live is added is also rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from streams.times import LATEST

LONGEST = 16_384
"""Maximum length in characters of a name, id or error text; SQL Server's longest text has 3,000."""

LARGEST = 65_536
"""Maximum size in bytes of a header; a cache of a thousand headers takes at most 64 MiB."""

LAST_NUMBER = 1 << 40
"""A limit for message numbers that no dialog reaches. Spark and SQLite can add up numbers below
this limit. A larger number, which any writer may claim, would make a query fail, because both raise
an error if a sum overflows."""

SHORT = 1_024
"""Maximum size in bytes of a value whose decoded form is cached."""

LARGEST_HOP = 16_384
"""Maximum size in bytes of a copy's journey: twice the size of 16 hops with the longest names."""

MOST_VISITS = 64
"""Maximum number of visits of a copy; 16 hops make 18. A visit takes 3 bytes, 70 in memory."""

LARGEST_VISIT = 1_024
"""Maximum size in bytes of one visit: an instance and a database of 128 characters take 780."""

LARGEST_QUEUED_HOP = LARGEST_HOP + LARGEST_VISIT
"""Maximum size in bytes of a journey in a queue, to which the endpoint worker has added a visit.

If the limit of ``in`` were used, a message could be acknowledged that no reader of the queue
accepts.
"""

LARGEST_EVENT = 65_536
"""Maximum size in bytes of an event; ``encode_event`` truncates the texts of a larger one."""

LARGEST_STATEMENT = 131_072
"""Maximum size in bytes of a statement without its body: twice the size of a SEND on 1,000 dialogs.

A transaction decodes a thousand statements before it applies the first.
"""

Fits = Callable[[Any], bool]
Excess = Callable[[dict[str, Any]], str | None]
"""Returns the name of the first field that is out of bounds, or ``None``."""


def bounds(schema: Any, longest: int | None) -> Excess:
    """Return a function that checks a record's fields; ``longest``: maximum characters of a string.

    ``None`` is for records from workers or operators: strings and expiries are not limited.
    """
    fields = _fields(schema, longest)

    def excess(record: dict[str, Any]) -> str | None:
        for name, fits in fields:
            if not fits(record[name]):
                return name
        return None

    return excess


def _fields(schema: Any, longest: int | None) -> Sequence[tuple[str, Fits]]:
    found = ((field["name"], _field(field, longest)) for field in schema["fields"])
    return [(name, fits) for name, fits in found if fits is not None]


def _field(field: dict[str, Any], longest: int | None) -> Fits | None:
    if longest is not None and field["name"].endswith("expires_at"):
        return _is_expiry
    return _fits(field["type"], longest)


def _is_expiry(value: int | bytes) -> bool:
    return (value if isinstance(value, int) else int.from_bytes(value, "big")) <= LATEST


def _fits(kind: Any, longest: int | None) -> Fits | None:
    if kind == "int":
        return lambda value: -(2**31) <= value < 2**31
    if kind == "string" and longest is not None:
        return lambda value: len(value) <= longest
    if isinstance(kind, list):  # null and one other type, as everywhere in our schemas
        return _optional(_fits(kind[1], longest))
    if not isinstance(kind, dict):
        return None
    if kind["type"] == "array":
        return _each(_fits(kind["items"], longest))
    return _whole(_fields(kind, longest)) if kind["type"] == "record" else None


def _optional(fits: Fits | None) -> Fits | None:
    return None if fits is None else lambda value: value is None or fits(value)


def _each(fits: Fits | None) -> Fits | None:
    return None if fits is None else lambda values: all(map(fits, values))


def _whole(fields: Sequence[tuple[str, Fits]]) -> Fits | None:
    if not fields:
        return None
    return lambda record: all(fits(record[name]) for name, fits in fields)
