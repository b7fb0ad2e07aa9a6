"""Procedures, functions, triggers and views, which have a head and a body of code."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace

from streams.topology.findings import Source
from streams.topology.objects import queue_name
from streams.topology.procedures import BeginDialog, Procedure
from streams.topology.tsql.boundaries import batch_ends, nesting
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.evidence import (
    BeginsDialog,
    Calls,
    EndsConversation,
    Evidence,
    Receives,
    Sends,
)
from streams.topology.tsql.statements import DefineModule, Name

_KINDS = {
    "PROC": "PROCEDURE", "PROCEDURE": "PROCEDURE", "FUNCTION": "FUNCTION", "TRIGGER": "TRIGGER",
    "VIEW": "VIEW",
}  # fmt: skip


def schema_name(name: Name) -> str:
    """Return the stored name of a schema-owned object; a three-part name keeps its database."""
    schema = name[-2] if len(name) > 1 and name[-2] else "dbo"
    local = queue_name(schema, name[-1])
    return ".".join([*(part for part in name[:-2] if part), local]) if len(name) > 2 else local


@dataclass(slots=True)
class Body:
    """The uses of dialogs in code, in order."""

    begins: list[BeginDialog] = field(default_factory=list)
    ends: list[EndsConversation] = field(default_factory=list)
    receives: dict[str, None] = field(default_factory=dict)
    calls: dict[str, None] = field(default_factory=dict)
    external: bool = False
    _places: dict[Source, int] = field(default_factory=dict)
    _over: set[int] = field(default_factory=set)

    def add(self, evidence: Evidence) -> None:
        """Add one statement."""
        match evidence:
            case BeginsDialog():
                self._places[evidence.source] = len(self.begins)
                self.begins.append(evidence.dialog)
            case Sends(kind=str(kind)):
                for at in self._begun(evidence.dialogs):
                    sends = dict.fromkeys((*self.begins[at].sends, kind))
                    self.begins[at] = replace(self.begins[at], sends=tuple(sends))
            case EndsConversation():
                self.ends.append(evidence)
                for at in self._begun(evidence.after_send):
                    self.begins[at] = replace(self.begins[at], ends_after_send=True)
            case Receives():
                self.receives[schema_name(evidence.queue)] = None
            case Calls():
                self.calls[schema_name(evidence.name)] = None

    def _begun(self, places: Iterable[Source]) -> Iterator[int]:
        """Yield the dialogs that begin at these places; USE may have left their database."""
        yield from (self._places[place] for place in places if place in self._places)

    def drop_service(self, service: str) -> None:
        """Record that the dialogs begun so far from a service end, because it is dropped."""
        self._over.update(at for at, dialog in enumerate(self.begins) if dialog.service == service)

    def build(
        self,
        name: str,
        source: Source,
        services: Container[str] = (),
        *,
        system_types: bool = True,
    ) -> Procedure:
        """Return all the code as a procedure with this name.

        ``services``: dialogs from these begin again with the next run of the code, even if they
        are over.
        """
        begins = tuple(
            dialog for at, dialog in enumerate(self.begins)
            if at not in self._over or dialog.service in services
        )  # fmt: skip
        return Procedure(
            name, begins, tuple(end.source for end in self.ends),
            tuple(self.receives), tuple(self.calls),
            () if system_types else tuple(end.compared for end in self.ends),
            external=self.external, source=source,
        )  # fmt: skip


@dataclass(slots=True)
class Module:
    """A module whose body is being read."""

    kind: str
    name: Name
    create: bool
    alter: bool
    source: Source
    body: Body = field(default_factory=Body)

    def define(self, *, system_types: bool) -> DefineModule:
        """Return the module as one statement.

        ``system_types``: its code names the message types EndDialog or Error, or may do so.
        """
        name = schema_name(self.name)
        made = self.body.build(name, self.source, system_types=system_types)
        return DefineModule(self.source, self.name, self.create, self.alter, made)


def module_begins(cursor: Cursor) -> bool:
    """Return whether the rest of the batch is a module."""
    if cursor.token.upper not in ("CREATE", "ALTER"):
        return False
    behind = 3 if cursor.is_words("CREATE", "OR", "ALTER") else 1
    return cursor.peek(behind).upper in _KINDS


def must_be_first(cursor: Cursor) -> str:
    """Return the first words of a module that must be the first statement of its batch, or "".

    A view may be a part of CREATE SCHEMA. GRANT CREATE PROCEDURE creates none.
    """
    before = cursor.tokens[cursor.at - 1] if cursor.at else None
    if not module_begins(cursor) or before is None:
        return ""
    if before.is_mark(",") or before.upper in ("DENY", "GRANT", "REVOKE"):
        return ""
    behind = 3 if cursor.is_words("CREATE", "OR", "ALTER") else 1
    kind = _KINDS[cursor.peek(behind).upper]
    return "" if kind == "VIEW" else f"{cursor.token.upper} {kind}"


def module_head(cursor: Cursor) -> Module:
    """Read a module's head up to its body; parameters, columns and options are ignored."""
    source = cursor.source()
    either = cursor.accept("CREATE", "OR", "ALTER")
    create = either or cursor.token.upper == "CREATE"
    if not either:
        cursor.next()
    kind = _KINDS[cursor.next().upper]
    cursor.syntax = f"CREATE {kind} name ... AS ..."
    name = cursor.dotted(f"the {kind.lower()}'s name")
    _body(cursor)
    return Module(kind, name, create, either or not create, source)


def _body(cursor: Cursor) -> None:
    """Move past the AS before the body; without an AS, the body begins here."""
    start, depth = cursor.at, 0
    before = ""
    while not batch_ends(cursor):
        word = cursor.token.upper
        if depth == 0 and word == "AS" and not _is_part(before):
            cursor.next()
            return
        depth += nesting(cursor)
        before = word
        cursor.next()
    cursor.at = start


def _is_part(before: str) -> bool:
    """Return whether AS belongs to EXECUTE AS, or to a parameter and its type."""
    return before in ("EXECUTE", "EXEC") or before.startswith("@")
