"""Explore many seeds on all cores, with results in the order of the seeds."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from dataclasses import dataclass

from streams.simulator.explore.case import Case, Tale, draw_case, play
from streams.simulator.explore.shrink import TRIES, shrink
from streams.simulator.invariants import Violation

_SHARE = 20
"""Number of seeds assigned to a process at a time."""


def explore_seed(seed: int) -> Tale:
    """Draw and play the case of one seed."""
    return play(draw_case(seed))


def explore(first: int, count: int, processes: int | None = None) -> Iterator[Tale]:
    """Yield the results of ``count`` seeds from ``first`` on, in order."""
    seeds = range(first, first + count)
    processes = min(processes or os.cpu_count() or 1, max(1, count // _SHARE))
    if processes == 1:
        yield from map(explore_seed, seeds)
        return
    # "spawn" exists on every platform, and does not copy running threads.
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(explore_seed, seeds, _SHARE)


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that breaks an invariant, as drawn and minimized."""

    seed: int
    violation: Violation
    small: Case
    small_violation: Violation


def reduce(tale: Tale, tries: int = TRIES) -> Failure:
    """Minimize the case of a failing seed."""
    assert tale.violation is not None, "only failing runs are reduced"
    number = tale.violation.invariant
    last = [tale.violation]

    def breaks(case: Case) -> bool:
        found = play(case, fresh=1.0).violation  # play the case in the same way as a replay
        if found is None or found.invariant != number:
            return False
        last[0] = found
        return True

    small = shrink(draw_case(tale.seed), breaks, tries)
    return Failure(tale.seed, tale.violation, small, last[0])
