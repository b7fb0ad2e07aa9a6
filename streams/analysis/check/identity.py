"""Databases with one broker id: TA-16 and TA-17."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from streams.analysis.check.known import Home, known
from streams.analysis.check.proof import written
from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.prose import listed
from streams.topology import Finding, Severity, finding_at

_E, _W = Severity.ERROR, Severity.WARNING


def _shared(estate: Estate) -> Iterator[tuple[Home, ...]]:
    """Yield the databases with one broker id that are not the two halves of a mirrored pair."""
    for homes in known(estate).brokers.values():
        pairs = {home.database.mirror and home.database.mirror.pair for home in homes}
        if len(homes) > 1 and (len(pairs) > 1 or None in pairs):
            yield homes


def _in_one_instance(homes: tuple[Home, ...]) -> Iterator[tuple[Home, ...]]:
    active = sorted((h for h in homes if h.database.enabled), key=lambda home: home.instance.name)
    for _, group in groupby(active, key=lambda home: home.instance.name):
        members = tuple(group)
        if len(members) > 1:
            yield members


def in_two_places(estate: Estate) -> Iterable[Finding]:
    """Find broker ids of several databases that nothing keeps apart (1.5)."""
    for homes in _shared(estate):
        clashing = {str(home) for group in _in_one_instance(homes) for home in group}
        if not {str(home) for home in homes} <= clashing:
            yield _same(
                "TA-16", _W, homes,
                "messages for one may arrive at the other, and nothing detects it",
            )  # fmt: skip


def in_one_instance(estate: Estate) -> Iterable[Finding]:
    """Find active databases of one instance with one broker id (9772)."""
    for homes in _shared(estate):
        for group in _in_one_instance(homes):
            yield _same("TA-17", _E, group, "SQL Server disables the broker of the second one")


def _same(code: str, severity: Severity, homes: tuple[Home, ...], why: str) -> Finding:
    first, last = homes[0], homes[-1]
    names = [str(home) for home in homes]
    return finding_at(
        code, severity,
        f"{listed(names)} have the same broker id {last.database.broker_id}: {why}",
        f"Give one of them another: ALTER DATABASE {last.database.name} SET NEW_BROKER; then "
        f"correct the routes that are meant for it.",
        str(first), written(first.database.source, first.instance.source),
        {"broker": last.database.broker_id, "places": names, "routes": [], "path": names},
    )  # fmt: skip


CHECKS = (
    Check(
        "TA-16",
        "One broker id in several databases",
        (_W,),
        "reference 1.5",
        "A restored or attached copy keeps the broker id of the original. Routes and replies tell "
        "databases apart by this id only, so each can get what is meant for the other. The halves "
        "of a mirrored pair and the replicas of an availability group share theirs rightly.",
        "Run ALTER DATABASE ... SET NEW_BROKER on the copy, or DISABLE_BROKER if it only rests.",
        in_two_places,
    ),
    Check(
        "TA-17",
        "Two active databases of one instance with one broker id",
        (_E,),
        "reference 1.5",
        "Of databases of one instance with the same id only one may be active: SQL Server refuses "
        "or disables the other (9723, 9772), and its services are invisible from then on.",
        "Run ALTER DATABASE ... SET NEW_BROKER on the copy.",
        in_one_instance,
    ),
)
