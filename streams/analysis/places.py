"""Resolve ``Instance/Database/Service``, with suggestions for unknown names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streams.errors import UsageError
from streams.prose import meant
from streams.topology import Database, Instance, Topology, pair_names, principal_of


@dataclass(frozen=True, slots=True)
class Place:
    """A database of an instance, and a service if given."""

    instance: Instance
    database: Database
    service: str

    def __str__(self) -> str:
        return f"{self.instance.name}/{self.database.name}/{self.service}"


def unknown(what: str, name: str, known: Iterable[str], where: str) -> UsageError:
    """Return the error for an unknown name, with the known names."""
    names = sorted(known)
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    there = f"{where} has: {shown}." if names else f"{where} has none."
    remedy = " ".join(filter(None, (meant(name, names), there)))
    return UsageError(f"There is no {what} '{name}'.", remedy)


def find_instance(topology: Topology, name: str) -> Instance:
    """Return an instance (for a mirrored pair, the principal), or raise UsageError."""
    found = topology.instance(name) or principal_of(topology, name)
    if found is None:
        raise unknown("instance", name, topology.instances, "The topology")
    return found


def find_database(instance: Instance, name: str) -> Database:
    """Return a database, which may be ``msdb``, or raise UsageError."""
    found = instance.database(name)
    if found is None:
        raise unknown("database", name, instance.databases, instance.name)
    return found


def find_at(topology: Topology, text: str) -> tuple[Instance, Database | None]:
    """Parse ``INSTANCE[/DATABASE]``."""
    name, rest = _instance_of(topology, text)
    instance = find_instance(topology, name)
    return instance, find_database(instance, rest) if rest is not None else None


def find_within(topology: Topology, text: str) -> tuple[Instance, Database | None, str | None]:
    """Parse ``INSTANCE[/DATABASE[/NAME]]``; the caller interprets the name."""
    name, rest = _instance_of(topology, text)
    instance = find_instance(topology, name)
    return (instance, None, None) if rest is None else (instance, *_database_of(instance, rest))


def find_sender(topology: Topology, text: str, to: str) -> Place:
    """Parse ``INSTANCE/DATABASE[/SERVICE]``; SERVICE is optional if only one is possible."""
    name, rest = _instance_of(topology, text)
    instance = find_instance(topology, name)
    if rest is None:
        raise UsageError(
            f"'{text}' does not name a database.",
            f"Write {instance.name}/DATABASE[/SERVICE]; it has: "
            f"{', '.join(sorted(instance.databases)) or 'none'}.",
        )
    database, service = _database_of(instance, rest)
    if service is None:
        return Place(instance, database, _only_service(instance, database, to))
    if service not in database.services:
        raise unknown("service", service, database.services, f"{instance.name}/{database.name}")
    return Place(instance, database, service)


def _only_service(instance: Instance, database: Database, to: str) -> str:
    names = sorted(database.services)
    if len(names) > 1 and to in names:  # a dialog of a service with itself is rarely intended
        names.remove(to)
    if len(names) == 1:
        return names[0]
    at = f"{instance.name}/{database.name}"
    if not names:
        raise UsageError(f"{at} has no service.", "Name a database from which a dialog can begin.")
    raise UsageError(
        f"{at} has {len(names)} services, but none is named.",
        f"Write one of: {', '.join(f'{at}/{name}' for name in names)}.",
    )


def _instance_of(topology: Topology, text: str) -> tuple[str, str | None]:
    """Split off the instance, whose name may contain a slash."""
    for name in sorted({*topology.instances, *pair_names(topology)}, key=len, reverse=True):
        if _begins(text, name):
            return name, text[len(name) + 1 :] if len(text) > len(name) else None
    name, slash, rest = text.partition("/")
    return name, rest if slash else None


def _database_of(instance: Instance, text: str) -> tuple[Database, str | None]:
    names = [*instance.databases, instance.msdb.name]
    for name in sorted(names, key=len, reverse=True):
        if _begins(text, name):
            service = text[len(name) + 1 :] if len(text) > len(name) else None
            return find_database(instance, name), service
    name, slash, service = text.partition("/")
    return find_database(instance, name), service if slash else None


def _begins(text: str, name: str) -> bool:
    return text.casefold() == name.casefold() or text.casefold().startswith(name.casefold() + "/")
