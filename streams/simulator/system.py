"""A simulated system: instances, a network, and a scenario."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace

from streams.errors import InputError, Number, UsageError, text_of
from streams.node import QueueMessage, catalog_of
from streams.simulator import endpoint
from streams.simulator.applications import Reader
from streams.simulator.clock import MILLISECOND, SECOND, START, Chance, Clock
from streams.simulator.facts import Facts, Queued
from streams.simulator.forwarder import ForwarderProcess
from streams.simulator.heartbeats import Heartbeats
from streams.simulator.instance import Instance, Surroundings
from streams.simulator.invariants import Invariants
from streams.simulator.network import Network
from streams.simulator.receiving import Receiving, row_of
from streams.simulator.scenario import (
    Abort,
    Action,
    Begin,
    Crash,
    Cut,
    End,
    Failover,
    Move,
    Part,
    Receive,
    Scenario,
    Send,
    Side,
    Skew,
    Sql,
    Statement,
    Step,
    Timer,
)
from streams.simulator.statements import Statements
from streams.simulator.storage import Entry, Store, pairs_of
from streams.topology import Role, Topology, apply_sql, failover, queue_of

PROPAGATION = 500 * MILLISECOND
"""Maximum time until a new catalog version reaches every instance."""


@dataclass(slots=True)
class _Handle:
    """A dialog that the scenario began, with its name in the scenario."""

    conversation: uuid.UUID
    instance: str
    database: str


class System:
    """A topology and a scenario with one seed, which determines all randomness.

    ``fresh`` is the share of a forwarder's decisions that invariant 6 checks.
    """

    def __init__(
        self, topology: Topology, scenario: Scenario, seed: int = 0, *, fresh: float = 1.0
    ) -> None:
        self.topology, self.scenario, self.seed = topology, scenario, seed
        self.clock = clock = Clock()
        self.facts = Facts()
        self.notes: list[str] = []
        self.network = Network(scenario.network, clock, Chance(seed, "network"), self._arrive)
        heartbeats = Heartbeats(topology.instances, clock, self.network.is_up)
        self.invariants = Invariants(
            clock, self.facts, Chance(seed, "invariants"), scenario.limits, fresh
        )
        around = Surroundings(
            scenario, clock, self.network, heartbeats, self.facts, self.invariants, seed,
            self._queued, self._apply, lambda: self.topology,
        )  # fmt: skip
        self._statements = Statements(seed)
        self._catalog = Chance(seed, "catalog")
        self._dialogs: dict[str, list[_Handle]] = {}
        self._receiving = Receiving()
        self._heartbeats = heartbeats
        self._version = 1
        catalog = catalog_of(topology, self._version)
        pairs = pairs_of(topology)
        self.instances = {
            name: Instance(name, around, catalog, scenario.skew.get(name, 0), pairs[name])
            for name in topology.instances
        }
        self._readers = self._start_applications()

    @property
    def dialogs(self) -> dict[str, tuple[uuid.UUID, ...]]:
        """Return the scenario's conversations, by name."""
        return {name: tuple(h.conversation for h in self._dialogs[name]) for name in self._dialogs}

    def start(self) -> None:
        """Start every instance, and schedule the scenario's steps."""
        for instance in self.instances.values():
            self._start(instance, Part.INSTANCE)
        for step in self.scenario.steps:
            self.clock.at(step.at, self._perform, step)

    def stores(self) -> Iterator[tuple[str, Store]]:
        """Iterate over all stores, each with its instance; for a pair, that is the principal."""
        for name, instance in self.instances.items():
            yield name, instance.own
            for database, store in instance.pairs.items():
                mirror = self.topology.instances[name].databases[database].mirror
                if mirror is not None and mirror.role is Role.PRINCIPAL:
                    yield name, store

    # --- steps -----------------------------------------------------------------------------------

    def _arrive(self, instance: str, entry: Entry) -> None:
        self.instances[instance].arrive(entry)

    def _queued(self, instance: str, message: QueueMessage) -> None:
        name = f"{message.database}/{message.queue}"
        store = self.instances[instance].store(message.database)
        store.queues.setdefault(name, []).append(message)
        self.facts.queued.append(Queued(instance, self.clock.now, message, store.name))
        for reader in self._readers.get((store.name, name), ()):
            reader.wake()

    def _start_applications(self) -> dict[tuple[str, str], list[Reader]]:
        readers: dict[tuple[str, str], list[Reader]] = {}
        for number, application in enumerate(self.scenario.applications):
            instance = self.topology.instances[application.instance]
            database = instance.database(application.database)
            queue = None if database is None else queue_of(database, application.service)
            if queue is None:
                where = f"{application.instance}/{application.database}"
                raise UsageError(f"There is no service '{application.service}' in {where}.")
            chance = Chance(self.seed, f"application {number}")
            reader = Reader(
                application,
                self.instances[instance.name],
                queue.name,
                self._statements,
                chance,
            )
            home = self.instances[instance.name].store(application.database).name
            place = (home, f"{application.database}/{queue.name}")
            readers.setdefault(place, []).append(reader)
        return readers

    # --- steps -----------------------------------------------------------------------------------

    def _perform(self, step: Step) -> None:
        action: Action = step.action
        match action:
            case Begin():
                self._begin(action)
            case Send() | End() | Timer() | Move():
                for handle in self._dialogs.get(action.dialog, ()):
                    self._say(action, handle)
            case Receive():
                self._receive(action)
            case Sql():
                self._change(action, step)
            case Failover(pair, to):
                self._publish(failover(self.topology, pair, to))
            case Crash(part, name, up):
                (self._start if up else self._crash)(self.instances[name], part)
            case Cut(link, up):
                self._set_link(*link, up=up)
            case Skew(name, by):
                self.instances[name].set_clock(by)
            case Abort(name, count):
                process = self.instances[name].endpoint
                if process is not None:
                    process.aborts = count

    def _begin(self, action: Begin) -> None:
        instance = self.instances[action.instance]
        handles = self._dialogs[action.dialog] = []
        related = self._dialogs[action.related][0].conversation if action.related else None
        for command in self._statements.begin(action, instance.now, related):
            handles.append(_Handle(command.conversation, action.instance, action.database))
            instance.command(command)

    def _say(self, action: Statement, handle: _Handle) -> None:
        initiator = action.side is Side.INITIATOR
        place = (handle.instance, handle.database) if initiator else action.at
        place = place or self._target_of(handle)
        if place is None:
            self.notes.append(
                f"{self.clock.now / SECOND:g} s: {action.dialog} has no target endpoint yet, so "
                f"its {type(action).__name__.upper()} was not executed"
            )
            return
        instance = self.instances[place[0]]
        about = (handle.conversation, place[1], initiator, instance.now)
        for command in self._statements.commands(action, *about):
            instance.command(command)

    def _target_of(self, handle: _Handle) -> tuple[str, str] | None:
        """Return the place of a dialog's target endpoint: the locked one, or the first found."""
        home = self.instances[handle.instance].store(handle.database).state
        mine = (handle.database, handle.conversation, True)
        initiator = home.dialog(mine) if mine in home.dialogs else None
        locked = initiator.far_broker if initiator is not None and initiator.locked else None
        for instance, store in self.stores():
            for key in store.state.dialogs:
                if key[1] != handle.conversation or key[2]:
                    continue
                if locked in (None, store.state.dialog(key).broker_id):
                    return instance, key[0]
        return None

    def _receive(self, action: Receive) -> None:
        at, queue = self.clock.now / SECOND, f"{action.instance}/{action.database}/{action.queue}"
        store = self.instances[action.instance].store(action.database)
        database = self.topology.instances[action.instance].databases[action.database]
        found = self._receiving.receive(action, store, database)
        if isinstance(found, Number):
            self.notes.append(f"{at:g} s: {queue}: RECEIVE refused: {text_of(found)} ({found})")
            return
        self.facts.received += ({"at": at, "queue": queue, **row_of(m)} for m in found)

    def _change(self, action: Sql, step: Step) -> None:
        try:
            self._apply(action.instance, action.database, action.text)
        except InputError as error:
            s = step.source
            raise InputError(
                f"the T-SQL of this step cannot be parsed: {error.message}",
                file=s.file, line=s.line, column=s.column, remedy=error.remedy,
            ) from error  # fmt: skip

    def _apply(self, instance: str, database: str, text: str) -> None:
        """Run T-SQL in a database, and publish the changed topology.

        The partners of a mirrored pair act as one database, so each statement is issued to both.
        """
        now = (START + self.clock.now // MILLISECOND) / 1000
        findings, skipped = len(self.topology.findings), len(self.topology.skipped)
        changed = apply_sql(self.topology, instance, database, text, now)
        for partner in self._partners(instance, database):
            again = apply_sql(changed, partner, database, text, now)
            changed = replace(again, findings=changed.findings, skipped=changed.skipped)
        self._publish(changed)
        at = f"{self.clock.now / SECOND:g} s"
        self.notes += [f"{at}: {f.subject}: {f.message}" for f in self.topology.findings[findings:]]
        read_over = self.topology.skipped[skipped:]
        self.notes += [f"{at}: {s.kind}: this statement changes nothing here" for s in read_over]

    def _partners(self, instance: str, database: str) -> Iterator[str]:
        """Yield the other instances that have a mirrored database."""
        here = self.instances[instance].pairs.get(database)
        for name, other in self.instances.items():
            if here is not None and name != instance and other.pairs.get(database) is here:
                yield name

    def _publish(self, topology: Topology) -> None:
        """Write a version of the catalog; each instance reads it within half a second."""
        self.topology = topology
        self._version += 1
        catalog = catalog_of(topology, self._version)
        for instance in self.instances.values():
            self.clock.at(
                self.clock.now + self._catalog.below(PROPAGATION), instance.switch, catalog
            )

    # --- faults ----------------------------------------------------------------------------------

    def _start(self, instance: Instance, part: Part) -> None:
        if part is not Part.ENDPOINT and instance.forwarder is None:
            instance.forwarder = ForwarderProcess(instance)
            self._look_again()
        if part is not Part.FORWARDER and instance.endpoint is None:
            endpoint.start(instance)

    def _crash(self, instance: Instance, part: Part) -> None:
        if part is not Part.FORWARDER and instance.endpoint is not None:
            endpoint.crash(instance)
        if part is not Part.ENDPOINT and instance.forwarder is not None:
            instance.forwarder.crash()

    def _set_link(self, a: str, b: str, *, up: bool) -> None:
        if not up:
            self._heartbeats.before_cut(a, b)
        self.network.set_link(a, b, up=up)
        if up:
            self._look_again()

    def _look_again(self) -> None:
        for instance in self.instances.values():
            if instance.forwarder is not None:
                instance.forwarder.look_again()
