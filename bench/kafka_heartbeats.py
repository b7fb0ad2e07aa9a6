"""The CPU time that a process spends on heartbeats: `python -m bench.kafka_heartbeats`.

Several real processes follow ``catalog`` and ``presence`` without running a worker, and each writes
heartbeats under one name. One other process writes the heartbeats of all other names, spread
evenly, at the rate for this number of names. The broker's CPU time is divided among the reading
processes.
"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from bench.part import hand_over, options, progress
from bench.rows import Measurement, Unit
from bench.turns import lasting_broker
from streams.kafka import Cluster, deploy
from streams.node import period_of
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics, encode_presence
from streams.workers.control import Control, heartbeats

NAMES = (0, 50, 200, 1_000)
TOPICS = Topics("bench.")
SETTLE = 15.0
"""Seconds until the CPU of processes that have just started is steady."""


def read(bootstrap: str, name: str) -> None:
    """Run a process without workers, until standard input ends."""
    heartbeats.NAMES_EACH = sys.maxsize  # the catalog has only few of the names
    control = Control(Cluster(bootstrap, TOPICS), (), (name,))
    control.start()
    print("ready", flush=True)
    sys.stdin.read()
    control.stop()


def write(bootstrap: str, names: int, period: float) -> None:
    """Write the heartbeats of this number of names endlessly."""
    producer = Cluster(bootstrap, TOPICS).producer(linger_ms=0, compression_type="none")
    began, number = time.monotonic(), 0
    print("ready", flush=True)
    while True:
        name, count = f"Other{number % names}/endpoint/0", number // names + 1
        value = encode_presence(name, "f" * 32, count, time.time_ns() // 1_000_000, (), period)
        producer.produce(TOPICS.presence, key=name, value=value)
        producer.poll(0)
        number += 1
        time.sleep(max(0.0, began + number * period / names - time.monotonic()))


def cpu_of(pid: int) -> float:
    """Return the CPU seconds that the threads of a process have used, to the nanosecond."""
    found = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        found += int((thread / "schedstat").read_text().split()[0])
    return found / 1e9


class Readers:
    """A number of reading processes, each with its own name, and a writer of all other names."""

    def __init__(self, stack: ExitStack, bootstrap: str, readers: int, names: int) -> None:
        others, period = max(0, names - readers), period_of(max(names, readers))
        self._stack, self._bootstrap = stack, bootstrap
        if others:
            self._start("write", str(others), str(period))
        self.pids = [self._start("read", f"Reader{n}/endpoint/0") for n in range(readers)]

    def _start(self, *arguments: str) -> int:
        child = subprocess.Popen(
            [sys.executable, "-m", "bench.kafka_heartbeats", *arguments,
             "--bootstrap", self._bootstrap],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._stack.callback(child.wait)
        self._stack.callback(child.kill)
        assert child.stdout is not None
        child.stdout.readline()
        return child.pid


def measure(bootstrap: str, broker: int, readers: int, names: int, seconds: float) -> list[float]:
    """Return the CPU, in seconds per second, of one reading process and of the broker."""
    with ExitStack() as stack:
        pids = Readers(stack, bootstrap, readers, names).pids
        time.sleep(SETTLE)
        began, before = time.monotonic(), (sum(map(cpu_of, pids)), cpu_of(broker))
        time.sleep(seconds)
        after, took = (sum(map(cpu_of, pids)), cpu_of(broker)), time.monotonic() - began
    shares = [(b - a) / took / readers for a, b in zip(before, after, strict=True)]
    progress(f"{names} names: {shares[0] * 1e3:.2f} ms/s, broker {shares[1] * 1e3:.2f} ms/s each")
    return shares


def rows(found: dict[int, list[list[float]]], readers: int) -> list[Measurement]:
    """Return the cost of each number of names, compared with the cost of no other names."""
    return [
        Measurement(
            f"{names} names, {readers} processes that read; CPU per second",
            what,
            Unit.SECONDS,
            tuple(shares[part] for shares in measured),
            "no other name",
            tuple(shares[part] for shares in found[NAMES[0]]),
        )
        for names, measured in found.items()
        for part, what in enumerate(("of a process", "of the broker, each"))
    ]


def main() -> None:
    """Print the table, or run as one of the processes."""
    parser = options(__doc__)
    parser.add_argument("role", nargs="*", help="what a child process is to do")
    parser.add_argument("--bootstrap", help="with a role: the broker")
    parser.add_argument("--readers", type=int, default=10)
    parser.add_argument("--names", type=int, nargs="*", default=NAMES)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    if given.role:
        role, *arguments = given.role
        if role == "read":
            read(given.bootstrap, arguments[0])
        else:
            write(given.bootstrap, int(arguments[0]), float(arguments[1]))
        return
    with lasting_broker() as broker:
        deploy(Cluster(broker.bootstrap, TOPICS), load(topologies_dir() / "combined", time.time()))
        pid = broker.data.recorded().pid  # type: ignore[union-attr]
        found: dict[int, list[list[float]]] = {names: [] for names in (NAMES[0], *given.names)}
        for _ in range(given.rounds):
            for names, measured in found.items():
                measured.append(measure(broker.bootstrap, pid, given.readers, names, given.seconds))
    hand_over(rows(found, given.readers), given)


if __name__ == "__main__":
    main()
