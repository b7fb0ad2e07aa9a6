"""Apply statements about certificates and permissions (reference 4.14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streams.topology.security import Certificate, Grant, Securable
from streams.topology.tsql.script import Script
from streams.topology.tsql.statements import CreateCertificate, SetPermission, Statement


def _create_certificate(script: Script, s: CreateCertificate) -> None:
    database = script.database(s.source)
    if script.one_part(s.name, "certificate", database, s.source):
        made = Certificate(s.name[-1], **s.fields, source=s.source)
        script.add(database, database.certificates, "certificate", made)


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
    CreateCertificate: _create_certificate,
    SetPermission: _set_permission,
}
