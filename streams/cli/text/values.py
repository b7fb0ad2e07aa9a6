"""Format values of a record on one line: times, bodies, types, names."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from streams.prose import one_line
from streams.system_names import PREFIX

LONGEST_BODY = 60
"""The default number of characters of a body that are shown."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER_SHORTER = 12


def clock(at: int) -> str:
    """Return the time of day, UTC, of epoch milliseconds: ``12:03:04.123``."""
    moment = _moment(at)
    return f"{at} ms" if moment is None else f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03}"


def day(at: int) -> str:
    """Return the day, UTC, of epoch milliseconds: ``2026-11-03``; empty if there is no time."""
    moment = _moment(at)
    return "" if moment is None else f"{moment:%Y-%m-%d}"


def instant(at: int | None) -> str | None:
    """Return epoch milliseconds as ``2026-11-03T12:03:04.123Z``."""
    return None if at is None else f"{day(at)}T{clock(at)}Z"


def utc(at: float) -> str:
    """Return epoch seconds as ``2026-11-03T12:03:04+00:00``."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def shorten(text: str, width: int) -> str:
    """Return one line of at most ``width`` characters, with escaped control characters."""
    shown = one_line(text[: width + 1])  # the text may be a body of several megabytes
    return shown if len(shown) <= width else shown[: max(0, width - 1)] + "…"


def middle(text: str, width: int) -> str:
    """Return a string of at most ``width`` characters, shortened in the middle."""
    if len(text) <= width:
        return text
    left = (width - 1) // 2
    return f"{text[:left]}…{text[len(text) - (width - 1 - left) :]}"


def body_text(body: Mapping[str, Any] | None, width: int = LONGEST_BODY) -> str:
    """Return a body for one line: ``"hello"``, or ``0x00ff... (2,000 bytes)``."""
    if body is None:
        return "no body"
    if "text" in body:
        quoted = f'"{shorten(body["text"], max(width, _NEVER_SHORTER))}"'
        long = len(body["text"]) > width
    else:
        quoted = f"0x{shorten(body['hex'], max(width, _NEVER_SHORTER))}"
        long = len(body["hex"]) > width
    return f"{quoted} ({body['size']:,} bytes)" if long else quoted


def type_text(name: str) -> str:
    """Return a message type without the long prefix of Service Broker's own types."""
    return name.removeprefix(PREFIX)


def _moment(at: int) -> datetime | None:
    try:
        return _EPOCH + timedelta(milliseconds=at)
    except OverflowError:  # too large for a date
        return None
