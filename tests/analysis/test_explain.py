"""One decision as an answer, by the contract's keys."""

from __future__ import annotations

import json
import random
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from streams.analysis import Question, explain_decision, explain_text, find_at
from streams.errors import UsageError
from streams.topology import Topology, load
from tests.topology.build import NOW, shipped, write

KEYS = {
    "at", "query", "verdict", "error", "step", "routes", "broker", "next_hops", "deliver_to",
    "candidates", "alternatives", "trace",
}  # fmt: skip


def ask(topology: Topology, at: str, to: str, **more: Any) -> dict[str, Any]:
    """Explain and return the answer as JSON; its text is made as well."""
    instance, database = find_at(topology, at)
    answer = explain_decision(topology, Question(instance, database, to, **more), NOW)
    assert to in explain_text(answer)
    return dict(json.loads(json.dumps(answer.to_json())))


def test_the_contract_s_example() -> None:
    """load_balanced answers with the keys and values that the contract shows."""
    answer = ask(shipped("load_balanced"), "ServerA/DatabaseA", "TargetService")
    trace = answer.pop("trace")
    assert set(answer) | {"trace"} == KEYS
    assert answer == {
        "at": {"instance": "ServerA", "table": "DatabaseA"},
        "query": {
            "service": "TargetService", "broker": None, "origin": "inside", "from": "initiator",
            "conversation": None,
        },
        "verdict": "send", "error": None, "step": "M3", "routes": ["LoadBalancingRoute1"],
        "broker": "DatabaseB", "next_hops": ["tcp://ServerB:4022"], "deliver_to": None,
        "candidates": [], "alternatives": ["DatabaseB", "DatabaseC"],
    }  # fmt: skip
    assert trace[0] == {
        "rule": "M1", "kept": [], "why": "the conversation does not specify a broker id",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["load_balanced", "unfair_weights"])
def test_a_thousand_dialogs_split_evenly(name: str) -> None:
    """Broker ids are hashed, not routes: half each, also with two routes for one (EX-24, EX-27)."""
    topology = shipped(name)
    chance = random.Random(1)
    taken = Counter(
        ask(topology, "ServerA/DatabaseA", "TargetService", conversation=uuid.UUID(int=bits))[
            "broker"
        ]
        for bits in (chance.getrandbits(128) for _ in range(1000))
    )
    assert set(taken) == {"DatabaseB", "DatabaseC"} and min(taken.values()) > 440


def test_a_given_broker_id_is_not_balanced() -> None:
    """With a broker id there is no choice (EX-25)."""
    answer = ask(shipped("load_balanced"), "ServerA/DatabaseA", "TargetService", broker="DatabaseC")
    assert (answer["step"], answer["routes"]) == ("M1", ["LoadBalancingRoute2"])
    assert answer["alternatives"] == []


def test_delivery_names_the_database() -> None:
    """A delivered message has instance/database; msdb decides for one from outside."""
    answer = ask(shipped("two_brokers"), "ServerB", "TargetService", outside=True)
    assert answer["at"] == {"instance": "ServerB", "table": "msdb"}
    assert (answer["verdict"], answer["deliver_to"]) == ("deliver", "ServerB/DatabaseB")
    assert answer["candidates"] == ["ServerB/DatabaseB"]


def test_several_databases_are_candidates(tmp_path: Path) -> None:
    """Without a broker id, U-13 takes one of the databases that have the service."""
    yaml = "instances: {I: {databases: {A: {}, B: {services: [S]}, C: {services: [S]}}}}"
    topology = load(write(tmp_path, yaml), NOW)
    answer = ask(topology, "I/A", "S")
    assert answer["candidates"] == ["I/B", "I/C"] and answer["deliver_to"] == "I/B"
    taken = {
        ask(topology, "I/A", "S", conversation=uuid.UUID(int=n))["deliver_to"] for n in range(20)
    }
    assert taken == {"I/B", "I/C"}


@pytest.mark.parametrize(
    ("at", "more", "verdict", "error"),
    [
        ("I/A", {"broker": "B"}, "delay", 8490),
        ("I", {"broker": "B", "outside": True}, "drop", 8490),
        ("I/A", {}, "delay", 9796),
        ("I/A", {"broker": "Elsewhere"}, "delay", 9796),
        ("I", {"broker": "Idle", "outside": True}, "drop", 11210),
    ],
)
def test_a_database_without_the_service_answers_with_an_error(
    tmp_path: Path, at: str, more: dict[str, Any], verdict: str, error: int
) -> None:
    """Only the database whose broker id the conversation names, and only with delivery on."""
    databases = "{A: {}, B: {broker_id: B}, Idle: {broker_id: Idle, broker: disabled}}"
    topology = load(write(tmp_path, f"instances: {{I: {{databases: {databases}}}}}"), NOW)
    answer = ask(topology, at, "S", **more)
    found = answer["verdict"], answer["error"], answer["deliver_to"]
    assert found == (verdict, error, None)
    instance, database = find_at(topology, at)
    text = explain_text(explain_decision(topology, Question(instance, database, "S", **more), NOW))
    assert ("I/B answers with an Error" in text) is (error == 8490)
    assert answer["candidates"] == (["I/B"] if error == 8490 else [])


