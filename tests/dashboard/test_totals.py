"""Totals of a page are sums of the store's windows, whatever the range and its end."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from streams.dashboard.figures import Figures, Window
from streams.dashboard.model.overview import Overview, overview_of, read_overview
from streams.dashboard.span import Span, milliseconds
from streams.store import Cause, EventWindow, LatencyWindow, Report, Store
from streams.store.freshness import QUERIES
from streams.store.rollup import roll_up
from streams.store.tables import STRETCH
from tests.store.build import EVENT, latency

DAY, HOUR, WINDOW = 86_400_000, 3_600_000, 10_000
NOW = 1_795_267_800_000
FIRST = NOW - 40 * DAY
LENGTHS = ("1m", "5m", "1h", "179m", "3h", "7h", "24h", "7d", "30d")
EDGES = [milliseconds(length) for length in LENGTHS]


@dataclass
class Clock:
    now: int = NOW

    def __call__(self) -> int:
        return self.now


def overview(store: Store, window: Window) -> Overview:
    return overview_of(read_overview(store, window))


def latency_at(start: int, count: int, path: str) -> LatencyWindow:
    return latency([7] * count, window_start=start, window_end=start + WINDOW, path=path)


def begins_near(instant: int) -> st.SearchStrategy[int]:
    """Return starts of windows, most of them at the edge of a range or of a stretch."""
    steps = st.integers(-70, 70).map(lambda n: instant // WINDOW * WINDOW + n * WINDOW)
    return st.one_of(steps, steps.map(lambda start: start // STRETCH * STRETCH))


STARTS = st.sampled_from([0, *EDGES]).flatmap(lambda ago: begins_near(NOW - ago))
ROWS = st.lists(
    st.builds(latency_at, STARTS, st.integers(1, 9), st.sampled_from(["A>B", "A>G>B"])),
    max_size=9,
)
INSTANTS = st.one_of(STARTS, st.integers(FIRST, NOW), st.just(NOW))
FIXED = st.tuples(INSTANTS, INSTANTS).filter(lambda two: two[0] != two[1]).map(sorted)
SPANS = st.one_of(st.sampled_from(LENGTHS).map(Span), FIXED.map(lambda two: Span("", *two)))
UPKEEP = st.one_of(st.just("roll"), st.just(""), INSTANTS)


@settings(max_examples=25, phases=[Phase.generate])  # to shrink an example takes minutes
@given(st.lists(st.tuples(ROWS, UPKEEP), min_size=1, max_size=3), st.lists(SPANS, min_size=2),
       st.integers(0, 2 * STRETCH))  # fmt: skip
def test_totals_are_those_of_the_store_for_every_range(
    batches: Sequence[tuple[list[LatencyWindow], str | int]], spans: list[Span], later: int
) -> None:
    clock = Clock()
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(f"sqlite:///{folder}/monitor.sqlite") as store,
    ):
        figures = Figures(store, clock, 2.0)
        for batch, (rows, upkeep) in enumerate(batches):
            store.write("deliveries", "run", batch, [*rows, *map(event_like, rows)])
            if upkeep == "roll":
                while roll_up(store, NOW):
                    pass
            elif isinstance(upkeep, int):
                store.prune(upkeep)
            for span in spans:
                shown = figures.ask(totals, span, (-1, -1))
                assert shown == (expected := totals_of_all(store, span.bounds(clock.now)))
            clock.now += later
        clock.now -= later
        page = figures.ask(overview, spans[-1], None)
    assert page is not None
    assert (page.messages, page.duplicates[Cause.RETRY]) == expected
    assert page.delivered.count == page.messages


def totals(store: Store, window: Window) -> tuple[int, int]:
    """Return the messages and copies that a page reads."""
    report = Report(store, (window.since, window.until))
    rows, left_out = report.largest_windows()
    assert left_out == 0
    messages = sum(row.count for row in rows if row.leg == 0)
    return messages, sum(row.count for row in report.copy_counts())


def totals_of_all(store: Store, between: tuple[int, int]) -> tuple[int, int]:
    """Return the messages and copies of the windows that begin in a period."""
    messages, copies = store.read(LatencyWindow), store.read(EventWindow)
    return total(messages, between), total(copies, between)


def event_like(row: LatencyWindow) -> EventWindow:
    """Return a window of as many removed copies."""
    return replace(
        EVENT, window_start=row.window_start, window_end=row.window_end, count=row.count,
        to_service=row.path, cause=Cause.RETRY,
    )  # fmt: skip


def total(rows: Sequence[LatencyWindow | EventWindow], between: tuple[int, int]) -> int:
    return sum(row.count for row in rows if between[0] <= row.window_start < between[1])


def test_the_present_rate_does_not_depend_on_the_range() -> None:
    """Ten messages a second for ten days, the last two windows without any."""
    steps = [*range(NOW - HOUR, NOW - 2 * WINDOW, WINDOW), NOW - 8 * DAY]
    rows = [latency_at(start, 100, "A>B") for start in steps]
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(f"sqlite:///{folder}/monitor.sqlite") as store,
    ):
        store.write("deliveries", "run", 0, rows)
        store.reach(dict.fromkeys(QUERIES, NOW - 2 * WINDOW + 500))
        figures = Figures(store, Clock(NOW + 3_210), 2.0)
        rates = {length: figures.ask(overview, Span(length), None) for length in LENGTHS}
        while roll_up(store, NOW + DAY):
            pass
        stale = overview(store, Window.of(Span("24h"), NOW + HOUR))
    assert {length: shown and shown.rate for length, shown in rates.items()} == dict.fromkeys(
        LENGTHS, 10.0
    )
    assert stale.rate == 10.0, "although stretches have taken the place of windows"
