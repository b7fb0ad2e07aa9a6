"""The instances and databases of a query, and common readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from streams.analysis import find_at
from streams.kafka import Cluster
from streams.topology import Database, Instance, Topology

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """An instance with the queried databases."""

    instance: Instance
    databases: tuple[Database, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """The sources of a view; ``now`` is in epoch milliseconds."""

    cluster: Cluster
    topology: Topology
    places: tuple[Place, ...]
    now: int

    def databases(self) -> Iterator[tuple[Instance, Database]]:
        """Yield every queried database, msdb last."""
        for place in self.places:
            for database in place.databases:
                yield place.instance, database


@dataclass(frozen=True, slots=True)
class View:
    """A system view: all its columns, the most useful columns in ``shown``, and its rows.

    Without ``databases`` the view covers an instance as a whole.
    """

    columns: tuple[str, ...]
    shown: tuple[str, ...]
    rows: Callable[[Asked], Iterator[Row]]
    databases: bool = True


def places_of(topology: Topology, at: str | None) -> tuple[Place, ...]:
    """Return the places of ``INSTANCE[/DATABASE]`` (default: all); raise UsageError if unknown."""
    if at is None:
        return tuple(Place(i, _all(i)) for i in topology.instances.values())
    instance, database = find_at(topology, at)
    return (Place(instance, _all(instance) if database is None else (database,)),)


def _all(instance: Instance) -> tuple[Database, ...]:
    return (*instance.databases.values(), instance.msdb)


def words(text: str) -> tuple[str, ...]:
    """Split a string of column names without quotes into words."""
    return tuple(text.split())
