"""The context of a statement in its script, and its warnings."""

from __future__ import annotations

from itertools import islice
from pathlib import PurePath
from typing import Any

from streams.errors import InputError, Number, text_of
from streams.topology.findings import Severity, Source
from streams.topology.tsql.draft import DatabaseDraft, InstanceDraft, Notes, Sysnames
from streams.topology.tsql.modules import Body
from streams.topology.tsql.statements import Name
from streams.topology.validate import ddl_finding

NO_DATABASE = "no database is selected"
SYSTEM_DATABASES = frozenset({"master", "model", "tempdb"})


class Script:
    """The state of the script: its instance, its current database, and the time.

    ``guarded``: the statement is under a condition, so a missing effect is not reported.
    ``effect``: whether the statement has had an effect. ``server``: that of the first
    ``:connect``; ``server_differs``: another one has followed.
    """

    def __init__(
        self, instance: InstanceDraft, database: str | None, file: str, now: float, notes: Notes
    ) -> None:
        self.instance = instance
        self.current = database
        self.name = PurePath(file).name
        self.now = now
        self.notes = notes
        self.guarded = False
        self.effect = True
        self.left: list[str | None] = []
        self.server = ""
        self.server_differs = False

    def selected(self, source: Source) -> DatabaseDraft | None:
        """Return the current database, if any: the selected or the only database."""
        if self.current is not None:
            return self.instance.ensure(self.current, source)
        users = (
            d
            for d in self.instance.user_databases()
            if d.base.name.casefold() not in SYSTEM_DATABASES
        )
        first_two = [*islice(users, 2)]
        return first_two[0] if len(first_two) == 1 else None

    def database(self, source: Source) -> DatabaseDraft:
        """Return the current database; raise InputError if no database is selected."""
        found = self.selected(source)
        if found is not None:
            return found
        raise InputError(
            NO_DATABASE,
            file=source.file, line=source.line, column=source.column,
            remedy="Add USE database; before the first statement that needs one.",
        )  # fmt: skip

    def database_of(self, name: Name, source: Source) -> DatabaseDraft:
        """Return the database that a three-part name states, or else the current database."""
        stated = name[0] if len(name) == 3 else ""
        return self.instance.ensure(stated, source) if stated else self.database(source)

    def body(self, source: Source) -> Body | None:
        """Return the body of the script's loose statements in the current database, if any."""
        database = self.selected(source)
        return None if database is None else database.body_of(self.name, source)

    def subject(self, database: DatabaseDraft | None) -> str:
        """Return the subject of findings."""
        name = self.instance.base.name
        return name if database is None else f"{name}/{database.base.name}"

    def warn(
        self,
        database: DatabaseDraft | None,
        source: Source,
        message: str,
        remedy: str,
        number: Number | None = None,
    ) -> None:
        """Report that a statement has no effect (as in the engine), unless it is conditional.

        ``number`` is the error with which the engine refuses it in the state that scripts show.
        """
        self.effect = False
        if not self.guarded:
            self._report(database, source, message, remedy, number, Severity.WARNING)

    def advise(self, database: DatabaseDraft, source: Source, message: str, remedy: str) -> None:
        """Report a statement that has an effect, but that the documentation advises against."""
        self._report(database, source, message, remedy, None, Severity.WARNING)

    def refuse(
        self,
        database: DatabaseDraft | None,
        source: Source,
        message: str,
        remedy: str,
        number: Number,
    ) -> None:
        """Report a statement that the engine refuses whatever the database contains."""
        self.effect = False
        self._report(database, source, message, remedy, number, Severity.ERROR)

    def _report(
        self,
        database: DatabaseDraft | None,
        source: Source,
        message: str,
        remedy: str,
        number: Number | None,
        severity: Severity,
    ) -> None:
        code = None if number is None else int(number)
        message = message if code is None else f"{message} ({code}, {text_of(code)})"
        subject = self.subject(database)
        finding = ddl_finding(message, remedy, subject, source, number=code, severity=severity)
        self.notes.findings.append(finding)

    def one_part(self, name: Name, what: str, database: DatabaseDraft, source: Source) -> bool:
        """Return whether a name has no prefix; report a prefix (V13)."""
        if len(name) == 1:
            return True
        self.effect = False
        number = int(Number.TOO_MANY_PREFIXES)
        message = f"{what} {'.'.join(name)}: the name has a prefix (V13: {number}, "
        self.notes.findings.append(
            ddl_finding(
                message + text_of(number) + ")", "Write the name without a prefix, in brackets.",
                self.subject(database), source, rule="V13", number=number,
            )
        )  # fmt: skip
        return False

    def no_such(self, what: str, name: str, database: DatabaseDraft | None, source: Source) -> None:
        """Report that the object to be changed does not exist."""
        message = f"there is no {what} {name} in {self.subject(database)}"
        remedy = "The statement has no effect; check name and database."
        self.warn(database, source, message, remedy)

    def add(self, database: DatabaseDraft, objects: dict[str, Any], what: str, made: Any) -> None:
        """Add an object; a second object with its name has no effect, as in the engine."""
        old = objects.find(made.name) if isinstance(objects, Sysnames) else objects.get(made.name)
        if old is None:
            objects[made.name] = made
        elif old != made:
            message = f"{what} {made.name} already exists, created differently at {old.source}"
            remedy = "The statement has no effect; keep only one of the two."
            self.warn(database, made.source, message, remedy)
        else:
            self.effect = False
