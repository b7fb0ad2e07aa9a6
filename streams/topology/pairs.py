"""Mirrored pairs and availability groups: their topics and partners.

The topics of a pair's databases are named after the pair, as if it were an instance, and the
principal consumes them. So applications address the pair, and a failover copies no data.
"""

from __future__ import annotations

from dataclasses import dataclass

from streams.errors import UsageError
from streams.prose import counted
from streams.topology.lookup import queues_of
from streams.topology.model import Instance, Topology
from streams.topology.objects import Database, Role


@dataclass(frozen=True, slots=True)
class MirroredPair:
    """A pair or group: its name, and its partners by instance name, including the principal."""

    name: str
    partners: tuple[Instance, ...]

    @property
    def partitions(self) -> int:
        """Return the number of partitions of the pair's topics."""
        return self.partners[0].partitions

    @property
    def epoch(self) -> int:
        """Return the number of the pair's failovers."""
        every = (d.mirror for i in self.partners for d in self.databases_of(i))
        return max(m.epoch for m in every if m is not None)

    @property
    def queues(self) -> tuple[tuple[str, str, int], ...]:
        """Return (database, queue, partitions) of the pair's queues, merged from all partners."""
        every: dict[tuple[str, str], int] = {}
        for partner in self.partners:
            every |= self.counts_at(partner)
        return tuple((*place, count) for place, count in every.items())

    def counts_at(self, instance: Instance) -> dict[tuple[str, str], int]:
        """Return a partner's partition counts by (database, queue)."""
        here = self.databases_of(instance)
        return {(d.name, q.name): q.partitions for d in here for q in queues_of(d)}

    def databases_of(self, instance: Instance) -> tuple[Database, ...]:
        """Return the partner's databases that belong to this pair."""
        every = instance.databases.values()
        return tuple(d for d in every if d.mirror is not None and d.mirror.pair == self.name)


def home_of(instance: str, database: Database) -> str:
    """Return the instance or pair after which a database's topics are named."""
    return instance if database.mirror is None else database.mirror.pair


def hosts_of(topology: Topology, home: str) -> tuple[str, ...]:
    """Return the instances of ``home``: the instance, or a pair's partners, principal first."""
    if home in topology.instances:
        return (home,)
    pair = pairs_of(topology).get(home)
    if pair is None:
        return ()
    first = principal_of(topology, home)
    return tuple(i.name for i in sorted(pair.partners, key=lambda i: i is not first))


def pair_names(topology: Topology) -> frozenset[str]:
    """Return the names of all pairs, whether or not they are valid."""
    every = (d.mirror for i in topology.instances.values() for d in i.databases.values())
    return frozenset(m.pair for m in every if m is not None)


def principal_of(topology: Topology, pair: str) -> Instance | None:
    """Return the principal of a pair (its name is case-insensitive), or ``None``."""
    for instance in topology.instances.values():
        mirrors = (d.mirror for d in instance.databases.values() if d.mirror is not None)
        if any(m.role is Role.PRINCIPAL and m.pair.casefold() == pair.casefold() for m in mirrors):
            return instance
    return None


def homes_of(topology: Topology) -> dict[str, str]:
    """Return the homes, each with the instance that serves it."""
    homes = {name: name for name in topology.instances}
    for pair in sorted(pair_names(topology)):
        principal = principal_of(topology, pair)
        if principal is not None:
            homes.setdefault(pair, principal.name)
    return homes


def pairs_of(topology: Topology) -> dict[str, MirroredPair]:
    """Return all pairs by name; raise UsageError if partners contradict each other."""
    partners: dict[str, dict[str, Instance]] = {}
    for instance in topology.instances.values():
        for database in instance.databases.values():
            if database.mirror is not None:
                partners.setdefault(database.mirror.pair, {})[instance.name] = instance
    found = {name: MirroredPair(name, tuple(of.values())) for name, of in partners.items()}
    for pair in found.values():
        _demand_one(pair, topology)
    return found


def _demand_one(pair: MirroredPair, topology: Topology) -> None:
    if pair.name in topology.instances:
        raise UsageError(
            f"The pair {pair.name} has the name of an instance, and topics are named after both.",
            "Give the pair another name.",
        )
    first = pair.partners[0]
    for other in pair.partners[1:]:
        if (other.cluster, other.partitions) != (first.cluster, first.partitions):
            raise UsageError(
                f"{first.name} and {other.name} are partners of the pair {pair.name}, which share "
                "its topics, but differ in their cluster or their number of "
                "partitions.",
                "Set both to the same values.",
            )
        mine, theirs = pair.counts_at(first), pair.counts_at(other)
        differs = sorted(q for q in mine.keys() & theirs.keys() if mine[q] != theirs[q])
        if differs:
            raise UsageError(
                f"The queue {'/'.join(differs[0])} of the pair {pair.name} has "
                f"{counted(mine[differs[0]], 'partition')} at {first.name} and "
                f"{theirs[differs[0]]} at {other.name}, but the pair has one topic for it.",
                "Set both to the same number.",
            )
