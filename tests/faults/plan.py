"""The plan of faults as a value that follows from a seed: which faults, when, and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from streams.chance import Chance

T = TypeVar("T")
KILLS = 2
"""The number of kills after an absence."""
SOON, LATE = 0.5, 5.0
"""The range of seconds after the end of an absence for these kills."""


class FaultKind(Enum):
    """The kinds of faults, as the report names them."""

    KILL = "killed with SIGKILL and started again"
    PAUSE = "stopped with SIGSTOP for {0:g} to {1:g} s"
    FENCE = "its producer fenced by another producer"
    ABANDON = "a transaction on its topics left open by a dead producer"
    CROWD = "repeated rebalances of its group"
    BROKER_KILL = "Kafka killed with SIGKILL, away for {0:g} to {1:g} s"
    BROKER_RESTART = "Kafka stopped cleanly, away for {0:g} to {1:g} s"
    BROKER_PAUSE = "Kafka stopped with SIGSTOP for {0:g} to {1:g} s"
    DISK_FULL = "Kafka's disk full, then restarted with free space"
    CLOCK = "its clock wrong by up to {2:g} s for {0:g} to {1:g} s"
    ABSENT = "killed with SIGKILL and away for {0:g} to {1:g} s"
    QUEUE_OFF = "turned off for {0:g} to {1:g} s"
    AWAY = "killed, and restarted 40 minutes later by all clocks"
    APART = "disconnected for {0:g} to {1:g} s, longer than the time to live"
    ASLEEP = "stopped with SIGSTOP for {0:g} to {1:g} s, without a replacement"
    GONE = "killed with SIGKILL and away for {0:g} to {1:g} s, without a replacement"
    REPLACED = "stopped with SIGSTOP for {0:g} to {1:g} s, replaced by another process"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: ``at`` seconds after the load began, for ``lasts`` seconds.

    ``step``: by how many seconds a clock is set forward, or back if negative. ``then``: the faults
    after its end, whose ``at`` counts from its end.
    """

    at: float
    kind: FaultKind
    victim: str
    lasts: float = 0.0
    step: float = 0.0
    then: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Happened:
    """A fault that happened; its start ``at`` and its end ``over`` are epoch milliseconds."""

    fault: Fault
    at: int
    over: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """A number of faults of a kind, spread evenly over the victims; ``lasts``: range of seconds.

    ``then``: processes of which two are killed soon after each of these faults has ended. Such
    faults do not overlap, and the next one begins after these kills.
    """

    kind: FaultKind
    victims: Sequence[str]
    count: int
    lasts: tuple[float, float] = (0.0, 0.0)
    step: float = 0.0
    then: Sequence[str] = ()

    @property
    def words(self) -> str:
        """Return the fault as text."""
        return self.kind.value.format(*self.lasts, self.step)


def draw(seed: int, wanted: Sequence[Wanted], begin: float, end: float) -> tuple[Fault, ...]:
    """Spread faults over the time from ``begin`` to ``end``: one in each of as many equal spans.

    The kind, victim and time within a span are random; every victim of a kind is hit as often as
    the others, or once more. Faults with kills after them have spans of their own, which end after
    these kills.
    """
    chance = Chance(seed)
    plain = _spread(chance, [one for one in wanted if not one.then], begin, end)
    absences = _spread(chance, [one for one in wanted if one.then], begin, end)
    return tuple(sorted((*plain, *absences), key=lambda fault: fault.at))


def _spread(chance: Chance, wanted: Sequence[Wanted], begin: float, end: float) -> list[Fault]:
    dealt = [(one, victim) for one in wanted for victim in _victims(chance, one)]
    _shuffle(chance, dealt)
    span = (end - begin) / max(1, len(dealt))
    return [
        _fault(chance, one, victim, (begin + span * number, span))
        for number, (one, victim) in enumerate(dealt)
    ]


def _fault(chance: Chance, one: Wanted, victim: str, span: tuple[float, float]) -> Fault:
    begin, room = span
    moment = _share(chance)
    lasts = one.lasts[0] + (one.lasts[1] - one.lasts[0]) * _share(chance)
    step = one.step * (2 * _share(chance) - 1)
    if one.then:
        room = max(0.0, room - lasts - LATE)
    return Fault(begin + room * moment, one.kind, victim, lasts, step, _kills(chance, one.then))


def _kills(chance: Chance, victims: Sequence[str]) -> tuple[Fault, ...]:
    """Return the kills after an absence, of different processes, in the order of their times."""
    chosen = list(victims)
    _shuffle(chance, chosen)
    times = sorted(SOON + (LATE - SOON) * _share(chance) for _ in chosen[:KILLS])
    return tuple(Fault(at, FaultKind.KILL, name) for at, name in zip(times, chosen, strict=False))


def _victims(chance: Chance, wanted: Wanted) -> list[str]:
    found: list[str] = []
    while len(found) < wanted.count:
        turn = list(wanted.victims)
        _shuffle(chance, turn)
        found += turn
    return found[: wanted.count]


def _shuffle(chance: Chance, items: list[T]) -> None:
    for last in range(len(items) - 1, 0, -1):
        other = chance.below(last + 1)
        items[last], items[other] = items[other], items[last]


def _share(chance: Chance) -> float:
    return chance.below(1 << 30) / (1 << 30)
