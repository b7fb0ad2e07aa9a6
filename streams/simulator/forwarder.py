"""The forwarder's process: write copies, commit positions later, and buffer unsendable copies.

A crash loses buffered copies and uncommitted positions, so records after the committed positions
are read and forwarded again.
"""

from __future__ import annotations

from typing import NamedTuple

from streams.node import (
    HELD,
    CatalogView,
    Forwarder,
    Holding,
    Outcome,
    Pair,
    Place,
    Principals,
    Record,
    claims_of,
    forward_size,
)
from streams.protocol import Claim
from streams.routing import Origin
from streams.simulator.clock import MILLISECOND, Alarm
from streams.simulator.codec import Codec, Hop
from streams.simulator.endpoint import POLL
from streams.simulator.heartbeats import BEAT
from streams.simulator.instance import Instance
from streams.simulator.sources import Source
from streams.simulator.storage import Entry, Store, status_entry
from streams.topology import Role

COMMIT = 200 * MILLISECOND
"""Maximum time until positions are committed."""

STALL = 5
"""Maximum stall of a replica, as a multiple of the time to live."""


class _Held(NamedTuple):
    """A copy in memory."""

    entry: Entry
    record: Record


class _Known:
    """The known principals (``Roles``), for a forwarder whose decisions must not change them."""

    def __init__(self, principals: Principals) -> None:
        self._principals = principals

    def principal(self, pair: Pair, *_: object) -> int | None:
        return self._principals.known(pair)


