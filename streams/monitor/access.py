"""Translate librdkafka's properties into those of the Java Kafka client.

Spark uses the Java client, whose properties have different names. Unsupported properties, and
properties with a different meaning, are rejected and never dropped, because without them the
connection would be less secure than requested. Certificates and keys are passed as text, so
executors on other machines need no files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from streams.errors import UsageError
from streams.kafka import Cluster

_LOGIN = "org.apache.kafka.common.security"
_MODULES = {
    "PLAIN": f"{_LOGIN}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_LOGIN}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_LOGIN}.scram.ScramLoginModule",
}
"""The login modules of mechanisms that both clients support in the same way."""
_OF_LOGIN = frozenset({"sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password"})
_OF_KEY = frozenset({"ssl.certificate.location", "ssl.certificate.pem", "ssl.key.location",
                     "ssl.key.pem", "ssl.key.password"})  # fmt: skip
_OF_STORE = frozenset({"ssl.keystore.location", "ssl.keystore.password"})
_AUTHORITY = frozenset({"ssl.ca.location", "ssl.ca.pem"})
_NAMES = {"https": "https", "none": ""}
"""The Java client's values for checking that a broker's certificate contains its name."""
_AT_ONCE = 20
"""Records per poll. A header takes 140 bytes of Java heap, and a record can have 99,000 headers."""
_REMEDY = (
    "Verify without Spark (--engine local) or captures of its topics (--capture FILE), or use TLS "
    "with SCRAM, PLAIN or a key."
)


def source_options(cluster: Cluster) -> dict[str, str]:
    """Return the options of Spark's Kafka source for a cluster."""
    properties = java_properties(cluster) | {"max.poll.records": str(_AT_ONCE)}
    return {f"kafka.{name}": value for name, value in properties.items()}


def java_properties(cluster: Cluster) -> dict[str, str]:
    """Return the properties of the Java client for a cluster; some are passwords.

    Raises UsageError for unsupported properties, or if a file is unreadable.
    """
    given = {n: v for n, v in cluster.properties.items() if n.startswith(("sasl.", "ssl."))}
    protocol = cluster.properties.get("security.protocol", "plaintext").upper()
    found = {"bootstrap.servers": cluster.bootstrap, "security.protocol": protocol}
    if protocol.startswith("SASL_"):
        found |= _login(given)
    else:
        given = {n: v for n, v in given.items() if not n.startswith("sasl.")}
    if protocol.endswith("SSL"):
        _demand_verified(cluster.properties)
        found |= _tls(given)
    else:
        given = {n: v for n, v in given.items() if not n.startswith("ssl.")}
    known = _OF_LOGIN | _OF_KEY | _OF_STORE | _AUTHORITY | {"ssl.endpoint.identification.algorithm"}
    for name in sorted(given.keys() - known):
        raise _refuse(f"Spark's Kafka client does not support {name}")
    return found


def _login(given: Mapping[str, str]) -> dict[str, str]:
    mechanism = given.get("sasl.mechanisms", given.get("sasl.mechanism", "GSSAPI"))
    module = _MODULES.get(mechanism.upper())
    if module is None:
        raise _refuse(f"Spark does not support the SASL mechanism {mechanism}")
    values = {
        "username": given.get("sasl.username", ""),
        "password": given.get("sasl.password", ""),
    }
    words = (f"{name}={_quoted(value)}" for name, value in values.items())
    return {
        "sasl.mechanism": mechanism.upper(),
        "sasl.jaas.config": f"{module} required {' '.join(words)};",
    }


def _quoted(value: str) -> str:
    """Quote a string for JAAS, where a backslash escapes and a quote ends the text."""
    if "\n" in value or "\r" in value:
        raise UsageError(
            "User names and passwords must not contain line breaks.", "Correct its file."
        )
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _tls(given: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    authority = _pem(given, "ssl.ca")
    if authority:
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authority}
    chain, key = _pem(given, "ssl.certificate"), _pem(given, "ssl.key")
    if key and chain:
        # Java recognizes a key in text form by its first line, so the key must be in PKCS #8.
        if "BEGIN PRIVATE KEY" not in key and "BEGIN ENCRYPTED PRIVATE KEY" not in key:
            raise UsageError(
                "Spark's Kafka client reads PKCS #8 keys only.",
                "Convert ssl.key.location: openssl pkcs8 -topk8 -in KEY -out NEW.",
            )
        found |= {"ssl.keystore.type": "PEM", "ssl.keystore.key": key,
                  "ssl.keystore.certificate.chain": chain}  # fmt: skip
        if "ssl.key.password" in given:
            found["ssl.key.password"] = given["ssl.key.password"]
    elif "ssl.keystore.location" in given:  # librdkafka supports PKCS #12 only
        found |= {n: given[n] for n in sorted(_OF_STORE & given.keys())}
        found["ssl.keystore.type"] = "PKCS12"
    name = given.get("ssl.endpoint.identification.algorithm", "https").lower()
    found["ssl.endpoint.identification.algorithm"] = _NAMES.get(name, name)
    return found


def _pem(given: Mapping[str, str], name: str) -> str:
    """Return certificates or a key as text, from a property or from the file that it names."""
    text = given.get(f"{name}.pem")
    if text is not None:
        return text
    location = given.get(f"{name}.location")
    if location is None:
        return ""
    try:
        return Path(location).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not PEM"
        raise UsageError(
            f"{name}.location: {location} cannot be read: {why}.",
            "Spark's Kafka client needs a single PEM file.",
        ) from None


def _demand_verified(properties: Mapping[str, str]) -> None:
    if properties.get("enable.ssl.certificate.verification", "true").lower() == "false":
        raise _refuse("Java's Kafka client always verifies certificates")


def _refuse(why: str) -> UsageError:
    return UsageError(f"{why}.", _REMEDY)
