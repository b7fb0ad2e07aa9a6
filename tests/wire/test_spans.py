"""Positions as a short text, and back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.wire.spans import LONGEST, spans_in, spans_of


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.sets(st.integers(0, 300), max_size=60))
def test_there_and_back(offsets: set[int]) -> None:
    assert {n for span in spans_in(spans_of(offsets)) for n in span} == offsets


def test_runs_are_short() -> None:
    assert spans_of([7, 3, 4, 5]) == "3-5 7"
    assert spans_of([]) == ""


def test_what_is_too_long_is_cut_between_two_positions() -> None:
    """Kafka refuses a note above 4,096 characters, and the position with it."""
    text = spans_of(range(0, 10_000, 2))
    assert len(text) <= LONGEST
    assert [span.start for span in spans_in(text)] == list(range(0, 2 * len(spans_in(text)), 2))


@pytest.mark.parametrize("text", [None, "", "by hand", "3-x", "-", "7-3", "3-5 4", "-1", "9" * 19])
def test_a_note_of_somebody_else_says_nothing(text: str | None) -> None:
    assert spans_in(text) == ()
