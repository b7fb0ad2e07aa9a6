"""An instance: its durable part (topics, state), its clock, and its two processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from streams.errors import Event
from streams.node import CatalogView, QueueMessage
from streams.protocol import Command
from streams.simulator.clock import MILLISECOND, START, Chance, Clock
from streams.simulator.facts import Facts
from streams.simulator.heartbeats import Heartbeats
from streams.simulator.invariants import Invariants
from streams.simulator.network import Network
from streams.simulator.processes import Applying, Forwarding
from streams.simulator.scenario import Scenario
from streams.simulator.storage import Entry, State, Store, Topics, command_entry
from streams.topology import Topology


@dataclass(slots=True)
class Surroundings:
    """The shared objects of all instances of a run."""

    scenario: Scenario
    clock: Clock
    network: Network
    heartbeats: Heartbeats
    facts: Facts
    invariants: Invariants
    seed: int
    queued: Callable[[str, QueueMessage], None]
    sql: Callable[[str, str, str], None]
    topology: Callable[[], Topology]


@dataclass(slots=True)
class Instance:
    """One SQL Server process of the topology; ``skew`` is its clock error (us).

    ``pairs`` are the mirrored databases of which the instance is a partner, in any role. ``ids``
    generates the ids of route requests; it has no other use, and a crash does not reset it.
    """

    name: str
    around: Surroundings
    catalog: CatalogView
    skew: int = 0
    pairs: Mapping[str, Store] = field(default_factory=dict)
    own: Store = field(init=False)
    forwarder: Forwarding | None = None
    chance: Chance = field(init=False)
    ids: Chance = field(init=False)

    def __post_init__(self) -> None:
        self.own = Store(self.name)
        self.chance = Chance(self.around.seed, f"instance {self.name}")
        self.ids = Chance(self.around.seed, f"ids {self.name}")

    # --- durable state ---------------------------------------------------------------------------

    def store(self, database: str | None) -> Store:
        """Return the store of a database's dialogs."""
        return self.own if database is None else self.pairs.get(database, self.own)

    @property
    def topics(self) -> Topics:
        """Return the instance's own topics."""
        return self.own.topics

    @property
    def state(self) -> State:
        """Return the state of the databases that are not mirrored."""
        return self.own.state

    @property
    def endpoint(self) -> Applying | None:
        """Return the endpoint worker of the databases that are not mirrored."""
        return self.own.endpoint

    # --- its clock -------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """Return the instance's clock in epoch milliseconds."""
        return START + (self.around.clock.now + self.skew) // MILLISECOND

    @property
    def appended_at(self) -> int:
        """Return the timestamp of an append at this time; the broker's clock is correct."""
        return START + self.around.clock.now // MILLISECOND

    def set_clock(self, skew: int) -> None:
        """Set the clock's error; tasks that wait for a given time check the clock again."""
        self.skew = skew
        for store in (self.own, *self.pairs.values()):
            store.wake()
        if self.forwarder is not None:
            self.forwarder.look_again()

    def instant(self, shown: int) -> int:
        """Return the virtual time (microseconds) at which the instance's clock shows this time."""
        return (shown - START) * MILLISECOND - self.skew

    # --- its topics ------------------------------------------------------------------------------

    def command(self, command: Command) -> None:
        """Store a statement, whether or not processes are running."""
        store = self.store(command.database)
        store.topics.cmd.append(command_entry(command, self.now))
        store.wake()

    def arrive(self, entry: Entry) -> None:
        """Put a copy from the network into the transmission queue."""
        self.topics.txq.append(entry)
        self.wake_forwarder()

    def wake_forwarder(self) -> None:
        """Wake the forwarder to read, if it is running."""
        if self.forwarder is not None:
            self.forwarder.wake()

    def switch(self, catalog: CatalogView) -> None:
        """Switch to a version of the catalog, unless it has already read a newer version."""
        if catalog.version <= self.catalog.version:
            return
        self.catalog = catalog
        for store in (self.own, *self.pairs.values()):
            if store.endpoint is not None and store.endpoint.at == self.name:
                store.endpoint.switch()
        if self.forwarder is not None:
            self.forwarder.switch(catalog)

    def write_event(self, event: Event) -> None:
        """Write an event."""
        self.around.facts.note_event(self.around.clock.now, event)
