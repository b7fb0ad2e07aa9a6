"""The Broker Configuration Notice, from the first delayed copy to the route (reference 2.5)."""

from __future__ import annotations

import uuid
from itertools import pairwise
from typing import Any

import pytest

from streams.errors import Number
from streams.node.endpoint.route_requests import MISSING_ROUTE
from streams.protocol import END_DIALOG, ERROR, Command, CommandKind
from streams.resources import topologies_dir
from streams.routing import CONFIGURATION_SERVICE, SYSTEM_SERVICE
from streams.simulator import SECOND, Result
from streams.topology import load
from tests.node.evidence import shows
from tests.simulator.build import bodies, errors, run, shipped, simulation

SEEDS = range(3)
ASKED = "ServerA/DatabaseA/ConfigurationQueue"
ENDED = "ServerA/DatabaseA/ServiceBrokerQueue"
TARGET = "ServerB/DatabaseB/TargetQueue"
SERVICE = f"ServerA/DatabaseA/{CONFIGURATION_SERVICE}"
DROP = "'DROP ROUTE [Configured/TargetService/26d8877d]'"
DIALOGS = """
        - {at: 0s, begin: {dialog: d, count: 2, from: ServerA/DatabaseA/InitiatorService, to: TargetService}}
        - {at: 0s, send: {dialog: d, body: first}}
"""  # noqa: E501


def requests(result: Result, service: str) -> list[dict[str, Any]]:
    """Return the MissingRoutes about a service."""
    rows = [row for row in result.queues.get(ASKED, []) if row["type"] == MISSING_ROUTE]
    return [row for row in rows if f"<SERVICE_NAME>{service}<" in row["body"]]


@shows("EX-56", "2.5-1", "2.5-2", "R11")
@pytest.mark.parametrize("seed", SEEDS)
def test_ex_56_one_request_and_every_dialog_goes(seed: int) -> None:
    result = shipped("dynamic_routing/new_route", seed)
    first, second = requests(result, "TargetService")
    assert first["at"] < 1, "one for ten dialogs"
    assert 60 < second["at"] < 70, "and one when the route is gone, at once"
    assert sorted(bodies(result, TARGET)) == ["first"] * 10 + ["second"] * 10
    assert all(row["at"] < 3 for row in result.queues[TARGET] if row["body"] == "first")
    waited = [e for e in result.events if e["error"] == 9770 and e["at"] < 1]
    assert len({e["conversation"] for e in waited}) == 10
    ends = {row["conversation"]: row["type"] for row in result.queues[ENDED]}
    assert ends[first["conversation"]] == ends[second["conversation"]] == END_DIALOG


@shows("C-13")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_request_that_is_refused_is_made_again_by_the_back_off(seed: int) -> None:
    result = shipped("dynamic_routing/new_route", seed)
    asked = [row["at"] for row in requests(result, "Elsewhere")]
    gaps = [later - earlier for earlier, later in pairwise(asked)]
    assert len(asked) >= 5
    for gap, least in zip(gaps, (4, 8, 16, 32, 64), strict=False):
        assert gap >= least
    refused = [row for row in result.queues[ENDED] if row["type"] == ERROR]
    assert len(refused) == len(asked)
    (dialog,) = (row for row in result.endpoints if row["far_service"] == "Elsewhere")
    about = [e for e in result.events if e["conversation"] == dialog["conversation_id"]]
    tries = [e["at"] for e in about if e["error"] == 9770]
    for row in refused:  # its end lets the dialog look again at once, spread over a second
        assert any(row["at"] <= at <= row["at"] + 1.1 for at in tries)
    assert [row["far_service"] for row in result.endpoints if row["state"] == "ER"] == []


@shows("EX-58", "2.5-3")
@pytest.mark.parametrize("seed", SEEDS)
def test_ex_58_a_request_that_is_never_ended_is_the_last(seed: int) -> None:
    result = shipped("dynamic_routing/never_ended", seed)
    assert len(requests(result, "TargetService")) == 1
    expired = result.queues["ServerA/DatabaseA/InitiatorQueue"]
    assert ["<Code>-8489</Code>" in row["body"] for row in expired] == [True, True]
    assert all(600 <= row["at"] < 601 for row in expired)
    late = [e["at"] for e in result.events if e["error"] == 9770]
    assert max(late) > 500
    assert TARGET not in result.queues


