"""The certificates and master keys that a secure dialog needs.

The rules are those of "Certificates for Dialog Security" and "Service Broker Dialog Security".
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from streams.analysis.known import Home
from streams.analysis.security.values import Dialog, Obstacle, SecurityError, in_script
from streams.topology import OWNER, Binding, Certificate, PrivateKey, Source


def bound_certificate(dialog: Dialog, binding: Binding | None, now: float) -> Iterator[Obstacle]:
    """Find why the certificate of the binding's user cannot encrypt the dialog."""
    # Scripts that do not create the initiator's service show only a part of its database.
    shown = dialog.service in dialog.begins.database.services
    if (
        binding is not None
        and binding.user
        and shown
        and _shows_certificates(dialog.begins, binding)
    ):
        of = f"user {binding.user} of remote service binding {binding.name}"
        yield from _certificate(dialog.begins, binding.user, of, binding.source, now)


def owners_certificate(dialog: Dialog, binding: Binding | None, now: float) -> Iterator[Obstacle]:
    """Find why the owner of the initiator's service cannot sign for it (full security)."""
    service = dialog.begins.database.services.get(dialog.service)
    if service is None or binding is None or not _shows_certificates(dialog.begins, binding):
        return
    if dialog.begun and (service.owner or in_script(service.source)):
        owner = service.owner or OWNER
        of = f"{owner}, the owner of service {service.name},"
        yield from _certificate(dialog.begins, owner, of, service.source, now, signs=True)


def _shows_certificates(at: Home, binding: Binding) -> bool:
    return bool(at.database.certificates) or in_script(binding.source)


def _certificate(
    at: Home, user: str, of: str, source: Source, now: float, *, signs: bool = False
) -> Iterator[Obstacle]:
    """Find why a user has no certificate for dialogs; the valid one that expires last is used."""
    owned = [c for c in at.database.certificates.values() if _owns(c, user)]
    active = [c for c in owned if c.active]
    valid = [c for c in active if (c.starts or -inf) <= now < _end(c)]
    if not owned:
        yield Obstacle(
            SecurityError.NO_CERTIFICATE, at, source, f"{of} owns no certificate",
            f"CREATE CERTIFICATE ... AUTHORIZATION {user}, or ALTER AUTHORIZATION.",
        )  # fmt: skip
    elif not active:
        yield Obstacle(
            SecurityError.NOT_ACTIVE, at, owned[0].source,
            f"{of} owns only certificates with ACTIVE FOR BEGIN_DIALOG = OFF",
            f"ALTER CERTIFICATE {owned[0].name} WITH ACTIVE FOR BEGIN_DIALOG = ON.",
        )  # fmt: skip
    elif not valid:
        last = max(active, key=_end)
        early = _end(last) > now
        error = SecurityError.NOT_YET_VALID if early else SecurityError.EXPIRED
        what = "is not valid yet" if early else "has expired"
        yield Obstacle(
            error, at, last.source, f"certificate {last.name}, which {of} uses, {what}",
            "Create a new certificate, and install its public part on the other side.", last,
        )  # fmt: skip
    elif signs:
        yield from _private_key(at, valid, of)


def _end(certificate: Certificate) -> float:
    return inf if certificate.expires is None else certificate.expires


def _owns(certificate: Certificate, user: str) -> bool:
    return (certificate.user or OWNER).casefold() == user.casefold()


def _private_key(at: Home, valid: list[Certificate], of: str) -> Iterator[Obstacle]:
    keys = {c.private_key for c in valid}
    if not keys.isdisjoint({None, PrivateKey.MASTER_KEY}):
        return
    name = valid[0].name
    if PrivateKey.PASSWORD in keys:
        yield Obstacle(
            SecurityError.KEY_HAS_PASSWORD, at, valid[0].source,
            f"{of} owns only certificates whose private key is protected by a password",
            f"ALTER CERTIFICATE {name} WITH PRIVATE KEY (DECRYPTION BY PASSWORD = '...').",
        )  # fmt: skip
    else:
        yield Obstacle(
            SecurityError.NO_PRIVATE_KEY, at, valid[0].source,
            f"{of} owns only certificates without a private key",
            "Let the owner have a certificate that was created in this database.",
        )  # fmt: skip


def master_keys(dialog: Dialog, binding: Binding | None, now: float) -> Iterator[Obstacle]:
    """Find databases that cannot store the dialog's session key; one database needs none."""
    same = dialog.end is not None and str(dialog.begins) == str(dialog.end)
    if same or (dialog.local and not dialog.encryption):
        return
    for at, error in (
        (dialog.begins, SecurityError.NO_MASTER_KEY),
        (dialog.end, SecurityError.NO_MASTER_KEY_AT_TARGET),
    ):
        if at is not None and at.database.master_key is False:
            yield Obstacle(
                error, at, at.database.source,
                f"{at} has no database master key, which encrypted dialogs between databases need",
                "CREATE MASTER KEY ENCRYPTION BY PASSWORD = '...' in the database.",
            )  # fmt: skip
