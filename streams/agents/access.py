"""Translate librdkafka's properties into Faust's settings.

Unsupported properties are rejected, never ignored, because without them the connection would be
less secure than requested.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from faust import SASLCredentials, SSLCredentials
from faust.types.auth import CredentialsT

from streams.errors import UsageError

_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_KNOWN = frozenset({
    "sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password",
    "ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.key.location",
    "ssl.key.password", "ssl.endpoint.identification.algorithm",
})  # fmt: skip


def faust_credentials(properties: Mapping[str, str]) -> CredentialsT | None:
    """Return Faust's ``broker_credentials``; ``None`` if the cluster uses plain text.

    Raises UsageError for unsupported properties, or if a file cannot be read.
    """
    protocol = properties.get("security.protocol", "plaintext").upper()
    if protocol == "PLAINTEXT":
        return None
    for name in sorted(properties):
        if name.startswith(("sasl.", "ssl.")) and name not in _KNOWN:
            raise _refuse(f"Agents do not support {name}")
    context = _tls(properties) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL_"):
        assert context is not None, "every protocol without SASL uses TLS"
        return SSLCredentials(context)
    said = properties.get("sasl.mechanisms", properties.get("sasl.mechanism", "GSSAPI")).upper()
    if said not in _MECHANISMS:
        raise _refuse(f"Agents do not support the SASL mechanism {said}")
    return SASLCredentials(
        username=properties.get("sasl.username"),
        password=properties.get("sasl.password"),
        mechanism=said,
        ssl_context=context,
    )


def _tls(properties: Mapping[str, str]) -> ssl.SSLContext:
    if properties.get("enable.ssl.certificate.verification", "true").lower() == "false":
        raise _refuse("Agents always verify certificates")
    file = properties.get("ssl.ca.location")
    try:
        context = ssl.create_default_context(
            cafile=file, cadata=properties.get("ssl.ca.pem") if file is None else None
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
    return context


def _refuse(why: str) -> UsageError:
    return UsageError(f"{why}.", "Use TLS, with SCRAM, PLAIN or a client key in PEM.")
