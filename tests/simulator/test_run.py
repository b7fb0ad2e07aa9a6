"""A run: the same bytes for the same seed, and an account that is balanced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulator.build import SHIPPED, path_of, run, shipped, simulation

ROUGH = """
    until: 400s
    aborts: 0.1
    network: {latency: [1ms, 30ms], loss: 0.2, duplicate: 0.2, reorder: 0.2, until: 60s}
    applications:
      - {service: ServerB/DatabaseB/TargetService, does: [reply, end]}
      - {service: ServerC/DatabaseC/TargetService, does: [reply, end]}
    steps:
      - {at: 0s, begin: {dialog: d1, from: ServerA/DatabaseA/InitiatorService, to: TargetService}}
      - {at: 0s, begin: {dialog: d2, from: ServerA/DatabaseA/InitiatorService, to: TargetService}}
      - {at: 0s, send: {dialog: d1, body: a, count: 10}}
      - {at: 1s, send: {dialog: d2, body: b, count: 10}}
      - {at: 70s, end: {dialog: d1}}
      - {at: 70s, end: {dialog: d2}}
"""


def test_the_same_seed_gives_the_same_run() -> None:
    first, second = (run("load_balanced", ROUGH, 7).to_json() for _ in range(2))
    assert json.dumps(first) == json.dumps(second)


def test_another_seed_gives_another_run() -> None:
    assert run("load_balanced", ROUGH, 7).to_json() != run("load_balanced", ROUGH, 8).to_json()


@pytest.mark.long
def test_the_bytes_do_not_depend_on_how_the_process_hashes() -> None:
    hopline = Path(sys.executable).with_name("hopline")
    outputs = []
    for hashing in ("1", "2"):
        command = [
            hopline, "simulate", path_of("load_balanced", "dialogs"),
            "--seed", "3", "--format", "json",
        ]  # fmt: skip
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONHASHSEED": hashing},
            capture_output=True,
            check=True,
        )
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0])["summary"]["lost"] == 0


@pytest.mark.parametrize("seed", range(10))
def test_what_a_rough_network_does_is_repaired(seed: int) -> None:
    result = run("load_balanced", ROUGH, seed)
    assert result.violation is None
    summary = result.summary
    sent, delivered = summary["sent"], summary["delivered"]
    assert sent == delivered + summary["waiting"] + summary["discarded"]
    assert summary["lost"] == summary["delivered_twice"] == summary["waiting"] == 0
    assert delivered >= 22


def test_the_rough_network_is_rough() -> None:
    summaries = [run("load_balanced", ROUGH, seed).summary for seed in range(5)]
    assert all(summary["duplicates"] for summary in summaries)


def test_commands_wait_for_an_instance_that_is_down() -> None:
    text = """
        until: 60s
        steps:
          - {at: 0s, fault: {instance: ServerA, state: crashed}}
          - at: 1s
            begin: {dialog: d, from: ServerA/DatabaseA/InitiatorService, to: TargetService}
          - {at: 1s, send: {dialog: d, body: hello}}
          - {at: 9s, fault: {instance: ServerA, state: up}}
    """
    (row,) = run("local", text).queues["ServerA/DatabaseB/TargetQueue"]
    assert row["body"] == "hello"
    assert row["at"] > 9


def test_an_event_has_time_place_and_kind() -> None:
    result = run("local", "steps: []")
    assert result.events == ()
    event = shipped("local/request_reply").events[0]
    assert event["name"] == "Broker:Conversation"
    assert event["event"] == 124
    assert event["instance"] == "ServerA"
    assert 0 <= event["at"] < 1


def test_every_shipped_scenario_states_what_it_shows() -> None:
    assert SHIPPED
    for path in SHIPPED:
        lines = path.read_text(encoding="utf-8").splitlines()
        comment = [line for line in lines[:8] if line.startswith("#")]
        assert 3 <= len(comment) <= 6, path
        assert any("EX-" in line for line in comment), path


def test_a_run_can_be_looked_at_while_it_stands() -> None:
    standing = simulation("local", "steps: []")
    assert standing.clock.now == 0
    assert list(standing.instances) == ["ServerA"]


def test_the_base_install_can_simulate() -> None:
    """Neither Kafka's client nor Avro is imported."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('confluent_kafka', 'fastavro', 'avro')));"
        "import streams.cli.ask.simulate"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
