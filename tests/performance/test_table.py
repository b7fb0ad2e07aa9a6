"""The table of ``make bench``: what a row says, which goals are met, and that it fits."""

from __future__ import annotations

import pytest

from bench.rows import (
    NO_GROWTH,
    Goal,
    Measurement,
    Of,
    Unit,
    at_least,
    at_most,
    decode,
    encode,
)
from bench.table import table

CPU = (6.4e-6, 6.2e-6, 7.3e-6)
BASE = (4.4e-6, 4.3e-6, 4.6e-6)
GROUP = "forwarder, bodies of 400 bytes"


def row(
    goal: Goal | None = None,
    found: tuple[float, ...] = CPU,
    base: tuple[float, ...] = BASE,
    unit: Unit = Unit.SECONDS,
    what: str = "client CPU per message",
) -> Measurement:
    return Measurement(GROUP, what, unit, found, "passthrough", base, goal)


def lines(*rows: Measurement) -> list[str]:
    return table(rows).splitlines()


def test_a_figure_is_the_median_with_its_spread_beside_the_baselines() -> None:
    assert lines(row(at_most(1.1)))[1:3] == [
        "forwarder, bodies of 400 bytes; baseline: passthrough",
        "  client CPU per message           6.40 us (6.20-7.30)  4.40 us"
        "   x 1.45 (1.44-1.59)   <=x1.1 MISSED",
    ]


def test_rounds_are_compared_with_each_other_and_not_with_the_median() -> None:
    slow_machine = row(at_most(2.0), (2e-6, 20e-6, 4e-6), (1e-6, 10e-6, 2e-6))
    assert slow_machine.ratios == pytest.approx((2.0, 2.0, 2.0))
    assert slow_machine.met


def test_what_is_too_long_for_its_column_does_not_touch_its_neighbours() -> None:
    [_, _, line, *_] = lines(row(base=(220e-6, 230e-6, 220e-6)))
    assert "220 us x 0.029 (0.027-0.033)" in line
    [_, _, line, *_] = lines(row(what="across, by its lane, where clocks differ"))
    assert "where clocks differ 6.40 us (6.20-7.30) 4.40 us x 1.45" in line


def test_nothing_is_no_measure() -> None:
    [_, _, line, *_] = lines(row(base=(4.4e-6, 0.0, 4.6e-6), what="the broker's compiler"))
    assert line.split()[3:] == ["6.40", "us", "(6.20-7.30)", "4.40", "us"]


@pytest.mark.parametrize(
    ("goal", "met"),
    [
        (at_most(1.5), True),
        (at_most(1.4), False),
        (at_least(1.4), True),
        (at_least(1.5), False),
        (at_most(2.1e-6, Of.MORE), True),
        (at_most(1.9e-6, Of.MORE), False),
        (at_most(6.5e-6, Of.VALUE), True),
        (at_most(6.3e-6, Of.VALUE), False),
        (at_least(6.5e-6, Of.VALUE), False),
        (None, None),
    ],
)
def test_a_goal_is_judged_by_the_median(goal: Goal | None, met: bool | None) -> None:
    assert row(goal).met is met


def test_growth_may_be_as_much_as_the_baselines_own_rounds_differ() -> None:
    base = (1.0, 1.05, 0.95)
    assert row(NO_GROWTH, (1.09, 1.09, 1.04), base).met
    assert not row(NO_GROWTH, (1.2, 1.2, 1.2), base).met
    assert "<=x1.1 met" in table([row(NO_GROWTH, base, base)])


@pytest.mark.parametrize(
    ("one", "shown"),
    [
        (row(at_least(0.9), (183e3, 170e3, 201e3), (201e3,) * 3, Unit.RATE), "183k/s (170-201)"),
        (row(at_least(2e3, Of.VALUE), unit=Unit.RATE, found=(670.0,) * 3), ">=2k/s MISSED"),
        (
            row(at_most(0.001, Of.MORE), (0.0012,) * 3, (0.0004,) * 3),
            "+800 us (800-800)      <=+1ms met",
        ),
        (row(at_most(0.1, Of.VALUE), (0.030,) * 3, (0.0004,) * 3), "30.0 ms (30.0-30.0)"),
        (row(at_most(1.0, Of.MORE), (0.0003,) * 3, (0.0004,) * 3), "-100 us (-100..-100)"),
        (row(unit=Unit.BYTES, found=(48.2e6,) * 3, base=(48.2e6,) * 3), "48.2 MB"),
        (row(found=(10.0,) * 3, base=(58e-9,) * 3), "58.0 ns     x 172M (172-172)"),
    ],
)
def test_values_are_told_at_their_scale(one: Measurement, shown: str) -> None:
    assert shown in table([one])


def test_rows_of_one_group_and_baseline_share_a_heading() -> None:
    headings = [line for line in lines(row(), row(what="rate"), row()) if GROUP in line]
    assert len(headings) == 1


def test_what_was_missed_is_listed() -> None:
    last = lines(row(at_most(1.0), what="CPU"), row(at_most(9.0)), row())[-2:]
    assert last == ["1 of 2 goals met; missed:", f"  {GROUP}: CPU, beside passthrough"]


def test_the_table_has_a_hundred_columns_and_room_between_them() -> None:
    wide = row(at_most(0.1, Of.VALUE), (0.1234,) * 3, (0.1234,) * 3, what="w" * 32)
    line = lines(wide)[2]
    assert len(line) == 100
    assert " 123 ms" in line
    assert ")  <=100ms MISSED" in line


def test_a_row_survives_json() -> None:
    for goal in (None, NO_GROWTH, at_least(2.0, Of.MORE)):
        assert decode(encode(row(goal))) == row(goal)
