"""The store, asked again and again: it may be away for a while."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.dashboard.figures import Figures, Window
from streams.dashboard.span import Span
from streams.errors import UsageError
from streams.store import Report, Store
from streams.store.freshness import QUERIES
from tests.dashboard.rows import ROWS, SINCE, UNTIL

ALL = Span("", SINCE, UNTIL)


def delivered(store: Store, window: Window) -> int:
    report = Report(store, (window.since, window.until))
    return sum(row.count for row in report.latency_windows())


class Clock:
    now = UNTIL

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.write("deliveries", "run", 0, ROWS)
        store.reach(dict.fromkeys(QUERIES, UNTIL))
    return tmp_path / "monitor.sqlite"


def test_only_the_windows_of_the_time_count(file: Path) -> None:
    with Store.look(f"sqlite:///{file}") as store:
        figures = Figures(store, Clock(), 2.0)
        assert figures.ask(delivered, ALL, 0) == 2_000
        assert figures.ask(delivered, Span("", SINCE, SINCE + 40_000), 0) == 400
        assert figures.ask(delivered, Span("", SINCE + 1, SINCE + 40_000), 0) == 300
        assert figures.ask(delivered, Span("5m"), 0) == 2_000
        assert store.as_of() == UNTIL


def test_a_question_is_asked_once_as_long_as_nothing_changes(file: Path) -> None:
    asked = []

    def question(store: Store, window: Window) -> int:
        asked.append(window)
        return len(asked)

    clock = Clock()
    with Store.open(f"sqlite:///{file}") as store:
        figures = Figures(store, clock, 2.0)
        assert [figures.ask(question, ALL, 0) for _ in range(3)] == [1, 1, 1]
        clock.now += 60_000
        assert figures.ask(question, Span("5m"), 0) == 2
        clock.now += 2_000
        assert figures.ask(question, Span("5m"), 0) == 3  # the five minutes have moved
        store.write("deliveries", "run", 1, ())
        assert figures.ask(question, Span("5m"), 0) == 4
        assert asked[0].live is False
        assert asked[1].live is True


def test_an_unavailable_store_is_reported_and_the_last_figures_stay(file: Path) -> None:
    clock = Clock()
    with Store.look(f"sqlite:///{file}") as store:
        figures = Figures(store, clock, 2.0)
        assert figures.ask(delivered, ALL, 0) == 2_000
        elsewhere = file.rename(file.with_name("elsewhere"))
        clock.now += 2_000
        assert figures.ask(delivered, ALL, 0) == 2_000
        assert figures.ask(delivered, Span("5m"), -1) == -1  # never answered before
        clock.now += 2_000
        figures.ask(delivered, ALL, 0)
        assert figures.trouble is not None
        assert figures.trouble.since == UNTIL + 2_000
        assert "unable to open database file" in figures.trouble.message
        assert not file.exists(), "who only reads makes no file"
        elsewhere.rename(file)
        assert figures.ask(delivered, Span("5m"), -1) == 2_000
        assert figures.trouble is None


def test_who_looks_changes_nothing_and_needs_a_store(file: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no store"):
        Store.look(f"sqlite:///{tmp_path}/none.sqlite")
    empty = tmp_path / "empty.sqlite"
    empty.touch()
    figures = Figures(Store.look(f"sqlite:///{empty}"), Clock(), 2.0)
    assert figures.ask(delivered, ALL, -1) == -1
    assert figures.trouble is not None
    assert "no such table" in figures.trouble.message
    assert empty.stat().st_size == 0
