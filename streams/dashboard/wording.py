"""Format figures with three digits and a unit."""

from __future__ import annotations

from datetime import UTC, datetime

NONE = "–"
"""The text for a missing figure."""
_SCALES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def count(value: float | None) -> str:
    """Return a count: ``8``, ``12,345``, ``1.23 M``."""
    if value is None:
        return NONE
    if abs(value) < 100_000:
        return f"{value:,.0f}"
    return _scaled(value)


def rate(value: float | None) -> str:
    """Return a rate per second: ``0``, ``0.02``, ``3.1``, ``812``, ``12.3 k``."""
    if value is None:
        return NONE
    if abs(value) >= 10_000:
        return _scaled(value)
    return _digits(value) if abs(value) < 0.1 else _digits(round(value, 1))


def duration(ms: float | None) -> str:
    """Return milliseconds: ``7.5 ms``, ``812 ms``, ``1.23 s``, ``2 min 5 s``, ``3 h 12 min``."""
    if ms is None:
        return NONE
    if ms < 0:
        return "−" + duration(-ms)
    if ms < 999.5:
        return f"{_digits(ms)} ms"
    if ms < 59_950:
        return f"{_digits(ms / 1_000)} s"
    return _long(round(ms / 1_000))


def _long(seconds: int) -> str:
    for size, unit, part, smaller in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if seconds >= size:
            rest = seconds % size // part
            return f"{seconds // size} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{seconds} s"


def size(value: float | None) -> str:
    """Return bytes: ``512 B``, ``1.2 kB``, ``3.4 MB``."""
    if value is None:
        return NONE
    return f"{value:,.0f} B" if abs(value) < 1_000 else _scaled(value) + "B"


def share(part: float, whole: float) -> str:
    """Return a percentage: ``0 %``, ``< 0.1 %``, ``12 %``."""
    if not whole:
        return NONE
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "< 0.1 %"
    return f"{_digits(percent)} %"


def clock(instant: int | None, *, day: bool = False) -> str:
    """Return epoch milliseconds as a time of day in UTC, optionally with the day.

    The time of a record may be outside the range of the calendar.
    """
    if instant is None:
        return NONE
    try:
        time = datetime.fromtimestamp(instant / 1_000, UTC)
    except (OverflowError, OSError, ValueError):
        return f"{instant} ms"
    return time.strftime("%Y-%m-%d %H:%M:%S" if day else "%H:%M:%S")


def plural(number: int, one: str, many: str = "") -> str:
    """Return a count with its noun: ``1 dialog``, ``2 dialogs``."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def _scaled(value: float) -> str:
    for scale, unit in _SCALES:
        if abs(value) >= scale * 0.9995:
            return f"{_digits(value / scale)} {unit}"
    return _digits(value)


def _digits(value: float) -> str:
    """Return three significant digits, without trailing zeros."""
    size = abs(value)
    places = 0 if size >= 99.95 else 1 if size >= 9.995 else 2
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
