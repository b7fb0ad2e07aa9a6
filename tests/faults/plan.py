"""The plan of faults as a value that follows from a seed: which faults, when, and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from streams.chance import Chance

T = TypeVar("T")


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

    ``step``: by how many seconds a clock is set forward, or back if negative.
    """

    at: float
    kind: FaultKind
    victim: str
    lasts: float = 0.0
    step: float = 0.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """A number of faults of a kind, spread evenly over the victims; ``lasts``: range of seconds."""

    kind: FaultKind
    victims: Sequence[str]
    count: int
    lasts: tuple[float, float] = (0.0, 0.0)
    step: float = 0.0

    @property
    def words(self) -> str:
        """Return the fault as text."""
        return self.kind.value.format(*self.lasts, self.step)


def draw(seed: int, wanted: Sequence[Wanted], begin: float, end: float) -> tuple[Fault, ...]:
    """Spread faults over the time from ``begin`` to ``end``: one in each of as many equal spans.

    The kind, victim and time within a span are random; every victim of a kind is hit as often as
    the others, or once more.
    """
    chance = Chance(seed)
    dealt = [(one, victim) for one in wanted for victim in _victims(chance, one)]
    _shuffle(chance, dealt)
    span = (end - begin) / max(1, len(dealt))
    return tuple(
        Fault(
            begin + span * (number + _share(chance)),
            one.kind,
            victim,
            one.lasts[0] + (one.lasts[1] - one.lasts[0]) * _share(chance),
            one.step * (2 * _share(chance) - 1),
        )
        for number, (one, victim) in enumerate(dealt)
    )


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
