"""The effect of hostile records on others: how long messages wait, and how processes grow."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import median

from streams.client.partition_ahead import READ_AHEAD_BYTES
from streams.kafka import CACHE_BYTES as BODIES
from streams.node.forwarder.plan_cache import CACHE_BYTES as PLANS
from streams.workers.endpoint.allowance import BYTES as WAITING
from tests.faults.clusters import PARTITIONS
from tests.faults.hostile import BOMBS
from tests.faults.observe import Observer
from tests.faults.processes import Supervisor
from tests.faults.verdict import Verdict

_LATER = 60_000
"""Milliseconds after the first hostile record, after which caches are full."""
SLOWER = 1_000
"""Milliseconds by which the longest latency may exceed the longest before hostile records."""
APPLICATION = READ_AHEAD_BYTES + PARTITIONS * max(BOMBS) >> 20
GROWTH: Mapping[str, int] = {
    "forwarder": PLANS >> 20,
    "endpoint": BODIES + PARTITIONS * WAITING >> 20,
    "source": APPLICATION,
    "target": APPLICATION,
}
"""Megabytes by which a process of a role may grow after the first minute of hostile records.

A forwarder caches plans, one for each route that a record names. An endpoint worker caches bodies,
and each of its partitions may keep bodies that wait. An application reads ahead, and for each
partition Kafka's client may have a compressed bomb besides.
"""


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory of a process in megabytes.

    The sizes are those before the first hostile record, a minute after it, at the end, and at most.
    """

    before: int
    minute: int
    end: int
    most: int


@dataclass(frozen=True, slots=True)
class Effect:
    """The latency of regular messages, in milliseconds, and the memory of processes by name.

    ``records``: hostile records, of which ``bombs`` are compressed bombs. ``before`` and
    ``during``: the longest latency before and after the first hostile record.
    """

    records: int
    bombs: int
    middle: int
    before: int
    during: int
    memory: Mapping[str, Memory]

    @property
    def delayed(self) -> int:
        """Return the milliseconds by which messages were delayed, if that is more than allowed."""
        more = self.during - self.before
        return more if more > SLOWER else 0

    @property
    def grown(self) -> int:
        """Return how many processes have grown more than their role may."""
        return sum(
            found.end - found.minute > GROWTH[name.partition("/")[0]]
            for name, found in self.memory.items()
        )

    def judged(self, verdict: Verdict, *, quiet: float) -> Verdict:
        """Return a verdict with the delay and the growth, if the load was ``quiet`` at first."""
        if not quiet:
            return verdict
        return replace(verdict, delayed=self.delayed, grown=self.grown)

    def largest(self, role: str) -> int:
        """Return the largest memory of a process of a role."""
        return max((m.most for n, m in self.memory.items() if n.startswith(role)), default=0)

    def lines(self) -> Iterator[str]:
        """Yield the report, with a line for each process."""
        yield f"{self.records:,} hostile records, {self.bombs} compressed bombs"
        yield (
            f"longest wait {self.before} ms before the first hostile record, {self.during} ms "
            f"since: {max(0, self.during - self.before)} ms more, {SLOWER} allowed"
        )
        for name, found in sorted(self.memory.items()):
            yield (
                f"memory of {name}: {found.before} MB before, {found.minute} MB after a minute, "
                f"{found.end} MB at the end, {found.most} MB at most; "
                f"{GROWTH[name.partition('/')[0]]} MB more than after a minute allowed"
            )


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

    def effect(self, records: int, bombs: int) -> Effect:
        """Return the effect of this many hostile records until now."""
        both = (self._observer.by_initiator, self._observer.by_target)
        return Effect(
            records,
            bombs,
            round(median([wait for each in both for wait in each.waits()] or [0])),
            max(each.longest(0, self._first) for each in both),
            max(each.longest(self._first, 1 << 62) for each in both),
            {name: self._sizes(found) for name, found in self._memory.items()},
        )

    def _sizes(self, found: list[tuple[int, int]]) -> Memory:
        later = [size for at, size in found if at >= self._first + _LATER] or [found[-1][1]]
        before = [size for at, size in found if at < self._first] or later[:1]
        return Memory(before[-1], later[0], later[-1], max(size for _, size in found))


def _now() -> int:
    return time.time_ns() // 1_000_000
