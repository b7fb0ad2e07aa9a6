"""Latencies of days: the same figures as from the windows, from fewer rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from streams.store import LatencyStretch, LatencyWindow, Report, Situation, Store
from streams.store.rollup import LONG, roll_up
from streams.store.tables import STRETCH
from tests.store.build import LATENCY

HOUR, WINDOW = 3_600_000, 10_000
START = 1_700_000_000_000 // STRETCH * STRETCH
END = START + LONG
SETTLED = END + HOUR


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        yield store


def window(at: int, ms: int, count: int, **changed: object) -> LatencyWindow:
    """Return a window in which so many messages took so long."""
    took = float(ms)
    own = {"p50": took, "p95": took, "p99": took, "histogram": ((took, count),), "leg": 0}
    return replace(
        LATENCY, window_start=at, window_end=at + WINDOW, count=count, attempts=0, min=ms, max=ms,
        **{**own, **changed},
    )  # fmt: skip


def hours() -> list[LatencyWindow]:
    """Return windows of more than the time from which on stretches are read: two paths, gaps."""
    return [
        window(at, ms=1 + at // WINDOW % 97, count=1 + at // WINDOW % 5, path=path)
        for at in range(START - HOUR, END + HOUR, 7 * WINDOW)
        for path in ("A>B", "A>G>B")
        if (at - START) // HOUR != 1
    ]


def latencies_of(store: Store, between: tuple[int, int]) -> Sequence[object]:
    return Report(store, between).latency("path")


def test_long_times_give_the_same_figures_from_fewer_rows(store: Store) -> None:
    times = [(START, END), (START - 5 * WINDOW, END + 9 * WINDOW), (START - HOUR, END + HOUR)]
    store.write("deliveries", "run", 0, hours())
    before = [latencies_of(store, between) for between in times]
    many = len(Report(store, times[2]).latency_windows())
    while roll_up(store, SETTLED):
        pass
    assert [latencies_of(store, between) for between in times] == before
    assert len(Report(store, times[2]).latency_windows()) < many / 5
    short = START, START + HOUR
    assert {type(row) for row in Report(store, short).latency_windows()} == {LatencyWindow}


def test_what_may_still_grow_is_not_put_together(store: Store) -> None:
    store.write("deliveries", "run", 0, hours())
    while roll_up(store, START + 2 * STRETCH):
        pass
    ends = {row.window_end for row in store.read(LatencyStretch)}
    assert max(ends) == START
    assert roll_up(store, SETTLED, most=2) == 2


def test_a_window_that_grows_after_all_counts_anew(store: Store) -> None:
    rows = hours()
    store.write("deliveries", "run", 0, rows)
    while roll_up(store, SETTLED):
        pass
    late = window(rows[30].window_start, ms=5_000, count=1_000, path=rows[30].path)
    store.write("deliveries", "run", 1, [late])
    between = (START - HOUR, END)
    expected = Counter({"A>B": 0, "A>G>B": 0})
    for row in (*rows[:30], late, *rows[31:]):
        expected[row.path] += row.count if row.window_start < END else 0
    for _ in range(2):
        assert {s.key[0]: s.count for s in Report(store, between).latency("path")} == expected
        while roll_up(store, SETTLED):
            pass
    assert max(row.max for row in store.read(LatencyStretch)) == 5_000


def test_links_of_days_are_the_same_too(store: Store) -> None:
    legs = [replace(row, leg=2, leg_from="ServerA", leg_to="ServerB/DatabaseB") for row in hours()]
    store.write("deliveries", "run", 0, legs)
    before = Situation(store).links(START, END)
    while roll_up(store, SETTLED):
        pass
    assert Situation(store).links(START, END) == before
    assert before[0].count


def test_pruned_stretches_leave_no_windows_behind(store: Store) -> None:
    """A long period reads stretches, so it did not find them, but a short one did."""
    store.write("deliveries", "run", 0, hours())
    while roll_up(store, SETTLED):
        pass
    store.prune(START + 2 * STRETCH + 25 * WINDOW)
    kept = store.read(LatencyWindow)
    assert min(row.window_start for row in kept) < START + 2 * STRETCH + 25 * WINDOW
    (long,) = Report(store, (START - HOUR, END + HOUR)).latency()
    assert long.count == sum(row.count for row in kept)


def test_windows_that_are_as_long_are_left_alone(store: Store) -> None:
    long = replace(window(START, 5, 1), window_end=START + STRETCH)
    store.write("deliveries", "run", 0, [long])
    assert roll_up(store, SETTLED) == 0


def test_a_window_that_is_not_over_is_of_no_link_yet(store: Store) -> None:
    """With percentiles or without, and where a time is long enough for stretches or not."""
    hop = window(END - WINDOW // 2, 5, 7, leg=2, leg_from="ServerA", leg_to="ServerB/D")
    store.write("deliveries", "run", 0, [hop])
    for start in (START, END - WINDOW):
        for latency in (True, False):
            links = Situation(store).links(start, END, latency=latency)
            assert sum(link.count for link in links) == 0
            links = Situation(store).links(start, END + WINDOW, latency=latency)
            assert sum(link.count for link in links) == 7
