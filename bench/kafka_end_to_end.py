"""What a message costs from SEND to its queue on a real Kafka: `python -m bench.kafka_end_to_end`.

SQL1 sends to SQL3 over the forwarder SQL2: three instances in three processes, a broker, and one
client that sends on 1,000 dialogs, with a bounded number of messages under way, and reads the
queue.
With `--dialogs` every message has a dialog of its own: begun, used once, ended by both sides.

CPU per message is given for each process; a machine that does nothing else has two million
microseconds a second on two cores, and could deliver as many messages as that allows.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.turns import cpu_of
from streams.client import Client, Conversation
from streams.embedded import Broker
from streams.kafka import Cluster, Consumer, TopicPartition, deploy, headers_of
from streams.protocol import END_DIALOG
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from streams.wire.records import read_queued

FROM, TO = "//sqltalk/sendTweetService", "//sqltalk/rcvTweetService"
INSTANCES = ("SQL1", "SQL2", "SQL3")
DIALOGS, BODY, UNDER_WAY = 1_000, os.urandom(400), 20_000
CORES = 2_000_000


@contextmanager
def running(bootstrap: str, prefix: str, pace: str) -> Iterator[dict[str, int]]:
    """Run the workers of each instance in a process of its own; gives their process ids."""
    command = [sys.executable, "-m", "streams", "worker", "both", "--bootstrap", bootstrap,
               "--prefix", prefix, "--pace", pace.lower()]  # fmt: skip
    workers = {name: subprocess.Popen([*command, "--instance", name]) for name in INSTANCES}
    try:
        yield {name: worker.pid for name, worker in workers.items()}
    finally:
        for worker in workers.values():
            worker.terminate()
        for worker in workers.values():
            worker.wait(60)


class Load:
    """The client: what it has sent, and what it has found in the queue."""

    def __init__(self, cluster: Cluster, client: Client) -> None:
        self.client, self.sent, self.delivered, self.ended = client, 0, 0, 0
        self._queue: Consumer = cluster.consumer("bench.reader")
        topic = cluster.topics.queue("SQL3", "DatabaseB", "rcvTweetQueue")
        self._queue.assign([TopicPartition(topic, 0, 0)])
        self._dialogs: list[Conversation] = []

    def begin(self) -> Conversation:
        """BEGIN DIALOG."""
        return self.client.begin("SQL1", "DatabaseA", FROM, TO, wait=False)

    def messages(self) -> None:
        """SEND one message on each of the dialogs."""
        if not self._dialogs:
            self._dialogs = [self.begin() for _ in range(DIALOGS)]
        for dialog in self._dialogs:
            self.client.send(dialog, BODY)
        self.sent += DIALOGS

    def conversations(self) -> None:
        """Begin dialogs, SEND once on each and END it."""
        for _ in range(100):
            dialog = self.begin()
            self.client.send(dialog, BODY)
            self.client.end(dialog)
        self.sent += 100

    def receive(self) -> None:
        """Count what is in the queue."""
        records = self._queue.consume(5_000, 0.05)
        self.delivered += sum(1 for record in records if record.error() is None)

    def answer(self) -> None:
        """Count what is in the queue, and END where the other side has ended."""
        for record in self._queue.consume(5_000, 0.05):
            if record.error() is not None:
                continue
            message = read_queued(record.value(), headers_of(record))
            if message.header.type == END_DIALOG:
                there = Conversation("SQL3", "DatabaseB", message.conversation, is_initiator=False)
                self.client.end(there)
                self.ended += 1
            else:
                self.delivered += 1


def run(load: Load, pids: dict[str, int], seconds: float, send: Callable[[], None],
        receive: Callable[[], None], under_way: int) -> dict[str, float]:  # fmt: skip
    """Keep messages under way for so long, after a while that is not counted."""
    start = time.monotonic()
    marks: list[tuple[float, int, dict[str, float]]] = []
    for until in (start + seconds / 4, start + seconds * 1.25):
        while time.monotonic() < until:
            while load.sent - load.delivered < under_way:
                send()
            receive()
        used = {name: cpu_of(pid) for name, pid in pids.items()}
        marks.append((time.monotonic(), load.delivered, used))
    (began, first, before), (ended, last, after) = marks
    count = last - first
    cost = {name: (after[name] - before[name]) / count * 1e6 for name in pids}
    return {"rate": count / (ended - began), **cost, "all": sum(cost.values())}


def main() -> None:
    """Print one line for each round, and their medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--pace", choices=("LATENCY", "THROUGHPUT"), default="THROUGHPUT")
    parser.add_argument("--dialogs", action="store_true", help="a dialog for every message")
    given = parser.parse_args()
    rows: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder, Broker(Path(folder)) as broker:
        pids = {"broker": broker.data.recorded().pid, "client": os.getpid()}  # type: ignore[union-attr]
        for _ in range(given.rounds):
            prefix = f"bench{uuid.uuid4().hex[:6]}."
            cluster = Cluster(broker.bootstrap, Topics(prefix))
            deploy(cluster, load(topologies_dir() / "forwarding_chain", time.time()))
            with (
                running(broker.bootstrap, prefix, given.pace) as workers,
                Client(cluster) as client,
            ):
                one = Load(cluster, client)
                send = one.conversations if given.dialogs else one.messages
                receive = one.answer if given.dialogs else one.receive
                under_way = 4_000 if given.dialogs else UNDER_WAY
                row = run(one, {**pids, **workers}, given.seconds, send, receive, under_way)
                rows.append(row)
                print(json.dumps({k: round(v, 1) for k, v in row.items()}), file=sys.stderr)
    middle = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    what = "dialogs" if given.dialogs else "messages"
    print(f"{what} delivered per second: {middle['rate']:,.0f}")
    for name in ("broker", *INSTANCES, "client", "all"):
        print(f"{name:<10}{middle[name]:10.1f} us of CPU for each")
    print(f"two cores that do nothing else: {CORES / middle['all']:,.0f} a second")


if __name__ == "__main__":
    main()
