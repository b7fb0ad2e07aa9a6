"""Five and more scenarios on both: the same messages in the same order, the same endpoints."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streams.resources import topologies_dir
from streams.simulator import Scenario, Simulation, parse_scenario, read_scenario
from streams.topology import Topology
from tests.node.evidence import shows

from .moments import moments
from .play import stage
from .seen import Seen


def compare(
    kafka: str,
    prefix: str,
    topology: Topology,
    scenario: Scenario,
    also: Callable[[Seen], tuple[Seen, ...]] = lambda _: (),
) -> None:
    """Play a scenario on both; ``also`` are other outcomes that are as good."""
    before = None
    with stage(kafka, prefix, topology, scenario) as played:
        for moment in moments(topology, scenario):
            played.play(moment, before)
            seen = Seen.of(moment.result)
            played.wait_for(seen, *also(seen))
            before = moment
    assert before is not None
    assert (before.result.violation, before.result.notes) == (None, ())


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "local/scenarios/request_reply",
        "load_balanced/scenarios/dialogs",
        "load_balanced/scenarios/table_change",
        "forwarding_chain/scenarios/forwarder_crash",
        "high_availability/scenarios/gateway_loss",
    ],
)
def test_a_shipped_scenario(kafka: str, unique: str, name: str) -> None:
    compare(kafka, unique, *read_scenario(topologies_dir() / f"{name}.yaml"))


def test_several_targets(kafka: str, unique: str) -> None:
    """Who is the first to acknowledge is chance; all else is not: one acts, the other one errs."""
    other = {"ServerB": "ServerC", "DatabaseB": "DatabaseC"}
    other |= {there: here for here, there in other.items()}
    path = topologies_dir() / "several_targets/scenarios/remedy_handshake.yaml"
    compare(kafka, unique, *read_scenario(path), also=lambda seen: (seen.renamed(other),))


STATEMENTS = """
topology: two_brokers
until: 60s
steps:
  - {at: 0s, begin: {dialog: large, from: ServerA/DatabaseA/InitiatorService, to: TargetService}}
  - {at: 0s, send: {dialog: large, body: "LARGE"}}
  - {at: 0s, send: {dialog: large, body: small}}
  - {at: 0s, begin: {dialog: timed, from: ServerA/DatabaseA/InitiatorService, to: TargetService}}
  - {at: 0s, send: {dialog: timed, body: first}}
  - {at: 0s, timer: {dialog: timed, timeout: 1s}}
  - {at: 5s, send: {dialog: large, side: target, body: enough}}
  - {at: 10s, end: {dialog: large, side: target, error: {code: 42, text: too large}}}
  - {at: 15s, end: {dialog: large}}
  - {at: 20s, sql: {at: ServerB/DatabaseB, text: ALTER QUEUE TargetQueue WITH STATUS = OFF}}
  - {at: 22s, send: {dialog: timed, body: parked, count: 3}}
  - {at: 22s, send: {dialog: timed, body: "LARGE"}}
  - {at: 22s, send: {dialog: timed, side: target, body: not parked}}
  - {at: 30s, sql: {at: ServerB/DatabaseB, text: ALTER QUEUE TargetQueue WITH STATUS = ON}}
  - {at: 35s, send: {dialog: timed, body: behind}}
  - {at: 35s, end: {dialog: timed}}
  - {at: 40s, end: {dialog: timed, side: target}}
"""


@pytest.mark.long
def test_what_statements_do(kafka: str, unique: str) -> None:
    """Fragments, END WITH ERROR, a conversation timer, and a queue that is turned off and on."""
    text = STATEMENTS.replace("LARGE", "0123456789" * 30_000)
    compare(kafka, unique, *parse_scenario(text, topologies_dir() / "here"))


MISSING = """
topology: two_brokers
until: 40s
steps:
  - {at: 0s, sql: {at: ServerA/DatabaseA, text: "CREATE ROUTE R WITH SERVICE_NAME = 'Later',
      ADDRESS = 'tcp://ServerB:4022'"}}
  - {at: 0s, begin: {dialog: named, from: ServerA/DatabaseA/InitiatorService, to: Later,
      broker: DatabaseB}}
  - {at: 0s, send: {dialog: named, body: "1", count: 2}}
  - {at: 0s, begin: {dialog: other, from: ServerA/DatabaseA/InitiatorService, to: Later}}
  - {at: 0s, send: {dialog: other, body: "2"}}
  - {at: 16s, sql: {at: ServerB/DatabaseB, text: "CREATE SERVICE Later ON QUEUE TargetQueue
      ([DEFAULT])"}}
"""


@shows("-8490")
@pytest.mark.long
def test_a_missing_service(kafka: str, unique: str) -> None:
    """BEGIN names the broker id: one Error -8490. The other dialog waits for the service."""
    topology, scenario = parse_scenario(MISSING, topologies_dir() / "here")
    result = Simulation(topology, scenario, 1).run()
    (error,) = result.queues["ServerA/DatabaseA/InitiatorQueue"]
    assert "<Code>-8490</Code>" in error["body"]
    assert [m["body"] for m in result.queues["ServerB/DatabaseB/TargetQueue"]] == ["2"]
    assert {row["state"] for row in result.endpoints if row["is_initiator"]} == {"ER", "CO"}
    waiting = [row["message_sequence_number"] for row in result.transmission_queue]
    assert (waiting, result.violation) == ([0, 1], None)
    compare(kafka, unique, topology, scenario)
