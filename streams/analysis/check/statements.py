"""What the statements themselves say wrong, or leave open: TA-20, found while they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.topology import Finding, Severity, Skipped

LISTED = 20
"""How many open statements of an instance a finding lists; it counts them all."""


def refused(estate: Estate) -> Iterable[Finding]:
    """Return what reading the topology found, and for each instance what it left open."""
    yield from estate.topology.findings
    unresolved: dict[str, list[Skipped]] = {}
    for one in estate.topology.skipped:
        if one.why:
            unresolved.setdefault(one.instance, []).append(one)
    yield from _open(unresolved)


def _open(unresolved: dict[str, list[Skipped]]) -> Iterator[Finding]:
    for instance, statements in unresolved.items():
        first, count = statements[0], len(statements)
        are = "statement that may concern dialogs is"
        if count > 1:
            are = "statements that may concern dialogs are"
        which = "" if count == 1 else "the first is "
        yield Finding(
            "TA-20", Severity.INFO,
            f"{count:,} {are} not settled by the text: {which}{first.kind}, {first.why}",
            "See what they do when they run, and say it in topology.yaml where it is missing; "
            "--format json lists them.",
            instance, first.file, first.line, first.column,
            {"count": count, "statements": [_shown(one) for one in statements[:LISTED]]},
        )  # fmt: skip


def _shown(one: Skipped) -> dict[str, Any]:
    place: dict[str, Any] = {"file": one.file, "line": one.line, "column": one.column}
    return {"kind": one.kind, "why": one.why, **place}


CHECKS = (
    Check(
        "TA-20",
        "A statement or a record that the engine would refuse, or that is not settled",
        (Severity.ERROR, Severity.WARNING, Severity.INFO),
        "reference 1.4, V1 to V14",
        "SQL Server checks every CREATE and ALTER ROUTE by fourteen rules and refuses what breaks "
        "one. A script whose statement was refused has left a route out; a record that was written "
        "in another way is used as it stands. A warning: a statement that has no effect. An info, "
        "one for each instance: statements that may concern dialogs and depend on what only a run "
        "would tell; what they do is not in the topology, so that no answer heeds it.",
        "Correct the clause that the message names; say in topology.yaml what open statements do.",
        refused,
    ),
)
