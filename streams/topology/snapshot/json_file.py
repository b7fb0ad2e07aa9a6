"""Read the JSON document that the query script produces for one instance.

The reader finds the document inside surrounding text (the script's XML, a header, a row count), and
removes line breaks that sqlcmd inserted. It reads the arrays row by row, so that each row keeps its
line and column.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from streams.errors import InputError
from streams.topology.findings import Source
from streams.topology.snapshot.cells import read_cell
from streams.topology.snapshot.rows import DATABASE, RawRow, Rows
from streams.topology.snapshot.text_file import lines_of, read_lines
from streams.topology.snapshot.views import VIEWS, CellType

MARK = "hopline_snapshot"
"""The key that identifies the document; its value is the format version."""
_INSIDE = "in_database"
_SPACE = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder(strict=False)
_REMEDY = (
    "If the file is truncated, run sqlcmd with -y 0, or save the single result cell from SSMS."
)


def is_json_snapshot(path: Path) -> bool:
    """Return whether a file begins like the document of a snapshot."""
    if path.suffix.casefold() not in (".json", ".xml", ".txt") or not path.is_file():
        return False
    with path.open("rb") as file:
        return MARK.encode() in file.read(4096).replace(b"\0", b"")


def read_json(path: Path, into: Rows) -> None:
    """Read a document into an instance's rows; raise InputError if it does not parse."""
    _read(_Document(str(path), read_lines(path)), into)


def read_text(text: str, file: str, into: Rows) -> None:
    """Read a document that is not a file; ``file`` is the name in its places."""
    _read(_Document(file, lines_of(text)), into)


def _read(document: _Document, into: Rows) -> None:
    for key, value in document.members(document.start):
        if key == _INSIDE:
            for at in document.elements(value):
                _read_database(document, at, into)
        elif key in VIEWS:
            _read_view(document, key, value, None, into)


def _read_database(document: _Document, at: int, into: Rows) -> None:
    name: str | None = None
    for key, value in document.members(at):
        if key == DATABASE:
            name = read_cell(CellType.TEXT, document.value(value))
        elif key == "error" and name is not None:
            into.unread[name] = str(read_cell(CellType.TEXT, document.value(value)))
        elif key in VIEWS:
            _read_view(document, key, value, name, into)


def _read_view(document: _Document, view: str, at: int, database: str | None, into: Rows) -> None:
    into.present.add(view)
    for element in document.elements(at):
        cells = document.value(element)
        if not isinstance(cells, dict):
            raise document.error(element, f"a row of {view} is not an object")
        if database is not None:
            cells.setdefault(DATABASE, database)
        into.add(RawRow(view, cells, document.source(element)))


class _Document:
    """A JSON text with positions."""

    def __init__(self, file: str, lines: list[str]) -> None:
        self._file = file
        # FOR JSON escapes every line break in a name, so a literal line break, between or within
        # tokens, was inserted by the tool that wrote the file.
        self._text = "".join(lines)
        self._lines = [0, *accumulate(len(line) for line in lines)][: len(lines)]
        self.start = self._text.find("{")
        if self.start < 0:
            raise self.error(0, "there is no JSON document in this file")

    def members(self, at: int) -> Iterator[tuple[str, int]]:
        """Yield each key of the object at a position, with the position of its value."""
        for key_at in self._items(at, "{", "}"):
            key, end = self._decode(key_at)
            colon = self._skip(end)
            if not isinstance(key, str) or self._text[colon : colon + 1] != ":":
                raise self.error(colon, "a ':' is missing")
            value = self._skip(colon + 1)
            yield key, value
            self._next = self._after(value)

    def elements(self, at: int) -> Iterator[int]:
        """Yield the position of each element of the array at ``at``; null counts as empty."""
        if self._text.startswith("null", at):
            return
        for element in self._items(at, "[", "]"):
            yield element
            self._next = self._after(element)

    def _items(self, at: int, opening: str, closing: str) -> Iterator[int]:
        if self._text[at : at + 1] != opening:
            raise self.error(at, f"a '{opening}' is missing")
        position = self._skip(at + 1)
        while self._text[position : position + 1] != closing:
            yield position
            position = self._skip(self._next)

    def value(self, at: int) -> Any:
        """Return the value at a position."""
        return self._decode(at)[0]

    def _after(self, at: int) -> int:
        return self._decode(at)[1]

    def _decode(self, at: int) -> tuple[Any, int]:
        try:
            return _DECODER.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            raise self.error(error.pos, f"invalid JSON: {error.msg}") from None
        except RecursionError:
            raise self.error(at, "the document is nested too deeply") from None
        except ValueError:
            raise self.error(at, "a number has too many digits") from None

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        assert found is not None, "the pattern also matches the empty string"
        return found.end()

    def source(self, at: int) -> Source:
        """Return the place of a position in the file."""
        line = bisect_right(self._lines, at)
        return Source(self._file, line, at - self._lines[line - 1] + 1)

    def error(self, at: int, message: str) -> InputError:
        """Return the error for a document that does not parse at a position."""
        place = self.source(at)
        return InputError(
            message, file=place.file, line=place.line, column=place.column, remedy=_REMEDY
        )
