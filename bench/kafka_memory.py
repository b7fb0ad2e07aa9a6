"""A forwarder's memory over 10 million messages: `python -m bench.kafka_memory`.

A topic of 200,000 records is forwarded fifty times. Each time the end is reached, the consumer
seeks back to the beginning, and the written records are deleted. Resident memory is sampled
throughout, and the median of every tenth of the messages is compared. The baseline of the same run
is a bare passthrough in a separate process, which is rewound in the same way.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from dataclasses import replace
from statistics import median

from bench.kafka_forwarder import FORWARDER, GATEWAY, OTHER, PASSTHROUGH, fill, passthrough
from bench.part import hand_over, options, progress
from bench.rows import NO_GROWTH, Measurement, Unit
from bench.turns import lasting_broker, resident
from streams.kafka import Cluster, Consumer, TopicPartition, create, deploy
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from streams.wire.specs import spec
from streams.workers.collector import collecting_rarely
from streams.workers.control import Control
from streams.workers.forwarder import ForwarderWorker
from streams.workers.forwarder.loop import ForwarderLoop

TARGET, TENTHS, EVERY = "ServerB", 10, 0.2
GROUP = "memory of a forwarder"
SEGMENT = 64 << 20
"""Bytes per segment file of the output topics, small enough that deleting frees space."""
LOOPS = (PASSTHROUGH, FORWARDER)


class Rewinding:
    """Rewinds the consumer of the gateway's records, and samples memory meanwhile."""

    def __init__(self, cluster: Cluster, written: str, count: int, size: int) -> None:
        self._admin, self._written = cluster.admin(), TopicPartition(written, 0, -1)
        self._start = TopicPartition(cluster.topics.txq(GATEWAY), 0, 0)
        self._count, self._size, self._rewound = count, size, 0
        self._done = 0
        self._parts: list[list[int]] = [[] for _ in range(TENTHS)]

    def note(self, consumer: Consumer, done: int) -> None:
        """Rewind if the end was reached, and delete the written records; in the reader's thread."""
        self._done = done
        if done // self._size > self._rewound:
            self._rewound = done // self._size
            consumer.seek(self._start)
            self._admin.delete_records([self._written])

    def watch(self) -> None:
        """Sample until enough messages have been processed."""
        while self._done < self._count:
            self._parts[self._done * TENTHS // self._count].append(resident())
            time.sleep(EVERY)

    @property
    def tenths(self) -> list[float]:
        """Return the median of the samples of every tenth of the messages."""
        return [float(median(part)) for part in self._parts]


def forward(cluster: Cluster, count: int, size: int) -> list[float]:
    """Run a forwarder; return its memory in every tenth of the messages."""
    # instances without heartbeats are sent no messages
    control = Control(cluster, (GATEWAY, TARGET))
    control.start()
    worker, stop = ForwarderWorker(cluster, GATEWAY, control), threading.Event()
    rewinding = Rewinding(cluster, cluster.topics.txq(TARGET), count, size)

    class RewoundLoop(ForwarderLoop):
        """A loop that starts again whenever it has read all records."""

        def _turn(self) -> None:  # in the only thread that may seek
            super()._turn()
            rewinding.note(self._consumer, worker.decided)

    worker.loop = RewoundLoop

    def watch() -> None:
        rewinding.watch()
        stop.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    with collecting_rarely():
        worker.run(stop)
    watcher.join()
    control.stop()
    return rewinding.tenths


def pass_through(cluster: Cluster, count: int, size: int) -> list[float]:
    """Run a passthrough; return its memory in every tenth of the messages."""
    rewinding = Rewinding(cluster, cluster.topics.txq(OTHER), count, size)
    watcher = threading.Thread(target=rewinding.watch)
    watcher.start()
    passthrough(cluster, count, rewinding.note)
    watcher.join()
    return rewinding.tenths


def rows(found: dict[str, list[float]], count: int) -> list[Measurement]:
    """Return the later half of the tenths, compared with the earlier half and with the baseline."""
    half = TENTHS // 2
    group = f"{GROUP}, messages {count // 2:,} to {count:,}"
    ours, theirs = found[FORWARDER], found[PASSTHROUGH]
    later = Measurement(group, "resident", Unit.BYTES, tuple(ours[half:]), "first half",
                tuple(ours[:half]), NO_GROWTH)  # fmt: skip
    return [later, replace(later, baseline=PASSTHROUGH, base=tuple(theirs[half:]), goal=None)]


def main() -> None:
    """Print the table, or run one loop."""
    parser = options(__doc__)
    parser.add_argument("--count", type=int, default=10_000_000)
    parser.add_argument("--size", type=int, default=200_000)
    parser.add_argument("--only", choices=LOOPS)
    parser.add_argument("--bootstrap", help="with --only: a broker with the records")
    given = parser.parse_args()
    topics = Topics("bench.")
    if given.only:
        work = forward if given.only == FORWARDER else pass_through
        print(json.dumps(work(Cluster(given.bootstrap, topics), given.count, given.size)))
        return
    found: dict[str, list[float]] = {}
    with lasting_broker() as broker:
        cluster = Cluster(broker.bootstrap, topics)
        small = {"segment.bytes": str(SEGMENT)}
        written = (spec(topics.txq(name), "txq") for name in (TARGET, OTHER))
        create(cluster, [replace(s, config={**s.config, **small}) for s in written])
        deploy(cluster, load(topologies_dir() / "combined", time.time()))
        fill(cluster, topics.txq(GATEWAY), given.size)
        for loop in LOOPS:
            progress(f"{GROUP}: {given.count:,} messages by the {loop}")
            command = [sys.executable, "-m", "bench.kafka_memory", "--only", loop, "--bootstrap",
                       broker.bootstrap, "--count", str(given.count), "--size",
                       str(given.size)]  # fmt: skip
            child = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found[loop] = json.loads(child.stdout.splitlines()[-1])
            progress(", ".join(f"{size / 1e6:.1f} MB" for size in found[loop]))
    hand_over(rows(found, given.count), given)


if __name__ == "__main__":
    main()
