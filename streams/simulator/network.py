"""Links between instances.

Within an instance, nothing is lost. A link that is down loses every copy silently, including copies
in transit when the link fails. Copies keep their order, as in a Kafka partition. The exception is
copies that the scenario reorders, which are delayed as much as a duplicate would be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streams.simulator import scenario
from streams.simulator.clock import MILLISECOND, SECOND, Chance, Clock
from streams.simulator.storage import Entry

LATE = (50 * MILLISECOND, 50 * MILLISECOND, 50 * MILLISECOND, 5 * SECOND)
"""Average extra delays of reordered and repeated copies; one delay is drawn for each copy."""


@dataclass(slots=True)
class _Direction:
    """One direction of a link: the arrival time of its last copy in order."""

    link: scenario.Link
    last: int = 0


@dataclass(slots=True)
class Passage:
    """A copy between two instances; ``arrived`` stays ``None`` if it was lost."""

    sent: int
    sender: str
    receiver: str
    entry: Entry
    arrived: int | None = None


class Network:
    """All links; ``arrive(instance, entry)`` is called when a copy arrives.

    ``passages`` contains all copies of the run, in the order in which they were sent.
    """

    def __init__(
        self,
        settings: scenario.Network,
        clock: Clock,
        chance: Chance,
        arrive: Callable[[str, Entry], None],
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._chance = chance
        self._arrive = arrive
        self.passages: list[Passage] = []
        self._directions: dict[tuple[str, str], _Direction] = {}
        self._cuts: dict[tuple[str, str], int] = {}
        self._down: dict[tuple[str, str], None] = {}

    @property
    def calm(self) -> bool:
        """Return whether random faults have ended."""
        until = self._settings.until
        return until is not None and self._clock.now >= until

    @property
    def is_whole(self) -> bool:
        """Return whether no link is down."""
        return not self._down

    def set_link(self, a: str, b: str, *, up: bool) -> None:
        """Take a link down, or restore it."""
        ends = _ends(a, b)
        if up:
            self._down.pop(ends, None)
        else:
            self._down[ends] = None
            self._cuts[ends] = self._cuts.get(ends, 0) + 1

    def is_up(self, a: str, b: str) -> bool:
        """Return whether a link is not down."""
        return not self._down or _ends(a, b) not in self._down

    def send(self, sender: str, receiver: str, entry: Entry) -> None:
        """Send a forwarder's copy; the forwarder never sees an error, even if the copy is lost."""
        copy = self._sent(sender, receiver, entry)
        if not self.is_up(sender, receiver):
            return
        direction = self._directions.get((sender, receiver))
        if direction is None:
            link = self._settings.links.get(_ends(sender, receiver), self._settings.link)
            direction = self._directions[sender, receiver] = _Direction(link)
        link = direction.link
        due = self._due(link.latency)
        if not self.calm:
            if self._chance.happens(link.loss):
                return
            if self._chance.happens(link.duplicate):
                second = self._sent(sender, receiver, entry)
                self._schedule(second, due + self._lateness())
            if self._chance.happens(link.reorder):
                self._schedule(copy, due + self._lateness())
                return
        direction.last = max(direction.last, due)
        self._schedule(copy, direction.last)

    def _sent(self, sender: str, receiver: str, entry: Entry) -> Passage:
        copy = Passage(self._clock.now, sender, receiver, entry)
        self.passages.append(copy)
        return copy

    def _due(self, latency: scenario.Latency) -> int:
        spread = latency.most - latency.least
        usual = latency.least + (self._chance.below(spread + 1) if spread else 0)
        if not latency.heavy:
            return self._clock.now + usual
        due = self._clock.now + usual + int(self._chance.heavy(latency.heavy))
        until = self._settings.until
        # One drawn delay in many millions is minutes long and delays all later copies, so limit
        # such a delay.
        return due if until is None else min(due, max(until, self._clock.now) + usual)

    def _lateness(self) -> int:
        return int(self._chance.heavy(self._chance.pick(LATE)))

    def _schedule(self, copy: Passage, at: int) -> None:
        ends = _ends(copy.sender, copy.receiver)
        self._clock.at(at, self._deliver, copy, ends, self._cuts.get(ends, 0))

    def _deliver(self, copy: Passage, ends: tuple[str, str], cuts: int) -> None:
        if self._cuts.get(ends, 0) == cuts:  # otherwise the link failed during the transit
            copy.arrived = self._clock.now
            self._arrive(copy.receiver, copy.entry)


def _ends(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a < b else (b, a)
