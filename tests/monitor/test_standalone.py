"""The same figures from a cluster of Spark's own: a master and two workers, all on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyspark
import pytest

from streams.kafka import Cluster
from streams.monitor import MonitorConfig
from streams.store import LatencyWindow, Store
from streams.wire import Topics
from tests.monitor.faulty import MINUTE, traffic
from tests.monitor.records import create_topics, produce
from tests.monitor.recount import recounted, stored
from tests.running import DEADLINE

_SPARK = Path(pyspark.__file__).parent
_ENVIRONMENT = {
    **os.environ, "SPARK_HOME": str(_SPARK), "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_DAEMON_MEMORY": "256m",
}  # fmt: skip
_PATIENCE = 2 * DEADLINE


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """Start a master and two workers with one core each; return the master's URL."""
    with ExitStack() as stack:
        ours, begun = ("--host", "127.0.0.1", "--webui-port", "0"), tmp_path / "master.log"
        _daemon(stack, begun, "master.Master", "--port", "0", *ours)
        _wait_for(begun, "Starting Spark master at spark://", 1)
        found = re.search(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)", _text(begun))
        assert found is not None, _text(begun)
        url = found[1]
        for number in (1, 2):
            work = str(tmp_path / f"work{number}")
            limits = ("--cores", "1", "--memory", "1g", "--work-dir", work)
            log = tmp_path / f"worker{number}.log"
            _daemon(stack, log, "worker.Worker", *limits, *ours, url)
        _wait_for(begun, "Registering worker", 2)
        yield url


def _daemon(stack: ExitStack, log: Path, kind: str, *arguments: str) -> None:
    command = [_SPARK / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}", *arguments]
    output = stack.enter_context(log.open("wb"))
    process = subprocess.Popen(
        [str(part) for part in command], stdout=output, stderr=output, env=_ENVIRONMENT
    )
    stack.callback(process.wait)
    stack.callback(process.terminate)


def _wait_for(log: Path, text: str, times: int) -> None:
    end, pause = time.monotonic() + _PATIENCE, threading.Event()
    while _text(log).count(text) < times:
        assert time.monotonic() < end, _text(log)
        pause.wait(0.1)


def _text(log: Path) -> str:
    """Return the whole lines of a log."""
    return log.read_text(errors="replace").rpartition("\n")[0]


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="Spark's scripts")
def test_two_workers_find_what_duckdb_finds(
    master: str, kafka: str, unique: str, tmp_path: Path
) -> None:
    topics, config = Topics(unique), MonitorConfig(bootstrap=kafka)
    queue = topics.queue("ServerB", "DatabaseB", "TargetQueue")
    create_topics(kafka, queue, topics.out("ServerA"), topics.event)
    records = traffic(300, topics, seed=4, span=10 * MINUTE)
    produce(kafka, [r for r in records if "ServerC" not in r.topic])
    url = f"sqlite:///{tmp_path}/monitor.sqlite"
    command = [
        *(sys.executable, "-m", "streams", "monitor", "--master", master, "--store", url),
        *("--bootstrap", kafka, "--prefix", unique, "--checkpoint", str(tmp_path / "checkpoint")),
        *("--until-idle", "3"),
    ]
    done = subprocess.run(command, env=_ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    cluster = Cluster(kafka, topics)
    expected = recounted(cluster, tmp_path, window=config.window, horizon=config.horizon)
    with Store.open(url, create=False) as store:
        assert stored(store, LatencyWindow) == expected[LatencyWindow]
    assert (tmp_path / "work1").is_dir()
    assert (tmp_path / "work2").is_dir()
