"""How Faust is told what librdkafka is told."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest
from faust import SASLCredentials, SSLCredentials

from streams.agents.access import faust_credentials
from streams.errors import UsageError

ROOT = Path(__file__).parents[2]
SCRAM = {
    "security.protocol": "sasl_ssl",
    "sasl.mechanisms": "scram-sha-512",
    "sasl.username": "router",
    "sasl.password": "geheim",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run([ROOT / "deploy/tls/make.sh", folder, "router"], check=True)
    return folder


def test_a_plain_cluster_needs_none() -> None:
    assert faust_credentials({"linger.ms": "5"}) is None


def test_a_user_by_tls(made: Path) -> None:
    found = faust_credentials({**SCRAM, "ssl.ca.location": str(made / "ca.crt")})
    assert isinstance(found, SASLCredentials)
    said = found.mechanism.value, found.username, found.password, found.protocol.value
    assert said == ("SCRAM-SHA-512", "router", "geheim", "SASL_SSL")
    context = found.ssl_context
    assert isinstance(context, ssl.SSLContext) and context.check_hostname
    [authority] = context.get_ca_certs()
    assert authority["subject"] == ((("commonName", "Hopline CA"),),)


def test_a_key_of_ones_own(made: Path) -> None:
    asked = {
        "security.protocol": "ssl",
        "ssl.ca.location": str(made / "ca.crt"),
        "ssl.certificate.location": str(made / "router.crt"),
        "ssl.key.location": str(made / "router.key"),
        "ssl.endpoint.identification.algorithm": "none",
    }
    found = faust_credentials(asked)
    assert isinstance(found, SSLCredentials) and not found.context.check_hostname


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"sasl.mechanisms": "OAUTHBEARER"}, "mechanism OAUTHBEARER"),
        ({"ssl.keystore.location": "x"}, "not support ssl.keystore.location"),
        ({"enable.ssl.certificate.verification": "false"}, "always verify"),
        ({"ssl.ca.location": "/nowhere/ca"}, "No such file"),
    ],
)
def test_what_faust_cannot_do_is_refused(properties: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        faust_credentials({**SCRAM, **properties})
    assert said in refused.value.message
    assert "geheim" not in str(refused.value)
