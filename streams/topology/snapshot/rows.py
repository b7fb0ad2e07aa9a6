"""An instance's typed rows, grouped by view, each with its place in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from streams.topology.findings import Finding, Severity, Source, finding_at
from streams.topology.snapshot.cells import read_cell
from streams.topology.snapshot.views import VIEWS, CellType, Scope, View

DATABASE = "database_name"
"""The column that names the database of a row."""
_FARTHEST = 16 * 60  # the largest UTC offset of any time zone, in minutes


@dataclass(frozen=True, slots=True)
class RawRow:
    """A row with raw cells; ``place`` returns the place of a column's cell."""

    view: str
    cells: Mapping[str, object]
    source: Source
    columns: Mapping[str, int] = field(default_factory=dict)

    def place(self, column: str) -> Source:
        """Return the place of a column's cell."""
        return Source(self.source.file, self.source.line, self.columns.get(column, 1))


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A row of a view: its cells by column, ``None`` for NULL and missing columns."""

    cells: Mapping[str, Any]
    source: Source

    def __getitem__(self, column: str) -> Any:
        return self.cells.get(column)

    @property
    def database(self) -> str | None:
        """Return the database of the row."""
        name = self.cells.get(DATABASE)
        return None if name is None else str(name)


@dataclass(slots=True)
class Rows:
    """All rows of one instance. ``present``: the available views, even if empty."""

    subject: str
    views: dict[str, list[ViewRow]] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    """Databases that could not be queried, with the server's message."""
    offset_minutes: int = 0
    _by_database: dict[tuple[str, str], list[ViewRow]] = field(default_factory=dict)

    def of(self, view: str) -> list[ViewRow]:
        """Return a view's rows."""
        return self.views.get(view, [])

    def in_database(self, view: str, database: str) -> Iterator[ViewRow]:
        """Yield a view's rows of one database; names are case-insensitive."""
        return iter(self._by_database.get((view, database.casefold()), ()))

    def note(self, message: str, remedy: str, at: Source, severity: Severity) -> None:
        """Add a finding about the snapshot's format."""
        self.findings.append(finding_at("TA-20", severity, message, remedy, self.subject, at))

    def add(self, raw: RawRow) -> None:
        """Convert a row's cells and keep the row; errors become findings."""
        view = VIEWS[raw.view]
        cells = dict(self._read(view, raw))
        lost = [name for name in view.key if cells.get(name) is None]
        if view.scope is Scope.DATABASE and cells.get(DATABASE) is None:
            lost.append(DATABASE)
        if lost:
            or_named = f", or name the file DATABASE.{view.name}.csv" if lost == [DATABASE] else ""
            self.note(
                f"a row of {view.name} is ignored: it has no {', '.join(lost)}",
                f"Export the view again with the column {lost[0]}{or_named}.",
                raw.source,
                Severity.WARNING,
            )
            return
        if view.name == "server":  # this view is read before any view with local times
            offset = cells.get("utc_offset_minutes") or 0
            self.offset_minutes = offset if abs(offset) <= _FARTHEST else 0
        row = ViewRow(cells, raw.source)
        self.views.setdefault(view.name, []).append(row)
        in_database = (view.name, (row.database or "").casefold())
        self._by_database.setdefault(in_database, []).append(row)

    def _read(self, view: View, raw: RawRow) -> Iterable[tuple[str, Any]]:
        if DATABASE in raw.cells:
            yield DATABASE, read_cell(CellType.TEXT, raw.cells[DATABASE])
        for column, kind in view.columns.items():
            if column not in raw.cells or column == DATABASE:
                continue
            try:
                yield column, read_cell(kind, raw.cells[column], self.offset_minutes)
            except ValueError as error:
                self.note(
                    f"{view.name}.{column}: {error}",
                    f"The cell has a {kind.value}; it is read as NULL.",
                    raw.place(column),
                    Severity.WARNING,
                )
