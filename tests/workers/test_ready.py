"""What ``hopline worker`` says when it works."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

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
