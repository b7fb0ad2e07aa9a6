"""The forwarder's process: hand on first, commit the position later, hold what cannot leave.

A crash loses what is held and the positions that were not committed: what lies behind those is
read and handed on once more.
"""

from __future__ import annotations

from typing import NamedTuple

from streams.node import HELD, Forwarder, Holding, Outcome, Place, Record, World
from streams.routing import Origin
from streams.simulator.clock import MILLISECOND, Alarm
from streams.simulator.codec import Codec, Hop
from streams.simulator.endpoint import POLL
from streams.simulator.instance import Instance
from streams.simulator.storage import Entry, status_entry

COMMIT = 200 * MILLISECOND
"""Positions are committed within this time."""


class _Held(NamedTuple):
    """A copy in memory."""

    entry: Entry
    record: Record


class ForwarderProcess:
    """One forwarder, from its start to its crash; it begins at the committed positions."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        around = instance.around
        self._topics = (instance.topics.out, instance.topics.txq)
        self._positions = list(instance.forwarded)
        self._turn_at = Alarm(around.clock, self._turn)
        self._commit_at = Alarm(around.clock, self._commit)
        self._release_at = Alarm(around.clock, self._release)
        around.signs.start(instance.name)
        self.node = self.new_node()
        self.holding: Holding[_Held] = Holding(0)
        self._set_limit()
        self.wake()

    def new_node(self) -> Forwarder:
        """Return a forwarder that has seen nothing yet."""
        return Forwarder(self.instance.name, self.instance.world, Codec, self._reachable)

    def crash(self) -> None:
        """Lose everything that is not durable."""
        for alarm in (self._turn_at, self._commit_at, self._release_at):
            alarm.clear()
        self.instance.around.signs.stop(self.instance.name)
        self.instance.forwarder = None

    def wake(self) -> None:
        """Look soon at what has come."""
        self._turn_at.set(self.instance.around.clock.now + self.instance.chance.below(POLL))

    def look_again(self) -> None:
        """Look soon whether held copies can leave: somebody has come back."""
        if self.holding:
            self._release_at.set(self.instance.around.clock.now + self.instance.chance.below(POLL))

    def switch(self, world: World) -> None:
        """Take over a version of the catalog."""
        self.node.switch(world)
        self._set_limit()
        self.look_again()

    def _set_limit(self) -> None:
        name = self.instance.name
        stated = self.instance.around.scenario.memory.get(name)
        self.holding.limit = self.instance.world.forward_bytes[name] if stated is None else stated

    def _reachable(self, instance: str) -> bool:
        return self.instance.around.signs.reachable(self.instance.name, instance)

    # --- records ---------------------------------------------------------------------------------

    def _turn(self) -> None:
        now, most = self.instance.now, self.instance.around.scenario.batch
        for number, origin in ((0, Origin.INSIDE), (1, Origin.OUTSIDE)):
            topic = self._topics[number]
            for position in range(self._positions[number], len(topic))[:most]:
                self._pass_on(topic[position], origin, now)
                self._positions[number] = position + 1
        if any(p < len(t) for p, t in zip(self._positions, self._topics, strict=True)):
            self.wake()
        if self._positions != self.instance.forwarded:
            self._commit_at.set(self.instance.around.clock.now + self.instance.chance.below(COMMIT))

    def _pass_on(self, entry: Entry, origin: Origin, now: int) -> None:
        assert entry.route is not None
        record = Record(
            origin,
            entry.key,
            entry.route,
            entry.hop,
            len(entry.value),  # MESSAGE_FORWARD_SIZE counts bodies (EX-47)
            entry.message is None,
            entry.message,
        )
        invariants = self.instance.around.invariants
        try:
            outcome = self.node.handle(record, now)
            invariants.decided(self, record, outcome, now)
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
                instance.around.invariants.forwarded(instance, record, copy, now)
                if copy.instance == instance.name:
                    instance.arrive(made)
                else:
                    instance.around.network.send(instance.name, copy.instance, made)
            else:
                topics = instance.topics
                (topics.inbox if copy.place is Place.IN else topics.ack).append(made)
                instance.wake_endpoint()
        if outcome.status is not None:
            instance.topics.ack.append(status_entry(outcome.status, now))
            instance.wake_endpoint()
        if outcome.event is not None:
            instance.around.facts.refused(record, outcome.event)
            instance.tell(outcome.event)

    # --- held copies -----------------------------------------------------------------------------

    def _hold(self, entry: Entry, record: Record, now: int) -> Outcome:
        key = self.node.hold_key(record)
        number = self.holding.add(key, _Held(entry, record), record.size)
        if number is not None:
            return self.node.refuse(record, number, now)
        self.instance.around.invariants.holds(self)
        self._release_at.set(self.instance.instant(Hop(record.hop).expires_at))
        return HELD

    def _release(self) -> None:
        """Let go what can leave or is too old; the rest waits for a sign of life, or its end."""
        now = self.instance.now
        for key, held in self.holding.items():
            outcome = self.node.release(held.record, now)
            if outcome is HELD:
                self._release_at.set(self.instance.instant(Hop(held.record.hop).expires_at))
            else:
                self.holding.remove(key)
                self._perform(held.entry, held.record, outcome, now)

    # --- positions -------------------------------------------------------------------------------

    def _commit(self) -> None:
        self.instance.forwarded[:] = self._positions
