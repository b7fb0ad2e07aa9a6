"""The worker processes of a measured system, and their memory."""

from __future__ import annotations

import subprocess
import sys
import urllib.request

from bench.kafka_end_to_end import INSTANCES
from bench.turns import resident_of
from streams.kafka import Cluster

GATEWAY, TARGET = "SQL2", "SQL3"
FORWARDER, ENDPOINT = f"{TARGET} forwarder", f"{TARGET} endpoint"
PROCESSES = {**{name: ("both", name) for name in INSTANCES}, FORWARDER: ("forwarder", TARGET),
             ENDPOINT: ("endpoint", TARGET)}  # fmt: skip
"""Role and instance of each process; the target has one or two."""
FIRST_PORT = 8_700


class Workers:
    """The processes of workers, each of which serves its metrics on its own port."""

    def __init__(self, cluster: Cluster, pace: str) -> None:
        self._options = ["--bootstrap", cluster.bootstrap, "--prefix", cluster.topics.prefix,
                         "--pace", pace]  # fmt: skip
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        """Start a process."""
        role, instance = PROCESSES[name]
        command = [sys.executable, "-m", "streams", "worker", role, "--instance", instance]
        port = str(FIRST_PORT + list(PROCESSES).index(name))
        self.running[name] = subprocess.Popen([*command, "--http", port, *self._options])

    def stop(self, name: str) -> None:
        """Stop a process, and wait until it has ended."""
        process = self.running.pop(name)
        process.terminate()
        process.wait(60)

    def close(self) -> None:
        """Stop all processes."""
        for name in list(self.running):
            self.stop(name)

    @property
    def resident(self) -> dict[str, int]:
        """Return the memory of each process in bytes."""
        return {name: resident_of(process.pid) for name, process in self.running.items()}

    @property
    def longest_transaction(self) -> tuple[float, str]:
        """Return the seconds of the longest transaction, and the name of its process."""
        return max((self._longest(name), name) for name in self.running)

    def is_ready(self, name: str) -> bool:
        """Return whether a process has its partitions, with their state restored."""
        try:
            self._answer(name, "readyz")
        except OSError:
            return False
        return True

    def _longest(self, name: str) -> float:
        lines = self._answer(name, "metrics").splitlines()
        said = [line for line in lines if line.startswith("hopline_longest_transaction_seconds{")]
        return max((float(line.rsplit(" ", 1)[1]) for line in said), default=0.0)

    def _answer(self, name: str, path: str) -> str:
        port = FIRST_PORT + list(PROCESSES).index(name)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=10) as answer:
            text: str = answer.read().decode()
            return text


class Growth:
    """The largest growth of a process since before the backlog, in bytes."""

    def __init__(self, workers: Workers) -> None:
        self._workers, self._first = workers, workers.resident
        self.most, self.whose = 0, ""

    def look(self) -> None:
        """Sample the memory of each process."""
        for name, size in self._workers.resident.items():
            if size - self._first[name] > self.most:
                self.most, self.whose = size - self._first[name], name
