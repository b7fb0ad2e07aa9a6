"""Refused statements of a replay, as predicted by the endpoint worker's code and as reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.capture.refused import predict_refusals
from streams.errors.refusals import Refusals
from streams.protocol.command import CommandKind
from streams.topology import Topology, load
from tests.capture.commands import IssuedCommand, begin, capture, command, records, send
from tests.command import hopline
from tests.running import running

TOPOLOGY = """
instances:
  ServerA:
    databases:
      DatabaseA:
        message_types: &types {Order: {validation: well_formed_xml}, Reply: {validation: none}}
        contracts: &contracts {Orders: {Order: initiator, Reply: target}}
        services: {InitiatorService: {queue: InitiatorQueue, contracts: []}}
        routes: [{name: R, service_name: TargetService, address: 'tcp://ServerB:4022'}]
  ServerB:
    databases:
      DatabaseB:
        message_types: *types
        contracts: *contracts
        services: {TargetService: {queue: TargetQueue, contracts: [Orders]}}
        routes: [{name: R, service_name: InitiatorService, address: 'tcp://ServerA:4022'}]
"""
ORDERS = {"contract": "Orders"}
ORDER = {"type": "Order", "body": b"<order/>"}
REPLY = {"database": "DatabaseB", "from_initiator": False, "type": "Reply"}
ISSUED = [
    begin(1, **ORDERS),
    send(1, **ORDER),
    send(1, type="Order", body=b"<order>"),
    send(1, type="Order", body=b"<order>"),
    send(1, type="Reply"),
    send(1),
    begin(2, contract="Missing"),
    send(2),
    begin(3, from_service="Missing"),
    begin(1, **ORDERS),
    send(9, "ServerB", **REPLY),
]
EXPECTED = {"2601": 1, "8423": 1, "8425": 1, "8426": 2, "8430": 2, "8431": 1, "8432": 1}
FIRST = str(ISSUED[0][1].conversation)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "topology"
    made.mkdir()
    (made / "topology.yaml").write_text(TOPOLOGY)
    return made


@pytest.fixture
def topology(folder: Path) -> Topology:
    return load(folder, 0)


def predicted(
    topology: Topology, *issued: IssuedCommand, at: str = "ServerB/DatabaseB"
) -> Refusals:
    return predict_refusals(records(issued), "ssb.", topology, {FIRST: (at,)}, 1_000)


def end(conversation: int, at: str = "ServerA", **more: object) -> IssuedCommand:
    return at, command(conversation, CommandKind.END, dict(more))


def counts(found: Refusals) -> dict[int, int]:
    return {number: count for number, count, _ in found}


def test_statements_are_judged_in_their_order(topology: Topology) -> None:
    found = predicted(topology, begin(1, **ORDERS), send(1, **ORDER), end(1), send(1, **ORDER))
    [(number, count, first)] = found
    assert (number, count, first.statement, str(first.conversation)) == (8429, 1, "SEND", FIRST)
    assert (first.place, first.from_initiator, first.at) == ("ServerA/DatabaseA", True, 1_003)
    assert counts(predicted(topology, send(1, **ORDER), begin(1, **ORDERS))) == {8426: 1}


def test_a_target_answers_once_the_first_message_was_sent(topology: Topology) -> None:
    opening, reply = (begin(1, **ORDERS), send(1, **ORDER)), send(1, "ServerB", **REPLY)
    assert not predicted(topology, *opening, reply)
    assert counts(predicted(topology, reply, *opening)) == {8426: 1}
    wrong = send(1, "ServerB", **{**REPLY, "type": "Order"}, body=b"<order/>")
    assert counts(predicted(topology, *opening, wrong)) == {8434: 1}


def test_a_target_that_the_message_does_not_reach_cannot_answer(topology: Topology) -> None:
    opening, reply = (begin(1, **ORDERS), send(1, **ORDER)), send(1, "ServerB", **REPLY)
    assert counts(predicted(topology, *opening, reply, at="ServerA/DatabaseA")) == {8426: 1}


@pytest.mark.long
def test_a_dry_run_predicts_what_the_replay_reports(
    folder: Path, tmp_path: Path, kafka: str, unique: str
) -> None:
    path = capture(tmp_path / "c", records(ISSUED, unique), unique)
    words = ("replay", path, "--asap", "--bootstrap", kafka)
    code, out, err = hopline(*words, "--dry-run", "--topology", folder, "--format", "json")
    assert (code, err) == (0, "")
    dry = json.loads(out)["refused"]
    assert {number: found["count"] for number, found in dry.items()} == EXPECTED
    _, out, _ = hopline(*words, "--dry-run", "--topology", folder, columns=200)
    assert "Statements that the endpoint workers will refuse: 9\n  1 x 2601, the database" in out
    assert "\n  1 x 8423, the service" in out
    assert f"2 x 8430, the message body failed the validation of its type\n    first {NOON}" in out
    with running(kafka, unique, folder) as system:
        more = ("--settle", "5s", "--format", "json")
        code, out, _ = hopline(*words, *more)
        found = json.loads(out)["comparison"]
        assert (code, found["arrived"], found["refused_before"]) == (1, 1, {})
        assert {n: each["count"] for n, each in found["refused"].items()} == EXPECTED
        first = found["refused"]["8430"]["first"]
        assert (first["statement"], first["place"]) == ("SEND", "ServerA/DatabaseA")
        recorded = tmp_path / "recorded"
        code, _, err = hopline("capture", "--output", recorded, *system.options)
        assert code == 0, err
        again = ("replay", recorded, "--asap", "--new-conversations", "--settle", "5s")
        code, out, _ = hopline(*again, *system.options)
        assert out.count("2 x 8430, the message body failed the validation of its type") == 2
        assert "\nrefused           1 x 2601" in out and "\n  captured        1 x 2601" in out


NOON = "1970-01-01T00:00:01.002Z, 00000000-0000-0000-0000-000000000001, initiator's SEND, ServerA"
