"""Write names, strings and instants so that T-SQL reads them back exactly."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from streams.topology.objects import queue_name

_PART = re.compile(r"\[((?:[^\]]|\]\])+)\]|([^.\[\]]+)")


def bracket(name: str) -> str:
    """Return a name in brackets."""
    return "[" + name.replace("]", "]]") + "]"


def literal(text: str) -> str:
    """Return a Unicode string literal."""
    return "N'" + text.replace("'", "''") + "'"


def split_name(text: str) -> tuple[str, str] | None:
    """Return the schema and name of a schema-owned object; ``None`` for any other text.

    The function is the inverse of :func:`streams.topology.queue_name`; ``dbo`` is optional.
    """
    parts: list[str] = []
    at = 0
    while match := _PART.match(text, at):
        parts.append(match[1].replace("]]", "]") if match[1] else match[2])
        at = match.end()
        if at == len(text):
            break
        if text[at] != ".":
            return None
        at += 1
    if at != len(text) or not 0 < len(parts) < 3:
        return None
    return ("dbo", parts[0]) if len(parts) == 1 else (parts[0], parts[1])


def canonical(text: str) -> str:
    """Return the canonical T-SQL name of a schema-owned object."""
    split = split_name(text)
    return text if split is None else queue_name(*split)


def owned(text: str) -> str:
    """Return the name of a schema-owned object, with its schema."""
    schema, name = split_name(text) or ("dbo", text)
    return f"{bracket(schema)}.{bracket(name)}"


def day(seconds: float) -> str | None:
    """Return an instant as a date that does not depend on server settings; ``None`` if impossible.

    ``seconds`` is the time since the epoch, in UTC.
    """
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    if moment.timestamp() != seconds or moment.year < 1900:
        return None
    fraction = f".{moment.microsecond:06}" if moment.microsecond else ""
    return f"'{moment:%Y%m%d %H:%M:%S}{fraction}'"
