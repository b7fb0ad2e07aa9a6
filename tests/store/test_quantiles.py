"""Percentiles of histograms are those of the values that they count."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.store import merged, percentile

values = st.lists(st.integers(-10, 10_000), min_size=1, max_size=60)
shares = st.sampled_from([0.0, 0.01, 0.5, 0.95, 0.99, 1.0])


def recomputed(numbers: list[int], share: float) -> float:
    ordered = sorted(numbers)
    position = share * (len(ordered) - 1)
    low, high = ordered[math.floor(position)], ordered[math.ceil(position)]
    return low + (high - low) * (position - math.floor(position))


@given(values, shares)
def test_a_percentile_equals_that_of_the_listed_values(numbers: list[int], share: float) -> None:
    histogram = tuple(sorted(Counter(map(float, numbers)).items()))
    assert percentile(histogram, share) == pytest.approx(recomputed(numbers, share))


@given(st.lists(values, min_size=1, max_size=5), shares)
def test_merged_histograms_have_the_percentiles_of_everything(
    windows: list[list[int]], share: float
) -> None:
    histogram = merged(Counter(map(float, window)).items() for window in windows)
    everything = [number for window in windows for number in window]
    assert percentile(histogram, share) == pytest.approx(recomputed(everything, share))


def test_nothing_has_no_percentile() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        percentile((), 0.5)
