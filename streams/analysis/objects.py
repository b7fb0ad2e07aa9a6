"""Iterate over the databases of an estate, and create findings about objects."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from streams.analysis.estate import Estate
from streams.analysis.known import Home
from streams.routing import CONFIGURATION_SERVICE
from streams.topology import Database, Finding, Instance, Route, Severity, Source, finding_at


def every_database(estate: Estate) -> Iterator[Home]:
    """Yield every database; in each instance, ``msdb`` is last."""
    for instance in estate.topology.instances.values():
        for database in (*instance.databases.values(), instance.msdb):
            yield Home(instance, database)


def user_databases(estate: Estate) -> Iterator[Home]:
    """Yield every database but ``msdb``."""
    return (at for at in every_database(estate) if at.database is not at.instance.msdb)


def active(estate: Estate, at: Home) -> bool:
    """Return whether a database accepts messages: delivery is on, and it is not a mirror."""
    return estate.instances[at.instance.name].databases[at.database.name].enabled


def live_routes(estate: Estate, database: Database) -> tuple[Route, ...]:
    """Return the unexpired routes of a database."""
    return tuple(r for r in database.routes if r.expires is None or r.expires > estate.now)


def targets(estate: Estate) -> dict[str, dict[str, list[Home]]]:
    """Return, by instance and service, the active databases that have the service as a target."""
    return estate.once(_targets)


def _targets(estate: Estate) -> dict[str, dict[str, list[Home]]]:
    found: dict[str, dict[str, list[Home]]] = {name: {} for name in estate.topology.instances}
    for at in user_databases(estate):
        for service in at.database.services.values():
            if service.contracts and service.name != CONFIGURATION_SERVICE and active(estate, at):
                found[at.instance.name].setdefault(service.name, []).append(at)
    return found


def finding(
    code: str,
    severity: Severity,
    at: Home | Instance,
    source: Source,
    message: str,
    remedy: str,
    **evidence: Any,
) -> Finding:
    """Return a finding about an object of a database or of an instance, with its place."""
    place = source if source.file else at.source
    subject = at.name if isinstance(at, Instance) else str(at)
    return finding_at(code, severity, message, remedy, subject, place, evidence)


def day(moment: float) -> str:
    """Return a time (epoch seconds) as text in UTC, to the minute; a phrase if out of range."""
    try:
        return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, OSError, ValueError):
        return "an out-of-range date"