@pytest.mark.parametrize("seed", range(10))
def test_a_request_survives_every_crash(seed: int) -> None:
    """Whatever dies while it is open: there is one, and its end lets the dialogs go."""
    text = f"""
        until: 300s
        aborts: 0.2
        network: {{latency: [1ms, 50ms], loss: 0.1, duplicate: 0.1, reorder: 0.1, until: 30s}}
        applications:
          - service: {SERVICE}
            does: configure
            routes: {{TargetService: 'tcp://ServerB:4022'}}
        steps:
        {DIALOGS}
        - {{at: 2ms, fault: {{endpoint: ServerA, state: crashed}}}}
        - {{at: 3s, fault: {{instance: ServerA, state: up}}}}
        - {{at: 3010ms, fault: {{instance: ServerA, state: crashed}}}}
        - {{at: 9s, fault: {{instance: ServerA, state: up}}}}
        - {{at: 9020ms, fault: {{endpoint: ServerA, state: crashed}}}}
        - {{at: 20s, fault: {{endpoint: ServerA, state: up}}}}
    """
    result = run("dynamic_routing", text, seed)
    assert result.violation is None and result.good
    assert len(requests(result, "TargetService")) == 1
    assert bodies(result, TARGET) == ["first", "first"]


def test_an_open_request_is_remembered_over_a_crash() -> None:
    """Nobody answers, the endpoint starts anew: there is no second request."""
    text = f"""
        until: 400s
        steps:
        {DIALOGS}
        - {{at: 10s, fault: {{endpoint: ServerA, state: crashed}}}}
        - {{at: 11s, fault: {{endpoint: ServerA, state: up}}}}
    """
    result = run("dynamic_routing", text)
    assert len(requests(result, "TargetService")) == 1
    assert set(errors(result)) == {9770}
    assert max(e["at"] for e in result.events if e["error"]) > 100


def test_a_route_that_was_found_and_is_gone_is_asked_for_at_once() -> None:
    """The back-off begins anew with every route that was found (C-13)."""
    text = f"""
        until: 10s
        applications:
          - service: {SERVICE}
            does: configure
            routes: {{TargetService: 'tcp://ServerB:4022'}}
        steps:
        {DIALOGS}
        - {{at: 2s, sql: {{at: ServerA/DatabaseA, text: {DROP}}}}}
        - {{at: 2600ms, send: {{dialog: d, body: second}}}}
    """
    asked = requests(run("dynamic_routing", text), "TargetService")
    assert [row["at"] < 0.1 or 2.6 < row["at"] < 2.7 for row in asked] == [True, True]


@shows("R11")
def test_what_comes_from_outside_lets_msdb_ask() -> None:
    """The copy is dropped, the sender tries again, and the new route is msdb's (U-43)."""
    msdb = load(topologies_dir() / "dynamic_routing", 0).instances["ServerB"].msdb.broker_id
    text = f"""
        until: 300s
        applications:
          - {{service: {SERVICE}, does: configure, routes: {{TargetService: LOCAL}}}}
        steps:
        - at: 0s
          sql:
            at: ServerA/DatabaseA
            text: >
              CREATE ROUTE There WITH SERVICE_NAME = 'TargetService',
              ADDRESS = 'tcp://ServerB:4022';
              CREATE ROUTE Back WITH SERVICE_NAME = '{SYSTEM_SERVICE}',
              BROKER_INSTANCE = '{msdb}', ADDRESS = 'tcp://ServerB:4022'
        - at: 0s
          sql:
            at: ServerB/msdb
            text: >
              CREATE ROUTE Configuration WITH SERVICE_NAME = '{CONFIGURATION_SERVICE}',
              ADDRESS = 'tcp://ServerA:4022'
        {DIALOGS.replace("at: 0s", "at: 1s")}
    """
    standing = simulation("dynamic_routing", text)
    result = standing.run()
    assert result.violation is None
    assert bodies(result, TARGET) == ["first", "first"]
    assert [row["path"][0] for row in result.queues[ASKED]] == ["ServerB"]
    assert [row["type"] for row in result.queues["ServerB/msdb/ServiceBrokerQueue"]] == [END_DIALOG]
    assert "9770" in result.summary["dropped"]
    routes = standing.topology.instances["ServerB"].msdb.routes
    assert [r.address for r in routes if r.service == "TargetService"] == ["LOCAL"]


def test_no_application_speaks_in_the_name_of_the_system_service() -> None:
    standing = simulation("dynamic_routing", "until: 5s\n")
    begin = Command(
        uuid.UUID(int=9),
        uuid.UUID(int=10),
        CommandKind.BEGIN,
        "DatabaseA",
        from_service=SYSTEM_SERVICE,
        to_service="TargetService",
    )
    standing.clock.at(SECOND, standing.instances["ServerA"].command, begin)
    assert errors(standing.run()) == [Number.SERVICE_UNKNOWN_HERE]
