"""Percentiles of values with frequencies.

Percentiles of windows cannot be combined, but histograms can, so every window has a histogram.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate

Histogram = tuple[tuple[float, int], ...]
"""Values in ascending order, each with its number of occurrences."""


def merged(histograms: Iterable[Iterable[tuple[float, int]]]) -> Histogram:
    """Return the sum of histograms."""
    total: defaultdict[float, int] = defaultdict(int)
    for histogram in histograms:
        for value, count in histogram:
            total[value] += count
    return tuple(sorted(total.items()))


def percentile(histogram: Histogram, share: float) -> float:
    """Return the value below which ``share`` (0 to 1) of all values lie, interpolated linearly.

    The definition is that of Spark's ``percentile``. Raises ValueError for an empty
    histogram.
    """
    ends = list(accumulate(count for _, count in histogram))
    if not ends or not ends[-1]:
        raise ValueError("percentiles need at least one value")
    position = share * (ends[-1] - 1)
    low = histogram[bisect_right(ends, math.floor(position))][0]
    high = histogram[bisect_right(ends, math.ceil(position))][0]
    return low + (high - low) * (position - math.floor(position))


def percentiles(histogram: Histogram) -> tuple[float, float, float]:
    """Return the three percentiles that reports show: p50, p95 and p99.

    Raises ValueError for an empty histogram.
    """
    return percentile(histogram, 0.50), percentile(histogram, 0.95), percentile(histogram, 0.99)
