"""Apply statements about certificates and permissions (reference 4.14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from streams.topology.security import Certificate, Grant, Securable
from streams.topology.tsql.script import SYSTEM_DATABASES, Script
from streams.topology.tsql.statements import (
    SetCertificate,
    SetMasterKey,
    SetOwner,
    SetPermission,
    Statement,
)


def _set_certificate(script: Script, s: SetCertificate) -> None:
    database = script.database(s.source)
    if not script.one_part(s.name, "certificate", database, s.source):
        return
    if s.create:
        made = Certificate(s.name[-1], **s.changes, source=s.source)
        script.add(database, database.certificates, "certificate", made)
        return
    old = database.certificates.find(s.name[-1])
    if old is None:
        script.no_such("certificate", s.name[-1], database, s.source)
    else:
        database.certificates[old.name] = replace(old, **s.changes)


def _set_owner(script: Script, s: SetOwner) -> None:
    database = script.database(s.source)
    service = database.services.get(s.name)
    certificate = database.certificates.find(s.name)
    if s.what == "service" and service is not None:
        database.services[service.name] = replace(service, owner=s.owner)
    elif s.what == "certificate" and certificate is not None:
        database.certificates[certificate.name] = replace(certificate, user=s.owner)
    else:
        script.no_such(s.what, s.name, database, s.source)


def _set_master_key(script: Script, s: SetMasterKey) -> None:
    # The master key of a system database does not secure dialogs.
    if script.current is not None and script.current.casefold() in SYSTEM_DATABASES:
        return
    database = script.selected(s.source)
    if database is not None:
        database.base = replace(database.base, master_key=s.exists)


def _set_permission(script: Script, s: SetPermission) -> None:
    service = s.securable is Securable.SERVICE
    grants = script.database(s.source).grants if service else script.instance.grants
    for principal in s.principals:
        made = Grant(s.permission, s.securable, s.name, principal, s.verb == "DENY", s.source)
        # The last statement wins: DENY replaces a GRANT, GRANT replaces a DENY, and REVOKE removes
        # either.
        grants[:] = [old for old in grants if _about(old) != _about(made)]
        if s.verb != "REVOKE":
            grants.append(made)


def _about(grant: Grant) -> tuple[str, Securable, str, str]:
    """Return the object of a permission; names are case-insensitive, except names of services."""
    service = grant.securable is Securable.SERVICE
    name = grant.name if service else grant.name.casefold()
    return grant.permission, grant.securable, name, grant.principal.casefold()


SECURITY_HANDLERS: Mapping[type[Statement], Callable[[Script, Any], None]] = {
    SetCertificate: _set_certificate,
    SetOwner: _set_owner,
    SetMasterKey: _set_master_key,
    SetPermission: _set_permission,
}
