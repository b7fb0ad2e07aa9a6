"""Record the uses of dialogs in code, as evidence; code declares no objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streams.topology.findings import Skipped
from streams.topology.tsql.script import NO_DATABASE, Script
from streams.topology.tsql.statements import (
    BeginsDialog,
    Calls,
    DefineModule,
    EndsConversation,
    EnterText,
    Evidence,
    LeaveText,
    Receives,
    Statement,
)


def _loose(script: Script, s: Evidence) -> None:
    """Keep the uses of dialogs that are outside of procedures, under the script's name."""
    body = script.body(s.source)
    if body is None:
        _nowhere(script, s, "code")
    else:
        body.add(s)


def _call(script: Script, s: Calls) -> None:
    # A call concerns dialogs only in a database that has dialogs.
    body = script.body(s.source)
    if body is not None:
        body.add(s)


def _nowhere(script: Script, s: Statement, kind: str) -> None:
    at = s.source
    script.notes.skipped.append(Skipped(kind, at.file, at.line, at.column, NO_DATABASE))


def _define(script: Script, s: DefineModule) -> None:
    database = script.selected(s.source)
    if database is None:
        _nowhere(script, s, "CREATE PROCEDURE")
        return
    old = database.procedures.find(s.body.name)
    if old is not None and s.alter:
        database.procedures[old.name] = s.body
    elif old is None and not s.create:
        script.no_such("procedure", s.name[-1], database, s.source)
    else:
        script.add(database, database.procedures, "procedure", s.body)


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
    DefineModule: _define,
    EnterText: _enter,
    LeaveText: _leave,
}
