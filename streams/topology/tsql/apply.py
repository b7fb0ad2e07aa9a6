"""Apply statements. Statements that the engine would reject become findings instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from streams.errors import InputError
from streams.topology.findings import Severity, Skipped, Source
from streams.topology.tsql.apply_code import CODE_HANDLERS
from streams.topology.tsql.apply_drop import DROP_HANDLERS
from streams.topology.tsql.apply_objects import OBJECT_HANDLERS
from streams.topology.tsql.apply_routes import ROUTE_HANDLERS
from streams.topology.tsql.apply_security import SECURITY_HANDLERS
from streams.topology.tsql.apply_server import SERVER_HANDLERS
from streams.topology.tsql.draft import InstanceDraft, Notes
from streams.topology.tsql.evidence import Evidence
from streams.topology.tsql.lexer import Lexer
from streams.topology.tsql.script import Script
from streams.topology.tsql.sqlcmd import connected_server
from streams.topology.tsql.statements import Misread, Statement, Step
from streams.topology.tsql.tokens import Reading
from streams.topology.tsql.walk import statements
from streams.topology.validate import NOT_UNDERSTOOD, ddl_finding

_HANDLERS: Mapping[type[Statement], Callable[[Script, Any], None]] = {
    **SERVER_HANDLERS,
    **ROUTE_HANDLERS,
    **OBJECT_HANDLERS,
    **DROP_HANDLERS,
    **SECURITY_HANDLERS,
    **CODE_HANDLERS,
}


@dataclass(frozen=True, slots=True)
class ScriptText:
    """A script and its file; ``variables`` are set at its start, like those of ``sqlcmd -v``."""

    text: str
    file: str
    variables: Mapping[str, str] = field(default_factory=dict)


def apply_script(
    instance: InstanceDraft,
    database: str | None,
    given: ScriptText,
    now: float,
    notes: Notes,
    reading: Reading = Reading.STRICT,
) -> None:
    """Apply a script to an instance, starting in ``database``; LIFETIMEs start at ``now``.

    Strict reading raises InputError if a supported statement is invalid or no database is selected;
    as-found reading notes the error instead.
    """
    script = Script(instance, database, given.file, now, notes)
    lexer = Lexer(given.text, given.file, reading, variables=given.variables)
    before = len(notes.skipped)
    for item in statements(lexer):
        match item:
            case Skipped():
                _leave_out(script, item)
                _connect(script, item)
            case Misread():
                _misread(script, item)
            case Step():
                _apply(script, item, reading)
    name = instance.base.name
    notes.skipped[before:] = [replace(one, instance=name) for one in notes.skipped[before:]]
    notes.remarks.extend(lexer.remarks.values())


def _leave_out(script: Script, item: Skipped) -> None:
    script.instance.leave_out(item)
    script.notes.skipped.append(item)


def _connect(script: Script, item: Skipped) -> None:
    """Report the first ``:connect`` to another server than the one before it."""
    server = connected_server(item.kind)
    first = script.server
    if not server or script.server_differs:
        return
    script.server = first or server
    if server.casefold() != script.server.casefold():
        script.server_differs = True
        name = script.instance.base.name
        finding = ddl_finding(
            f"the script runs on {first} and on {server}, but is read as a script of {name}",
            "Split the script, and import each part under the NAME of its server.",
            name, Source(item.file, item.line, item.column), severity=Severity.WARNING,
        )  # fmt: skip
        script.notes.findings.append(finding)


def _misread(script: Script, item: Misread) -> None:
    script.instance.complete = False
    database = script.selected(item.source)
    finding = ddl_finding(
        f"{NOT_UNDERSTOOD}: {item.message}", item.remedy, script.subject(database), item.source,
        severity=Severity.WARNING,
    )  # fmt: skip
    script.notes.findings.append(finding)


def _apply(script: Script, step: Step, reading: Reading) -> None:
    script.guarded, script.effect = step.guarded, True
    statement = step.statement
    try:
        _HANDLERS[type(statement)](script, statement)
    except InputError as error:
        if reading is Reading.STRICT:
            raise
        at = statement.source
        _leave_out(script, Skipped(step.kind, at.file, at.line, at.column, error.message))
        return
    if step.kind:
        script.notes.understood[script.instance.base.name, step.kind] += 1
    if script.effect and not isinstance(statement, Evidence) and step.choice is not None:
        step.choice.take()
