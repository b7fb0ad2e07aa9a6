"""What ``hopline worker`` says when it works."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from streams.kafka import deploy
from tests.workers.rig import Rig


@contextmanager
def workers(two: Rig, *instances: str) -> Iterator[list[str]]:
    """Run the command; returns what it says until every worker is ready."""
    names = [part for name in instances for part in ("--instance", name)]
    options = ("--bootstrap", two.cluster.bootstrap, "--prefix", two.topics.prefix)
    command = [sys.executable, "-m", "streams", "worker", "both", *names, *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        try:
            said: list[str] = []
            while len(said) < 2 * len(instances) and child.poll() is None:
                said.append(child.stderr.readline().strip())
            yield said
        finally:
            child.terminate()
        assert child.stderr.read() == ""
    assert child.returncode == 0


@pytest.mark.long
def test_each_worker_says_once_that_it_is_ready(two: Rig) -> None:
    """Without --verbose, on stderr; and an endpoint with what it has restored."""
    deploy(two.cluster, two.topology)
    with workers(two, "A", "B"), two.client() as client:
        client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
    with workers(two, "A", "B") as said:
        assert sorted(line.partition(" INFO ")[2] for line in said) == [
            "A endpoint: ready, 1 partition, 2 dialogs",
            "A forwarder: ready",
            "B endpoint: ready, 1 partition, 0 dialogs",
            "B forwarder: ready",
        ]


def test_a_workers_log_is_json_and_its_health_is_served_if_wanted(two: Rig) -> None:
    deploy(two.cluster, two.topology)
    options = ("--bootstrap", two.cluster.bootstrap, "--prefix", two.topics.prefix)
    command = [sys.executable, "-m", "streams", "worker", "forwarder", "--instance", "A", *options]
    wanted = ("--log-format", "json", "--http", "127.0.0.1:0")
    with subprocess.Popen([*command, *wanted], stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        try:
            first, second = (json.loads(child.stderr.readline()) for _ in range(2))
            port = int(first["message"].removeprefix("metrics and health on port "))
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
                assert answer.read() == b"ok\n"
        finally:
            child.terminate()
        assert child.stderr.read() == ""
    assert child.returncode == 0
    assert (second["worker"], second["instance"]) == ("forwarder", "A")
    assert second["message"] == "A forwarder: ready"
