"""Exactly-once delivery is kept only as far as the queues were read."""

from __future__ import annotations

import pytest

from streams.store.exactly_once import ExactlyOnce, Verdict, exactly_once
from streams.store.freshness import QUERIES, Freshness

NOW = 10_000_000


def read(at: int) -> Freshness:
    return Freshness(NOW, dict.fromkeys(QUERIES, at))


def test_before_the_queues_were_read_nothing_is_known() -> None:
    assert exactly_once(0, 0, Freshness(NOW), NOW) == ExactlyOnce(Verdict.UNKNOWN, None, True)
    half = Freshness(NOW, {"repeats": NOW})
    assert exactly_once(0, 0, half, NOW).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(("repeats", "gaps"), [(1, 0), (0, 1)])
def test_what_was_found_is_broken_whatever_was_not_read(repeats: int, gaps: int) -> None:
    assert exactly_once(repeats, gaps, Freshness(NOW), NOW).verdict is Verdict.BROKEN


@pytest.mark.parametrize(
    ("at", "end", "old"),
    [
        (NOW, NOW, False),
        (NOW - 60_000, NOW, False),
        (NOW - 60_001, NOW, True),
        (NOW - 60_001, NOW - 1, False),
        (NOW - 60_001, NOW + 60_000, True),
    ],
)
def test_it_was_kept_until_the_time_that_was_read(at: int, end: int, old: bool) -> None:
    assert exactly_once(0, 0, read(at), end) == ExactlyOnce(Verdict.KEPT, at, old)
