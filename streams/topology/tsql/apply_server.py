"""Apply statements about an instance: its databases, their options, and its endpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from streams.errors import Number
from streams.topology.model import Endpoint, EndpointState, bare_endpoint, renewed_broker_id
from streams.topology.objects import Database
from streams.topology.tsql.parse_server import HONOR_PRIORITY
from streams.topology.tsql.script import SYSTEM_DATABASES, Script
from streams.topology.tsql.statements import (
    AlterDatabase,
    CreateDatabase,
    DropDatabase,
    DropEndpoint,
    SetEndpoint,
    Statement,
    Use,
)


def _use(script: Script, s: Use) -> None:
    script.current = s.database
    # A system database gets an entry when an object is created in it.
    if s.database.casefold() not in SYSTEM_DATABASES:
        script.instance.ensure(s.database, s.source)


def _create_database(script: Script, s: CreateDatabase) -> None:
    exists = script.instance.database(s.database) is not None
    if exists:
        script.effect = False  # even if the database exists: USE and YAML also create databases
    database = script.instance.ensure(s.database, s.source)
    if s.empty and not exists and not script.guarded:
        database.base = replace(database.base, master_key=False)
    database.created = True
    for option in s.options:
        database.base = _OPTIONS[option](database.base)


def _drop_database(script: Script, s: DropDatabase) -> None:
    for name in s.databases:
        if not script.instance.drop(name[-1]) and not s.if_exists:
            script.no_such("database", name[-1], None, s.source)


def _alter_database(script: Script, s: AlterDatabase) -> None:
    if s.database is None:
        database = script.database(s.source)
    else:
        database = script.instance.ensure(s.database, s.source)
    for option in s.options:
        if option == "NEW_BROKER" and database.base.read_only:
            what = f"database {database.base.name} is read-only, so it keeps its broker id"
            remedy = "The statement has no effect; set the database READ_WRITE before."
            script.warn(database, s.source, what, remedy, Number.READ_ONLY_BROKER)
        else:
            database.base = _OPTIONS[option](database.base)


_OPTIONS: Mapping[str, Callable[[Database], Database]] = {
    "ENABLE_BROKER": lambda d: replace(d, enabled=True),
    "DISABLE_BROKER": lambda d: replace(d, enabled=False),
    "NEW_BROKER": lambda d: replace(d, enabled=True, broker_id=renewed_broker_id(d.broker_id)),
    "ERROR_BROKER_CONVERSATIONS": lambda d: replace(d, enabled=True, error_epoch=d.error_epoch + 1),
    "READ_ONLY": lambda d: replace(d, read_only=True),
    "READ_WRITE": lambda d: replace(d, read_only=False),
    "SINGLE_USER": lambda d: replace(d, single_user=True),
    "RESTRICTED_USER": lambda d: replace(d, single_user=False),
    "MULTI_USER": lambda d: replace(d, single_user=False),
    f"{HONOR_PRIORITY} ON": lambda d: replace(d, honor_priority=True),
    f"{HONOR_PRIORITY} OFF": lambda d: replace(d, honor_priority=False),
}
"""The effect of each option of ALTER DATABASE (reference 1.5, 4.12)."""


def _set_endpoint(script: Script, s: SetEndpoint) -> None:
    old = script.instance.base.endpoint
    if s.create:
        # CREATE ENDPOINT without STATE creates a stopped endpoint, as in the engine (reference
        # 1.1).
        blank = bare_endpoint(old, state=EndpointState.STOPPED, source=s.source)
        made = replace(blank, name=s.name, **s.changes)
        if _is_taken(script, old, made):
            return
    else:
        made = replace(old, name=s.name, source=s.source, **s.changes)
    script.instance.base = replace(script.instance.base, endpoint=made)


def _is_taken(script: Script, old: Endpoint, made: Endpoint) -> bool:
    """Return whether an endpoint already exists; an instance has only one (reference 1.1)."""
    if old.name is None:
        return False
    if old == made:
        script.effect = False
        return True
    message = f"endpoint {old.name} already exists, created at {old.source}"
    remedy = (
        "An instance has one endpoint FOR SERVICE_BROKER; use ALTER ENDPOINT, or keep only one."
    )
    script.warn(None, made.source, message, remedy)
    return True


def _drop_endpoint(script: Script, s: DropEndpoint) -> None:
    old = script.instance.base.endpoint
    if old.name is None or old.name.casefold() != s.name.casefold():
        script.no_such("endpoint FOR SERVICE_BROKER", s.name, None, s.source)
        return
    gone = bare_endpoint(old, state=EndpointState.STOPPED, source=s.source)
    script.instance.base = replace(script.instance.base, endpoint=gone)


SERVER_HANDLERS: Mapping[type[Statement], Callable[[Script, Any], None]] = {
    Use: _use,
    CreateDatabase: _create_database,
    AlterDatabase: _alter_database,
    DropDatabase: _drop_database,
    SetEndpoint: _set_endpoint,
    DropEndpoint: _drop_endpoint,
}
