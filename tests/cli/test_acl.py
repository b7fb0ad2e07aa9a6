"""`hopline acl`: as commands that can be pasted, as JSON, for some roles, for users of any name."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from streams.wire.acl import Operation, Resource
from tests.command import hopline


def lines(*words: str) -> list[list[str]]:
    code, out, err = hopline("acl", *words)
    assert code == 0, err
    return [shlex.split(line) for line in out.splitlines() if line and not line.startswith("#")]


def test_each_line_is_a_command_of_kafkas() -> None:
    """With options and operations that Kafka has; a comment before each role says what for."""
    found = lines("hub")
    assert len(found) > 50
    operations = {operation.value for operation in Operation}
    resources = {f"--{resource.value}" for resource in Resource}
    for tool, where, add, *words in found:
        assert (tool, where, add) == ("kafka-acls.sh", "$AT", "--add")
        if "--cluster" in words:  # which takes no name
            words.insert(words.index("--cluster") + 1, "")
        options, values = words[::2], words[1::2]
        allowed = {v for o, v in zip(options, values, strict=True) if o == "--operation"}
        assert allowed and allowed <= operations
        assert len(resources.intersection(options)) == 1
        rest = set(options) - resources - {"--operation", "--allow-principal"}
        assert rest <= {"--resource-pattern-type"}
    _, out, _ = hopline("acl", "hub")
    roles = [line for line in out.splitlines() if line.startswith("# ")]
    users = {line[line.index("--allow-principal") + 1] for line in found}
    assert len(users) == len(roles) - 1, "the first comment says what AT is"


def test_json_has_the_same_acls_and_their_reasons() -> None:
    code, out, _ = hopline("acl", "hub", "--format", "json", "--role", "forwarder.*")
    roles = json.loads(out)["roles"]
    assert code == 0 and {role["kind"] for role in roles} == {"forwarder"}
    assert all(grant["why"] and role["why"] for role in roles for grant in role["grants"])
    count = sum(len(role["grants"]) for role in roles)
    assert count == len(lines("hub", "--role", "forwarder.*"))
    principals = {role["principal"] for role in roles}
    assert principals == {f"User:{role['role']}" for role in roles}


def test_each_cluster_has_roles_of_its_own() -> None:
    _, out, _ = hopline("acl", "two_clusters", "--format", "json")
    clusters = json.loads(out)["clusters"]
    foreign = {
        name: [r["role"] for r in of["roles"] if r["kind"] == "foreign"]
        for name, of in clusters.items()
    }
    assert foreign == {"buyer": ["foreign.seller"], "seller": ["foreign.buyer"]}
    _, out, _ = hopline("acl", "two_clusters", "--cluster", "buyer", "--format", "json")
    assert list(json.loads(out)["clusters"]) == ["buyer"]


def test_users_may_be_called_otherwise() -> None:
    by_kind = lines("hub", "--principal", "User:{kind}", "--role", "endpoint.*")
    assert {words[words.index("--allow-principal") + 1] for words in by_kind} == {"User:endpoint"}
    named = lines("hub", "--principal", "User:CN={role}", "--role", "verify")
    assert {words[words.index("--allow-principal") + 1] for words in named} == {"User:CN=verify"}
    one = lines("hub", "--principal", "User:load", "--role", "verify", "--role", "observer")
    assert {words[words.index("--allow-principal") + 1] for words in one} == {"User:load"}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--principal", "User:all"), "gives all roles the same user"),
        (("--role", "nobody"), "There is no role nobody"),
        (("--passwords", "."), "Add --apply"),
        (("--apply", "--passwords", "{empty}"), "has no password file for any user"),
    ],
)
def test_wrong_use_is_reported(tmp_path: Path, words: tuple[str, ...], why: str) -> None:
    code, out, err = hopline("acl", "hub", *(w.replace("{empty}", str(tmp_path)) for w in words))
    assert (code, out) == (2, "")
    assert why in " ".join(err.split())
