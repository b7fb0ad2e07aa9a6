"""Record the uses of dialogs in code, as evidence; code declares no objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streams.errors import Number
from streams.topology.findings import Skipped
from streams.topology.procedures import Procedure
from streams.topology.tsql.evidence import (
    BeginsDialog,
    Calls,
    EndsConversation,
    EnterText,
    Evidence,
    LeaveText,
    Receives,
    Sends,
)
from streams.topology.tsql.modules import schema_name
from streams.topology.tsql.script import NO_DATABASE, Script
from streams.topology.tsql.statements import (
    CreateNotification,
    DefineModule,
    MisplaceModule,
    Statement,
)


def _loose(script: Script, s: Evidence) -> None:
    """Keep the uses of dialogs that are outside of procedures, under the script's name."""
    body = script.body(s.source)
    if body is None:
        _nowhere(script, s, "code")
    else:
        body.add(s)


def _call(script: Script, s: Calls | Sends) -> None:
    # A call or SEND concerns dialogs only in a database that has dialogs.
    body = script.body(s.source)
    if body is not None:
        body.add(s)


def _nowhere(script: Script, s: Statement, kind: str) -> None:
    at = s.source
    script.notes.skipped.append(Skipped(kind, at.file, at.line, at.column, NO_DATABASE))


def _define(script: Script, s: DefineModule) -> None:
    """Define a module; ALTER defines it too if it may have existed before the scripts."""
    database = script.selected(s.source)
    if database is None:
        _nowhere(script, s, "CREATE PROCEDURE")
        return
    old = database.procedures.find(s.body.name)
    if old is not None and s.alter:
        database.procedures[old.name] = s.body
    elif old is None and not s.create and database.created:
        script.no_such("procedure", s.name[-1], database, s.source)
    else:
        script.add(database, database.procedures, "procedure", s.body)


def _misplace(script: Script, s: MisplaceModule) -> None:
    """Report that SQL Server refuses a batch, whose statements are nevertheless applied."""
    what = f"{s.what} follows other statements, so SQL Server refuses the whole batch"
    database, number = script.selected(s.source), Number.NOT_FIRST_IN_BATCH
    script.refuse(database, s.source, what, "Write GO before the statement.", number)


def _notify(script: Script, s: CreateNotification) -> None:
    """Keep an event notification as code that begins dialogs; the engine ends these dialogs."""
    database = script.database(s.source)
    name = None if s.queue is None else schema_name(s.queue[-2:])
    queue = None if name is None else database.queue(name)
    starts_reader = name is not None and "QUEUE_ACTIVATION" in s.events
    if starts_reader and queue is not None and queue.activated is not None:
        what = f"queue {queue.name} activates {queue.activated}, so it cannot have {s.name}"
        remedy = "The statement has no effect; use one of the two kinds of activation."
        script.warn(database, s.source, what, remedy, Number.QUEUE_ACTIVATES)
        return
    receives = (name,) if name is not None and starts_reader else ()
    made = Procedure(notification_name(s.name), (s.dialog,), receives=receives, source=s.source)
    script.add(database, database.procedures, "the", made)


def notification_name(name: str) -> str:
    """Return the name under which the dialogs of an event notification are kept."""
    return f"event notification {name}"


def _enter(script: Script, s: EnterText) -> None:
    script.left.append(script.current)
    if s.database is not None:
        script.current = s.database


def _leave(script: Script, s: LeaveText) -> None:
    script.current = script.left.pop()


CODE_HANDLERS: Mapping[type[Statement], Callable[[Script, Any], None]] = {
    BeginsDialog: _loose,
    EndsConversation: _loose,
    Receives: _loose,
    Calls: _call,
    Sends: _call,
    DefineModule: _define,
    MisplaceModule: _misplace,
    CreateNotification: _notify,
    EnterText: _enter,
    LeaveText: _leave,
}
