"""Read a cell: NULLs, bits, GUIDs and dates as SQL Server and Excel write them."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from streams.prose import clipped
from streams.topology.snapshot.views import CellType

_NULLS = frozenset({"", "null", "\\n"})
_TRUE, _FALSE = frozenset({"1", "true"}), frozenset({"0", "false"})
_FIRST, _LAST = -62_135_596_800.0, 253_402_300_799.0
"""The years 1 to 9999, in epoch seconds."""
_FORMS = (
    "%b %d %Y %I:%M%p",  # SQL Server's default text form
    "%b %d %Y %I:%M:%S:%f%p",
    "%Y%m%d %H:%M:%S",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %I:%M %p",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
)
"""Formats to try in this order after ISO 8601, so 03/04/2026 is 4 March."""


def read_cell(kind: CellType, raw: object, offset_minutes: int = 0) -> Any:
    """Return a cell's value; raise ValueError, with the reason, for an invalid cell.

    Times become epoch seconds; ``offset_minutes`` is the server's UTC offset.
    """
    if raw is None or (isinstance(raw, str) and raw.strip().casefold() in _NULLS):
        return None
    if kind is CellType.TEXT:
        return _clean(raw if isinstance(raw, str) else str(raw))
    value = _READERS[kind](str(raw).strip())
    if kind is not CellType.LOCAL:
        return value
    utc = value - 60 * offset_minutes
    if not _FIRST <= utc <= _LAST:
        raise ValueError(f"'{_short(str(raw))}' is out of range")
    return utc


def _clean(text: str) -> str:
    """Replace lone surrogates, which are allowed in JSON but not in output."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"'{_short(text)}' is not an integer") from None


def _bit(text: str) -> bool:
    folded = text.casefold()
    if folded not in _TRUE | _FALSE:
        raise ValueError(f"'{_short(text)}' is not a bit: 0, 1, true or false")
    return folded in _TRUE


def _guid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise ValueError(f"'{_short(text)}' is not a GUID") from None


def _time(text: str) -> float:
    moment = _iso(text) or _other(" ".join(text.split()))
    if moment is None:
        raise ValueError(f"'{_short(text)}' is not a date and time")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        seconds = moment.timestamp()
    except (OverflowError, ValueError):  # the year 1 in a zone east of Greenwich
        seconds = math.nan
    if math.isnan(seconds):
        raise ValueError(f"'{_short(text)}' is out of range")
    return seconds


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _other(text: str) -> datetime | None:
    for form in _FORMS:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    return None


def _short(text: str) -> str:
    return _clean(clipped(text, 40))


_READERS: Mapping[CellType, Callable[[str], Any]] = {
    CellType.INT: _int,
    CellType.BIT: _bit,
    CellType.GUID: _guid,
    CellType.TIME: _time,
    CellType.LOCAL: _time,
}
