"""Fail over a mirrored pair, for ``hopline failover`` and the simulator."""

from __future__ import annotations

from dataclasses import replace

from streams.errors import UsageError
from streams.topology.model import Topology
from streams.topology.objects import Database, Role


def failover(topology: Topology, pair: str, to: str) -> Topology:
    """Make an instance the principal of a pair, with a higher epoch; move listeners to it.

    Raises UsageError if the instance has no database of the pair.
    """
    target = topology.instance(to)
    if target is None or not any(_is_of(d, pair) for d in target.databases.values()):
        raise UsageError(
            f"{to} has no database of the pair {pair}.",
            f"Instances of the pair: {', '.join(_members(topology, pair)) or 'none'}.",
        )
    every = (d.mirror for i in topology.instances.values() for d in i.databases.values())
    newest = max(m.epoch for m in every if m is not None and m.pair == pair)

    def moved(database: Database, instance: str) -> Database:
        if database.mirror is None or database.mirror.pair != pair:
            return database
        role = Role.PRINCIPAL if instance == target.name else Role.MIRROR
        return replace(database, mirror=replace(database.mirror, role=role, epoch=newest + 1))

    return replace(
        topology,
        instances={
            name: replace(i, databases={k: moved(d, name) for k, d in i.databases.items()})
            for name, i in topology.instances.items()
        },
    )


def _is_of(database: Database, pair: str) -> bool:
    return database.mirror is not None and database.mirror.pair == pair


def _members(topology: Topology, pair: str) -> list[str]:
    instances = topology.instances.values()
    return sorted(i.name for i in instances if any(_is_of(d, pair) for d in i.databases.values()))
