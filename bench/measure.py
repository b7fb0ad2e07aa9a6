"""Measure work that needs no Kafka, in CPU time of this process, alternating with a baseline.

CPU time excludes other programs on the machine, but these still affect caches and clock rate. So
every line has its ratio to a baseline of the same rounds: one look-up in a dictionary by raw bytes,
which is the minimum cost of any operation.
"""

from __future__ import annotations

import gc
import uuid
from collections.abc import Callable
from itertools import cycle
from time import process_time

from bench.part import progress
from bench.rows import Goal, Measurement, Of, Unit, at_most

DIALOGS = tuple(uuid.uuid5(uuid.NAMESPACE_URL, str(n)) for n in range(1_000))
KEYS = tuple(b"\xc3\x01" + bytes(60) + str(n).encode() for n in range(1_000))
BASELINE = "a dictionary's look-up"
ENOUGH = 0.2
"""Seconds of a round; shorter rounds would measure the clock."""


def look_up() -> Callable[[], object]:
    """Look up one of a thousand keys, as the baseline."""
    values = dict.fromkeys(KEYS, 0)
    keys = cycle(zip(KEYS, DIALOGS, strict=True))

    def find() -> object:
        key, _ = next(keys)
        return values[key]

    return find


def each(work: Callable[[], object], at_least: float) -> tuple[int, float]:
    """Return how many calls take ``at_least`` this many seconds, and the seconds that they took."""
    count = 1
    while (took := seconds(work, count)) < at_least:
        count = int(count * max(2.0, 1.2 * at_least / max(took, 1e-6)))
    return count, took


def seconds(work: Callable[[], object], count: int) -> float:
    """Return the CPU seconds of this number of calls."""
    began = process_time()
    for _ in range(count):
        work()
    return process_time() - began


class Bench:
    """The measurements of one group, as lines."""

    def __init__(self, group: str, rounds: int) -> None:
        self.rows: list[Measurement] = []
        self._group, self._rounds = group, rounds
        self._look_up = look_up()
        self._count, _ = each(self._look_up, ENOUGH)

    def rate(self, name: str, work: Callable[[], object], goal: float = 0.0) -> None:
        """Measure a frequent operation; the goal is a number of calls per second."""
        wanted = at_most(1 / goal, Of.VALUE) if goal else None
        self._measure(name, work, ENOUGH, wanted)

    def time(self, name: str, work: Callable[[], object], goal: float = 0.0) -> None:
        """Measure an operation that runs once; the goal is in seconds."""
        self._measure(name, work, 0.0, at_most(goal, Of.VALUE) if goal else None)

    def _measure(
        self, name: str, work: Callable[[], object], at_least: float, goal: Goal | None
    ) -> None:
        progress(f"{self._group}: {name}")
        gc.collect()
        count, took = each(work, at_least)
        found, base = [took / count], [self._baseline()]
        for _ in range(self._rounds - 1):
            base.append(self._baseline())
            found.append(seconds(work, count) / count)
        self.rows.append(
            Measurement(self._group, name, Unit.SECONDS, tuple(found), BASELINE, tuple(base), goal)
        )

    def _baseline(self) -> float:
        return seconds(self._look_up, self._count) / self._count
