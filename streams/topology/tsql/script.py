"""What every statement needs to know of its script, and how it says that it has no effect."""

from __future__ import annotations

from typing import Any

from streams.errors import InputError, Number, text_of
from streams.topology.findings import Severity, Source
from streams.topology.tsql.draft import DatabaseDraft, InstanceDraft, Notes
from streams.topology.tsql.statements import Name
from streams.topology.validate import ddl_finding

SYSTEM_DATABASES = frozenset({"master", "model", "tempdb"})


class Script:
    """Where the script stands: its instance, its current database, and the time."""

    def __init__(
        self, instance: InstanceDraft, database: str | None, now: float, notes: Notes
    ) -> None:
        self.instance = instance
        self.current = database
        self.now = now
        self.notes = notes

    def database(self, source: Source) -> DatabaseDraft:
        """Return the current database: the selected one, or the only one that there is."""
        if self.current is not None:
            return self.instance.ensure(self.current, source)
        only = [
            d
            for d in self.instance.user_databases()
            if d.base.name.casefold() not in SYSTEM_DATABASES
        ]
        if len(only) == 1:
            return only[0]
        raise InputError(
            "no database is selected",
            file=source.file, line=source.line, column=source.column,
            remedy="Write USE database; before the first statement that needs one.",
        )  # fmt: skip

    def subject(self, database: DatabaseDraft) -> str:
        """Return what findings are about."""
        return f"{self.instance.base.name}/{database.base.name}"

    def warn(self, database: DatabaseDraft, source: Source, message: str, remedy: str) -> None:
        """Say that a statement has no effect, as in the engine."""
        finding = ddl_finding(
            message, remedy, self.subject(database), source, severity=Severity.WARNING
        )
        self.notes.findings.append(finding)

    def one_part(self, name: Name, what: str, database: DatabaseDraft, source: Source) -> bool:
        """Tell whether a name has no prefix; say so where it has one (V13)."""
        if len(name) == 1:
            return True
        number = int(Number.TOO_MANY_PREFIXES)
        message = f"{what} {'.'.join(name)}: the name has a prefix (V13: {number}, "
        self.notes.findings.append(
            ddl_finding(
                message + text_of(number) + ")", "Write the name alone, in brackets.",
                self.subject(database), source, rule="V13", number=number,
            )
        )  # fmt: skip
        return False

    def no_such(self, what: str, name: Name, database: DatabaseDraft, source: Source) -> None:
        """Say that the object that a statement changes is not there."""
        message = f"there is no {what} {name[-1]} in {self.subject(database)}"
        remedy = "The statement has no effect; check name and database."
        self.warn(database, source, message, remedy)

    def add(self, database: DatabaseDraft, objects: dict[str, Any], what: str, made: Any) -> None:
        """Add an object; a second one of its name has no effect, as in the engine."""
        old = objects.setdefault(made.name, made)
        if old is not made and old != made:
            message = f"{what} {made.name} exists already, created otherwise at {old.source}"
            remedy = "The statement has no effect; keep one of them."
            self.warn(database, made.source, message, remedy)
