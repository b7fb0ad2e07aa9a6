"""Print rows as one table of at most a hundred columns; pure.

Rows of one group with the same baseline are under one heading. A figure is the median of the
rounds, with the smallest and the largest value in brackets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from statistics import median

from bench.rows import Goal, Measurement, Of, Unit

WIDTHS = (34, 20, 9, 21, 16)
HEAD = ("", "found", "baseline", "compared", "goal")
_SCALES = {
    Unit.SECONDS: ((1.0, " s"), (1e-3, " ms"), (1e-6, " us"), (1e-9, " ns")),
    Unit.RATE: ((1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")),
    Unit.BYTES: ((1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")),
}
_COUNTS = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
Scales = Sequence[tuple[float, str]]


def table(rows: Iterable[Measurement]) -> str:
    """Return the table of all rows, in their order, with a line that counts the goals."""
    rows = tuple(rows)
    lines = [_line(HEAD)]
    for (group, baseline), members in groupby(rows, lambda row: (row.group, row.baseline)):
        lines += [f"{group}; baseline: {baseline}"]
        lines += [_line(_cells(row)) for row in members]
    return "\n".join([*lines, "", _summary(rows)])


def _cells(row: Measurement) -> tuple[str, ...]:
    scales = _SCALES[row.unit]
    return (
        f"  {row.what}",
        spread(row.found, scales),
        figure(median(row.base), scales),
        _compared(row),
        _goal(row),
    )


def _compared(row: Measurement) -> str:
    if row.goal is not None and row.goal.of is Of.MORE:
        return spread(row.more, _SCALES[row.unit], sign="+")
    # the ratio to 0 is undefined
    return "x " + spread(row.ratios, _COUNTS) if all(row.base) else ""


def _goal(row: Measurement) -> str:
    if row.goal is None:
        return ""
    return f"{_wanted(row, row.goal)} {'met' if row.met else 'MISSED'}"


def _wanted(row: Measurement, goal: Goal) -> str:
    sign = ">=" if goal.least else "<="
    if goal.of in (Of.RATIO, Of.SPREAD):
        return f"{sign}x{row.limit:.4g}"
    more = "+" if goal.of is Of.MORE else ""
    size, name = _scale(row.limit, _SCALES[row.unit])
    return f"{sign}{more}{_short(row.limit, size)}{name.strip()}"


def spread(values: Sequence[float], scales: Scales, sign: str = "") -> str:
    """Return the median of values and, in brackets, the smallest and largest at the same scale."""
    middle = median(values)
    size, name = _scale(middle, scales)
    low, high = (_digits(value / size) for value in (min(values), max(values)))
    plus, to = sign if middle >= 0 else "", "-" if min(values) >= 0 else ".."
    return f"{plus}{_digits(middle / size)}{name} ({low}{to}{high})"


def figure(value: float, scales: Scales) -> str:
    """Return a value at a suitable scale."""
    size, name = _scale(value, scales)
    return f"{_digits(value / size)}{name}"


def _scale(value: float, scales: Scales) -> tuple[float, str]:
    return next((each for each in scales if abs(value) >= each[0]), scales[-1])


def _digits(value: float) -> str:
    """Return about three significant digits, and all digits before the decimal point."""
    if 0 < abs(value) < 0.0995:
        return f"{value:.2g}"
    places = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:.{places}f}"


def _short(value: float, size: float) -> str:
    """Return a limit in its shortest form."""
    return f"{value / size:.3g}" if value / size < 1000 else f"{value / size:.0f}"


def _line(cells: Sequence[str]) -> str:
    """Return right-aligned cells; a cell after one that is too long follows it directly."""
    line, end = cells[0], WIDTHS[0]
    for cell, width in zip(cells[1:], WIDTHS[1:], strict=True):
        end += width
        line += cell.rjust(max(end - len(line), len(cell) + 1))
    return line.rstrip()


def _summary(rows: Sequence[Measurement]) -> str:
    judged = [row for row in rows if row.met is not None]
    missed = [f"  {row.group}: {row.what}, beside {row.baseline}" for row in judged if not row.met]
    line = f"{len(judged) - len(missed)} of {len(judged)} goals met"
    return "\n".join([f"{line}; missed:", *missed] if missed else [line])
