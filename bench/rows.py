"""One line of a benchmark's results, with its baseline of the same rounds; pure.

Values are in seconds, bytes or a number per second. Round n of the measurement and round n of the
baseline run one after the other, so other work of the machine affects both. Therefore they are
compared round by round.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import Enum
from statistics import median


class Unit(Enum):
    """The units of values."""

    SECONDS = "s"
    RATE = "/s"
    BYTES = "B"


class Of(Enum):
    """The values to which a goal applies."""

    RATIO = "ratio"
    """The ratio to the baseline."""
    MORE = "more"
    """The difference from the baseline."""
    VALUE = "value"
    """The value itself, regardless of the baseline."""
    SPREAD = "spread"
    """The difference from the baseline, which must not exceed the spread of the baseline's rounds.
    """


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal: a minimum with ``least``, otherwise a maximum. SPREAD needs no ``limit``."""

    of: Of
    limit: float = 0.0
    least: bool = False


@dataclass(frozen=True, slots=True)
class Measurement:
    """The measured values of every round, and the baseline of the same rounds."""

    group: str
    what: str
    unit: Unit
    found: tuple[float, ...]
    baseline: str
    base: tuple[float, ...]
    goal: Goal | None = None

    @property
    def ratios(self) -> tuple[float, ...]:
        """Return the ratio of each round to the baseline."""
        return tuple(f / b for f, b in zip(self.found, self.base, strict=True))

    @property
    def more(self) -> tuple[float, ...]:
        """Return the difference of each round from the baseline."""
        return tuple(f - b for f, b in zip(self.found, self.base, strict=True))

    @property
    def met(self) -> bool | None:
        """Return whether the median has met the goal; ``None`` without a goal."""
        if self.goal is None:
            return None
        reached = median(_JUDGED[self.goal.of](self))
        limit = self.limit
        return reached >= limit if self.goal.least else reached <= limit

    @property
    def limit(self) -> float:
        """Return the limit of the goal; for SPREAD as a ratio."""
        assert self.goal is not None
        if self.goal.of is Of.SPREAD:
            return 1 + (max(self.base) - min(self.base)) / median(self.base)
        return self.goal.limit


_JUDGED: dict[Of, Callable[[Measurement], tuple[float, ...]]] = {
    Of.RATIO: lambda row: row.ratios,
    Of.MORE: lambda row: row.more,
    Of.VALUE: lambda row: row.found,
    Of.SPREAD: lambda row: row.ratios,
}


def at_most(limit: float, of: Of = Of.RATIO) -> Goal:
    """Return a goal with a maximum, by default of the ratio to the baseline."""
    return Goal(of, limit)


def at_least(limit: float, of: Of = Of.RATIO) -> Goal:
    """Return a goal with a minimum, by default of the ratio to the baseline."""
    return Goal(of, limit, least=True)


NO_GROWTH = Goal(Of.SPREAD)
"""The goal of not exceeding the baseline by more than the spread of its rounds."""


def encode(row: Measurement) -> str:
    """Return a row as one line of JSON."""
    values = asdict(row)
    values["unit"] = row.unit.value
    if row.goal is not None:
        values["goal"]["of"] = row.goal.of.value
    return json.dumps(values)


def decode(line: str) -> Measurement:
    """Return the row that :func:`encode` has written."""
    values = json.loads(line)
    goal = values.pop("goal")
    if goal is not None:
        goal = Goal(Of(goal["of"]), goal["limit"], goal["least"])
    unit, found, base = Unit(values.pop("unit")), values.pop("found"), values.pop("base")
    return Measurement(**values, unit=unit, found=tuple(found), base=tuple(base), goal=goal)
