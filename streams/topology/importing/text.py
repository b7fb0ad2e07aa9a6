"""The report of an import on one screen: counts, with long lists shortened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from streams.prose import clipped, counted, wrapped
from streams.topology.findings import Skipped
from streams.topology.importing.report import ImportReport
from streams.topology.tsql import NO_DATABASE

_ROWS = 8
_INSTANCES = 12
_MORE = "--format json lists all"


def report_text(report: ImportReport) -> str:
    """Return the report as text."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: ImportReport) -> Iterator[str]:
    scripts, instances = len(report.encodings), len(report.understood)
    yield (
        f"{report.output}: {counted(instances, 'instance')} from {counted(scripts, 'script')}"
        f"{_encodings(report)}"
    )
    yield from _merged("kept in topology.yaml", report.kept)
    yield from _merged("no longer in topology.yaml", report.dropped)
    yield from _understood(report)
    yield from _skipped(report)
    yield from _unresolved(report)
    yield from _wrong(report)
    for remark in report.remarks[:_ROWS]:
        place = _place(report, remark.file, remark.line)
        yield f"  note: {remark.message}, {_times(remark.count)}, first at {place}"
    if len(report.remarks) > _ROWS:
        yield f"  and {counted(len(report.remarks) - _ROWS, 'more note')}; {_MORE}"
    if report.total():  # without statements, there is nothing to check
        yield f"Next: hopline check {report.output}"


def _merged(what: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    more = f"; and {len(names) - _ROWS} more; {_MORE}" if len(names) > _ROWS else ""
    return wrapped(f"{what}: {'; '.join(names[:_ROWS])}{more}", "", "  ")


def _encodings(report: ImportReport) -> str:
    found = sorted({encoding for encoding in report.encodings.values() if encoding != "utf-8"})
    if not found:
        return ""
    parts = []
    for encoding in found:
        files = [file for file, taken in report.encodings.items() if taken == encoding]
        which = _relative(report, files[0]) if len(files) == 1 else counted(len(files), "script")
        parts.append(f"{which} read as {encoding}")
    return f"; {', '.join(parts)}"


def _understood(report: ImportReport) -> Iterator[str]:
    total = report.total()
    yield f"understood: {counted(total.total(), 'statement')}"
    for name, kinds in list(report.understood.items())[:_INSTANCES]:
        row = ", ".join(f"{kind} {count:,}" for kind, count in kinds.items()) or "nothing"
        yield from wrapped(f"{name}: {row}", "  ", "    ")
    if len(report.understood) > _INSTANCES:
        yield f"  and {counted(len(report.understood) - _INSTANCES, 'more instance')}; {_MORE}"


def _skipped(report: ImportReport) -> Iterator[str]:
    if not report.skipped:
        return
    yield f"skipped: {counted(len(report.skipped), 'statement')}"
    kinds: dict[str, list[Skipped]] = {}
    for skipped in report.skipped:
        kinds.setdefault(skipped.kind, []).append(skipped)
    rows = sorted(kinds.items(), key=lambda item: -len(item[1]))
    for kind, found in rows[:_ROWS]:
        yield f"  {clipped(kind)} {len(found):,}: {_places(report, found)}"
    if len(rows) > _ROWS:
        rest = sum(len(found) for _, found in rows[_ROWS:])
        yield f"  and {rest:,} of {counted(len(rows) - _ROWS, 'other kind')}; {_MORE}"


def _unresolved(report: ImportReport) -> Iterator[str]:
    if not report.unresolved:
        return
    yield f"unresolved: {len(report.unresolved):,}"
    for s in report.unresolved[:_ROWS]:
        yield f"  {_place(report, s.file, s.line)}: {clipped(s.kind)}: {s.why}"
    if len(report.unresolved) > _ROWS:
        yield f"  and {len(report.unresolved) - _ROWS:,} more; {_MORE}"
    if any(s.why == NO_DATABASE for s in report.unresolved):
        yield "  scripts without USE need --database NAME"


def _wrong(report: ImportReport) -> Iterator[str]:
    bad = report.not_understood
    if bad:
        yield f"not understood: {counted(len(bad), 'statement')}"
    for finding in bad[:_ROWS]:
        message = finding.message.partition(": ")[2]
        yield f"  {_place(report, finding.file, finding.line)}: {message}"
    if len(bad) > _ROWS:
        yield f"  and {len(bad) - _ROWS:,} more; {_MORE}"
    others = len(report.findings) - len(bad)
    if others:
        yield f"wrong or without effect: {counted(others, 'statement')}; hopline check explains why"


def _places(report: ImportReport, found: Sequence[Skipped]) -> str:
    first = _place(report, found[0].file, found[0].line)
    same = [s.line for s in found[1:6] if s.file == found[0].file]
    more = len(found) - 1 - len(same)
    listed = ", ".join([first, *(str(line) for line in same)])
    return listed + (f" and {more:,} more" if more else "")


def _place(report: ImportReport, file: str, line: int) -> str:
    return f"{_relative(report, file)}:{line}"


def _relative(report: ImportReport, file: str) -> str:
    path = Path(file)
    inside = path.is_relative_to(report.output)
    return (path.relative_to(report.output) if inside else path).as_posix()


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
