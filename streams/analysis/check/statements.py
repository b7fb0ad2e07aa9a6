"""Faulty or incomplete statements, found while the scripts are parsed (TA-20)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.prose import counted
from streams.topology import Finding, Severity, Skipped

LISTED = 20
"""Maximum number of unresolved statements that a finding lists; its count includes all."""


def refused(estate: Estate) -> Iterable[Finding]:
    """Return the findings from parsing, and the unresolved values of each instance."""
    yield from estate.topology.findings
    unresolved: dict[str, list[Skipped]] = {}
    for one in estate.topology.skipped:
        if one.why:
            unresolved.setdefault(one.instance, []).append(one)
    yield from _open(unresolved)


def _open(unresolved: dict[str, list[Skipped]]) -> Iterator[Finding]:
    for instance, statements in unresolved.items():
        first, count = statements[0], len(statements)
        which = "" if count == 1 else "the first is "
        yield Finding(
            "TA-20", Severity.INFO,
            f"{counted(count, 'statement')} may concern dialogs, but the effect is unknown: "
            f"{which}{first.kind}, {first.why}",
            "Find out what they do, and add missing effects to topology.yaml; --format json lists "
            "them.",
            instance, first.file, first.line, first.column,
            {"count": count, "statements": [_shown(one) for one in statements[:LISTED]]},
        )  # fmt: skip


def _shown(one: Skipped) -> dict[str, Any]:
    place: dict[str, Any] = {"file": one.file, "line": one.line, "column": one.column}
    return {"kind": one.kind, "why": one.why, **place}


CHECKS = (
    Check(
        "TA-20",
        "A statement or row that SQL Server would refuse, or whose effect is unknown",
        (Severity.ERROR, Severity.WARNING, Severity.INFO),
        "reference 1.4, V1 to V14",
        "SQL Server checks every CREATE and ALTER ROUTE against fourteen rules, and refuses a "
        "statement that breaks one. A refused statement in a script creates no route; an invalid "
        "route from another source is used as is. Statements about other objects are checked too. "
        "An error is a statement that SQL Server refuses in any database. A warning reports a "
        "statement without effect, or one that SQL Server refuses if the scripts show all objects "
        "(such as DROP of an object in use). An info names an object that a statement needs and "
        "that no script creates, if the scripts do not create the database either. "
        "In a script that uses GO, a procedure, function or trigger must be the first statement of "
        "its batch. RECEIVE needs its queue, and a queue the procedure that it activates: this is "
        "reported only if the scripts create other queues, or other procedures that receive. "
        "A script with :connect to several servers is read as the script of one instance. "
        "For each instance, one finding of severity info counts the statements that may concern "
        "dialogs but whose effect is known only when they run. The topology does not contain their "
        "effects, so no command considers them.",
        "Correct the clause that the message names. State the effects of statements that depend on "
        "run-time values in topology.yaml.",
        refused,
    ),
)
