"""Certificates that are not valid now, or will soon become invalid (TA-42)."""

from __future__ import annotations

from collections.abc import Sequence

from streams.analysis.known import Home
from streams.analysis.objects import day, finding
from streams.topology import Certificate, Finding, Severity


def invalidity(one: Certificate, now: float) -> str:
    """Return why a certificate is not valid at a time; "" if it is valid."""
    if one.expires is not None and one.expires <= now:
        return f"expired on {day(one.expires)}"
    if one.starts is not None and one.starts > now:
        return f"is not valid before {day(one.starts)}"
    return ""


def use_of(at: Home, one: Certificate, now: float) -> str:
    """Describe the known use of a certificate: by a binding of its owner, or by the endpoint.

    A binding uses another certificate of the owner that is valid, if there is one.
    """
    user = None if one.user is None else one.user.casefold()
    others = (c for c in at.database.certificates.values() if c.name != one.name and c.user)
    replaced = any((c.user or "").casefold() == user and not invalidity(c, now) for c in others)
    for binding in () if replaced else at.database.bindings:
        if binding.user.casefold() == user:
            return f"binding {binding.name} uses it for dialogs with {binding.service}"
    words = (word.casefold().strip('[]"') for word in at.instance.endpoint.authentication)
    return "the endpoint authenticates with it" if one.name.casefold() in words else ""


def unusable_certificate(
    at: Home, one: Certificate, now: float, error: int, flows: Sequence[str]
) -> Finding:
    """Return the finding about an invalid certificate that these flows need (``error``)."""
    used = use_of(at, one, now) or "dialogs of its owner's services need it"
    what = invalidity(one, now)
    return certificate_finding(at, one, Severity.ERROR, used, what, error=error, flows=flows)


def certificate_finding(
    at: Home,
    one: Certificate,
    severity: Severity,
    used: str,
    what: str,
    **evidence: object,
) -> Finding:
    """Return TA-42 about a certificate."""
    use = f"; {used}" if used else ""
    return finding(
        "TA-42", severity, at, one.source,
        f"certificate {one.name} {what}{use}",
        "Create a new one, install its public part on the other side, and use it in bindings and "
        "endpoints.",
        certificate=one.name, user=one.user, starts=one.starts, expires=one.expires,
        **evidence,
    )  # fmt: skip
