"""The backlogs of absences: how large they were, how long they drained, and the kills meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.faults.observe import Observer
from tests.faults.plan import Fault, FaultKind, Happened
from tests.faults.verdict import Verdict

_ABSENCES = (FaultKind.ABSENT, FaultKind.QUEUE_OFF)
"""The faults that leave a backlog."""
_REST = 0.01
"""The share of a backlog that no longer counts: a few messages wait for a retry for a minute."""


@dataclass(frozen=True, slots=True)
class Drain:
    """The drain after an absence: from its end until its backlog was delivered.

    ``backlog``: the messages that were sent before the end and delivered after it. ``seconds``:
    until the last of them. ``left``: for each later kill, how many of them were not yet delivered.
    """

    fault: Fault
    backlog: int
    seconds: float
    left: tuple[int, ...]

    @property
    def kills(self) -> int:
        """Return how many kills fell into the drain, and not only into the wait for its rest."""
        return sum(left > self.backlog * _REST for left in self.left)

    def __str__(self) -> str:
        left = ", ".join(f"{left:,}" for left in self.left if left) or "none"
        return (
            f"{self.fault.victim} was absent for {self.fault.lasts:.1f} s: backlog of "
            f"{self.backlog:,} messages, delivered within {self.seconds:.1f} s; "
            f"kills meanwhile: {self.kills} (messages left at each later kill: {left})"
        )


def drains(happened: Sequence[Happened], observer: Observer) -> list[Drain]:
    """Return the drain of each absence."""
    kills = sorted(h.at for h in happened if h.fault.kind is FaultKind.KILL)
    return [_drain(each, kills, observer) for each in happened if each.fault.kind in _ABSENCES]


def with_drains(verdict: Verdict, drained: Sequence[Drain]) -> Verdict:
    """Return a verdict with the kills in drains, and the absences without such a kill."""
    return replace(
        verdict,
        disturbed=sum(drain.kills for drain in drained),
        undisturbed=sum(not drain.kills for drain in drained),
    )


def _drain(absence: Happened, kills: Sequence[int], observer: Observer) -> Drain:
    both = (observer.by_initiator, observer.by_target)
    seen = sorted(at for each in both for at in each.late(absence.over))
    last = seen[-1] if seen else absence.over
    left = tuple(sum(at >= kill for at in seen) for kill in kills if absence.over <= kill <= last)
    return Drain(absence.fault, len(seen), (last - absence.over) / 1000, left)
