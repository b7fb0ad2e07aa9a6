"""The security of ``topology.yaml``: certificates, permissions, endpoints."""

from __future__ import annotations

from collections.abc import Mapping

from streams.topology.security import Certificate, Encryption, Grant, PrivateKey, Securable
from streams.topology.yaml_file.nodes import Node, optional

ENDPOINT_SECURITY_KEYS = ("encryption", "algorithms", "authentication")
_CERTIFICATE = ("subject", "starts", "expires", "user", "private_key", "active")
PERMISSIONS = {Securable.SERVICE: "SEND", Securable.ENDPOINT: "CONNECT"}
"""Default permission of a grant, by securable."""


def read_certificates(node: Node) -> dict[str, Certificate]:
    """Read certificates, keyed by name."""
    rows = node.named("certificates").items()
    return {name: _certificate(name, key, value) for name, (key, value) in rows}


def _certificate(name: str, key: Node, node: Node) -> Certificate:
    given = node.fields("a certificate", _CERTIFICATE)
    starts, expires = (
        given[word].instant(word) if word in given and not given[word].is_null else None
        for word in ("starts", "expires")
    )
    subject, user = (optional(given, word) for word in ("subject", "user"))
    private = (
        given["private_key"].choice("private_key", PrivateKey) if "private_key" in given else None
    )
    active = "active" not in given or given["active"].switch("active")
    return Certificate(name, starts, expires, subject, user, private, active, key.source)


def read_grants(node: Node, securable: Securable) -> tuple[Grant, ...]:
    """Read permissions: on services in a database, on endpoints at an instance."""
    return tuple(_grant(item, securable) for item in node.items("grants"))


def _grant(node: Node, securable: Securable) -> Grant:
    on = securable.value
    given = node.fields("a grant", ("permission", on, "to", "denied"))
    for key in (on, "to"):
        if key not in given:
            raise node.error(f"a grant without {key}", f"Add {key}: to it.")
    permission = PERMISSIONS[securable]
    if "permission" in given:
        permission = given["permission"].text("a permission").upper()
    denied = "denied" in given and given["denied"].switch("denied")
    name, principal = given[on].text(on), given["to"].text("a user, or public")
    return Grant(permission, securable, name, principal, denied, node.source)


def read_encryption(given: Mapping[str, Node]) -> Encryption:
    """Read an endpoint's encryption; REQUIRED is the engine's default."""
    if "encryption" not in given:
        return Encryption.REQUIRED
    return given["encryption"].choice("encryption", Encryption)


def read_words(given: Mapping[str, Node], key: str) -> tuple[str, ...]:
    """Read the words of a clause in order."""
    if key not in given or given[key].is_null:
        return ()
    node = given[key]
    return node.texts(key) if node.is_list else tuple(node.text(key).split())
