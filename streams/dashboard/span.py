"""The time range of a page: a number of minutes until now, or the time between two instants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from streams.times import LATEST

PRESETS = ("5m", "15m", "1h", "6h", "24h", "7d")
DEFAULT = "15m"
_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LENGTH = re.compile(r"(\d{1,5})([smhd])")
_NAMES = {"s": "second", "m": "minute", "h": "hour", "d": "day"}


@dataclass(frozen=True, slots=True)
class Span:
    """A time range: the ``length`` until now, such as ``15m``, or from ``since`` to ``until``.

    ``since`` and ``until`` are in epoch milliseconds.
    """

    length: str = DEFAULT
    since: int = 0
    until: int = 0

    @property
    def live(self) -> bool:
        """Return whether the range ends now."""
        return not self.until

    def bounds(self, now: int) -> tuple[int, int]:
        """Return the range's start and end at an instant; epoch milliseconds."""
        return (now - milliseconds(self.length), now) if self.live else (self.since, self.until)

    def parameters(self) -> dict[str, str]:
        """Return the range's URL parameters, without defaults."""
        if not self.live:
            return {"from": in_address(self.since), "until": in_address(self.until)}
        return {} if self.length == DEFAULT else {"last": self.length}

    def moved(self, steps: float, now: int) -> Span:
        """Return the range shifted by a multiple of its length, but never beyond now."""
        since, until = self.bounds(now)
        length = until - since
        steps = max(steps, -since / length)  # no figures are older than 1970
        until = until + round(steps * length)
        if until >= now:
            return Span(self.length) if self.live else Span("", max(0, now - length), now)
        return Span("", until - length, until)

    @property
    def words(self) -> str:
        """Return the range as human-readable text."""
        if not self.live:
            return between(self.since, self.until)
        count, unit = _parts(self.length)
        return f"last {count} {_NAMES[unit]}s" if count != 1 else f"last {_NAMES[unit]}"


def span_of(parameters: Mapping[str, str]) -> Span:
    """Parse the range in a URL; invalid values count as missing."""
    since, until = instant_of(parameters.get("from", "")), instant_of(parameters.get("until", ""))
    if since is not None and until is not None and since < until:
        return Span("", since, until)
    length = parameters.get("last", DEFAULT)
    return Span(length if _LENGTH.fullmatch(length) and milliseconds(length) else DEFAULT)


def milliseconds(length: str) -> int:
    """Parse a length such as ``15m`` into milliseconds."""
    count, unit = _parts(length)
    return count * _UNITS[unit]


def _parts(length: str) -> tuple[int, str]:
    found = _LENGTH.fullmatch(length)
    assert found is not None, length
    return int(found[1]), found[2]


def in_address(instant: int) -> str:
    """Format epoch milliseconds as in an address: ``2026-11-21T18:30:00Z``."""
    time = datetime.fromtimestamp(instant / 1_000, UTC)
    return (
        time.strftime("%Y-%m-%dT%H:%M:%S") + (f".{instant % 1000:03}" * bool(instant % 1000)) + "Z"
    )


def instant_of(text: str) -> int | None:
    """Parse an instant (UTC without a zone) into epoch milliseconds; None if invalid."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    found = round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1_000)
    return found if 0 <= found <= LATEST else None


def between(since: int, until: int) -> str:
    """Format two instants in UTC; the day is shown once if both are on the same day."""
    first, last = (datetime.fromtimestamp(at / 1_000, UTC) for at in (since, until))
    end = last.strftime("%H:%M:%S" if first.date() == last.date() else "%Y-%m-%d %H:%M:%S")
    return f"{first:%Y-%m-%d %H:%M:%S} – {end} UTC"
