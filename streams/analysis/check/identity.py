"""Databases with the same broker id: TA-16 and TA-17."""

from __future__ import annotations

from collections.abc import Iterable

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.hazards.identity import alike, clash, clashing, in_one_instance, same
from streams.topology import Finding, Severity

_E, _W = Severity.ERROR, Severity.WARNING


def in_two_places(estate: Estate) -> Iterable[Finding]:
    """Find broker ids that several databases have (1.5)."""
    for homes in alike(estate):
        reported = {str(home) for group in in_one_instance(homes) for home in group}
        if not {str(home) for home in homes} <= reported:
            yield same(
                "TA-16", _W, homes,
                "messages for one may arrive at the other, and nothing detects this",
            )  # fmt: skip


def in_one(estate: Estate) -> Iterable[Finding]:
    """Find active databases of one instance with the same broker id (9772)."""
    return map(clash, clashing(estate))


CHECKS = (
    Check(
        "TA-16",
        "One broker id in several databases",
        (_W,),
        "reference 1.5",
        "A restored or attached copy keeps the broker id of the original. Routes and replies "
        "identify a database only by this id, so each copy can receive the other's messages. The "
        "partners of a mirrored pair and the replicas of an availability group are meant to "
        "share an id.",
        "Run ALTER DATABASE ... SET NEW_BROKER on the copy, or SET DISABLE_BROKER if the copy is "
        "not in use.",
        in_two_places,
    ),
    Check(
        "TA-17",
        "Two active databases of one instance with one broker id",
        (_E,),
        "reference 1.5",
        "Only one active database of an instance may have a given broker id. SQL Server refuses "
        "or disables the other database (9723, 9772), and the services of that database can no "
        "longer be found.",
        "Run ALTER DATABASE ... SET NEW_BROKER on the copy.",
        in_one,
    ),
)
