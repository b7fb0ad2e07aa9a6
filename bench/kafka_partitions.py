"""The latency of a message between instances of 16 partitions: `python -m bench.kafka_partitions`.

Two instances run in two processes with the pace `latency`. A client sends 100 messages a second on
200 dialogs; their latency is from SEND to readable in the queue. Each instance has 16 partitions,
all of them in one worker. The baseline of the same rounds is a system whose instances have one
partition; both systems run on one broker. The load is an open loop (bench/open_loop.py) with a
separate process for the sender.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.open_loop import LATE, latency, read, send
from bench.part import hand_over, options, progress
from bench.rows import Unit, at_most
from bench.turns import Turn, by_turns, lasting_broker, rows_of
from streams.client import Client
from streams.kafka import Cluster, TopicPartition, deploy
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics

RATE, DIALOGS = 100.0, 200
ONE, MANY = "1 partition", "16 partitions"
SYSTEMS = {ONE: 1, MANY: 16}
INSTANCES = ("ServerA", "ServerB")
UNCOUNTED = 3
"""Warm-up turns of each system."""
MEASURED = {"p50": ("latency, p50", Unit.SECONDS), "p95": ("latency, p95", Unit.SECONDS)}


def give(cluster: Cluster, count: int) -> None:
    """Begin the dialogs, and send this number of messages."""
    with Client(cluster) as client:
        dialogs = [
            client.begin("ServerA", "DatabaseA", "InitiatorService", "TargetService")
            for _ in range(DIALOGS)
        ]
        send(RATE, count, lambda number, body: client.send(dialogs[number % DIALOGS], body))
        client.flush()


def turn(cluster: Cluster, count: int) -> Turn:
    """Send one load and return its latencies."""
    consumer = cluster.consumer("bench.reader")
    queue = cluster.topics.queue("ServerB", "DatabaseB", "TargetQueue")
    places = [
        TopicPartition(queue, n) for n in consumer.list_topics(queue).topics[queue].partitions
    ]
    for place in places:
        place.offset = consumer.get_watermark_offsets(place, timeout=10)[1]
    consumer.assign(places)
    sender = subprocess.Popen(
        [sys.executable, "-m", "bench.kafka_partitions", "--send", str(count), "--bootstrap",
         cluster.bootstrap, "--prefix", cluster.topics.prefix]
    )  # fmt: skip
    found = latency(read(consumer, count, patience=120))
    sender.wait(60)
    consumer.close()
    return {"p50": found.p50, "p95": found.p95, "late": found.late}


@contextmanager
def running(bootstrap: str, partitions: int) -> Iterator[Cluster]:
    """Run a system whose instances have this number of partitions."""
    cluster = Cluster(bootstrap, Topics(f"bench{partitions}."))
    [source] = (topologies_dir() / "two_brokers").glob("*.yaml")
    text = source.read_text()
    for name in INSTANCES:
        text = text.replace(f"  {name}:\n", f"  {name}:\n    partitions: {partitions}\n")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / source.name).write_text(text)
        deploy(cluster, load(Path(folder), time.time()))
    command = [sys.executable, "-m", "streams", "worker", "both", "--bootstrap", bootstrap,
               "--prefix", cluster.topics.prefix, "--pace", "latency"]  # fmt: skip
    workers = [subprocess.Popen([*command, "--instance", name]) for name in INSTANCES]
    try:
        yield cluster
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait(60)


def main() -> None:
    """Print the table, or send one load."""
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=15, help="of each load in a round")
    parser.add_argument("--send", type=int, help="send this number of messages")
    parser.add_argument("--bootstrap")
    parser.add_argument("--prefix")
    given = parser.parse_args()
    if given.send:
        give(Cluster(given.bootstrap, Topics(given.prefix)), given.send)
        return
    count = int(given.seconds * RATE)
    with lasting_broker() as broker, ExitStack() as stack:
        clusters = {
            name: stack.enter_context(running(broker.bootstrap, partitions))
            for name, partitions in SYSTEMS.items()
        }
        progress(f"{UNCOUNTED} turns of each system that do not count")
        for name in tuple(SYSTEMS) * UNCOUNTED:
            turn(clusters[name], count)
        turns = by_turns(tuple(SYSTEMS), given.rounds, lambda name, _: turn(clusters[name], count))
    late = max(each["late"] for found in turns.values() for each in found)
    progress(f"sends more than {LATE / 1e6:.0f} ms late: {late:.1%} in the worst turn")
    group = "between two instances of 16 partitions, 100 messages a second"
    hand_over(rows_of(turns, group, MANY, ONE, {"p50": at_most(1.3)}, MEASURED), given)


if __name__ == "__main__":
    main()
