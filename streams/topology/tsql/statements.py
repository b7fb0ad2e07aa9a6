"""The statements that are understood, as values; each remembers where it begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streams.topology.findings import Source
from streams.topology.model import EndpointState
from streams.topology.objects import Sender, Validation

Name = tuple[str, ...]
"""A name with its prefixes, the name itself last."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Anything understood."""

    source: Source


@dataclass(frozen=True, slots=True)
class Use(Statement):
    """USE: the database in which what follows happens."""

    database: str


@dataclass(frozen=True, slots=True)
class CreateDatabase(Statement):
    """CREATE DATABASE; files and options are of no interest."""

    database: str


@dataclass(frozen=True, slots=True)
class AlterDatabase(Statement):
    """ALTER DATABASE ... SET ENABLE_BROKER and its like, in order; ``None`` is CURRENT."""

    database: str | None
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RouteClauses:
    """The clauses of CREATE and ALTER ROUTE; ``None`` where one is not given."""

    service: str | None = None
    broker: str | None = None
    lifetime: int | None = None
    address: str | None = None
    mirror: str | None = None


@dataclass(frozen=True, slots=True)
class CreateRoute(Statement):
    """CREATE ROUTE."""

    name: Name
    clauses: RouteClauses


@dataclass(frozen=True, slots=True)
class AlterRoute(Statement):
    """ALTER ROUTE: what is not given stays as it is."""

    name: Name
    clauses: RouteClauses


@dataclass(frozen=True, slots=True)
class DropRoute(Statement):
    """DROP ROUTE."""

    name: Name


@dataclass(frozen=True, slots=True)
class CreateMessageType(Statement):
    """CREATE MESSAGE TYPE."""

    name: Name
    validation: Validation
    schema: Name | None


@dataclass(frozen=True, slots=True)
class CreateSchema(Statement):
    """CREATE XML SCHEMA COLLECTION."""

    name: Name
    text: str


@dataclass(frozen=True, slots=True)
class CreateContract(Statement):
    """CREATE CONTRACT."""

    name: Name
    messages: Mapping[str, Sender]


@dataclass(frozen=True, slots=True)
class SetQueue(Statement):
    """CREATE or ALTER QUEUE; ``changes`` holds the fields of a queue that are given."""

    name: Name
    create: bool
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SetPriority(Statement):
    """CREATE or ALTER BROKER PRIORITY; ``changes`` holds the fields that are given."""

    name: Name
    create: bool
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DropPriority(Statement):
    """DROP BROKER PRIORITY."""

    name: Name


@dataclass(frozen=True, slots=True)
class CreateService(Statement):
    """CREATE SERVICE."""

    name: Name
    queue: Name
    contracts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetEndpoint(Statement):
    """CREATE or ALTER ENDPOINT ... FOR SERVICE_BROKER; ``None`` where nothing is said."""

    name: str
    create: bool
    state: EndpointState | None
    port: int | None
    forwarding: bool | None
    forward_size_mb: int | None
