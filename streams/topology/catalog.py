"""A topology as objects of the ``catalog`` topic: ``instance/database/kind/name`` > plain values.

Each part of a key is percent-escaped, so names may contain any character. Keys of the instance
itself, and of ingress topics (``ingress``), have an empty database part. Clusters, and neighbours
(instances of other clusters), also have an empty instance part. Expectations (``expect``) are not
objects, because they check the whole topology; they stay in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

from streams.topology.model import (
    MSDB,
    Cluster,
    Ingress,
    Instance,
    Neighbour,
    Topology,
    empty_database,
)
from streams.topology.objects import (
    Binding,
    Contract,
    Database,
    MessageType,
    Priority,
    Queue,
    Route,
    Service,
)
from streams.topology.records import decode, encode

_IN_DATABASE: Mapping[str, tuple[str, type[Any]]] = {
    "message_type": ("message_types", MessageType),
    "contract": ("contracts", Contract),
    "queue": ("queues", Queue),
    "service": ("services", Service),
    "route": ("routes", Route),
    "priority": ("priorities", Priority),
    "binding": ("bindings", Binding),
}
"""The field of Database and the class of each kind. Lists keep their order by ``position``."""
_ORDERED = frozenset({"route", "priority", "binding"})
_MOST_PARTITIONS = 1 << 16
"""Far more partitions than any topic has in practice; a topic needs at least one."""
_MOST_ERRORS = 1 << 31
_LEVELS = range(1, 11)
_ANALYSED_ONLY = frozenset({"certificates", "grants", "procedures", "master_key", "owner"})
"""Fields that only ``check`` reads; no worker needs them.

These fields may be large, so the catalog does not contain them.
"""
_DATABASE_FIELDS = _ANALYSED_ONLY.union(name for name, _ in _IN_DATABASE.values())
_INSTANCE_FIELDS = frozenset({"databases", "msdb", "grants"})


def catalog_key(instance: str, database: str, kind: str, name: str) -> str:
    """Return the key of an object."""
    return "/".join(quote(part, safe="") for part in (instance, database, kind, name))


def split_key(key: str) -> tuple[str, str, str, str]:
    """Split a key into instance, database, kind and name."""
    instance, database, kind, name = (unquote(part) for part in key.split("/"))
    return instance, database, kind, name


def flatten(topology: Topology) -> dict[str, dict[str, Any]]:
    """Return every object by its key; :func:`unflatten` is the inverse, without ``expect``."""
    found: dict[str, dict[str, Any]] = {}
    for cluster in topology.clusters.values():
        found[catalog_key("", "", "cluster", cluster.name)] = encode(cluster)
    for neighbour in topology.neighbours.values():
        found[catalog_key("", "", "neighbour", neighbour.name)] = encode(neighbour)
    for each in topology.ingress:
        found[catalog_key(each.gateway, "", "ingress", each.cluster)] = encode(each)
    for instance in topology.instances.values():
        key = catalog_key(instance.name, "", "instance", instance.name)
        found[key] = encode(instance, _INSTANCE_FIELDS)
        for database in (instance.msdb, *instance.databases.values()):
            found.update(_flatten_database(instance.name, database))
    return found


def _flatten_database(instance: str, database: Database) -> dict[str, dict[str, Any]]:
    key = catalog_key(instance, database.name, "database", database.name)
    found = {key: encode(database, _DATABASE_FIELDS)}
    for kind, (field, _) in _IN_DATABASE.items():
        held = getattr(database, field)
        if kind not in _ORDERED:
            for item in held.values():
                key = catalog_key(instance, database.name, kind, item.name)
                found[key] = encode(item, _ANALYSED_ONLY)
            continue
        for position, item in enumerate(held):
            key = catalog_key(instance, database.name, kind, item.name)
            if key in found:  # YAML may have two routes with the same name (C-06)
                key = f"{key}+{position}"
            found[key] = {**encode(item), "position": position}
    return found


def unflatten(objects: Mapping[str, Mapping[str, Any]]) -> Topology:
    """Return the topology of a catalog's live objects; other keys and kinds are ignored."""
    instances: dict[str, Mapping[str, Any]] = {}
    databases: dict[str, dict[str, Mapping[str, Any]]] = {}
    inside: dict[tuple[str, str], dict[str, list[Mapping[str, Any]]]] = {}
    clusters: dict[str, Cluster] = {}
    neighbours: dict[str, Neighbour] = {}
    ingress: list[Ingress] = []
    for key, value in objects.items():
        if key.count("/") != 3:
            continue
        instance, database, kind, name = split_key(key)
        if kind == "cluster":
            clusters[name] = decode(Cluster, value)
        elif kind == "neighbour":
            neighbours[name] = decode(Neighbour, value)
        elif kind == "ingress":
            ingress.append(decode(Ingress, value))
        elif kind == "instance":
            instances[instance] = value
        elif kind == "database":
            databases.setdefault(instance, {})[database] = value
        elif kind in _IN_DATABASE:
            inside.setdefault((instance, database), {}).setdefault(kind, []).append(value)
    return Topology(
        {
            name: _instance(
                name,
                value,
                [
                    _database(row, inside.get((name, database), {}))
                    for database, row in databases.get(name, {}).items()
                ],
            )
            for name, value in instances.items()
        },
        clusters,
        neighbours=neighbours,
        ingress=tuple(sorted(ingress, key=lambda each: (each.gateway, each.cluster))),
    )


def _instance(name: str, value: Mapping[str, Any], databases: Iterable[Database]) -> Instance:
    held = {d.name: d for d in databases}
    msdb = held.pop(MSDB, None) or empty_database(name, MSDB)
    # The field without a default is replaced immediately afterwards.
    blank = decode(Instance, {**value, "msdb": encode(msdb)})
    if blank.name != name:
        raise ValueError(f"the record of {name} is about {blank.name}")
    _demand_partitions(blank)
    return replace(blank, msdb=msdb, databases=held)


def _demand_partitions(of: Instance | Queue) -> None:
    if not 0 < of.partitions <= _MOST_PARTITIONS:
        raise ValueError(f"{of.name}: {of.partitions} partitions")


def _database(value: Mapping[str, Any], inside: Mapping[str, list[Mapping[str, Any]]]) -> Database:
    held: dict[str, Any] = {}
    for kind, rows in inside.items():
        field, cls = _IN_DATABASE[kind]
        if kind in _ORDERED:
            rows = sorted(rows, key=lambda row: int(row["position"]))
            held[field] = tuple(decode(cls, row) for row in rows)
        else:
            held[field] = {item.name: item for item in (decode(cls, row) for row in rows)}
    for queue in held.get("queues", {}).values():
        _demand_partitions(queue)
    own = {name: item for name, item in value.items() if name not in _DATABASE_FIELDS}
    found = replace(decode(Database, own), **held)
    _demand_limits(found)
    return found


def _demand_limits(database: Database) -> None:
    """Raise ValueError for numbers that do not fit into the state of a dialog."""
    if not 0 <= database.error_epoch < _MOST_ERRORS:
        raise ValueError(f"{database.name}: error epoch {database.error_epoch}")
    for priority in database.priorities:
        if priority.level not in _LEVELS:
            raise ValueError(f"{priority.name}: priority level {priority.level}")