def test_a_reply_needs_no_route() -> None:
    """What the target's side sent is delivered by its broker id (R2.2)."""
    answer = ask(
        shipped("combined"), "ServerA", "InitiatorService", broker="DatabaseA", outside=True,
        from_target=True,
    )  # fmt: skip
    assert (answer["step"], answer["deliver_to"]) == ("REPLY", "ServerA/DatabaseA")
    assert answer["query"]["from"] == "target"


def test_the_trace_of_a_reply_without_broker_id_states_that() -> None:
    answer = ask(
        shipped("load_balanced"), "ServerA", "TargetService", outside=True, from_target=True
    )
    why = "it does not specify a broker id"
    assert answer["trace"][0] == {"rule": "REPLY", "kept": [], "why": why}


def steps(answer: dict[str, Any]) -> dict[str, str]:
    """Return what the trace says of each rule."""
    return {step["rule"]: step["why"] for step in answer["trace"]}


def test_a_rule_that_does_not_apply_names_the_reason(tmp_path: Path) -> None:
    """One of several possible reasons, and the one that is true of this message."""
    text = "instances: {I: {databases: {A: {}, B: {services: [S]}}}}"
    topology = load(write(tmp_path, text), NOW)
    why = "a LOCAL route, but no active database here has "
    assert steps(ask(topology, "I/A", "T"))["R5.2"] == why + "the service T"
    assert steps(ask(topology, "I/A", "S", broker="X"))["R5.2"] == why + "S and this broker id"
    hub = shipped("hub")
    sent = steps(ask(hub, "ServerA/DatabaseA", "TargetService"))
    forwarded = steps(ask(hub, "Hub", "TargetService", outside=True))
    assert sent["R5.2"] == forwarded["R5.2"] == "no LOCAL route"
    assert sent["R8.1"] == "another instance has the address"
    assert sent["R8.2"] == sent["R8.3"] == "sent from this instance"
    assert forwarded["R8.1"] == "received from another instance"
    assert forwarded["R8.2"] == "forwarding is enabled at the endpoint"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("high_availability", "  sent to one of tcp://GatewayA:4022, tcp://GatewayB:4022\n"),
        ("several_targets", "  sent to each of tcp://ServerB:4022, tcp://ServerC:4022\n"),
    ],
)
def test_the_text_says_whether_the_transport_selects_an_address(name: str, line: str) -> None:
    """Several addresses are alternatives, except with the transport `all`."""
    topology = shipped(name)
    instance, database = find_at(topology, "ServerA/DatabaseA")
    question = Question(instance, database, "TargetService")
    assert line in explain_text(explain_decision(topology, question, NOW))


def test_delay_and_drop_have_their_number(tmp_path: Path) -> None:
    """What began here is delayed, what came from outside is dropped, each with its number."""
    topology = load(write(tmp_path, "instances: {I: {databases: {A: {}}}}"), NOW)
    assert ask(topology, "I/A", "S")["error"] == 9796
    assert ask(topology, "I", "S", outside=True)["verdict"] == "drop"


def test_wrong_use() -> None:
    """Unknown names are answered with the known ones, and an instance alone needs --outside."""
    topology = shipped("two_brokers")
    with pytest.raises(UsageError, match="Did you mean 'ServerA'") as caught:
        find_at(topology, "SerwerA/DatabaseA")
    assert "ServerA, ServerB" in caught.value.remedy
    with pytest.raises(UsageError, match="Did you mean 'DatabaseA'"):
        find_at(topology, "ServerA/DatabaseX")
    with pytest.raises(UsageError, match="--outside"):
        ask(topology, "ServerA", "TargetService")


def test_names_compare_without_case_and_may_hold_slashes(tmp_path: Path) -> None:
    """Instances and databases are found as SQL Server finds them."""
    yaml = "instances: {'SQL/01': {databases: {'A/B': {services: ['//x/S']}}}}"
    topology = load(write(tmp_path, yaml), NOW)
    instance, database = find_at(topology, "sql/01/a/b")
    assert instance.name == "SQL/01" and database is not None and database.name == "A/B"
