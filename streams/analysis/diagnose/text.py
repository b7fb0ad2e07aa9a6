"""Format diagnoses as text: the problem, its cause, and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from streams.analysis.diagnose.report import Diagnoses, Diagnosis
from streams.prose import counted, wrapped

LISTED = 25
"""Maximum number of diagnoses written in full; a thousand services may have one each."""
REFERENCE = "The sections of the reference are listed in docs/conformance.md (The reference)."
_ROWS = {"messages": "message", "unread": "unread message", "endpoints": "endpoint"}
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def diagnoses_text(diagnoses: Diagnoses) -> str:
    """Return all diagnoses as text."""
    return "\n".join(_lines(diagnoses)) + "\n"


def _lines(all_: Diagnoses) -> Iterator[str]:
    names = ", ".join(all_.snapshot.live)
    messages, endpoints = counted(all_.messages, "message"), counted(all_.endpoints, "endpoint")
    held = f"{messages} in transmission queues, {endpoints}"
    yield from wrapped(f"{names}: {held}{_when(all_)}.", "", "  ")
    for diagnosis in all_.found[:LISTED]:
        yield ""
        yield from _diagnosis(diagnosis)
    rest = all_.found[LISTED:]
    if rest:
        yield ""
        rows = counted(sum(d.count for d in rest), "row")
        yield f"{len(rest):,} more, of {rows}: see --format json."
    if all_.found:
        yield ""
        yield from wrapped(REFERENCE, "", "  ")
    if all_.good:
        yield ""
        yield "Nothing is stuck."
    yield from _gaps(all_)


def _when(all_: Diagnoses) -> str:
    taken = all_.snapshot.taken_at
    if taken is None:
        return ""
    return f"; taken {datetime.fromtimestamp(taken, UTC):%Y-%m-%d %H:%M} UTC"


def _diagnosis(d: Diagnosis) -> Iterator[str]:
    rows = counted(d.count, _ROWS[d.rows])
    oldest = "" if d.oldest is None else f", oldest {age_text(d.oldest)}"
    yield from wrapped(f"{rows}{oldest}: {d.cause.title}", "", "  ")
    of = " -> ".join(name for name in (d.of, d.to) if name)
    yield from wrapped(f"{d.at}  {of}", "  ")
    for number, sentence in enumerate(d.evidence):
        yield from wrapped(sentence, "  why     " if number == 0 else "          ")
    errors = "error" if len(d.cause.numbers) == 1 else "errors"
    numbers = f"; {errors} {', '.join(map(str, d.cause.numbers))}" if d.cause.numbers else ""
    yield from wrapped(f"{d.cause.code}, {d.cause.rule}{numbers}", "  rule    ")
    yield from wrapped(d.cause.remedy, "  remedy  ")
    if d.also:
        yield from wrapped(", ".join(f"{c.code} ({c.title})" for c in d.also), "  also    ")
    shown = ", ".join(map(str, d.conversations))
    if shown:
        more = d.count - len(d.conversations)
        # Several messages may be of one dialog; endpoints are of different dialogs.
        rest = f" and {more:,} more" if d.rows == "endpoints" else f" (of {rows})"
        yield from wrapped(f"{shown}{rest if more else ''}", "  dialog  ")
    places = [str(source) for source in d.sources if source.file]
    if places:
        yield from wrapped(places[0], "  row     ")


def _gaps(all_: Diagnoses) -> Iterator[str]:
    """Yield the parts that were not checked: missing data must not look like a good result."""
    notes: list[str] = []
    for live in all_.snapshot.live.values():
        if live.missing:
            notes.append(f"{live.name}: not in the snapshot: {', '.join(live.missing)}")
        for (database, view), count in live.cut.items():
            notes.append(
                f"{live.name}/{database}: {view} has {count:,} rows, but the snapshot lacks some"
            )
    for finding in all_.snapshot.topology.findings:
        notes.append(f"{finding.source}: {finding.message}. {finding.remedy}")
    if notes:
        yield ""
    for note in notes:
        yield from wrapped(note, "", "  ")


def age_text(seconds: float) -> str:
    """Return an age in its largest unit, such as ``3 d``."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return "0 s"
