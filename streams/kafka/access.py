"""Translate librdkafka's properties of a connection for aiokafka, a Kafka client in Python.

Unsupported properties are rejected, never ignored, because without them the connection would be
less secure than requested.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streams.errors import UsageError

_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_KNOWN = frozenset({
    "sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password",
    "ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.key.location",
    "ssl.key.password", "ssl.endpoint.identification.algorithm",
})  # fmt: skip


class UnsupportedError(Exception):
    """aiokafka lacks a property or a value; the text names it."""


@dataclass(frozen=True, slots=True)
class Access:
    """How to connect to a cluster: the protocol, the user of SASL, and properties of TLS."""

    protocol: str
    properties: Mapping[str, str] = field(repr=False)  # with passwords
    mechanism: str | None = None

    @property
    def username(self) -> str | None:
        """Return the user's name for SASL."""
        return self.properties.get("sasl.username")

    @property
    def password(self) -> str | None:
        """Return the user's password for SASL."""
        return self.properties.get("sasl.password")

    @property
    def verifies(self) -> bool:
        """Return whether certificates of brokers are verified, if TLS is used."""
        said = self.properties.get("enable.ssl.certificate.verification", "true")
        return said.lower() != "false"

    def context(self) -> ssl.SSLContext | None:
        """Return the settings of TLS, if it is used; raise UsageError if a file is unreadable."""
        return _tls(self) if self.protocol.endswith("SSL") else None

    def options(self, bootstrap: str) -> dict[str, Any]:
        """Return the options of an ``AIOKafkaClient``; raise UsageError like :meth:`context`."""
        user = {
            "sasl_mechanism": self.mechanism,
            "sasl_plain_username": self.username,
            "sasl_plain_password": self.password,
        }
        return {
            "bootstrap_servers": _servers(bootstrap),
            **({"client_id": name} if (name := self.properties.get("client.id")) else {}),
            "security_protocol": self.protocol,
            "ssl_context": self.context(),
            **(user if self.mechanism else {}),
        }


def access_of(properties: Mapping[str, str]) -> Access:
    """Return how to connect with these properties; raise UnsupportedError if aiokafka cannot."""
    protocol = properties.get("security.protocol", "plaintext").upper()
    if protocol == "PLAINTEXT":
        return Access(protocol, properties)
    for name in sorted(properties):
        if name.startswith(("sasl.", "ssl.")) and name not in _KNOWN:
            raise UnsupportedError(name)
    if not protocol.startswith("SASL_"):
        return Access(protocol, properties)
    said = properties.get("sasl.mechanisms", properties.get("sasl.mechanism", "GSSAPI")).upper()
    if said not in _MECHANISMS:
        raise UnsupportedError(f"the SASL mechanism {said}")
    return Access(protocol, properties, said)


def _tls(access: Access) -> ssl.SSLContext:
    properties, where = access.properties, access.properties.get("ssl.ca.location")
    where = None if where == "probe" else where
    is_folder = where is not None and Path(where).is_dir()
    try:
        context = ssl.create_default_context(
            cafile=None if is_folder else where,
            capath=where if is_folder else None,
            cadata=properties.get("ssl.ca.pem") if where is None else None,
        )
        if "ssl.certificate.location" in properties:
            context.load_cert_chain(
                properties["ssl.certificate.location"],
                properties.get("ssl.key.location"),
                properties.get("ssl.key.password", ""),
            )
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"ssl.ca.location, ssl.certificate.location or ssl.key.location: {error.strerror}.",
            "They must be PEM files that this process can read.",
        ) from None
    if properties.get("ssl.endpoint.identification.algorithm", "https").lower() == "none":
        context.check_hostname = False
    # From Python 3.13 on, the default rejects authorities without keyUsage, which OpenSSL makes.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not access.verifies:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _servers(bootstrap: str) -> list[str]:
    """Return addresses without what librdkafka allows around them: ``PLAINTEXT://host:9092/``."""
    return [re.sub(r"^\w+://|/.*", "", one.strip()) for one in bootstrap.split(",") if one.strip()]
