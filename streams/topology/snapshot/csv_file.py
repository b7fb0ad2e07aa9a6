"""Rows of a view from a CSV file, as sqlcmd, SSMS and Excel write it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from streams.topology.findings import Severity, Source
from streams.topology.saved_csv import delimiter_of, is_ruled
from streams.topology.snapshot.rows import DATABASE, RawRow, Rows
from streams.topology.snapshot.text_file import read_lines
from streams.topology.snapshot.views import VIEWS, Scope

_LONGEST_CELL = 1 << 24


def view_of(path: Path) -> str | None:
    """Return the view of a CSV file by its name: ``routes``, ``sys.routes``, ``DB.routes``."""
    if path.suffix.casefold() != ".csv":
        return None
    name = path.stem.casefold().rpartition(".")[2]
    return name if name in VIEWS else None


def database_of(path: Path) -> str | None:
    """Return the database in a file name, for rows without ``database_name``."""
    before = path.stem.rpartition(".")[0]
    return before.removesuffix(".sys") if before.casefold() not in ("", "sys") else None


def read_csv(path: Path, into: Rows) -> None:
    """Read a file into an instance's rows; an invalid line becomes a finding."""
    view = view_of(path)
    assert view is not None, "ignored: not named after a view"
    if view in into.present and VIEWS[view].scope is Scope.INSTANCE:
        return  # the file is read again with the next database
    try:
        for raw in _rows(path, view, into):
            into.add(raw)
    except csv.Error as error:
        into.note(
            f"{view}: {error}", "Save the result as CSV again.", Source(str(path)),
            Severity.ERROR,
        )  # fmt: skip


def _rows(path: Path, view: str, into: Rows) -> Iterator[RawRow]:
    lines = [line + "\n" for line in read_lines(path)]
    first = 1 if lines[0].casefold().startswith("sep=") else 0  # for Excel
    if lines[0].startswith("Msg "):  # an error of sqlcmd: the server lacks the view
        return
    if not any(line.strip() for line in lines[first:]):
        into.present.add(view)
        return
    known = {*VIEWS[view].columns, DATABASE}
    delimiter = delimiter_of(lines[first], known)
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(lines[first:], delimiter=delimiter)
    header = [name.strip().casefold() for name in next(reader)]
    if not known.intersection(header):
        into.note(
            f"the first line of {path.name} has no column of {view}",
            "Save the result with its column headers.", Source(str(path), first + 1, 1),
            Severity.ERROR,
        )  # fmt: skip
        return
    into.present.add(view)
    database = database_of(path)
    start = reader.line_num
    for cells in reader:
        at, start = start + first, reader.line_num
        if is_ruled(cells):
            continue
        named = dict(zip(header, cells, strict=False))
        if database is not None:
            named.setdefault(DATABASE, database)
        places = {n: lines[at].find(c) + 1 for n, c in named.items() if c}
        yield RawRow(view, named, Source(str(path), at + 1, 1), places)
