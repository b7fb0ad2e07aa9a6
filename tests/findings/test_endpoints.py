"""TA-39: endpoints that cannot connect to each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from .folders import report_of, reported

TWO = """
instances:
  A:
    endpoint: {{{here}}}
    grants: [{here_grants}]
    databases:
      D:
        services: {{I: {{contracts: []}}}}
        routes: [{{name: R, service_name: S, address: 'tcp://{to}:4022'}}]
  B:
    endpoint: {{{there}}}
    grants: [{there_grants}]
    databases:
      E:
        services: [S]
        routes: [{{name: R, service_name: I, address: 'tcp://A:4022'}}]
"""


def two(here: str = "", there: str = "", here_grants: str = "", there_grants: str = "",
        to: str = "B") -> str:  # fmt: skip
    return TWO.format(
        here=here, there=there, here_grants=here_grants, there_grants=there_grants, to=to
    )


DISABLED, SUPPORTED = "encryption: disabled", "encryption: supported"
WINDOWS, CERTIFICATE = "authentication: WINDOWS NEGOTIATE", "authentication: CERTIFICATE C"


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        (two(), ""),
        (two(DISABLED), "error A: A and B cannot connect: B has ENCRYPTION = REQUIRED, A"),
        (two("", DISABLED), "error B: A and B cannot connect: A has ENCRYPTION = REQUIRED, B"),
        (two(DISABLED).replace("    endpoint: {}\n", ""), ""),  # nothing is known of the other one
        (two("", DISABLED).replace("    endpoint: {}\n", ""), ""),
        (two(DISABLED, SUPPORTED), ""),
        (two(DISABLED, DISABLED), ""),
        (two(DISABLED, to="C"), ""),  # no flow connects them
        (two("algorithms: AES", "algorithms: RC4"), "no algorithm in common: AES and RC4"),
        (two("algorithms: AES RC4", "algorithms: rc4"), ""),
        (two("algorithms: AES"), ""),
        (two(f"{DISABLED}, algorithms: AES", f"{DISABLED}, algorithms: RC4"), ""),
        (two(WINDOWS, CERTIFICATE), "A requires WINDOWS authentication, B CERTIFICATE"),
        (two(WINDOWS, "authentication: CERTIFICATE C WINDOWS"), ""),
        (two(WINDOWS), ""),
    ],
)
def test_settings(tmp_path: Path, yaml: str, said: str) -> None:
    found = reported(tmp_path, "TA-39", yaml)
    assert [said in message for message in found] == [True] * bool(said)


OPEN = "{endpoint: E, to: public}"


@pytest.mark.parametrize(
    ("here", "there", "said"),
    [
        ("", "", ""),  # nothing is known of permissions
        (OPEN, OPEN, ""),
        (OPEN, "", "warning B: no login is granted CONNECT on the endpoint of B"),
        (OPEN, "{permission: control, endpoint: E, to: x}", ""),
        (OPEN, "{permission: alter, endpoint: E, to: x}", "warning B"),
        ("", "{endpoint: E, to: Public, denied: on}", "error B: CONNECT on endpoint E of B"),
        ("", "{endpoint: E, to: someone, denied: on}", ""),
    ],
)
def test_permissions(tmp_path: Path, here: str, there: str, said: str) -> None:
    """Where some endpoint's grants are known, one without any is told of."""
    found = reported(tmp_path, "TA-39", two(here_grants=here, there_grants=there))
    assert [said in message for message in found] == [True] * bool(said)


def test_nothing_is_known_of_an_endpoint_that_nobody_wrote(tmp_path: Path) -> None:
    unwritten = two(here_grants=OPEN).replace("    endpoint: {}\n", "")
    assert reported(tmp_path, "TA-39", unwritten) == []


def test_scripts_without_an_endpoint_are_named_if_others_create_one(tmp_path: Path) -> None:
    """Scripts often omit all endpoints; one endpoint that is missing is probably forgotten."""
    endpoint = (
        "CREATE ENDPOINT E STATE = STARTED AS TCP (LISTENER_PORT = 4022) FOR SERVICE_BROKER ()"
    )
    begin = (
        "GO\nCREATE PROC p AS BEGIN DIALOG @h FROM SERVICE A TO SERVICE 'B'\nEND CONVERSATION @h"
    )
    for here, there, said in (
        (endpoint, endpoint, []),
        ("", "", []),
        (endpoint, "", ["warning B: the scripts of B create no endpoint"]),
        ("", endpoint, ["warning A: the scripts of A create no endpoint"]),
    ):
        for me, other, first, last in (("A", "B", here, begin), ("B", "A", there, "")):
            (tmp_path / f"{me}.sql").write_text(
                f"{first}\nGO\nUSE D\nGO\nCREATE QUEUE Q\n"
                f"CREATE SERVICE {me} ON QUEUE Q ([DEFAULT])\n"
                f"CREATE ROUTE R WITH SERVICE_NAME = '{other}', ADDRESS = 'TCP://{other}:4022'\n"
                f"{last}"
            )
        found = [f for f in report_of(tmp_path).findings if f.code == "TA-39"]
        messages = [f"{f.severity.value} {f.subject}: {f.message}" for f in found]
        assert len(messages) == len(said)
        assert all(m.startswith(text) for m, text in zip(messages, said, strict=True))
