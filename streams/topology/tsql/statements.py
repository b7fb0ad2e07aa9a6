"""Data classes for the supported statements, with their places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streams.topology.findings import Source
from streams.topology.objects import Sender, Validation
from streams.topology.procedures import BeginDialog, Procedure
from streams.topology.security import Securable

Name = tuple[str, ...]
"""A name with its prefixes; the last part is the name, and an empty prefix means the default."""


@dataclass(slots=True)
class Choice:
    """An IF that is not evaluated; ``effect``: its first branch had an effect.

    ``outer``: the IF whose first branch contains this one.
    """

    outer: Choice | None = None
    effect: bool = False

    def take(self) -> None:
        """Record an effect in the first branch, which is also one in all outer first branches."""
        choice: Choice | None = self
        while choice is not None and not choice.effect:
            choice.effect = True
            choice = choice.outer


@dataclass(frozen=True, slots=True)
class Statement:
    """A supported statement."""

    source: Source


@dataclass(frozen=True, slots=True)
class Step:
    """A statement to be applied: its kind, and its conditions.

    ``kind`` is empty for internal steps.
    """

    kind: str
    statement: Statement
    choice: Choice | None = None
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class Misread:
    """An invalid supported statement, or batch, in as-found reading."""

    source: Source
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Use(Statement):
    """USE: the current database from here on."""

    database: str


@dataclass(frozen=True, slots=True)
class CreateDatabase(Statement):
    """CREATE DATABASE with options of ALTER DATABASE; ``empty``: it is not attached or copied."""

    database: str
    options: tuple[str, ...] = ()
    empty: bool = True


@dataclass(frozen=True, slots=True)
class AlterDatabase(Statement):
    """ALTER DATABASE ... SET ENABLE_BROKER and similar, in order; ``None`` is CURRENT."""

    database: str | None
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DropDatabase(Statement):
    """DROP DATABASE."""

    databases: tuple[Name, ...]
    if_exists: bool


@dataclass(frozen=True, slots=True)
class RouteClauses:
    """The clauses of CREATE and ALTER ROUTE; ``None`` for missing clauses."""

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
    """ALTER ROUTE; missing clauses stay unchanged."""

    name: Name
    clauses: RouteClauses


@dataclass(frozen=True, slots=True)
class DropObject(Statement):
    """DROP of any database object; ``what`` are the statement's words, in lower case."""

    what: str
    names: tuple[Name, ...]
    if_exists: bool


@dataclass(frozen=True, slots=True)
class SetMessageType(Statement):
    """CREATE or ALTER MESSAGE TYPE; both define the validation completely."""

    name: Name
    create: bool
    validation: Validation
    schema: Name | None


@dataclass(frozen=True, slots=True)
class CreateSchema(Statement):
    """CREATE XML SCHEMA COLLECTION."""

    name: Name
    text: str


@dataclass(frozen=True, slots=True)
class CreateContract(Statement):
    """CREATE CONTRACT; ``repeated`` contains the message types that it names again."""

    name: Name
    messages: Mapping[str, Sender]
    repeated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SetQueue(Statement):
    """CREATE or ALTER QUEUE; ``changes`` contains the given fields of a queue."""

    name: Name
    create: bool
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CreateNotification(Statement):
    """CREATE EVENT NOTIFICATION; ``dialog``: the dialogs that the database begins for it."""

    name: str
    queue: Name | None
    events: tuple[str, ...]
    dialog: BeginDialog


@dataclass(frozen=True, slots=True)
class SetPriority(Statement):
    """CREATE or ALTER BROKER PRIORITY; ``changes`` contains the given fields."""

    name: Name
    create: bool
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CreateService(Statement):
    """CREATE SERVICE."""

    name: Name
    queue: Name
    contracts: tuple[str, ...]
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class AlterService(Statement):
    """ALTER SERVICE: another queue, and added or dropped contracts."""

    name: Name
    queue: Name | None
    added: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetEndpoint(Statement):
    """CREATE or ALTER ENDPOINT ... FOR SERVICE_BROKER; ``changes`` holds an endpoint's fields."""

    name: str
    create: bool
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DropEndpoint(Statement):
    """DROP ENDPOINT."""

    name: str


@dataclass(frozen=True, slots=True)
class SetBinding(Statement):
    """CREATE or ALTER REMOTE SERVICE BINDING; ``changes`` holds the fields that are given."""

    name: Name
    create: bool
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SetCertificate(Statement):
    """CREATE or ALTER CERTIFICATE; ``changes`` holds the fields that are given."""

    name: Name
    create: bool
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SetOwner(Statement):
    """ALTER AUTHORIZATION ON a service or a certificate; ``what`` is the kind, in lower case."""

    what: str
    name: str
    owner: str


@dataclass(frozen=True, slots=True)
class SetMasterKey(Statement):
    """CREATE or DROP MASTER KEY; ``exists``: whether the database has one afterwards."""

    exists: bool


@dataclass(frozen=True, slots=True)
class SetPermission(Statement):
    """GRANT, DENY or REVOKE of SEND on a service or CONNECT on an endpoint."""

    verb: str
    permission: str
    securable: Securable
    name: str
    principals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MisplaceModule(Statement):
    """A module that is not the first statement of its batch; ``what``: its first words."""

    what: str


@dataclass(frozen=True, slots=True)
class DefineModule(Statement):
    """CREATE or ALTER of a procedure, function, trigger or view, with its body's dialogs."""

    name: Name
    create: bool
    alter: bool
    body: Procedure
