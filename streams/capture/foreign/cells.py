"""Read a cell of a foreign table: numbers, GUIDs, bits, instants or bytes; ``None`` if empty."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

from streams.times import LATEST
from streams.topology.snapshot.cells import read_cell
from streams.topology.snapshot.views import CellType
from streams.wire.bounds import SHORT

_HEX = re.compile(r"0x((?:[0-9a-fA-F]{2})*)")
_NUMBER = re.compile(r"\s*(-?\d+)")
_WORD = re.compile(r"[^a-z0-9]+")
_TRUE, _FALSE = {"1", "true", "yes", "initiator"}, {"0", "false", "no", "target"}
_UNITS = ((1e17, 1_000_000), (1e14, 1_000), (1e11, 1), (0, 0.001))
"""Units of time: the smallest number that is read in this unit, and the units per millisecond."""


def text_of(raw: Any) -> str | None:
    """Return a cell's text; ``None`` for NULL and empty cells."""
    if raw is None or raw == "":
        return None
    text = raw if isinstance(raw, str) else str(raw)
    return None if text.strip().casefold() in ("", "null") else clean(text)


def clean(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON can contain and UTF-8 cannot."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def whole(raw: Any) -> int | None:
    """Return a 64-bit integer from the start of the text (``1 - Local``)."""
    if isinstance(raw, (bool, int)) or (isinstance(raw, float) and raw.is_integer()):
        number = int(raw)
    else:
        found = _NUMBER.match(str(raw or ""))
        if found is None or len(found[1]) > 19:
            return None
        number = int(found[1])
    return number if -(2**63) <= number < 2**63 else None


def small(raw: Any) -> int | None:
    """Return a 32-bit integer."""
    number = whole(raw)
    return number if number is not None and -(2**31) <= number < 2**31 else None


def flag(raw: Any) -> bool | None:
    """Return a bit: 0, 1, true, false, or a role, ``Initiator`` or ``Target``."""
    word = str(raw).strip().casefold() if raw is not None else ""
    return True if word in _TRUE else False if word in _FALSE else None


def guid(raw: Any) -> uuid.UUID | None:
    """Return a GUID in any of its forms; ``None`` for all zeros."""
    if isinstance(raw, uuid.UUID):
        return raw if raw.int else None
    try:
        found = uuid.UUID(str(raw).strip())
    except ValueError:
        return None
    return found if found.int else None


def word(raw: Any) -> str:
    """Return a string in its comparable form: ``SEND Message`` is ``sendmessage``."""
    return _WORD.sub("", str(raw or "").casefold())


def bytes_of(raw: Any) -> bytes | None:
    """Return a body: raw bytes, decoded ``0x...``, or text from JSON."""
    if raw is None or isinstance(raw, bytes):
        return raw
    if isinstance(raw, (dict, list)):
        import json

        try:
            raw = json.dumps(raw, ensure_ascii=False)
        except RecursionError:  # the decoder accepts deeper nesting than the encoder
            return None
    text = str(raw)
    found = _HEX.fullmatch(text)
    return bytes.fromhex(found[1]) if found else text.encode("utf-8", "replace")


def instant(raw: Any, utc_offset: int = 0) -> int | None:
    """Return epoch milliseconds; times without a zone are ``utc_offset`` minutes ahead of UTC.

    ``None`` for invalid times, and for times before 1970 or after 9999.
    """
    if isinstance(raw, str):
        text = raw.strip()
        at = (_short_instant if len(text) <= SHORT else _text_instant)(text, utc_offset)
    elif isinstance(raw, datetime):
        at = _moment(raw, utc_offset)
    elif isinstance(raw, date):
        at = _moment(datetime(raw.year, raw.month, raw.day), utc_offset)
    elif isinstance(raw, (int, float)) and not isinstance(raw, bool):
        at = _counted(float(raw)) if abs(raw) < 2**63 else None
    else:
        at = None
    return at if at is not None and 0 <= at <= LATEST else None


def _text_instant(text: str, utc_offset: int) -> int | None:
    try:
        return _moment(datetime.fromisoformat(text), utc_offset)
    except ValueError:
        pass
    try:
        return _counted(float(text))
    except ValueError:
        pass
    try:
        seconds = read_cell(CellType.TIME, text)
    except ValueError:
        return None
    return None if seconds is None else round(seconds * 1000) - utc_offset * 60_000


_short_instant = lru_cache(4096)(_text_instant)


def _moment(moment: datetime, utc_offset: int) -> int | None:
    local = moment.tzinfo is None
    try:
        seconds = (moment.replace(tzinfo=UTC) if local else moment).timestamp()
    except (OverflowError, ValueError):
        return None
    return round(seconds * 1000) - (utc_offset * 60_000 if local else 0)


def _counted(number: float) -> int | None:
    if not math.isfinite(number) or number < 0:
        return None
    in_millisecond = next(unit for least, unit in _UNITS if number >= least)
    return round(number / in_millisecond)


def first(cells: Mapping[str, Any], *names: str) -> Any:
    """Return the first of these columns that has a value."""
    for name in names:
        value = cells.get(name)
        if value is not None and value != "":
            return value
    return None
