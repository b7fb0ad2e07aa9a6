"""Messages per second: at present, or on average in a past time range."""

from __future__ import annotations

from streams.dashboard.figures import Window
from streams.dashboard.model.buckets import WINDOW
from streams.store import Freshness, Report, Store

RECENT = 30_000
"""Milliseconds, in whole windows, over which the present rate is measured."""


def recent_rate(store: Store, fresh: Freshness) -> float | None:
    """Return the messages per second in the last whole windows that were read; None if unknown."""
    read_to = fresh.until("deliveries")
    if read_to is None:
        return None
    window = store.window() or WINDOW
    end, length = read_to // window * window, -(-RECENT // window) * window
    return Report(store, (end - length, end)).delivered() / (length / 1_000)


def average_rate(messages: int, window: Window, fresh: Freshness) -> float | None:
    """Return the average rate of a past time range, as far as it was read; None if unknown."""
    read_to = fresh.until("deliveries")
    length = 0 if read_to is None else min(window.until, read_to) - window.since
    return messages / (length / 1_000) if length > 0 else None
