"""TA-33 to TA-35: queues, priorities, memory of forwarders."""

from __future__ import annotations

from pathlib import Path

import pytest

from .folders import FOLDERS, reported


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("", []),
        ("status: on, retention: off", []),
        ("status: off", ["warning A/D: queue Q of S is off"]),
        ("retention: on", ["queue Q of S retains"]),
        ("activation: P, max_readers: 0", ["activates P, but with MAX_QUEUE_READERS = 0 no"]),
        ("poison_message_handling: off", ["queue Q of S has neither poison message handling"]),
        ("poison_message_handling: off, activation: dbo.P", []),
        ("status: off, retention: on", ["is off", "retains"]),
    ],
)
def test_queues(tmp_path: Path, settings: str, said: list[str]) -> None:
    yaml = f"""
instances:
  A: {{databases: {{D: {{queues: {{Q: {{{settings}}}}}, services: {{S: {{queue: q}}}}}}}}}}
"""
    found = reported(tmp_path, "TA-33", yaml)
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
        (priorities(OURS, ""), ["warning A/D: priority P (level 8) exists only on one side: B/E"]),
        (priorities("", THEIRS), ["warning B/E: priority Q (level 8) exists only on one side: A"]),
        (priorities(OURS, THEIRS, here_on="off"), ["no effect when A/D sends"]),
        (priorities(OURS, THEIRS, there_on="off"), ["no effect when B/E sends"]),
        (priorities(OURS, THEIRS, to="G"), ["P (level 8) has no effect on forwarders: at G",
                                            "Q (level 8) has no effect on forwarders: at G"]),
        (priorities(OURS.replace("e: S", "e: X"), ""), []),
        (priorities(OURS, THEIRS.replace("name: S", "name: s")), ["only on one side"]),
    ],
)  # fmt: skip
def test_priorities(tmp_path: Path, yaml: str, said: list[str]) -> None:
    found = reported(tmp_path, "TA-34", yaml)
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
    assert reported(tmp_path, "TA-34", yaml) == []


@pytest.mark.parametrize(
    ("begun", "of", "count"),
    [("C", "C", 1), ("C", "D", 0), ("D", "C", 0), (None, "C", 1)],
)
def test_a_priority_is_for_the_contract_of_the_dialog(
    tmp_path: Path, begun: str | None, of: str, count: int
) -> None:
    """Where code does not tell the contract, it can be any."""
    ours = OURS.replace("level: 8", f"contract: {of}, level: 8")
    begin = f"{{service: I, to: S, contract: {begun or 'null'}}}"
    code = f"procedures: {{P: {{ends: 1, begins: [{begin}]}}}}\n        routes:"
    yaml = priorities(ours, "").replace("routes:", code, 1)
    assert len(reported(tmp_path, "TA-34", yaml)) == count


@pytest.mark.parametrize(("flows", "count"), [(8, 0), (9, 1)])
def test_a_megabyte_holds_sixteen_fragments(tmp_path: Path, flows: int, count: int) -> None:
    """One for each flow in each direction."""
    text = (FOLDERS / "TA-35" / "triggers" / "topology.yaml").read_text(encoding="utf-8")
    routes = [line for line in text.splitlines() if "name: RouteService" in line]
    for line in routes[flows:]:
        text = text.replace(line + "\n", "")
    assert len(reported(tmp_path, "TA-35", text)) == count


def test_a_forwarder_that_no_flow_passes_needs_no_memory(tmp_path: Path) -> None:
    yaml = priorities("", "", to="B").replace("forwarding: true", "forwarding: true, "
                                              "forward_size_mb: 1")  # fmt: skip
    assert reported(tmp_path, "TA-35", yaml) == []
