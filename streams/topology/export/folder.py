"""Export a topology as a folder: a script per instance, and the rest as YAML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from streams.topology.export.explicit import explicit_database
from streams.topology.export.instance import SYSTEM, instance_script
from streams.topology.export.script import LeftOut, Script
from streams.topology.load import FILE
from streams.topology.model import Instance, Topology, bare_endpoint, empty_database
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
from streams.topology.security import Certificate, Grant
from streams.topology.yaml_file import write_document

_NAMED: Mapping[type, str] = {
    MessageType: "message_types",
    Contract: "contracts",
    Queue: "queues",
    Service: "services",
    Certificate: "certificates",
}
_LISTED: Mapping[type, str] = {Priority: "priorities", Binding: "bindings", Grant: "grants"}
"""The fields of a database by the class of their objects: mappings by name, and lists."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The texts of the files by name, and a list of what neither T-SQL nor YAML can express."""

    files: Mapping[str, str]
    lost: tuple[LeftOut, ...]


def export_folder(topology: Topology, now: float) -> Folder:
    """Return a folder that loads as this topology; LIFETIMEs are remaining times at ``now``."""
    names = _file_names(topology.instances)
    scripts = {name: instance_script(i, now) for name, i in topology.instances.items()}
    beside = replace(
        topology,
        instances={name: _beside(i, scripts[name]) for name, i in topology.instances.items()},
    )
    document = write_document(beside, {name: (file,) for name, file in names.items()})
    files = {FILE: document, **{names[name]: s.text for name, s in scripts.items()}}
    return Folder(files, tuple(left for s in scripts.values() for left in s.left if left.lost))


def _file_names(instances: Iterable[str]) -> dict[str, str]:
    """Return a portable file name for each instance."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in instances:
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip(".") or "instance"
        file, number = f"{stem}.sql", 2
        while file.casefold() in taken:
            file, number = f"{stem}_{number}.sql", number + 1
        taken.add(file.casefold())
        found[name] = file
    return found


def _beside(instance: Instance, script: Script) -> Instance:
    """Return an instance without the content of its script."""
    databases = {n: _remainder(instance, d, script) for n, d in instance.databases.items()}
    kept = {
        name: d
        for name, d in databases.items()
        if name.casefold() in SYSTEM or d != empty_database(instance.name, name)
    }
    return replace(
        instance,
        databases=kept,
        msdb=_remainder(instance, instance.msdb, script),
        endpoint=bare_endpoint(instance.endpoint),
        grants=tuple(_items(script, instance.name, Grant)),
    )


def _remainder(instance: Instance, database: Database, script: Script) -> Database:
    """Return a database as created, plus everything that the script leaves out."""
    subject = f"{instance.name}/{database.name}"
    created = empty_database(instance.name, database.name)
    # Consumer group and partitions are not clauses of CREATE QUEUE, which leaves them unchanged.
    declared = explicit_database(database).queues.values()
    kafkas = (q for q in declared if q.group is not None or q.partitions != 1)
    fields: dict[str, Any] = {
        field: {item.name: item for item in _items(script, subject, kind)}
        for kind, field in _NAMED.items()
    }
    fields["queues"] |= {q.name: q for q in kafkas}
    fields |= {field: tuple(_items(script, subject, kind)) for kind, field in _LISTED.items()}
    routes = (*created.routes, *_items(script, subject, Route))
    return replace(
        created,
        broker_id=database.broker_id,
        mirror=database.mirror,
        routes=routes,
        master_key=database.master_key,
        **fields,
    )


def _items(script: Script, subject: str, kind: type) -> list[Any]:
    return [x.item for x in script.left if x.subject == subject and isinstance(x.item, kind)]
