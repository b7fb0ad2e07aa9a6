"""The statements that are understood, as values; each remembers where it begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streams.topology.findings import Source
from streams.topology.objects import Sender, Validation
from streams.topology.procedures import BeginDialog, Procedure
from streams.topology.security import Securable

Name = tuple[str, ...]
"""A name with its prefixes, the name itself last; an empty prefix stands for the default."""


@dataclass(slots=True)
class Choice:
    """An IF whose condition nobody evaluates; ``effect``: its first branch changed something."""

    effect: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """Anything understood."""

    source: Source


@dataclass(frozen=True, slots=True)
class Evidence(Statement):
    """What code does with dialogs: it changes nothing that is declared."""


@dataclass(frozen=True, slots=True)
class Step:
    """A statement on its way to be applied: its kind, and the conditions that it is under.

    ``kind`` is empty for what is no statement of the script.
    """

    kind: str
    statement: Statement
    choices: tuple[Choice, ...] = ()
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class Misread:
    """An understood statement, or a batch, that is wrong, in as-found reading."""

    source: Source
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Use(Statement):
    """USE: the database in which what follows happens."""

    database: str


@dataclass(frozen=True, slots=True)
class CreateDatabase(Statement):
    """CREATE DATABASE; files are of no interest, ``options`` are those of ALTER DATABASE."""

    database: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AlterDatabase(Statement):
    """ALTER DATABASE ... SET ENABLE_BROKER and its like, in order; ``None`` is CURRENT."""

    database: str | None
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DropDatabase(Statement):
    """DROP DATABASE."""

    databases: tuple[Name, ...]
    if_exists: bool


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
class DropObject(Statement):
    """DROP of anything that a database holds; ``what`` are the statement's words, in lower case."""

    what: str
    names: tuple[Name, ...]
    if_exists: bool


@dataclass(frozen=True, slots=True)
class SetMessageType(Statement):
    """CREATE or ALTER MESSAGE TYPE: each gives the whole validation."""

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
class CreateService(Statement):
    """CREATE SERVICE."""

    name: Name
    queue: Name
    contracts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AlterService(Statement):
    """ALTER SERVICE: another queue, contracts more and less."""

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
class CreateCertificate(Statement):
    """CREATE CERTIFICATE; ``fields`` holds what is given."""

    name: Name
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SetPermission(Statement):
    """GRANT, DENY or REVOKE of SEND on a service or CONNECT on an endpoint."""

    verb: str
    permission: str
    securable: Securable
    name: str
    principals: tuple[str, ...]


# --- What code does ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BeginsDialog(Evidence):
    """BEGIN DIALOG CONVERSATION."""

    dialog: BeginDialog


@dataclass(frozen=True, slots=True)
class EndsConversation(Evidence):
    """END CONVERSATION."""


@dataclass(frozen=True, slots=True)
class Receives(Evidence):
    """RECEIVE or GET CONVERSATION GROUP."""

    queue: Name


@dataclass(frozen=True, slots=True)
class Calls(Evidence):
    """EXECUTE of a procedure."""

    name: Name


@dataclass(frozen=True, slots=True)
class DefineModule(Statement):
    """CREATE or ALTER of a procedure, function, trigger or view, with what its body does."""

    name: Name
    create: bool
    alter: bool
    body: Procedure


@dataclass(frozen=True, slots=True)
class EnterText(Evidence):
    """Dynamic SQL begins, in another database where one is named; USE inside ends with it."""

    database: str | None


@dataclass(frozen=True, slots=True)
class LeaveText(Evidence):
    """Dynamic SQL ends."""
