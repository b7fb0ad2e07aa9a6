"""Chance on a link ends when the scenario says so, also for what was sent before."""

from __future__ import annotations

import pytest

from streams.simulator.clock import MILLISECOND, SECOND, Chance, Clock
from streams.simulator.network import Network
from streams.simulator.scenario import Latency, Link
from streams.simulator.scenario import Network as Settings
from streams.simulator.storage import Entry

LINK = Link(Latency(5 * MILLISECOND, 5 * MILLISECOND, heavy=30 * MILLISECOND))
COPY = Entry(key=b"", value=b"", stored_at=0)


class Unlucky(Chance):
    """Draws what happens once in many millions of times."""

    def heavy(self, mean: float = 1.0) -> float:
        """Return some minutes."""
        return 10_000 * mean


def arrival(sent_at: int, until: int | None) -> int:
    """Return when a copy arrives that meets bad luck."""
    clock, arrived = Clock(), list[int]()
    settings = Settings(LINK, until=until)
    network = Network(settings, clock, Unlucky(0, "x"), lambda *_: arrived.append(clock.now))
    clock.at(sent_at, network.send, "A", "B", COPY)
    while clock.step(1_000 * SECOND):
        pass
    return arrived[0]


@pytest.mark.parametrize("sent_at", [0, 10 * SECOND, 20 * SECOND])
def test_no_copy_is_late_by_chance_when_chance_has_ended(sent_at: int) -> None:
    """All behind it would wait as long: a fault that never stops."""
    assert arrival(sent_at, until=10 * SECOND) == max(sent_at, 10 * SECOND) + 5 * MILLISECOND


def test_without_an_end_a_copy_may_be_late_for_minutes() -> None:
    assert arrival(0, until=None) == 300 * SECOND + 5 * MILLISECOND
