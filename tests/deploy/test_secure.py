"""deploy/containers/secure.yml: its users are those that get passwords and rights, everywhere."""

from __future__ import annotations

import re
from typing import Any

import yaml

from tests.deploy.test_containers import ROOT, SERVICES

FOLDER = ROOT / "deploy" / "containers"
SECURE: dict[str, Any] = yaml.safe_load((FOLDER / "secure.yml").read_text("utf-8"))
USERS = {
    name: service["environment"]["HOPLINE_KAFKA_SASL_USERNAME"]
    for name, service in SECURE["services"].items()
    if "HOPLINE_KAFKA_SASL_USERNAME" in service.get("environment", {})
}


def listed(file: str, pattern: str) -> set[str]:
    """Return the words of a script's list."""
    [found] = re.findall(pattern, (FOLDER / file).read_text("utf-8"))
    return set(found.split())


def test_everything_that_talks_to_kafka_is_a_user() -> None:
    ours = {
        name
        for name, service in SERVICES.items()
        if str(service["image"]).startswith("hopline/") and "two-clusters" not in str(service)
    }
    assert set(USERS) == ours - {"audit", *(n for n in ours if n.startswith(("buyer", "seller")))}


def test_every_user_has_a_password_and_rights() -> None:
    users = set(USERS.values())
    assert listed("make-secrets", r"for user in (.*); do") == users
    assert set(SECURE["services"]["access"]["secrets"]) == users
    assert set(SECURE["secrets"]) == users | {"ca.crt", "broker.pem"}
    script = (FOLDER / "bin" / "grant-access").read_text("utf-8")
    granted = listed("bin/grant-access", r"for kind in (.*); do")
    assert granted | set(re.findall(r"--principal User:(\w+)", script)) == users


def test_a_service_has_its_own_password_and_no_other() -> None:
    for name, user in USERS.items():
        service = SECURE["services"][name]
        assert service["secrets"] == [user, "ca.crt"]
        file = service["environment"]["HOPLINE_KAFKA_SASL_PASSWORD_FILE"]
        assert file == f"/run/secrets/{user}"
