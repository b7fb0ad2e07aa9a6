"""Settings that SQL Server enforces, but Hopline's workers do not (TA-47)."""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.known import Home
from streams.analysis.objects import finding, user_databases
from streams.prose import listed
from streams.topology import (
    Database,
    Encryption,
    Finding,
    Grant,
    Instance,
    Severity,
    Source,
    Topology,
)

_REMEDY = "Control access with Kafka ACLs (hopline acl), and encrypt connections with TLS."


def unenforced_of(topology: Topology, now: float) -> tuple[Finding, ...]:
    """Return the findings of :func:`unenforced` in a topology; ``now`` is in epoch seconds."""
    return tuple(unenforced(Estate(topology, now)))


def unenforced(estate: Estate) -> Iterator[Finding]:
    """Find permissions, endpoint options and bindings that Kafka does not enforce."""
    for instance in estate.topology.instances.values():
        yield from _endpoint(instance)
        for grants in _by_object(instance.grants):
            yield _permission(grants, instance)
    for at in user_databases(estate):
        for grants in _by_object(at.database.grants):
            yield _permission(grants, at)
        yield from _dialog_security(at, at.database)
        yield from _encrypted_dialogs(at, at.database)


def _endpoint(instance: Instance) -> Iterator[Finding]:
    endpoint = instance.endpoint
    if endpoint.authentication and endpoint.encryption is not Encryption.DISABLED:
        yield _finding(
            instance, endpoint.source,
            f"the endpoint requires {listed(endpoint.authentication)} and encryption "
            f"{endpoint.encryption.value}, but workers connect to Kafka with Kafka's settings",
            endpoint=endpoint.name, encryption=endpoint.encryption.value,
        )  # fmt: skip


def _by_object(grants: tuple[Grant, ...]) -> Iterator[list[Grant]]:
    found: dict[tuple[str, str, str], list[Grant]] = {}
    for grant in grants:
        found.setdefault((grant.permission, grant.securable.value, grant.name), []).append(grant)
    yield from found.values()


def _permission(grants: list[Grant], at: Home | Instance) -> Finding:
    first = next((grant for grant in grants if grant.denied), grants[0])
    verb = "DENY" if first.denied else "GRANT"
    return _finding(
        at, first.source,
        f"{verb} {first.permission.upper()} on {first.securable.value} {first.name}: "
        "any client that may write to the instance's topics can send",
        permission=first.permission, name=first.name,
        principals=sorted({grant.principal for grant in grants}),
    )  # fmt: skip


def _dialog_security(at: Home, database: Database) -> Iterator[Finding]:
    for binding in database.bindings:
        yield _finding(
            at, binding.source,
            f"the remote service binding {binding.name} encrypts nothing: Kafka's topics contain "
            "the bodies as they were sent",
            binding=binding.name,
        )  # fmt: skip
    for certificate in database.certificates.values():
        yield _finding(
            at, certificate.source,
            f"the certificate {certificate.name} encrypts and signs nothing",
            certificate=certificate.name,
        )  # fmt: skip


def _encrypted_dialogs(at: Home, database: Database) -> Iterator[Finding]:
    """Find procedures that state ENCRYPTION = ON; the default ON is not reported."""
    for procedure in database.procedures.values():
        begins = [begin for begin in procedure.begins if begin.asks_encryption]
        if begins:
            yield _finding(
                at, begins[0].source,
                f"{procedure.name} begins dialogs WITH ENCRYPTION = ON, but Kafka's topics "
                "contain their bodies as they were sent",
                procedure=procedure.name, to=sorted({b.to for b in begins if b.to is not None}),
            )  # fmt: skip


def _finding(at: Home | Instance, source: Source, message: str, **evidence: object) -> Finding:
    text = f"not enforced by Hopline: {message}"
    return finding("TA-47", Severity.INFO, at, source, text, _REMEDY, **evidence)


CHECKS = (
    Check(
        "TA-47",
        "A permission, certificate or encryption setting that Hopline does not enforce",
        (Severity.INFO,),
        "reference 4.14, 8.2",
        "SQL Server requires SEND on a service and CONNECT on an endpoint, and encrypts dialogs "
        "with the certificates of users. Hopline reads these settings, because they decide whether "
        "dialogs work on SQL Server. Hopline's own workers have no users: a client that may write "
        "to an instance's topics can send as any of its services, and a client that may read these "
        "topics can read the bodies.",
        "Control access to topics with Kafka ACLs (hopline acl), and use TLS between brokers and "
        "clients.",
        unenforced,
    ),
)
