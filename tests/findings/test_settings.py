"""TA-33 to TA-35: queues, priorities, memory of forwarders."""

from __future__ import annotations

from pathlib import Path

import pytest

from .folders import told


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("", []),
        ("status: on, retention: off", []),
        ("status: off", ["warning A/D: queue Q of S is off"]),
        ("retention: on", ["queue Q of S retains"]),
        ("poison_message_handling: off", ["queue Q of S never turns itself off"]),
        ("poison_message_handling: off, activation: dbo.P", []),
        ("status: off, retention: on", ["is off", "retains"]),
    ],
)
def test_queues(tmp_path: Path, settings: str, said: list[str]) -> None:
    yaml = f"""
instances:
  A: {{databases: {{D: {{queues: {{Q: {{{settings}}}}}, services: {{S: {{queue: q}}}}}}}}}}
"""
    found = told(tmp_path, "TA-33", yaml)
    assert len(found) == len(said)
    assert all(any(text in message for message in found) for text in said)


PRIORITIES = """
instances:
  A:
    databases:
      D:
        honor_broker_priority: {here_on}
        services: {{I: {{contracts: []}}}}
        routes: [{{name: R, service_name: S, address: 'tcp://{to}:4022'}}]
        priorities: [{here}]
  G:
    endpoint: {{forwarding: true}}
    msdb:
      routes:
        - {{name: R, service_name: S, address: 'tcp://B:4022'}}
        - {{name: I, service_name: I, address: 'tcp://A:4022'}}
  B:
    databases:
      E:
        honor_broker_priority: {there_on}
        services: [S]
        routes: [{{name: R, service_name: I, address: 'tcp://A:4022'}}]
        priorities: [{there}]
"""
OURS = "{name: P, local_service_name: I, remote_service_name: S, level: 8}"
THEIRS = "{name: Q, local_service_name: S, level: 8}"


def priorities(here: str, there: str, to: str = "B", here_on: str = "on", there_on: str = "on") -> (
    str
):  # fmt: skip
    return PRIORITIES.format(here=here, there=there, to=to, here_on=here_on, there_on=there_on)


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        (priorities("", ""), []),
        (priorities(OURS, THEIRS), []),
        (priorities(OURS, ""), ["warning A/D: priority P (level 8) is for one side only: B/E"]),
        (priorities("", THEIRS), ["warning B/E: priority Q (level 8) is for one side only: A/D"]),
        (priorities(OURS, THEIRS, here_on="off"), ["not heeded when A/D sends"]),
        (priorities(OURS, THEIRS, there_on="off"), ["not heeded when B/E sends"]),
        (priorities(OURS, THEIRS, to="G"), ["P (level 8) has no effect on forwarders: G",
                                            "Q (level 8) has no effect on forwarders: G"]),
        (priorities(OURS.replace("e: S", "e: X"), ""), []),
        (priorities(OURS, THEIRS.replace("name: S", "name: s")), ["one side only"]),
    ],
)  # fmt: skip
def test_priorities(tmp_path: Path, yaml: str, said: list[str]) -> None:
    found = told(tmp_path, "TA-34", yaml)
    assert len(found) == len(said)
    assert all(any(text in message for message in found) for text in said), found


def test_a_priority_within_an_instance_needs_no_transmission(tmp_path: Path) -> None:
    """HONOR_BROKER_PRIORITY is about sending; a local queue is always read by level."""
    yaml = """
instances:
  A:
    databases:
      D: {services: {I: {contracts: []}}, priorities: [{name: P, remote_service_name: S}]}
      E: {services: [S], priorities: [{name: Q, local_service_name: S}]}
"""
    assert told(tmp_path, "TA-34", yaml) == []


def test_a_forwarder_that_no_flow_passes_needs_no_memory(tmp_path: Path) -> None:
    yaml = priorities("", "", to="B").replace("forwarding: true", "forwarding: true, "
                                              "forward_size_mb: 1")  # fmt: skip
    assert told(tmp_path, "TA-35", yaml) == []
