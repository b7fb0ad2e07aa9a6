"""Java's Kafka client gets the settings of librdkafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import UsageError
from streams.kafka import Cluster
from streams.monitor.access import java_properties, source_options

SCRAM = {
    "security.protocol": "sasl_ssl",
    "sasl.mechanisms": "SCRAM-SHA-512",
    "sasl.username": "monitor",
    "sasl.password": "geheim",
}
AUTHORITY = "-----BEGIN CERTIFICATE-----\nCA\n"
KEY = "-----BEGIN PRIVATE KEY-----\nK\n"


def java(properties: dict[str, str]) -> dict[str, str]:
    return java_properties(Cluster("k:1", properties=properties))


def test_a_plain_cluster_is_an_address() -> None:
    plain = {"bootstrap.servers": "k:1", "security.protocol": "PLAINTEXT"}
    assert java({}) == plain
    assert java({"linger.ms": "5", "client.id": "x"}) == plain, "how fast is Spark's own business"


def test_user_and_password_are_a_login(tmp_path: Path) -> None:
    found = java(SCRAM)
    assert found["sasl.jaas.config"] == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="monitor" password="geheim";'
    )
    assert (found["security.protocol"], found["sasl.mechanism"]) == ("SASL_SSL", "SCRAM-SHA-512")
    plain = java({**SCRAM, "sasl.mechanisms": "PLAIN", "security.protocol": "SASL_PLAINTEXT"})
    assert "plain.PlainLoginModule required" in plain["sasl.jaas.config"]
    assert not [name for name in plain if name.startswith("ssl.")]


def test_a_password_cannot_end_its_quotes() -> None:
    """It would else say something to Java: another option, or another module."""
    found = java({**SCRAM, "sasl.password": 'a"b\\ c;'})["sasl.jaas.config"]
    assert found.endswith(r' password="a\"b\\ c;";')
    with pytest.raises(UsageError, match="line breaks"):
        java({**SCRAM, "sasl.password": "a\nb"})


def test_certificates_and_keys_are_handed_over_as_texts(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text(AUTHORITY)
    (tmp_path / "key").write_text(KEY)
    asked = {
        "security.protocol": "ssl",
        "ssl.ca.location": str(tmp_path / "ca"),
        "ssl.certificate.pem": "-----BEGIN CERTIFICATE-----\nMINE\n",
        "ssl.key.location": str(tmp_path / "key"),
        "ssl.key.password": "geheim",
    }
    found = java(asked)
    assert found == {
        "bootstrap.servers": "k:1",
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": AUTHORITY,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": asked["ssl.certificate.pem"],
        "ssl.keystore.key": KEY,
        "ssl.key.password": "geheim",
        "ssl.endpoint.identification.algorithm": "https",
    }
    assert not java({**asked, "ssl.endpoint.identification.algorithm": "none"})[
        "ssl.endpoint.identification.algorithm"
    ]
    options = source_options(Cluster("k:1", properties=asked))
    assert options["kafka.ssl.keystore.key"] == KEY
    assert options["kafka.max.poll.records"] == "20", "500 took more memory than Spark has"


def test_a_keystore_is_one() -> None:
    asked = {
        "security.protocol": "ssl", "ssl.keystore.location": "k.p12", "ssl.keystore.password": "g",
    }  # fmt: skip
    found = java(asked)
    assert found["ssl.keystore.type"] == "PKCS12"
    assert (found["ssl.keystore.location"], found["ssl.keystore.password"]) == ("k.p12", "g")


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"sasl.mechanisms": "OAUTHBEARER"}, "mechanism OAUTHBEARER"),
        ({"sasl.mechanisms": "GSSAPI"}, "mechanism GSSAPI"),
        ({"ssl.crl.location": "x"}, "does not support ssl.crl.location"),
        ({"enable.ssl.certificate.verification": "false"}, "always verifies certificates"),
        ({"ssl.ca.location": "/nowhere/ca"}, "No such file or directory"),
        ({"ssl.certificate.pem": "C", "ssl.key.pem": "-----BEGIN RSA PRIVATE KEY-----"}, "PKCS #8"),
    ],
)
def test_what_java_cannot_do_is_refused(properties: dict[str, str], message: str) -> None:
    """And not left out: a connection would be less safe than was asked for."""
    with pytest.raises(UsageError) as refused:
        java({**SCRAM, **properties})
    assert message in refused.value.message
    assert "geheim" not in str(refused.value)
    assert refused.value.remedy
