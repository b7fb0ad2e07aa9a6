"""Figures as people read them."""

from __future__ import annotations

import pytest

from streams.dashboard import wording


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (999, "999"),
        (12_345, "12,345"),
        (99_999, "99,999"),
        (100_000, "100 k"),
        (999_950, "1 M"),
        (1_234_567, "1.23 M"),
        (None, "–"),
    ],
)
def test_a_count(value: float | None, text: str) -> None:
    assert wording.count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 ms"),
        (0.456, "0.46 ms"),
        (7.5, "7.5 ms"),
        (99.96, "100 ms"),
        (811.6, "812 ms"),
        (999.6, "1 s"),
        (1_234.0, "1.23 s"),
        (59_949.0, "59.9 s"),
        (59_960.0, "1 min"),
        (125_000.0, "2 min 5 s"),
        (11_520_000.0, "3 h 12 min"),
        (90_000_000.0, "1 d 1 h"),
        (-12.0, "−12 ms"),
        (None, "–"),
    ],
)
def test_a_duration(value: float | None, text: str) -> None:
    assert wording.duration(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (0.0234, "0.02"), (3.14159, "3.1"), (12_345.0, "12.3 k")]
)
def test_a_rate(value: float, text: str) -> None:
    assert wording.rate(value) == text


def test_bytes_shares_and_numbers_of_things() -> None:
    assert [wording.size(n) for n in (0, 999, 1_250, 3_400_000)] == [
        "0 B", "999 B", "1.25 kB", "3.4 MB"
    ]  # fmt: skip
    assert [wording.share(n, 1_000) for n in (0, 0.5, 1, 120)] == [
        "0 %",
        "< 0.1 %",
        "0.1 %",
        "12 %",
    ]
    assert wording.share(1, 0) == "–"
    assert [wording.plural(n, "copy", "copies") for n in (0, 1, 2)] == [
        "0 copies", "1 copy", "2 copies"
    ]  # fmt: skip


def test_a_time_of_day_is_utc() -> None:
    assert wording.clock(1_795_262_400_000) == "12:00:00"
    assert wording.clock(1_795_262_400_000, day=True) == "2026-11-21 12:00:00"
    assert wording.clock(None) == "–"
    assert wording.clock(2**63 - 1) == "9223372036854775807 ms"
    assert wording.clock(-(2**63), day=True) == "-9223372036854775808 ms"
