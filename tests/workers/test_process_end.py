"""A worker process ends although Kafka's client does not return, or cannot be destroyed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from streams.kafka import deploy
from tests.running import DEADLINE, eventually
from tests.workers.rig import Rig, pause
from tests.workers.stuck import STUCK

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.parametrize(
    ("hung_after", "reason"),
    [("1000", "has not ended within 1 s"), ("10", "has made no progress for 10 s")],
    ids=["SIGTERM", "no-progress"],
)
def test_a_stuck_process_ends_with_exit_code_3(
    two: Rig, tmp_path: Path, hung_after: str, reason: str
) -> None:
    deploy(two.cluster, two.topology)
    where = ("--bootstrap", two.cluster.bootstrap, "--prefix", two.topics.prefix)
    worker = ("worker", "forwarder", "--instance", "A", *where)
    log = tmp_path / "worker.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.workers.stuck", hung_after, "1", *worker],
            cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        )  # fmt: skip
    try:
        eventually(lambda: STUCK in log.read_text() or process.poll() or pause(), "it is stuck")
        if hung_after == "1000":
            process.terminate()
        assert process.wait(DEADLINE) == 3, log.read_text()
    finally:
        process.kill()
        process.wait()
    said = log.read_text()
    assert f"ForwarderWorker A {reason}" in said
    assert "it is blocked in Kafka's client and is abandoned" in said
