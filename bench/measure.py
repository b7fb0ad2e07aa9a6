"""Measure, and print a table: CPU time of this process, the median of several rounds.

CPU time, because other programs on the machine must not count; they still cost caches and clock
rate, so every line has its ratio to a baseline of the same run: one look-up in a dictionary by raw
bytes, the least that anything can cost.
"""

from __future__ import annotations

import gc
import sys
import uuid
from collections.abc import Callable
from itertools import cycle
from statistics import median
from time import process_time

ROUNDS = 5
DIALOGS = tuple(uuid.uuid5(uuid.NAMESPACE_URL, str(n)) for n in range(1_000))
KEYS = tuple(b"\xc3\x01" + bytes(60) + str(n).encode() for n in range(1_000))


def each(work: Callable[[], object], *, at_least: float = 0.2, rounds: int = ROUNDS) -> float:
    """Return the seconds of one call: the median of rounds of ``at_least`` so many seconds."""
    gc.collect()
    count = 1
    while (took := _seconds(work, count)) < at_least:
        count = int(count * max(2.0, 1.2 * at_least / max(took, 1e-6)))
    return median([took, *(_seconds(work, count) for _ in range(rounds - 1))]) / count


def _seconds(work: Callable[[], object], count: int) -> float:
    began = process_time()
    for _ in range(count):
        work()
    return process_time() - began


def look_up() -> Callable[[], object]:
    """Look up one of a thousand keys, and nothing else: the baseline."""
    values = dict.fromkeys(KEYS, 0)
    keys = cycle(zip(KEYS, DIALOGS, strict=True))

    def find() -> object:
        key, _ = next(keys)
        return values[key]

    return find


class Table:
    """Lines of measurements, each printed as soon as it is known."""

    def __init__(self, title: str) -> None:
        """Measure the baseline and print the head."""
        self._baseline = each(look_up())
        print(f"{title}; Python {sys.version.split()[0]}, CPU time, median of {ROUNDS} rounds")
        print(f"{'':<48}{'each':>10}{'a second':>12}{'baseline':>14}  goal")
        self._print("baseline: a dictionary's look-up", self._baseline, "")

    def rate(self, name: str, work: Callable[[], object], goal: float = 0.0) -> None:
        """Measure something that is done often; the goal is how often a second."""
        took = each(work)
        self._print(name, took, _goal(f"{goal:,.0f}/s", 1 / took >= goal) if goal else "")

    def time(
        self, name: str, work: Callable[[], object], goal: float = 0.0, *, rounds: int = ROUNDS
    ) -> None:
        """Measure something that is done once; the goal is in seconds."""
        took = each(work, at_least=0.0, rounds=rounds)
        self._print(name, took, _goal(_duration(goal), took <= goal) if goal else "")

    def _print(self, name: str, took: float, goal: str) -> None:
        ratio = took / self._baseline
        rate = f"{1 / took:,.0f}" if took < 0.1 else f"{1 / took:,.2f}"
        times = f"x {ratio:,.1f}" if ratio < 1000 else f"x {ratio:,.0f}"
        print(f"{name:<48}{_duration(took):>10}{rate:>12}{times:>14}  {goal}".rstrip())
        sys.stdout.flush()


def _goal(text: str, met: bool) -> str:
    return f"{text} {'met' if met else 'MISSED'}"


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:,.2f} {unit}"
    return f"{seconds * 1e9:,.0f} ns"
