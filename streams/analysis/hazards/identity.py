"""Databases with the same broker id, especially in one instance (TA-16, TA-17)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from streams.analysis.estate import Estate
from streams.analysis.hazards.passage import Passage
from streams.analysis.known import Home, known
from streams.analysis.objects import finding
from streams.prose import listed
from streams.topology import NOWHERE, Finding, Severity

Group = tuple[Home, ...]
"""Two or more databases with the same broker id."""


def alike(estate: Estate) -> Iterator[Group]:
    """Yield the databases with the same broker id that are not halves of a mirrored pair."""
    for homes in known(estate).brokers.values():
        pairs = {home.database.mirror and home.database.mirror.pair for home in homes}
        if len(homes) > 1 and (len(pairs) > 1 or None in pairs):
            yield homes


def clashing(estate: Estate) -> tuple[Group, ...]:
    """Return the active databases of one instance with the same broker id (9772); computed once."""
    return estate.once(_clashing)


def _clashing(estate: Estate) -> tuple[Group, ...]:
    return tuple(group for homes in alike(estate) for group in in_one_instance(homes))


def in_one_instance(homes: Group) -> Iterator[Group]:
    """Yield the databases that are active in the same instance, instance by instance."""
    active = sorted((h for h in homes if h.database.delivers), key=lambda home: home.instance.name)
    for _, group in groupby(active, key=lambda home: home.instance.name):
        members = tuple(group)
        if len(members) > 1:
            yield members


def clashes(estate: Estate, passage: Passage) -> Iterator[Finding]:
    """Find other databases with the broker id of either end of a flow (TA-17)."""
    groups = clashing(estate)
    if groups:
        met = {str(at) for at in (passage.begins, *passage.ends(estate))}
        for group in groups:
            if not met.isdisjoint(map(str, group)):
                yield clash(group)


def clash(group: Group) -> Finding:
    """Return TA-17 for a group."""
    return same("TA-17", Severity.ERROR, group, "SQL Server disables the broker of the second one")


def same(code: str, severity: Severity, homes: Group, why: str) -> Finding:
    """Return a finding about databases with the same broker id."""
    last = homes[-1]
    names = [str(home) for home in homes]
    return finding(
        code, severity, homes[0], NOWHERE,
        f"{listed(names)} have the same broker id {last.database.broker_id}: {why}",
        f"Give one of them a new id: ALTER DATABASE {last.database.name} SET NEW_BROKER; then "
        f"correct the routes to it.",
        broker=last.database.broker_id, places=names, routes=[], path=names,
    )  # fmt: skip
