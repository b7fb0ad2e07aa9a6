"""Apply DROP of database objects. The engine refuses to drop an object that another one uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from streams.errors import Number
from streams.prose import listed
from streams.topology.objects import Service
from streams.topology.procedures import Procedure
from streams.topology.tsql.apply_code import notification_name
from streams.topology.tsql.draft import DatabaseDraft, Sysnames
from streams.topology.tsql.modules import schema_name
from streams.topology.tsql.script import Script
from streams.topology.tsql.statements import DropObject, Statement


def _drop(script: Script, s: DropObject) -> None:
    row = _DROPPED[s.what]
    for name in s.names:
        if row.in_schema:
            database, found = script.database_of(name, s.source), schema_name(name[-2:])
        else:
            database, found = script.database(s.source), name[-1]
            if not script.one_part(name, s.what, database, s.source):
                continue
        old = row.find(database, found)
        if old is None and s.if_exists:
            script.effect = False
        elif old is None:
            script.no_such(s.what, name[-1], database, s.source)
        else:
            users = tuple(_users(database, s.what, found))
            # If the effect of a statement is unknown, that statement may have dropped the users.
            if users and script.instance.complete:
                what = f"{s.what} {found} is in use by {listed(users)}"
                remedy = "The statement has no effect; first drop or alter what uses the object."
                script.warn(database, s.source, what, remedy, Number.OBJECT_IN_USE)
            else:
                row.remove(database, old)


def _users(database: DatabaseDraft, what: str, name: str) -> Iterator[str]:
    """Yield the objects that use an object, as listed on the page of its DROP statement."""
    used = name.casefold() if what == "queue" else name
    for kind, objects in (
        ("contract", database.contracts),
        ("service", database.services),
        ("broker priority", database.priorities),
    ):
        yield from (f"{kind} {user}" for user in objects.users(what, used))


@dataclass(frozen=True, slots=True)
class _Dropped:
    """The functions that find and remove one kind of object."""

    find: Callable[[DatabaseDraft, str], Any]
    remove: Callable[[DatabaseDraft, Any], None]
    in_schema: bool = False


def _kept_in(field: str, *, in_schema: bool = False) -> _Dropped:
    """Return the functions for the objects in a field of the draft."""

    def find(database: DatabaseDraft, name: str) -> Any:
        objects = getattr(database, field)
        return objects.find(name) if isinstance(objects, Sysnames) else objects.get(name)

    def remove(database: DatabaseDraft, old: Any) -> None:
        del getattr(database, field)[old.name]

    return _Dropped(find, remove, in_schema)


def _find_service(database: DatabaseDraft, name: str) -> Service | None:
    return database.services.get(name)


def _find_notification(database: DatabaseDraft, name: str) -> Procedure | None:
    return database.procedures.find(notification_name(name))


def _remove_procedure(database: DatabaseDraft, old: Procedure) -> None:
    del database.procedures[old.name]


def _find_schema(database: DatabaseDraft, name: str) -> str | None:
    return next((key for key in database.schemas if key.casefold() == name.casefold()), None)


def _remove_schema(database: DatabaseDraft, name: str) -> None:
    del database.schemas[name]


_DROPPED: Mapping[str, _Dropped] = {
    "route": _Dropped(DatabaseDraft.route, DatabaseDraft.drop_route),
    "message type": _kept_in("message_types"),
    "contract": _kept_in("contracts"),
    "queue": _kept_in("queues", in_schema=True),
    "service": _Dropped(_find_service, DatabaseDraft.drop_service),
    "broker priority": _kept_in("priorities"),
    "certificate": _kept_in("certificates"),
    "remote service binding": _kept_in("bindings"),
    "event notification": _Dropped(_find_notification, _remove_procedure),
    "procedure": _kept_in("procedures", in_schema=True),
    "xml schema collection": _Dropped(_find_schema, _remove_schema, in_schema=True),
}
"""The kinds of objects that DROP removes, by keywords."""

DROP_HANDLERS: Mapping[type[Statement], Callable[[Script, Any], None]] = {DropObject: _drop}
