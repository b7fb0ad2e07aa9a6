"""The result of an import: statements understood, skipped, unresolved, or not understood."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.topology.findings import Finding, Skipped
from streams.topology.importing.merge import NOTHING_KEPT, Merged
from streams.topology.model import Topology
from streams.topology.tsql import Notes, Remark
from streams.topology.validate import NOT_UNDERSTOOD


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The report; places refer to the copies in ``output``.

    ``understood``: the number of statements by instance and kind. ``unresolved``: statements that
    may concern dialogs but depend on run-time values. ``findings``: as ``hopline check`` reports
    them later. ``kept`` and ``dropped``: see :class:`~streams.topology.importing.merge.Merged`.
    """

    output: Path
    understood: Mapping[str, Mapping[str, int]]
    encodings: Mapping[str, str]
    skipped: tuple[Skipped, ...]
    unresolved: tuple[Skipped, ...]
    remarks: tuple[Remark, ...]
    findings: tuple[Finding, ...]
    kept: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def not_understood(self) -> tuple[Finding, ...]:
        """Return the statements of a known kind that could not be parsed."""
        return tuple(f for f in self.findings if f.message.startswith(NOT_UNDERSTOOD))

    @property
    def good(self) -> bool:
        """Return whether there were statements about dialogs, and all of these were understood."""
        return bool(self.total()) and not self.not_understood and not self.unresolved

    def total(self) -> Counter[str]:
        """Return the total of each kind over all instances."""
        total: Counter[str] = Counter()
        for kinds in self.understood.values():
            total.update(kinds)
        return total

    def to_json(self) -> dict[str, Any]:
        """Return the report with every place."""
        return {
            "output": str(self.output),
            "scripts": [{"file": f, "encoding": e} for f, e in self.encodings.items()],
            "instances": {name: {"understood": dict(k)} for name, k in self.understood.items()},
            "understood": dict(self.total()),
            "skipped": [_place(s) for s in self.skipped],
            "unresolved": [{**_place(s), "why": s.why} for s in self.unresolved],
            "remarks": [
                {"message": r.message, "file": r.file, "line": r.line, "count": r.count}
                for r in self.remarks
            ],
            "findings": [finding.to_json() for finding in self.findings],
            "kept": list(self.kept),
            "dropped": list(self.dropped),
            "summary": {
                "understood": self.total().total(),
                "skipped": len(self.skipped),
                "unresolved": len(self.unresolved),
                "not_understood": len(self.not_understood),
            },
        }


def _place(s: Skipped) -> dict[str, Any]:
    return {"kind": s.kind, "file": s.file, "line": s.line, "column": s.column}


def report_of(
    output: Path, topology: Topology, notes: Notes, merged: Merged = NOTHING_KEPT
) -> ImportReport:
    """Return the report of loading the imported folder; ``merged``: what changed in it."""
    understood: dict[str, dict[str, int]] = {name: {} for name in topology.instances}
    for (instance, kind), count in sorted(notes.understood.items()):
        understood[instance][kind] = count
    return ImportReport(
        output,
        understood,
        notes.encodings,
        tuple(s for s in notes.skipped if not s.why),
        tuple(s for s in notes.skipped if s.why),
        tuple(notes.remarks),
        topology.findings,
        merged.kept,
        merged.dropped,
    )
