"""Locate an endpoint by the recording, and by a topology if the recording is incomplete."""

from __future__ import annotations

from dataclasses import dataclass

from streams.errors import UsageError
from streams.topology import Topology


@dataclass(frozen=True, slots=True)
class Homes:
    """Find the instance and database of an endpoint; ``database`` is the default database."""

    topology: Topology | None = None
    database: str | None = None

    def __call__(
        self, instance: str | None, database: str | None, service: str | None
    ) -> tuple[str, str] | None:
        """Return instance and database, spelled as in the topology; ``None`` if unknown."""
        if instance is None:
            found = self.hosts(service) if service is not None else []
            return found[0] if len(found) == 1 else None
        known = self._instance(instance)
        hosting = [d for i, d in self.hosts(service) if i == known] if service else []
        only = hosting[0] if len(hosting) == 1 else None
        named = database or only or self.database
        return None if named is None else (known, self._database(known, named))

    def hosts(self, service: str | None) -> list[tuple[str, str]]:
        """Return every place of a service."""
        if self.topology is None:
            return []
        return [
            (instance.name, database.name)
            for instance in self.topology.instances.values()
            for database in instance.databases.values()
            if service in database.services
        ]

    def _instance(self, name: str) -> str:
        """Return an instance's name; traces have ``SERVER[\\INSTANCE]``, in upper or lower case."""
        if self.topology is None:
            return name
        host = name.partition("\\")[0]
        found = self.topology.instance(name) or self.topology.instance(host)
        return name if found is None else found.name

    def _database(self, instance: str, name: str) -> str:
        found = None if self.topology is None else self.topology.instances.get(instance)
        known = None if found is None else found.database(name)
        return name if known is None else known.name


def place_of(text: str, homes: Homes) -> tuple[str | None, str | None, str]:
    """Parse ``[INSTANCE/DATABASE/]SERVICE``; names of services may contain slashes.

    Raises UsageError if the topology does not have the service, or has it in several places.
    """
    parts = text.split("/", 2)
    found = homes.hosts(text)
    if not found and len(parts) == 3 and all(parts):
        return parts[0], parts[1], parts[2]
    if len(found) == 1:
        return *found[0], text
    if found:
        places = ", ".join(f"{instance}/{database}" for instance, database in found)
        raise UsageError(
            f"Service '{text}' is in several places: {places}.",
            f"Write --from-service {found[0][0]}/{found[0][1]}/{text}.",
        )
    if homes.topology is not None:
        raise UsageError(
            f"The topology has no service '{text}'.",
            "Give one of its services (see 'hopline flows TOPOLOGY'), or "
            "INSTANCE/DATABASE/SERVICE.",
        )
    return None, None, text
