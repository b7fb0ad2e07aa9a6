"""Agents that are told to end while Kafka is gone: they end, and say what that means."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streams.embedded import Broker
from streams.kafka import Cluster, deploy
from streams.wire import Topics
from tests.agents.rig import ORDERS, ROOT, shop
from tests.killable import RESTARTS_SOON
from tests.running import DEADLINE, eventually
from tests.workers.rig import pause

OURS = ("streams", "worker", "agents", "--all", "--service", "data-dependent-routing")
FAUSTS = ("tests.faults.agents", "one", "worker", "--loglevel=info", "--without-web")


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "ready"), [((*OURS, "--name", ORDERS), b"agents: ready"), (FAUSTS, b"Worker ready")]
)
def test_without_kafka_agents_end_all_the_same(
    tmp_path: Path, command: tuple[str, ...], ready: bytes
) -> None:
    broker, log = Broker(tmp_path / "kafka", beside=RESTARTS_SOON), tmp_path / "agents.log"
    bootstrap = broker.start().bootstrap
    where = {"HOPLINE_BOOTSTRAP": bootstrap, "HOPLINE_PREFIX": "t."}
    try:
        deploy(Cluster(bootstrap, Topics("t.")), shop(tmp_path))
        with log.open("wb") as output:
            agents = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=ROOT, stdout=output, stderr=output, env={**os.environ, **where},
            )  # fmt: skip
        try:
            eventually(lambda: ready in log.read_bytes() or pause() or agents.poll(), "ready")
            broker.kill()
            agents.terminate()
            assert agents.wait(DEADLINE) == 3, log.read_text()
        finally:
            agents.kill()
            agents.wait()
    finally:
        broker.stop()
    assert "Uncommitted messages are processed again at the next start" in log.read_text()
