"""The SEND permission on the target's service that the initiator needs.

Without full security, the initiator acts as ``public``, otherwise as the user that owns its
certificate in the target's database ("Determining the Dialog Security Type", "Mapping Remote
Principals to Local Principals"). A refused message is error 11215 at the target, and Error -8494
for the initiator.
"""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.known import Home
from streams.analysis.security.values import Dialog, Obstacle, SecurityError, in_script
from streams.topology import (
    OWNER,
    Binding,
    Certificate,
    Grant,
    PrivateKey,
    Securable,
    Service,
    Source,
)

_PUBLIC = "public"
_ALLOWING = frozenset({"SEND", "CONTROL"})


def public_may_send(dialog: Dialog, binding: Binding | None, now: float) -> Iterator[Obstacle]:
    """Find why public, as which the initiator acts, may not send to the target's service."""
    for end, service, grants in _target(dialog):
        yield from public_is_denied(dialog, binding, now)
        # Permissions of the user guest are treated as those of public.
        public = [g for g in grants if _principal(g) in (_PUBLIC, "guest")]
        if not public and _shows_permissions(dialog, end, service):
            yield _not_permitted(
                end, service.source,
                f"public has no SEND permission on {service.name}, which dialogs without full "
                "security need",
                f"GRANT SEND ON SERVICE::[{service.name}] TO public.",
            )  # fmt: skip


def user_may_send(dialog: Dialog, binding: Binding | None, now: float) -> Iterator[Obstacle]:
    """Find why the user with the initiator's certificate may not send to the target's service.

    The files do not show which user that is, so an obstacle must concern all users that it may be.
    """
    for end, service, grants in _target(dialog):
        denied = list(public_is_denied(dialog, binding, now))
        yield from denied
        if denied:
            return
        certificates = end.database.certificates.values()
        users = {_owner(c) for c in certificates if c.private_key in (None, PrivateKey.ABSENT)}
        refused = {_principal(g): g for g in grants if g.denied}
        if users and users <= refused.keys():
            yield _refused(end, service, refused[min(users)])
        elif _without_initiator(dialog, end, service):
            yield _not_permitted(
                end, service.source,
                f"only the owner of {service.name} has certificates in this database, so no user "
                "has the initiator's certificate, and full security needs such a user",
                "CREATE CERTIFICATE ... AUTHORIZATION a user FROM FILE with the initiator's public "
                f"key, and GRANT SEND ON SERVICE::[{service.name}] TO this user.",
            )  # fmt: skip
        elif not users & {OWNER, (service.owner or OWNER).casefold()}:
            # The initiator is not a user of the target's own certificates.
            own = {_owner(c) for c in certificates} - users
            allowed = [g for g in grants if not g.denied and _principal(g) not in own]
            if not allowed and _shows_permissions(dialog, end, service):
                yield _not_permitted(
                    end, service.source,
                    f"no user has the SEND permission on {service.name}, which the user with the "
                    "initiator's certificate needs",
                    f"GRANT SEND ON SERVICE::[{service.name}] TO the user that owns the "
                    "initiator's certificate in this database.",
                )  # fmt: skip


def public_is_denied(dialog: Dialog, binding: Binding | None, now: float) -> Iterator[Obstacle]:
    """Find a DENY to public, which no GRANT overrides."""
    for end, service, grants in _target(dialog):
        deny = next((g for g in grants if g.denied and _principal(g) == _PUBLIC), None)
        if deny is not None:
            yield _refused(end, service, deny)


def _without_initiator(dialog: Dialog, end: Home, service: Service) -> bool:
    """Return whether the target's database shows its own certificates but no initiator's."""
    shown = end.database.certificates
    own = (service.owner or OWNER).casefold()
    if not shown or not _shows_permissions(dialog, end, service):
        return False
    if any(c.private_key in (None, PrivateKey.ABSENT) or _owner(c) != own for c in shown.values()):
        return False
    # Both sides may share a certificate.
    begins = dialog.begins.database
    initiator = begins.services.get(dialog.service)
    signs = OWNER if initiator is None else (initiator.owner or OWNER)
    used = {
        c.name.casefold() for c in begins.certificates.values() if _owner(c) == signs.casefold()
    }
    return used.isdisjoint(name.casefold() for name in shown)


def _target(dialog: Dialog) -> Iterator[tuple[Home, Service, list[Grant]]]:
    """Yield the target with its service and the permissions on it, if it is in the topology."""
    service = None if dialog.end is None else dialog.end.database.services.get(dialog.to)
    if dialog.end is not None and service is not None:
        grants = dialog.end.database.grants
        yield dialog.end, service, [g for g in grants if _concerns(g, service.name)]


def _concerns(grant: Grant, service: str) -> bool:
    on = grant.securable is Securable.SERVICE and grant.name == service
    return on and grant.permission.upper() in _ALLOWING


def _owner(certificate: Certificate) -> str:
    return (certificate.user or OWNER).casefold()


def _principal(grant: Grant) -> str:
    return grant.principal.casefold()


def _shows_permissions(dialog: Dialog, end: Home, service: Service) -> bool:
    return dialog.begun and (bool(end.database.grants) or in_script(service.source))


def _refused(end: Home, service: Service, deny: Grant) -> Obstacle:
    return _not_permitted(
        end, deny.source,
        f"SEND on {service.name} is denied to {deny.principal}, and a DENY overrides every GRANT",
        f"REVOKE SEND ON SERVICE::[{service.name}] FROM {deny.principal}.",
    )  # fmt: skip


def _not_permitted(at: Home, source: Source, why: str, remedy: str) -> Obstacle:
    return Obstacle(SecurityError.NOT_PERMITTED, at, source, why, remedy)
