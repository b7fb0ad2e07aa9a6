"""Collect the names and ids of an estate, to detect misspelt and outdated ones."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from streams.analysis.estate import Estate
from streams.routing import broker_key
from streams.topology import Database, Instance, Source, default_broker_id


@dataclass(frozen=True, slots=True)
class Home:
    """A database of an instance."""

    instance: Instance
    database: Database

    def __str__(self) -> str:
        return f"{self.instance.name}/{self.database.name}"

    @property
    def source(self) -> Source:
        """Return the place of the database, or else the place of the instance."""
        own = self.database.source
        return own if own.file else self.instance.source


@dataclass(frozen=True, slots=True)
class Known:
    """The places of all services, the folded form of all names, and all broker ids."""

    services: Mapping[str, tuple[Home, ...]]
    alike: Mapping[str, str]
    brokers: Mapping[str, tuple[Home, ...]]

    def meant(self, service: str) -> str | None:
        """Return the deployed service, if any, whose name differs from this name only in form."""
        return None if service in self.services else self.alike.get(folded(service))


def folded(name: str) -> str:
    """Return the common form of names that differ in case, blanks or Unicode form (1.2)."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def known(estate: Estate) -> Known:
    """Return the names of an estate, which are collected only once."""
    return estate.once(_collect)


def id_unstated(instance: Instance, database: Database) -> bool:
    """Return whether a database's broker id is unknown, because scripts do not contain it."""
    from_script = database.source.file.lower().endswith(".sql")
    return from_script and database.broker_id == default_broker_id(instance.name, database.name)


def _collect(estate: Estate) -> Known:
    services: dict[str, list[Home]] = {}
    brokers: dict[str, list[Home]] = {}
    for instance in estate.topology.instances.values():
        for database in (*instance.databases.values(), instance.msdb):
            home = Home(instance, database)
            brokers.setdefault(broker_key(database.broker_id), []).append(home)
            for name in database.services:
                services.setdefault(name, []).append(home)
    return Known(
        {name: tuple(homes) for name, homes in services.items()},
        {folded(name): name for name in services},
        {key: tuple(homes) for key, homes in brokers.items()},
    )
