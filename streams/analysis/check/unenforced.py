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
_AUDIT = (
    "Hopline keeps received messages in the topic, but no copies of sent ones: an application that "
    "undoes its work at an Error must store what it has sent. ALTER QUEUE ... WITH RETENTION = OFF."
)
_ORDER = (
    "RECEIVE uses priorities; do not rely on the order of transmission. ALTER DATABASE ... SET "
    "HONOR_BROKER_PRIORITY OFF."
)


def unenforced_of(topology: Topology, now: float) -> tuple[Finding, ...]:
    """Return the findings of :func:`unenforced` in a topology; ``now`` is in epoch seconds."""
    return tuple(unenforced(Estate(topology, now)))


def unenforced(estate: Estate) -> Iterator[Finding]:
    """Find permissions, options and bindings that workers ignore."""
    for instance in estate.topology.instances.values():
        yield from _endpoint(instance)
        for grants in _by_object(instance.grants):
            yield _permission(grants, instance)
    for at in user_databases(estate):
        for grants in _by_object(at.database.grants):
            yield _permission(grants, at)
        yield from _dialog_security(at, at.database)
        yield from _encrypted_dialogs(at, at.database)
        yield from _delivery(at, at.database)


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


def _delivery(at: Home, database: Database) -> Iterator[Finding]:
    """Find RETENTION = ON and HONOR_BROKER_PRIORITY ON (4.11, 4.12; decisions 59 and 60)."""
    for queue in database.queues.values():
        if queue.retention:
            yield _finding(
                at, queue.source,
                f"RETENTION = ON of queue {queue.name}: END does not remove received messages, and "
                "sent messages are not in the queue",
                remedy=_AUDIT, queue=queue.name,
            )  # fmt: skip
    if database.honor_priority:
        yield _finding(
            at, database.source,
            "HONOR_BROKER_PRIORITY ON: messages are transmitted in the order of their statements",
            remedy=_ORDER, database=database.name,
        )  # fmt: skip


def _finding(
    at: Home | Instance, source: Source, message: str, remedy: str = _REMEDY, **evidence: object
) -> Finding:
    text = f"not enforced by Hopline: {message}"
    return finding("TA-47", Severity.INFO, at, source, text, remedy, **evidence)


CHECKS = (
    Check(
        "TA-47",
        "A security, RETENTION or priority setting that Hopline does not enforce",
        (Severity.INFO,),
        "reference 4.11, 4.12, 4.14, 8.2",
        "SQL Server requires SEND on a service and CONNECT on an endpoint, and encrypts dialogs "
        "with the certificates of users. Hopline reads these settings, because they decide whether "
        "dialogs work on SQL Server. Hopline's own workers have no users: a client that may write "
        "to an instance's topics can send as any of its services, and a client that may read these "
        "topics can read the bodies. RETENTION = ON keeps received messages in the queue's topic "
        "after the end of their dialog, too, and does not keep sent messages. "
        "HONOR_BROKER_PRIORITY ON has no effect on transmission.",
        "Control access to topics with Kafka ACLs (hopline acl), and use TLS between brokers and "
        "clients. Turn RETENTION and HONOR_BROKER_PRIORITY off.",
        unenforced,
    ),
)
