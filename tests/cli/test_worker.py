"""The options of `hopline worker` reach the process that it runs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.cli.run import worker as command
from streams.workers import Plan
from streams.workers.endpoint import Pace

WEEK = 7 * 24 * 3600.0


class Taken:
    """Stands in for the process: takes what it is given, and runs nothing."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []
        self.left_behind = ()

    def __call__(self, cluster: object, plan: Plan, **rest: Any) -> Taken:
        self.plans.append(plan)
        return self

    def run(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""


def plan_of(monkeypatch: pytest.MonkeyPatch, *words: str) -> Plan:
    taken = Taken()
    monkeypatch.setattr(command, "Process", taken)
    monkeypatch.setattr(command, "call_on_stop", lambda _: None)
    randomized: list[bool] = []
    monkeypatch.setattr(command, "randomize_guid_hashes", lambda: randomized.append(True))
    done = CliRunner().invoke(
        command.worker, ["endpoint", "--instance", "ServerA", *words], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    assert randomized, "clients choose the ids that a worker stores"
    return taken.plans[0]


def test_the_defaults_of_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(monkeypatch)
    assert plan == Plan(("endpoint",), ("ServerA",), "", pace=Pace.LATENCY, keep=WEEK)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--slot", "7"), {"slot": "7"}),
        (("--pace", "throughput"), {"pace": Pace.THROUGHPUT}),
        (("--standby", "--slot", "7"), {"standby": True}),
        (("--keep", "0"), {"keep": 0.0}),
        (("--keep", "90"), {"keep": 90.0}),
        (("--keep", "-1"), {"keep": None}),
    ],
)
def test_the_options_of_a_worker(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], expected: dict[str, object]
) -> None:
    plan = plan_of(monkeypatch, *words)
    assert {name: getattr(plan, name) for name in expected} == expected


def test_the_help_has_every_option_once_and_those_of_agents_apart() -> None:
    text = CliRunner().invoke(main, ["worker", "agents", "--help"]).output
    headings = dict(re.findall(r"^(\w.*):\n((?: .*\n)+)", text, re.MULTILINE))
    flags = {
        heading: re.findall(r"^  (?:-\w, )?(--[\w-]+)", headings[heading], re.M)
        for heading in headings
    }
    assert flags["Agents"] == ["--topology", "--agent", "--service", "--begin"]
    assert flags["Agents of configuration-notice"] == ["--directory"]
    assert flags["Options"][0] == "--instance" and flags["Options"][-1] == "--help"
    every = [
        option.opts[0] for option in command.worker.params if option.param_type_name == "option"
    ]
    assert sorted(flag for under in flags.values() for flag in under) == sorted([*every, "--help"])
