"""A scenario's file: what it may contain, and the errors about an invalid one."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from streams.errors import InputError, UsageError
from streams.resources import topologies_dir
from streams.simulator import SECOND, Scenario, Simulation, parse_scenario, read_scenario
from streams.simulator.scenario import (
    Abort,
    Begin,
    Crash,
    Cut,
    Does,
    End,
    Latency,
    Link,
    Part,
    Receive,
    Send,
    Side,
    Skew,
    Sql,
)

BEGIN = "{at: 0s, begin: {dialog: d, from: ServerA/DatabaseA/InitiatorService, to: TargetService}}"


def parse(text: str) -> Scenario:
    """Read a scenario on ``load_balanced``."""
    text = f"topology: load_balanced\n{text}"
    return parse_scenario(text, topologies_dir() / "s.yaml")[1]


def test_the_contract_example() -> None:
    scenario = parse("""
network: {latency: 5ms, loss: 0.0, duplicate: 0.0, reorder: 0.0}
until: 120s
steps:
  - at: 0s
    begin: {dialog: d1, from: ServerA/DatabaseA/InitiatorService, to: TargetService, broker: null,
            contract: DEFAULT, lifetime: 60s}
  - {at: 0s, send: {dialog: d1, side: initiator, type: DEFAULT, body: hello}}
  - {at: 5s, fault: {link: [ServerA, ServerB], state: down}}
  - {at: 5500ms, fault: {instance: ServerB, state: crashed}}
  - {at: 6s, sql: {at: ServerA/DatabaseA, text: "DROP ROUTE LoadBalancingRoute1"}}
  - {at: 6s, ddl: {at: ServerA/DatabaseA, sql: "DROP ROUTE LoadBalancingRoute2"}}
  - {at: 2m, end: {dialog: d1, side: initiator, error: {code: 1, text: no}}}
""")
    assert scenario.until == 120 * SECOND
    assert scenario.network.link == Link(Latency(5_000, 5_000))
    begin = Begin("d1", "ServerA", "DatabaseA", "InitiatorService", "TargetService", lifetime=60)
    assert [(step.at / SECOND, step.action) for step in scenario.steps] == [
        (0, begin),
        (0, Send("d1", body="hello")),
        (5, Cut(("ServerA", "ServerB"))),
        (5.5, Crash(Part.INSTANCE, "ServerB")),
        (6, Sql("ServerA", "DatabaseA", "DROP ROUTE LoadBalancingRoute1")),
        (6, Sql("ServerA", "DatabaseA", "DROP ROUTE LoadBalancingRoute2")),
        (120, End("d1", error=(1, "no"))),
    ]


def test_everything_else_that_a_scenario_may_say() -> None:
    scenario = parse("""
network:
  latency: [1ms, 20ms]
  until: 30s
  links:
    - {link: [ServerC, ServerA], loss: 0.5}
    - {link: [ServerA, ServerB], latency: {least: 2ms, heavy: 10ms}}
applications: [{service: ServerB/DatabaseB/TargetService, does: [reply, end], body: ok, limit: 3}]
aborts: 0.1
stalls: 0.2
skew: {ServerB: -250ms}
memory: {ServerC: 1000}
limits: {window: 4, hops: 3, time_to_live: 10s, retries: [1s, 2s]}
batch: 7
steps:
  - at: 0s
    begin: {dialog: d, count: 3, from: ServerA/DatabaseA/InitiatorService, to: TargetService}
  - {at: 1s, send: {dialog: d, side: target, at: ServerB/DatabaseB, body: 1, count: 2}}
  - {at: 2s, receive: {queue: ServerB/DatabaseB/TargetQueue, count: 1}}
  - {at: 3s, end: {dialog: d, side: target, cleanup: true}}
  - {at: 4s, fault: {forwarder: ServerA, state: crashed}}
  - {at: 5s, fault: {endpoint: ServerA, state: up}}
  - {at: 6s, fault: {endpoint: ServerA, aborts: 2}}
  - {at: 7s, fault: {instance: ServerA, skew: 1s}}
""")
    assert scenario.network.until == 30 * SECOND
    usual = Latency(1_000, 20_000)
    assert scenario.network.links == {
        ("ServerA", "ServerC"): Link(usual, loss=0.5),
        ("ServerA", "ServerB"): Link(Latency(2_000, 2_000, 10_000)),
    }
    (application,) = scenario.applications
    assert application.does == (Does.REPLY, Does.END)
    assert (application.body, application.limit) == ("ok", 3)
    assert (scenario.aborts, scenario.stalls, scenario.batch) == (0.1, 0.2, 7)
    assert (scenario.skew, scenario.memory) == ({"ServerB": -250_000}, {"ServerC": 1000})
    limits = scenario.limits
    assert (limits.window, limits.hops, limits.time_to_live) == (4, 3, 10_000)
    assert limits.retries == (1_000, 2_000)
    assert [step.action for step in scenario.steps][1:] == [
        Send("d", Side.TARGET, body="1", count=2, at=("ServerB", "DatabaseB")),
        Receive("ServerB", "DatabaseB", "TargetQueue", 1),
        End("d", Side.TARGET, cleanup=True),
        Crash(Part.FORWARDER, "ServerA"),
        Crash(Part.ENDPOINT, "ServerA", up=True),
        Abort("ServerA", 2),
        Skew("ServerA", SECOND),
    ]


def test_names_may_have_slashes() -> None:
    text = """
