"""Rows of saved tables: CSV, JSON, JSON Lines, Parquet; streamed, of any size.

An invalid row is skipped and counted; only a file that is not a table raises an error.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Iterator
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Any

from streams.capture.foreign.cells import clean
from streams.capture.foreign.findings import ForeignRow, Report
from streams.capture.foreign.text import LONGEST, lines, pieces
from streams.errors import InputError
from streams.topology.saved_csv import delimiter_of, is_ruled

_SPACE = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder(strict=False)
_BINARY = {
    ".xel": "SELECT event_data FROM sys.fn_xe_file_target_read_file('...xel', NULL, NULL, NULL)",
    ".trc": "SELECT * FROM sys.fn_trace_gettable('...trc', DEFAULT)",
}
_BATCH = 8_192  # rows of a Parquet file at a time


class Form(Enum):
    """The format of a table file."""

    CSV = "CSV"
    JSON = "a JSON array"
    JSON_LINES = "JSON Lines"
    XML = "XML"
    PARQUET = "Parquet"


def form_of(path: Path) -> Form:
    """Detect the format from the start; raise InputError for an unreadable file."""
    query = _BINARY.get(path.suffix.casefold())
    if query is not None:
        raise InputError(
            f"Only SQL Server can read its binary files ({path.suffix}).",
            file=str(path), remedy=f"Save the rows of {query} as CSV, XML or JSON.",
        )  # fmt: skip
    begin = next(pieces(path)).lstrip()
    if begin.startswith("PAR1"):
        return Form.PARQUET
    if begin.startswith("<"):
        return Form.XML
    if begin.startswith("["):
        return Form.JSON
    return Form.JSON_LINES if begin.startswith("{") else Form.CSV


def read_table(
    path: Path, form: Form, known: Collection[str], report: Report
) -> Iterator[ForeignRow]:
    """Yield the rows of a table; ``known`` columns help to detect a CSV's delimiter."""
    if form is Form.PARQUET:
        return _parquet(path)
    if form is Form.JSON:
        return _array(path, report)
    if form is Form.JSON_LINES:
        return _json_lines(path, report)
    return _csv(path, known, report)


# --- CSV -----------------------------------------------------------------------------------------


def _csv(path: Path, known: Collection[str], report: Report) -> Iterator[ForeignRow]:
    text = _Lines(path, report)
    first = next((line for line in text if line.strip()), "")
    if first.casefold().startswith("sep="):  # a first line that Excel understands
        first = next(text, "")
    csv.field_size_limit(LONGEST)
    reader = csv.reader(chain((first,), text), delimiter=delimiter_of(first, known), strict=True)
    header: list[str] | None = None
    while True:
        at = text.number + (header is not None)
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            report.leave(f"a CSV row that cannot be read: {error}", f"{path}:{at}")
            continue
        if header is None:
            header = [name.strip().casefold() for name in cells]
        elif not is_ruled(cells):
            if len(cells) > len(header):
                report.note("a row with more cells than the header", f"{path}:{at}")
            cells += [""] * (len(header) - len(cells))
            yield ForeignRow(at, dict(zip(header, cells, strict=False)))


class _Lines:
    """A file's lines for the CSV reader, with the line number."""

    def __init__(self, path: Path, report: Report) -> None:
        self.number = 0
        self._path, self._report = path, report
        self._lines = lines(pieces(path))

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        while True:
            self.number, line = next(self._lines)
            if line is not None:
                return line
            _too_long(self._report, self._path, self.number)


# --- JSON ----------------------------------------------------------------------------------------


def _json_lines(path: Path, report: Report) -> Iterator[ForeignRow]:
    for number, line in lines(pieces(path)):
        if line is None:
            _too_long(report, path, number)
        elif line.strip():
            yield from _object(line, number, path, report)


def _object(text: str, number: int, path: Path, report: Report) -> Iterator[ForeignRow]:
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        report.leave(f"a line that is not valid JSON: {_error_text(error)}", f"{path}:{number}")
        return
    yield from _row(value, number, path, report)


def _array(path: Path, report: Report) -> Iterator[ForeignRow]:
    """Read an array of objects; numbers count its elements.

    FOR JSON escapes every line break in a value, so a literal line break, between or within tokens,
    was inserted by the tool that saved the file.
    """
    text = (piece.replace("\r", "").replace("\n", "") for piece in pieces(path))
    buffer, at, number = next(text).lstrip(), 1, 0
    while True:
        at = _end(_SPACE, buffer, at)
        if buffer.startswith("]", at):
            return
        problem, end, value = "the text ends unexpectedly", len(buffer), None
        try:
            value, end = _DECODER.raw_decode(buffer, at)
        except (ValueError, RecursionError) as error:
            problem = _error_text(error)
        if end < len(buffer):  # without a delimiter after it, a number may continue
            number, at = number + 1, end
            yield from _row(value, number, path, report)
            continue
        more = next(filter(None, text), "") if len(buffer) - at <= LONGEST else ""
        if not more:
            report.leave(f"the rest of a JSON array: {problem}", f"{path}: element {number + 1}")
            return
        buffer, at = buffer[at:] + more, 0


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    assert found is not None, "it also matches the empty string"
    return found.end()


def _row(value: Any, number: int, path: Path, report: Report) -> Iterator[ForeignRow]:
    if isinstance(value, dict):
        yield ForeignRow(
            number, {clean(name).strip().casefold(): cell for name, cell in value.items()}
        )
    else:
        report.leave("JSON that is not an object", f"{path}:{number}")


# --- Parquet -------------------------------------------------------------------------------------


def _parquet(path: Path) -> Iterator[ForeignRow]:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            names = [name.casefold() for name in file.schema_arrow.names]
            number = 0
            for batch in file.iter_batches(_BATCH):
                for cells in zip(*map(_values, batch.columns), strict=True):
                    number += 1
                    yield ForeignRow(number, dict(zip(names, cells, strict=True)))
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, KeyError) as error:
        raise InputError(
            f"The Parquet file cannot be read: {_error_text(error)}.", file=str(path),
            remedy="It is damaged: write or copy it again.",
        ) from error  # fmt: skip


def _values(column: Any) -> list[Any]:
    """Return a column's values; times of less than a microsecond are truncated."""
    import pyarrow

    kind = column.type
    if pyarrow.types.is_timestamp(kind) and kind.unit == "ns":
        column = column.cast(pyarrow.timestamp("us", kind.tz), safe=False)
    values: list[Any] = column.to_pylist()
    return values


def _error_text(error: BaseException) -> str:
    """Return an error's text, on one line, without data from the file."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return re.sub(r": line \d+ column \d+ \(char \d+\)$", "", text)[:200]


def _too_long(report: Report, path: Path, number: int) -> None:
    report.leave(f"a line of more than {LONGEST >> 20} million characters", f"{path}:{number}")
