"""What the statements themselves say wrong: TA-20, found while they are read."""

from __future__ import annotations

from collections.abc import Iterable

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.topology import Finding, Severity


def refused(estate: Estate) -> Iterable[Finding]:
    """Return what reading the topology found."""
    return estate.topology.findings


CHECKS = (
    Check(
        "TA-20",
        "A statement or a record that the engine would refuse",
        (Severity.ERROR, Severity.WARNING),
        "reference 1.4, V1 to V14",
        "SQL Server checks every CREATE and ALTER ROUTE by fourteen rules and refuses what breaks "
        "one. A script whose statement was refused has left a route out; a record that was written "
        "in another way is used as it stands. A warning: a statement that has no effect.",
        "Correct the clause that the message names.",
        refused,
    ),
)