class ForwarderProcess:
    """One forwarder, from start to crash; it starts at the committed positions."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        around = instance.around
        topics, committed = instance.topics, instance.own.forwarded
        self._sources = {
            "out": Source(topics.out, Origin.INSIDE, committed, 0),
            "txq": Source(topics.txq, Origin.OUTSIDE, committed, 1),
        }
        self._principals = Principals(
            instance.name, self, lambda address: self.node.instance_at(address),
            around.scenario.limits,
        )  # fmt: skip
        self._turn_at = Alarm(around.clock, self._turn)
        self._commit_at = Alarm(around.clock, self._commit)
        self._release_at = Alarm(around.clock, self._release)
        self._look_at = Alarm(around.clock, self._look_at_partners)
        self._claimed = claims_of(instance.catalog, instance.name)
        around.heartbeats.start(instance.name, lambda: self._claimed)
        self.node = Forwarder(
            instance.name, instance.catalog, Codec, self.reachable, self._principals
        )
        self.holding: Holding[_Held] = Holding(0)
        self._set_limit()
        self._follow_roles()
        self.wake()

    def stranger(self) -> Forwarder:
        """Return a forwarder without history that knows only the principal of each pair."""
        known = _Known(self._principals)
        return Forwarder(self.instance.name, self.instance.catalog, Codec, self.reachable, known)

    def crash(self) -> None:
        """Lose all state that is not durable."""
        for alarm in (self._turn_at, self._commit_at, self._release_at, self._look_at):
            alarm.clear()
        self.instance.around.heartbeats.stop(self.instance.name)
        self.instance.forwarder = None

    def wake(self) -> None:
        """Schedule a turn."""
        self._turn_at.set(self.instance.around.clock.now + self.instance.chance.below(POLL))

    def look_again(self) -> None:
        """Retry buffered copies soon, because an instance is reachable again."""
        if self.holding:
            self._release_at.set(self.instance.around.clock.now + self.instance.chance.below(POLL))

    def switch(self, catalog: CatalogView) -> None:
        """Switch to a version of the catalog."""
        self.node.switch(catalog)
        self._claimed = claims_of(catalog, self.instance.name)
        self._set_limit()
        self._follow_roles()
        self.look_again()

    def _set_limit(self) -> None:
        name = self.instance.name
        stated = self.instance.around.scenario.memory.get(name)
        self.holding.limit = self.instance.catalog.forward_bytes[name] if stated is None else stated

    @property
    def catalog(self) -> CatalogView:
        """Return the version of the catalog in use (``Peers``)."""
        return self.instance.catalog

    def claims(self, instance: str) -> tuple[Claim, ...] | None:
        """Return an instance's last claims (``Peers``)."""
        return self.instance.around.heartbeats.claims(self.instance.name, instance)

    def reachable(self, instance: str) -> bool:
        """Return whether an instance is reachable (``Peers``)."""
        return self.instance.around.heartbeats.reachable(self.instance.name, instance)

    # --- records ---------------------------------------------------------------------------------

    def _turn(self) -> None:
        now, most = self.instance.now, self.instance.around.scenario.batch
        for source in self._sources.values():
            for position in range(source.position, len(source.topic))[:most]:
                self._pass_on(source.topic[position], source.origin, now)
                source.position = position + 1
        self._look_at_partners()
        if not all(source.is_at_end for source in self._sources.values()):
            self.wake()
        if not all(source.is_committed for source in self._sources.values()):
            self._commit_at.set(self.instance.around.clock.now + self.instance.chance.below(COMMIT))

    def _pass_on(self, entry: Entry, origin: Origin, now: int) -> None:
        assert entry.route is not None
        record = Record(
            origin,
            entry.key,
            entry.route,
            entry.hop,
            len(entry.value),
            entry.message is None,
            entry.message,
        )
        invariants = self.instance.around.invariants
        try:
            outcome = self.node.handle(record, now)
            invariants.decided(
                self.instance.name, record, outcome, lambda: self.stranger().handle(record, now)
            )
            if outcome is HELD:
                outcome = self._hold(entry, record, now)
        except Exception as error:
            invariants.failed(self.instance.name, error)
            return
        self._perform(entry, record, outcome, now)

    def _perform(self, entry: Entry, record: Record, outcome: Outcome, now: int) -> None:
        instance = self.instance
        for copy in outcome.copies:
            made = entry._replace(route=copy.route, hop=copy.hop, inside=copy.inside)
            if copy.place is Place.TXQ:
                instance.around.invariants.forwarded(instance.name, record, copy, now)
                if copy.instance == instance.name:
                    instance.arrive(made)
                else:
                    instance.around.network.send(instance.name, copy.instance, made)
            else:
                store = instance.store(copy.database)
                if copy.place is Place.IN:
                    self._deliver(store, made)
                    self._stall(store, made)
                else:
                    store.topics.ack.append(made)
                    store.wake()
        for status in outcome.statuses:
            store = instance.store(status.database)
            store.topics.ack.append(status_entry(status, now))
            store.wake()
        if outcome.event is not None:
            instance.around.facts.refused(record, outcome.event)
            instance.write_event(outcome.event)

    def _deliver(self, store: Store, entry: Entry) -> None:
        """Append to ``in``, which has LogAppendTime."""
        store.topics.inbox.append(entry._replace(stored_at=self.instance.appended_at))
        store.wake()

    def _stall(self, store: Store, entry: Entry) -> None:
        """At random, let a stalled replica that made the same decision write the copy again."""
        around, chance = self.instance.around, self.instance.chance
        if not around.network.calm and chance.happens(around.scenario.stalls):
            longest = STALL * around.scenario.limits.time_to_live * MILLISECOND
            around.clock.at(around.clock.now + chance.below(longest), self._deliver, store, entry)

    # --- mirrored pairs --------------------------------------------------------------------------

    def _follow_roles(self) -> None:
        """Forward the messages of each pair whose principal, by its catalog, is the instance."""
        for database, store in self.instance.pairs.items():
            mirror = self.instance.catalog.mirrors[self.instance.name, database]
            if mirror.role is Role.MIRROR:
                source = self._sources.pop(database, None)
                if source is not None:
                    source.commit()
            elif database not in self._sources:
                out = Source(store.topics.out, Origin.INSIDE, store.forwarded, 0)
                self._sources[database] = out
                self.wake()

    def _look_at_partners(self) -> None:
        """Evaluate the claims of the partners of mirrored pairs, and report changes."""
        for event in self._principals.look(self.instance.now):
            self.instance.write_event(event)
        if self._principals.are_asked_for:
            self._look_at.set(self.instance.around.clock.now + BEAT)

    # --- buffered copies -------------------------------------------------------------------------

    def _hold(self, entry: Entry, record: Record, now: int) -> Outcome:
        """Buffer a copy, or drop it; headers do not count, because simulated ones are small."""
        key = self.node.hold_key(record)
        number = self.holding.add(key, _Held(entry, record), forward_size(record.size))
        if number is not None:
            return self.node.reject(record, number, now)
        held = sum(forward_size(item.record.size) for _, item in self.holding.items())
        self.instance.around.invariants.holds(self.instance.name, held, self.holding.limit)
        self._release_at.set(self.instance.instant(Hop(record.hop).expires_at))
        return HELD

    def _release(self) -> None:
        """Send buffered copies that are ready, and drop expired copies; other copies wait."""
        now = self.instance.now
        for key, held in self.holding.items():
            outcome = self.node.release(held.record, now)
            if outcome is HELD:
                self._release_at.set(self.instance.instant(Hop(held.record.hop).expires_at))
            else:
                self.holding.remove(key)
                self._perform(held.entry, held.record, outcome, now)
        self._look_at_partners()

    # --- positions -------------------------------------------------------------------------------

    def _commit(self) -> None:
        for source in self._sources.values():
            source.commit()
