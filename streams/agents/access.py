"""Translate librdkafka's properties into Faust's credentials."""

from __future__ import annotations

from collections.abc import Mapping

from faust import SASLCredentials, SSLCredentials
from faust.types.auth import CredentialsT

from streams.errors import UsageError
from streams.kafka import UnsupportedError, access_of


def faust_credentials(properties: Mapping[str, str]) -> CredentialsT | None:
    """Return Faust's ``broker_credentials``; ``None`` if the cluster uses plain text.

    Raises UsageError for unsupported properties, or if a file cannot be read.
    """
    try:
        access = access_of(properties)
    except UnsupportedError as error:
        raise _refuse(f"Agents do not support {error}") from None
    if access.protocol == "PLAINTEXT":
        return None
    context = access.context()
    if context is not None and not access.verifies:
        raise _refuse("Agents always verify certificates")
    if access.mechanism is None:
        assert context is not None, "every protocol without SASL uses TLS"
        return SSLCredentials(context)
    return SASLCredentials(
        username=access.username,
        password=access.password,
        mechanism=access.mechanism,
        ssl_context=context,
    )


def _refuse(why: str) -> UsageError:
    return UsageError(f"{why}.", "Use TLS, with SCRAM, PLAIN or a client key in PEM.")
