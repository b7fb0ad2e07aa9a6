"""One line of what a benchmark has found, beside its baseline of the same rounds; pure.

Values are in seconds, bytes or a number per second. Round n of both was run next to each other, so
they are compared round by round: what the machine did besides has met both.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import Enum
from statistics import median


class Unit(Enum):
    """What a value counts."""

    SECONDS = "s"
    RATE = "/s"
    BYTES = "B"


class Of(Enum):
    """What a goal speaks of."""

    RATIO = "ratio"
    """How many times the baseline."""
    MORE = "more"
    """How much more than the baseline."""
    VALUE = "value"
    """What was found, whatever the baseline is."""
    SPREAD = "spread"
    """How much more than the baseline: no more than its own rounds lie apart."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What was wanted; ``least``: at least so much, else at most. SPREAD needs no ``limit``."""

    of: Of
    limit: float = 0.0
    least: bool = False


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured, in every round, and its baseline in the same rounds."""

    group: str
    what: str
    unit: Unit
    found: tuple[float, ...]
    baseline: str
    base: tuple[float, ...]
    goal: Goal | None = None

    @property
    def ratios(self) -> tuple[float, ...]:
        """Return how many times the baseline each round was."""
        return tuple(f / b for f, b in zip(self.found, self.base, strict=True))

    @property
    def more(self) -> tuple[float, ...]:
        """Return by how much each round was above the baseline."""
        return tuple(f - b for f, b in zip(self.found, self.base, strict=True))

    @property
    def met(self) -> bool | None:
        """Tell whether the goal was met, in the median; ``None`` where there is none."""
        if self.goal is None:
            return None
        reached = median(_JUDGED[self.goal.of](self))
        limit = self.limit
        return reached >= limit if self.goal.least else reached <= limit

    @property
    def limit(self) -> float:
        """Return what the goal allows; of SPREAD, as a ratio."""
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
    """Want at most so much; by default so many times the baseline."""
    return Goal(of, limit)


def at_least(limit: float, of: Of = Of.RATIO) -> Goal:
    """Want at least so much; by default so many times the baseline."""
    return Goal(of, limit, least=True)


NO_GROWTH = Goal(Of.SPREAD)
"""No more than the baseline, within the spread of its rounds."""


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
