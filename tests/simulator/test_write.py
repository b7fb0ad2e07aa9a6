"""A scenario is written as it is read."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from streams.protocol import Limits
from streams.simulator import SECOND, Scenario, Step, parse_scenario, read_scenario, scenario_text
from streams.simulator.scenario import (
    Abort,
    Application,
    Begin,
    Crash,
    Cut,
    Does,
    End,
    Latency,
    Link,
    Network,
    Part,
    Receive,
    Send,
    Side,
    Skew,
    Sql,
)
from tests.simulator.build import SHIPPED

A = ("ServerA", "DatabaseA")
EVERYTHING = Scenario(
    steps=(
        Step(0, Begin("d", *A, "InitiatorService", "T: 1", "id", "//hopline/OrderContract")),
        Step(
            1,
            Begin(
                "e",
                *A,
                "InitiatorService",
                "no",
                conversation=uuid.UUID(int=7),
                lifetime=60,
                group=uuid.UUID(int=8),
            ),
        ),
        Step(2, Begin("f", *A, "InitiatorService", "TargetService", count=3)),
        Step(1_500, Send("d", body='yes "quoted" # é', count=2)),
        Step(SECOND, Send("d", Side.TARGET, "//hopline/OrderLine", "12", at=A)),
        Step(SECOND, End("d", error=(3, "off"))),
        Step(SECOND, End("e", Side.TARGET, cleanup=True)),
        Step(SECOND, Receive("ServerB", "DatabaseB", "TargetQueue", 2)),
        Step(SECOND, Receive("ServerB", "DatabaseB", "TargetQueue")),
        Step(SECOND, Sql(*A, "DROP ROUTE R;\nDROP ROUTE S")),
        Step(SECOND, Crash(Part.INSTANCE, "ServerA")),
        Step(SECOND, Crash(Part.FORWARDER, "ServerA", up=True)),
        Step(SECOND, Cut(("ServerA", "ServerB"))),
        Step(SECOND, Cut(("ServerA", "ServerB"), up=True)),
        Step(SECOND, Skew("ServerA", -1_500)),
        Step(SECOND, Abort("ServerA", 2)),
    ),
    until=90 * SECOND,
    network=Network(
        Link(Latency(1_000, 2_500), 0.1, 0.2, 0.3),
        {
            ("ServerA", "ServerB"): Link(Latency(2_000, 2_000, 9_000), 0.1, 0.2, 0.0),
            ("ServerA", "ServerC"): Link(Latency(1_000, 2_500), 0.1, 0.2, 0.4),
        },
        30 * SECOND,
    ),
    applications=(
        Application("ServerB", "DatabaseB", "TargetService", (Does.REPLY, Does.END)),
        Application(
            "ServerC",
            "DatabaseC",
            "TargetService",
            (Does.ACT,),
            "//hopline/OrderAccepted",
            "",
            4,
        ),
    ),
    aborts=0.25,
    stalls=0.125,
    skew={"ServerB": 250_000},
    memory={"ServerC": 0},
    limits=Limits(window=3, wider=2, run=4, hops=2, time_to_live=1_500, retries=(500, 1_000)),
    batch=5,
    name="s",
    topology="../several_targets",
)


def again(scenario: Scenario, path: Path) -> Scenario:
    """Write a scenario and read it."""
    return parse_scenario(scenario_text(scenario, "what it\nshows"), path)[1]


def test_everything_comes_back() -> None:
    path = SHIPPED[0].parent.parent.parent / "local" / "s.yaml"
    assert again(EVERYTHING, path) == EVERYTHING
    assert scenario_text(EVERYTHING, "what it\nshows").startswith("# what it\n# shows\n")


def test_the_defaults_come_back() -> None:
    plain = Scenario(name="s", topology="../local")
    path = SHIPPED[0].parent.parent.parent / "local" / "s.yaml"
    assert again(plain, path) == plain
    assert scenario_text(plain) == 'topology: "../local"\nuntil: 120s\nsteps: []\n'


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: f"{p.parent.parent.name}/{p.stem}")
def test_shipped_scenarios_come_back(path: Path) -> None:
    _, scenario = read_scenario(path)
    assert again(scenario, path) == scenario
    assert again(replace(scenario, batch=1), path) != scenario
