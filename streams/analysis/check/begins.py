"""Dialogs that begin from a service that does not exist (TA-50)."""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.check.certain import services_shown
from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.known import Home
from streams.analysis.objects import finding, user_databases
from streams.errors import Number
from streams.prose import listed, meant
from streams.system_names import SYSTEM_SERVICES
from streams.topology import BeginDialog, Finding, Severity

_NUMBER = Number.SERVICE_UNKNOWN_HERE


def without_service(estate: Estate) -> Iterator[Finding]:
    """Find each service from which code begins dialogs, but which its database does not have."""
    for at in user_databases(estate):
        missing: dict[str, list[tuple[str, BeginDialog]]] = {}
        for procedure in at.database.procedures.values():
            for begin in procedure.begins:
                name = begin.service
                if name is not None and name not in SYSTEM_SERVICES.union(at.database.services):
                    missing.setdefault(name, []).append((procedure.name, begin))
        severity = Severity.ERROR if services_shown(estate, at) else Severity.WARNING
        for service, begins in missing.items():
            yield _missing(at, service, begins, severity)


def _missing(
    at: Home, service: str, begins: list[tuple[str, BeginDialog]], severity: Severity
) -> Finding:
    procedures = list(dict.fromkeys(name for name, _ in begins))
    create = f"Create the service {service} in {at.database.name}, or begin from an existing one."
    remedy = " ".join(filter(None, (meant(service, at.database.services), create)))
    return finding(
        "TA-50", severity, at, begins[0][1].source,
        f"{listed(procedures)} begins dialogs from {service}, which {at} does not have: BEGIN "
        f"DIALOG fails ({_NUMBER:d})",
        remedy, service=service, procedures=procedures,
        to=sorted({begin.to for _, begin in begins if begin.to is not None}),
    )  # fmt: skip


CHECKS = (
    Check(
        "TA-50",
        "BEGIN DIALOG from a service that does not exist",
        (Severity.ERROR, Severity.WARNING),
        "reference 4.10",
        "FROM SERVICE names a service of the current database, byte by byte. If the database does "
        "not have it, BEGIN DIALOG fails and no dialog begins. Return paths to such a service are "
        "not reported. The finding is a warning if the topology has none of the database's "
        "services, or if the effect of some statements of the instance is unknown.",
        "Create the service, or correct the name in BEGIN DIALOG.",
        without_service,
    ),
)
