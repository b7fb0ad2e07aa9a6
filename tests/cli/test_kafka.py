"""``hopline kafka``: what it prints, and with which exit code."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.embedded import Broker
from streams.embedded.probe import ask
from streams.embedded.process import command_line


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["kafka", *args])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in an empty folder, and leave no broker behind."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    Broker(tmp_path / ".hopline" / "kafka").stop()


@pytest.mark.long
def test_a_broker_outlives_the_command_and_is_found_again(here: Path) -> None:
    command = [sys.executable, "-m", "streams", "kafka", "start", "--port", "0"]
    started = subprocess.run(command, capture_output=True, text=True, check=True)
    bootstrap = started.stdout.strip()
    assert f"A Kafka broker is running on {here / '.hopline' / 'kafka'}" in started.stderr

    status = run("status", "--format", "json")
    shown = json.loads(status.stdout)
    assert status.exit_code == 0
    assert (shown["condition"], shown["bootstrap"]) == ("running", bootstrap)
    assert ask(int(bootstrap.rpartition(":")[2]), timeout=10) is not None
    assert "-XX:TieredStopAtLevel=1" not in command_line(shown["pid"])  # it may run for days

    again = run("start", "--port", "0")
    assert again.exit_code == 2
    assert "A broker is already running on " in again.stderr
    assert f", at {bootstrap} (process {shown['pid']})" in again.stderr

    stopped = run("stop", "--format", "json")
    assert stopped.exit_code == 0
    assert json.loads(stopped.stdout)["stopped"] is True
    assert run("status").exit_code == 1


@pytest.mark.long
def test_start_prints_its_result_as_json_too(here: Path) -> None:
    result = run("start", "--port", "0", "--data", "elsewhere", "--format", "json")
    try:
        shown = json.loads(result.stdout)
        assert shown["condition"] == "running"
        assert shown["data"] == str(here / "elsewhere")
    finally:
        assert run("stop", "--data", "elsewhere").exit_code == 0


def test_stopping_nothing_is_fine(here: Path) -> None:
    result = run("stop")
    assert (result.exit_code, result.stdout) == (
        0,
        f"No broker is running on {here}/.hopline/kafka.\n",
    )


@pytest.mark.long
def test_a_stale_state_file_is_shown_and_does_not_hurt(here: Path) -> None:
    data = here / ".hopline" / "kafka"
    data.mkdir(parents=True)
    record = {"pid": os.getpid(), "port": 9, "cluster": "c", "started": 0}
    (data / "broker.json").write_text(json.dumps(record))
    assert "stale" in run("status").stdout
    assert run("start", "--port", "0").exit_code == 0
    assert "running" in run("status").stdout


def test_a_taken_port_is_one_sentence(here: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        result = run("start", "--port", str(port))
    assert result.exit_code == 3
    assert result.stderr.startswith(f"hopline: Port {port} on 127.0.0.1 is in use.\n  Stop the")


def test_a_missing_java_is_one_sentence(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(here))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    result = run("start", "--port", "0")
    assert result.exit_code == 3
    assert result.stderr.startswith("hopline: Java was not found")


def test_a_wrong_kafka_home_is_one_sentence(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_HOME", str(here))
    result = run("start", "--port", "0")
    assert result.exit_code == 3
    assert result.stderr.startswith(f"hopline: KAFKA_HOME is {here}, but")


def test_a_port_that_is_none_is_wrong_use(here: Path) -> None:
    assert run("start", "--port", "70000").exit_code == 2


def test_preparing_twice_does_nothing_the_second_time(here: Path) -> None:
    assert run("prepare").exit_code == 0
    assert run("prepare").stderr == ""
