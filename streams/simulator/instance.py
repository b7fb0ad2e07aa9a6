"""An instance: what of it survives (topics, state), its clock, and the two processes in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streams.node import Event, QueueMessage, World
from streams.protocol import Command
from streams.simulator.clock import MILLISECOND, START, Chance, Clock
from streams.simulator.facts import Facts
from streams.simulator.network import Network
from streams.simulator.scenario import Scenario
from streams.simulator.signs import Signs
from streams.simulator.storage import Entry, State, Topics, command_entry

if TYPE_CHECKING:
    from streams.simulator.endpoint import EndpointProcess
    from streams.simulator.forwarder import ForwarderProcess
    from streams.simulator.invariants import Invariants


@dataclass(slots=True)
class Surroundings:
    """What all instances of a run share."""

    scenario: Scenario
    clock: Clock
    network: Network
    signs: Signs
    facts: Facts
    invariants: Invariants
    seed: int
    queued: Callable[[str, QueueMessage], None]


@dataclass(slots=True)
class Instance:
    """One SQL Server process of the topology; ``skew`` is by how much its clock is off (us).

    ``forwarded`` are the committed positions of the forwarder in ``out`` and ``txq``.
    """

    name: str
    around: Surroundings
    world: World
    skew: int = 0
    topics: Topics = field(default_factory=Topics)
    state: State = field(default_factory=State)
    queues: dict[str, list[QueueMessage]] = field(default_factory=dict)
    forwarded: list[int] = field(default_factory=lambda: [0, 0])
    endpoint: EndpointProcess | None = None
    forwarder: ForwarderProcess | None = None
    chance: Chance = field(init=False)

    def __post_init__(self) -> None:
        self.chance = Chance(self.around.seed, f"instance {self.name}")

    # --- its clock -------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """Return what the instance's clock shows, epoch milliseconds."""
        return START + (self.around.clock.now + self.skew) // MILLISECOND

    def set_clock(self, skew: int) -> None:
        """Set the clock off by so much; whoever waits for an instant looks again."""
        self.skew = skew
        self.wake_endpoint()
        if self.forwarder is not None:
            self.forwarder.look_again()

    def instant(self, shown: int) -> int:
        """Return when the instance's clock shows this, in virtual microseconds."""
        return (shown - START) * MILLISECOND - self.skew

    # --- its topics ------------------------------------------------------------------------------

    def command(self, command: Command) -> None:
        """Take a statement of an application: it is stored, whoever is running."""
        self.topics.cmd.append(command_entry(command, self.now))
        self.wake_endpoint()

    def arrive(self, entry: Entry) -> None:
        """Take a copy from the network into the transmission queue."""
        self.topics.txq.append(entry)
        self.wake_forwarder()

    def wake_endpoint(self) -> None:
        """Tell the endpoint worker, if it runs, that there is something to read."""
        if self.endpoint is not None:
            self.endpoint.wake()

    def wake_forwarder(self) -> None:
        """Tell the forwarder, if it runs, that there is something to read."""
        if self.forwarder is not None:
            self.forwarder.wake()

    def switch(self, world: World) -> None:
        """Take over a version of the catalog, unless a newer one has come before it."""
        if world.version <= self.world.version:
            return
        self.world = world
        if self.endpoint is not None:
            self.endpoint.switch(world)
        if self.forwarder is not None:
            self.forwarder.switch(world)

    def tell(self, event: Event) -> None:
        """Write an event."""
        self.around.facts.tell(self.around.clock.now, event)
