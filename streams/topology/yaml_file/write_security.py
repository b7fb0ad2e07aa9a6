"""Write the security and code of ``topology.yaml``; the inverse of reading."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from streams.system_names import DEFAULT
from streams.topology.model import Endpoint
from streams.topology.procedures import BeginDialog, Procedure
from streams.topology.security import Certificate, Encryption, Grant
from streams.topology.yaml_file.security import PERMISSIONS


def endpoint_security(e: Endpoint) -> dict[str, Any]:
    """Return an endpoint's encryption, if it is not the default."""
    return {
        "encryption": None if e.encryption is Encryption.REQUIRED else e.encryption.value,
        "algorithms": list(e.algorithms),
        "authentication": list(e.authentication),
    }


def certificates(held: Mapping[str, Certificate]) -> dict[str, Any]:
    """Return certificates, keyed by name."""
    return {c.name: _certificate(c) for c in held.values()}


def _certificate(c: Certificate) -> dict[str, Any]:
    dates = {"starts": c.starts, "expires": c.expires}
    given = {key: instant(at) for key, at in dates.items() if at is not None}
    key = None if c.private_key is None else c.private_key.value
    texts = {"subject": c.subject, "user": c.user, "private_key": key}
    inactive = {} if c.active else {"active": False}
    return {**{key: text for key, text in texts.items() if text is not None}, **given, **inactive}


def grants(held: tuple[Grant, ...]) -> list[dict[str, Any]]:
    """Return permissions, on services or on endpoints."""
    return [_grant(g) for g in held]


def _grant(g: Grant) -> dict[str, Any]:
    permission = {} if g.permission == PERMISSIONS[g.securable] else {"permission": g.permission}
    denied = {"denied": True} if g.denied else {}
    return {g.securable.value: g.name, "to": g.principal, **permission, **denied}


def procedures(held: Mapping[str, Procedure]) -> dict[str, Any]:
    """Return the dialog statements of procedures; END CONVERSATION is only counted."""
    return {p.name: _procedure(p) for p in held.values()}


def _procedure(p: Procedure) -> dict[str, Any]:
    given = {
        "begins": [_begin(b) for b in p.begins],
        "ends": len(p.ends),
        "ends_on": list(p.ends_on),
        "receives": list(p.receives),
        "calls": list(p.calls),
        "external": p.external,
    }
    return {key: value for key, value in given.items() if value}


def _begin(b: BeginDialog) -> dict[str, Any]:
    texts = {"service": b.service, "to": b.to, "broker": b.broker}
    given: dict[str, Any] = {key: text for key, text in texts.items() if text is not None}
    if b.contract != DEFAULT:
        given["contract"] = b.contract
    if b.related:
        given["related"] = True
    if b.asks_encryption or not b.encryption:
        given["encryption"] = b.encryption
    if b.unresolved:
        given["unresolved"] = list(b.unresolved)
    if b.sends:
        given["sends"] = list(b.sends)
    if b.ends_after_send:
        given["ends_after_send"] = True
    return given


def instant(seconds: float) -> datetime | float:
    """Return a time as a datetime if the conversion is exact, otherwise as epoch seconds."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return seconds
    return moment if moment.timestamp() == seconds else seconds
