"""A scenario cut at its steps: what the simulator has shown when the next one is about to happen.

Steps are given at virtual times because what they need has happened by then. Kafka's time is
another one, so a player waits for what the simulator says there is to be seen at that time.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace

from streams.protocol import Message
from streams.simulator import Result, Scenario, Simulation, Step
from streams.simulator.storage import read_message
from streams.topology import Topology


@dataclass(frozen=True)
class Moment:
    """Steps of one instant, and the run up to the next; ``lasts`` in virtual microseconds."""

    steps: tuple[Step, ...]
    lasts: int
    run: Simulation
    result: Result

    def arrived(self, instance: str) -> set[Copy]:
        """Return of which messages copies have arrived in an instance's transmission queue."""
        entries = self.run.instances[instance].topics.txq
        return {copy_of(read_message(entry)) for entry in entries if entry.message is not None}


Copy = tuple[uuid.UUID, bool, int, int]
"""Conversation, from the initiator, sequence and fragment."""


def copy_of(message: Message) -> Copy:
    """Return of what a message frame is a copy."""
    header = message.header
    return message.conversation, message.parties.from_initiator, header.sequence, header.fragment


def moments(topology: Topology, scenario: Scenario, seed: int = 0) -> Iterator[Moment]:
    """Yield the moments of a scenario; the last one has the result of the whole run."""
    instants = sorted({step.at for step in scenario.steps})
    for at, end in zip(instants, [*instants[1:], scenario.until + 1], strict=True):
        begun = tuple(step for step in scenario.steps if step.at < end)
        part = replace(scenario, steps=begun, until=end - 1)
        run = Simulation(topology, part, seed)
        steps = tuple(step for step in begun if step.at == at)
        yield Moment(steps, end - at, run, run.run())
