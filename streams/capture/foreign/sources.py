"""Detect the format of a foreign file, and read it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Any

from streams.capture.foreign import trace, views, xevents
from streams.capture.foreign.cells import clean, instant, text_of
from streams.capture.foreign.elements import elements
from streams.capture.foreign.findings import (
    Finding,
    ForeignRow,
    ForeignStatement,
    Report,
    TraceEvent,
)
from streams.capture.foreign.log import LogColumns, read_log
from streams.capture.foreign.tables import Form, form_of, read_table
from streams.capture.foreign.views import Names, ViewKind
from streams.errors import InputError
from streams.xml_reader import XmlError

KNOWN = xevents.COLUMNS | trace.COLUMNS | views.COLUMNS
_LATE = (ViewKind.SERVICES, ViewKind.CONTRACTS)
_CLOCK_STEP = 2 * 3_600_000
"""Milliseconds by which a clock is set back at the end of summer time, plus a margin."""


class ForeignFormat(Enum):
    """The content of a foreign file."""

    XEVENTS = "Extended Events"
    TRACE = "SQL Trace"
    VIEWS = "views"
    LOG = "a message log"


@dataclass(frozen=True, slots=True)
class Source:
    """A file, and its instance if the user has given one."""

    path: Path
    instance: str | None = None

    @property
    def called(self) -> str:
        """Return the instance's name: the given name, or else the name of the file."""
        return self.instance or clean(self.path.name.partition(".")[0])


@dataclass(slots=True)
class Reader:
    """Read sources one after another; ``names`` maps ids to names.

    ``utc_offset``: minutes by which times without a zone are ahead of UTC.
    """

    report: Report
    log: LogColumns | None = None
    database: str | None = None
    utc_offset: int = 0
    names: Names = field(default_factory=Names)
    _clocks: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The rank and the time of each server's last event."""

    def read(self, source: Source) -> Iterator[Finding]:
        """Yield a file's findings; raise InputError for an unknown format."""
        form = form_of(source.path)
        if form is Form.XML:
            return self._xml(source)
        known = KNOWN if self.log is None else frozenset(self.log.columns)
        rows = read_table(source.path, form, known, self.report)
        if self.log is not None:
            self.report.rows["rows of a log"] += 0
            return self._log(rows, source)
        first = next(rows, None)
        if first is None:
            self.report.note("a file without rows", str(source.path))
            return iter(())
        return self._rows(chain((first,), rows), tuple(first.cells), source)

    def kind(self, source: Source) -> ForeignFormat | ViewKind:
        """Return a file's format from its start; raise InputError if unknown."""
        form = form_of(source.path)
        if self.log is not None:
            return ForeignFormat.LOG
        if form is Form.XML:
            return ForeignFormat.XEVENTS
        first = next(read_table(source.path, form, KNOWN, Report()), None)
        return ViewKind.QUEUE if first is None else _kind(tuple(first.cells), source.path)

    def _log(self, rows: Iterator[ForeignRow], source: Source) -> Iterator[Finding]:
        assert self.log is not None, "asked before"
        for statement in read_log(rows, self.log, str(source.path), self.report):
            self.report.rows["rows of a log"] += 1
            yield statement

    def _xml(self, source: Source) -> Iterator[Finding]:
        for number, (line, text) in enumerate(elements(source.path, self.report)):
            where = f"{source.path}:{line}"
            yield from self._element(text, number, source, where)

    def _element(self, text: str, number: int, source: Source, where: str) -> Iterator[Finding]:
        try:
            if text.startswith("<Event"):
                yield from self._trace(trace.read_element(text), number, source, where)
            else:
                fields = xevents.read_element(text)
                yield from self._xevent(fields, number, source, where)
        except XmlError as error:
            self.report.leave(f"an event that is not valid XML: {error}", where)

    def _rows(
        self, rows: Iterator[ForeignRow], columns: tuple[str, ...], source: Source
    ) -> Iterator[Finding]:
        kind = _kind(columns, source.path)
        if kind is ForeignFormat.TRACE:
            for row in rows:
                cells, where = trace.named(row.cells), f"{source.path}:{row.place}"
                yield from self._trace(cells, row.place, source, where)
        elif kind is ForeignFormat.XEVENTS:
            yield from self._xevent_rows(rows, source)
        elif isinstance(kind, ViewKind):
            yield from self._view(kind, rows, source)

    def _xevent_rows(self, rows: Iterator[ForeignRow], source: Source) -> Iterator[Finding]:
        for number, cells in rows:
            where = f"{source.path}:{number}"
            data = cells.get("event_data")
            if isinstance(data, str) and data.lstrip().startswith("<"):
                yield from self._element(data.strip(), number, source, where)
            else:
                yield from self._xevent(xevents.flat(cells), number, source, where)

    def _xevent(
        self, fields: Mapping[str, Any], number: int, source: Source, where: str
    ) -> Iterator[Finding]:
        yield from xevents.read_event(fields, number, source.called, where, self.report)

    def _trace(
        self, cells: Mapping[str, Any], number: int, source: Source, where: str
    ) -> Iterator[Finding]:
        found = trace.read_row(cells, number, source.instance, self.utc_offset, where, self.report)
        server = ""
        for finding in found:
            if isinstance(finding, TraceEvent):
                server = str(finding.event["instance"])
            if isinstance(finding, (TraceEvent, ForeignStatement)):
                at = self._steady(server, finding.at, finding.rank, where)
                finding = finding._replace(at=at)
            yield finding

    def _steady(self, server: str, at: int, rank: int, where: str) -> int:
        """Return a time that does not go back while the server's event sequence increases."""
        before, latest = self._clocks.get(server, (rank, at))
        if rank >= before and latest - _CLOCK_STEP <= at < latest:
            if rank > before:
                self.report.note("timestamps out of order: sorted in event order", where)
            at = latest
        self._clocks[server] = (rank, at)
        return at

    def _view(
        self, view: ViewKind, rows: Iterator[ForeignRow], source: Source
    ) -> Iterator[Finding]:
        for number, cells in rows:
            where = f"{source.path}:{number}"
            database = text_of(cells.get("database_name")) or self.database
            place = (source.called, database)
            if view in _LATE:
                self.names.learn(view, place, cells)
                self.report.rows[view.value] += 1
            elif view is ViewKind.ENDPOINTS:
                yield from views.read_endpoint(cells, place, self.names, where, self.report)
            else:
                taken = instant(cells.get("taken_at")) or _modified(source.path)
                yield from views.read_waiting(view, cells, place, taken, where, self.report)


def in_order(sources: Collection[Source], reader: Reader) -> list[Source]:
    """Return the sources, beginning with sources that contain names of ids in other sources."""
    return sorted(sources, key=lambda source: reader.kind(source) not in _LATE)


def _modified(path: Path) -> int:
    return path.stat().st_mtime_ns // 1_000_000


def _kind(columns: Collection[str], path: Path) -> ForeignFormat | ViewKind:
    """Return a table's format from its columns; raise InputError if unknown."""
    found = set(columns)
    if {"eventclass", "27"} & found:
        return ForeignFormat.TRACE
    if {"event_data", "object_name", "conversation_action"} & found or (
        "name" in found and {"conversation_id", "timestamp", "timestamp (utc)"} & found
    ):
        return ForeignFormat.XEVENTS
    view = views.view_of(found)
    if view is not None:
        return view
    shown = ", ".join(name[:40] for name in list(columns)[:12]) or "none"
    raise InputError(
        f"unknown format; its columns are: {shown}", file=str(path), line=1,
        remedy="For a message log, give the columns: --conversation, --time, --body.",
    )  # fmt: skip
