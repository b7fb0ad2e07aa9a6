"""An agent that is told to end while Kafka is gone: it ends, and says what that means."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from streams.embedded import Broker
from streams.kafka import Cluster, deploy
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from tests.running import DEADLINE, eventually
from tests.workers.rig import pause

ROUTERS = ("--all", "--service", "data-dependent-routing")


def test_without_kafka_an_agent_ends_all_the_same(tmp_path: Path) -> None:
    broker, log = Broker(tmp_path / "kafka"), tmp_path / "agents.log"
    bootstrap = broker.start().bootstrap
    options = ("--bootstrap", bootstrap, "--prefix", "t.")
    try:
        deploy(Cluster(bootstrap, Topics("t.")), load(topologies_dir() / "data_dependent", 0))
        with log.open("wb") as output:
            command = (sys.executable, "-m", "streams", "worker", "agents", *ROUTERS, *options)
            agents = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            eventually(
                lambda: b"agents: ready" in log.read_bytes() or pause() or agents.poll(), "ready"
            )
            broker.kill()
            agents.terminate()
            assert agents.wait(DEADLINE) == 3, log.read_text()
        finally:
            agents.kill()
            agents.wait()
    finally:
        broker.stop()
    assert "What was not committed is done again at the next start" in log.read_text()
