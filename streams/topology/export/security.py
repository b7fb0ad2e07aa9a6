"""Users, certificates, remote service bindings, permissions, and the endpoint."""

from __future__ import annotations

import re

from streams.topology.export.quoting import bracket, day, literal
from streams.topology.export.script import Script
from streams.topology.model import Endpoint, Instance, Transport
from streams.topology.objects import Database
from streams.topology.security import Certificate, Encryption, Grant, PrivateKey

_WORD = re.compile(r"[A-Za-z]\w*")
_THERE = frozenset({"public", "dbo", "guest"})
"""Principals that every database has."""
_PERMISSION = re.compile(r"[A-Z]+( [A-Z]+)*")


def write_users(script: Script, database: Database) -> None:
    """Create the users that own objects, secure dialogs or have permissions, if missing."""
    named = (
        *(s.owner for s in database.services.values()),
        *(c.user for c in database.certificates.values()),
        *(b.user for b in database.bindings),
        *(g.principal for g in database.grants),
    )
    for user in dict.fromkeys(u for u in named if u and u.casefold() not in _THERE):
        script.add(
            f"IF DATABASE_PRINCIPAL_ID({literal(user)}) IS NULL "
            f"CREATE USER {bracket(user)} WITHOUT LOGIN;"
        )
    script.go()


def write_security(script: Script, database: Database) -> None:
    """Write the security of a database's dialogs; its users must already exist."""
    if database.master_key:
        script.comment("create a master key with a password of your own: CREATE MASTER KEY")
    for certificate in database.certificates.values():
        _certificate(script, certificate)
    script.go()
    for b in database.bindings:
        script.add(
            f"CREATE REMOTE SERVICE BINDING {bracket(b.name)} TO SERVICE {literal(b.service)}",
            f"    WITH USER = {bracket(b.user)}, ANONYMOUS = {'ON' if b.anonymous else 'OFF'};",
        )
    script.go()
    for grant in database.grants:
        write_grant(script, grant)
    script.go()


def _certificate(script: Script, c: Certificate) -> None:
    owner = f" AUTHORIZATION {bracket(c.user)}" if c.user else ""
    create = f"CREATE CERTIFICATE {bracket(c.name)}{owner}"
    dates = {"START_DATE": c.starts, "EXPIRY_DATE": c.expires}
    given = {word: day(at) for word, at in dates.items() if at is not None}
    active = "" if c.active else " ACTIVE FOR BEGIN_DIALOG = OFF"
    why = unwritable(c)
    if why:
        script.leave_out(f"certificate {c.name}", why, c)
    elif c.subject is None:
        script.comment("the certificate's file name is assumed")
        script.add(f"{create} FROM FILE = {literal(c.name + '.cer')}{active};")
    else:
        clauses = [f"SUBJECT = {literal(c.subject)}", *(f"{w} = {d}" for w, d in given.items())]
        script.add(f"{create} WITH {', '.join(clauses)}{active};")


def unwritable(c: Certificate) -> str:
    """Return why CREATE CERTIFICATE cannot create a certificate; "" if it can."""
    dates = [day(at) for at in (c.starts, c.expires) if at is not None]
    if c.subject is None and dates:
        return "its subject is unknown"
    if None in dates:
        return "its dates cannot be expressed"
    if c.private_key not in (None, written_key(c)):
        return "the file or password of its private key is unknown"
    return ""


def written_key(c: Certificate) -> PrivateKey:
    """Return the private key of a certificate as exported: none if it is created from a file."""
    return PrivateKey.ABSENT if c.subject is None else PrivateKey.MASTER_KEY


def write_grant(script: Script, g: Grant) -> None:
    """Write GRANT or DENY of a permission on a service or an endpoint."""
    if not _PERMISSION.fullmatch(g.permission):
        script.leave_out(f"permission {g.permission} on {g.name}", "it is not valid in T-SQL", g)
        return
    verb = "DENY" if g.denied else "GRANT"
    on = f"{g.securable.name}::{bracket(g.name)}"
    script.add(f"{verb} {g.permission} ON {on} TO {bracket(g.principal)};")


def write_endpoint(script: Script, instance: Instance) -> None:
    """Write the endpoint and the permissions on it; the logins must already exist."""
    e = instance.endpoint
    script.add(
        f"CREATE ENDPOINT {bracket(e.name or '')}",
        f"    STATE = {e.state.name}",
        f"    AS TCP (LISTENER_PORT = {e.port})",
        f"    FOR SERVICE_BROKER ({', '.join(_options(e))});",
    )
    if e.transport is not Transport.FAILOVER:
        script.note("endpoint", f"its transport is {e.transport.value}, a Hopline setting")
    if e.hide_path:
        script.note("endpoint", "it hides the path into another Kafka cluster, a Hopline setting")
    script.go()
    if instance.grants:
        script.comment("the logins must already exist")
    for grant in instance.grants:
        write_grant(script, grant)
    script.go()


def _options(e: Endpoint) -> list[str]:
    options = []
    if e.authentication:
        options.append(f"AUTHENTICATION = {_words(e.authentication)}")
    if e.encryption is not Encryption.REQUIRED or e.algorithms:
        algorithms = f" ALGORITHM {_words(e.algorithms)}" if e.algorithms else ""
        options.append(f"ENCRYPTION = {e.encryption.name}{algorithms}")
    options.append(f"MESSAGE_FORWARDING = {'ENABLED' if e.forwarding else 'DISABLED'}")
    options.append(f"MESSAGE_FORWARD_SIZE = {e.forward_size_mb}")
    return options


def _words(words: tuple[str, ...]) -> str:
    """Return the words of a clause; other texts, such as a certificate's name, are in brackets."""
    named = [n and words[n - 1] == "CERTIFICATE" for n in range(len(words))]
    return " ".join(
        bracket(word) if by or not _WORD.fullmatch(word) else word
        for word, by in zip(words, named, strict=True)
    )
