"""The effect of hostile records on others: how long messages wait, and how processes grow."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator

from tests.faults.observe import Observer
from tests.faults.processes import Supervisor

_LATER = 60_000
"""Milliseconds after the first hostile record, after which caches are full."""


class Harm:
    """Samples processes periodically; the first ``after`` seconds without harm are the baseline."""

    def __init__(self, children: Supervisor, observer: Observer, after: float) -> None:
        self.after = after
        self._children, self._observer = children, observer
        self._first = _now() + round(after * 1_000)
        self._memory: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def look(self) -> None:
        """Record the memory of each process."""
        for name, size in self._children.memory().items():
            if size:
                self._memory[name].append((_now(), size))

    def lines(self) -> Iterator[str]:
        """Yield the report, with a line for each process."""
        both = (self._observer.by_initiator, self._observer.by_target)
        before = max(each.longest(0, self._first) for each in both)
        during = max(each.longest(self._first, 1 << 62) for each in both)
        yield (
            f"longest wait {before} ms before the first hostile record, {during} ms since: "
            f"{max(0, during - before)} ms more"
        )
        for name, found in sorted(self._memory.items()):
            sizes = [size for at, size in found if at >= self._first + _LATER] or [found[-1][1]]
            first = [size for at, size in found if at < self._first] or sizes
            yield (
                f"memory of {name}: {first[-1]} MB before, {sizes[0]} MB after a minute, "
                f"{sizes[-1]} MB at the end, {max(size for _, size in found)} MB at most"
            )


def _now() -> int:
    return time.time_ns() // 1_000_000
