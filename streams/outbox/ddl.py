"""The DDL of the tables in an application's own database, for its migrations."""

from __future__ import annotations

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable, DDLElement

from streams.outbox.inbox import METADATA as INBOX
from streams.outbox.table import METADATA as OUTBOX

_DIALECTS = {"postgresql": postgresql.dialect, "sqlite": sqlite.dialect}


def ddl(dialect: str) -> str:
    """Return the DDL of the outbox and the inbox for a ``dialect`` of SQLAlchemy."""
    speaks = _DIALECTS[dialect]()
    said: list[str] = []
    for table in (*OUTBOX.sorted_tables, *INBOX.sorted_tables):
        made: list[DDLElement] = [CreateTable(table), *map(CreateIndex, table.indexes)]
        said += [_clean(str(each.compile(dialect=speaks))) for each in made]
    return "\n\n".join(said)


def _clean(statement: str) -> str:
    lines = (line.rstrip().replace("\t", "    ") for line in statement.strip().splitlines())
    return "\n".join(lines) + ";"