topology: forwarding_chain
steps:
  - at: 0s
    begin: {dialog: d, from: SQL1/DatabaseA///sqltalk/sendTweetService, to: //sqltalk/rcv}
"""
    _, scenario = parse_scenario(text, topologies_dir() / "s.yaml")
    action = scenario.steps[0].action
    assert isinstance(action, Begin)
    assert action.service == "//sqltalk/sendTweetService"


WRONG = {
    "until: soon": (2, "a duration such as 5ms, 60s or 2m"),
    "steps: [{at: 0s}]": (2, "a step has one action"),
    "steps: [{at: 0s, jump: {}}]": (2, "'jump' is not a setting of a step"),
    "steps:\n  - {at: 0s, send: {dialog: d}}": (3, "dialog 'd' has not begun"),
    "steps:\n"
    "  - {at: 2s, begin: {dialog: d, from: ServerA/DatabaseA/InitiatorService, to: T}}\n"
    "  - {at: 1s, end: {dialog: d}}": (4, "'d' does not begin before 2 s"),
    f"steps:\n  - {BEGIN}\n  - {BEGIN}": (4, "'d' begins twice"),
    f"steps:\n  - {BEGIN}\n  - {{send: {{dialog: d, type: Ordr}}}}": (4, "no message type 'Ordr'"),
    "steps:\n  - {begin: {dialog: d, from: ServerX/D/S, to: T}}": (3, "no instance 'ServerX'"),
    "steps:\n  - {begin: {dialog: d, from: ServerA/D/S, to: T}}": (3, "no database 'D'"),
    "steps:\n  - {begin: {dialog: d, from: ServerA/DatabaseA/S, to: T}}": (3, "no service 'S'"),
    "steps:\n  - {begin: {dialog: d, to: T}}": (3, "'from' is missing"),
    "steps:\n  - {receive: {queue: ServerA/DatabaseA/Q}}": (3, "no queue 'Q'"),
    "steps:\n  - {fault: {link: [ServerA], state: down}}": (3, "a link has two ends"),
    "steps:\n  - {fault: {instance: ServerA, state: tired}}": (3, "up or crashed"),
    "steps:\n  - {fault: {state: up}}": (3, "a fault has one subject"),
    "steps:\n  - {sql: {at: ServerA/DatabaseA}}": (3, "'text' is missing"),
    "steps:\n  - {failover: {pair: P, to: ServerA}}": (3, "no database of the pair P"),
    "network: {loss: 2}": (2, "a probability from 0 to 1"),
    "network: {latency: [5ms, 1ms]}": (2, "a range has a minimum and a maximum"),
    "network: {links: [{loss: 0.1}]}": (2, "which link?"),
    "applications: [{does: reply}]": (2, "needs the fields service and does"),
    "applications: [{service: ServerB/DatabaseB/TargetService, does: sing}]": (2, "reply, act"),
    "limits: {window: 0}": (2, "the window from 1"),
    "steps: [": (2, "invalid YAML"),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_has_a_line_and_a_remedy(text: str) -> None:
    line, message = WRONG[text]
    with pytest.raises(InputError) as caught:
        parse(text)
    assert message in str(caught.value)
    assert line <= caught.value.line <= line + 1
    assert caught.value.file.endswith("s.yaml")


def test_a_conversation_id_cannot_be_shared() -> None:
    text = BEGIN.replace("dialog: d", f"dialog: d, count: 2, conversation: {uuid.UUID(int=1)}")
    with pytest.raises(InputError, match="one conversation id"):
        parse(f"steps:\n  - {text}")


def test_t_sql_that_cannot_be_read_is_an_error_of_its_step() -> None:
    topology, scenario = parse_scenario(
        "topology: local\nsteps:\n  - {sql: {at: ServerA/DatabaseA, text: CREATE ROUTE}}",
        topologies_dir() / "s.yaml",
    )
    with pytest.raises(InputError, match="the T-SQL of this step") as caught:
        Simulation(topology, scenario).run()
    assert caught.value.line == 3


def test_a_scenario_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no scenario"):
        read_scenario(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The scenario is empty"),
        ("steps: []", "has no topology"),
        ("topology: nowhere", "There is no topology"),
    ],
)
def test_a_scenario_without_a_topology(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_scenario(file)


def test_a_scenario_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_scenario(file)
