"""What forwarding costs on a real Kafka: `python -m bench.kafka_forwarder`.

The baseline of the same run is a bare passthrough: the same client library and settings, the same
records with their three headers, no decision. Both run in a process of their own, by turns.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

from bench.turns import in_a_process, table
from streams.embedded import Broker
from streams.kafka import Cluster, Headers, Message, TopicPartition, deploy
from streams.protocol import Flag, Header, Journey, Parties
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics, encode_header, encode_journey, encode_parties
from streams.wire.records import HOP, MESSAGE, ROUTE
from streams.workers.collector import collecting_rarely
from streams.workers.control import Control
from streams.workers.forwarder import ForwarderWorker

GATEWAY, OTHER, BODY = "GatewayA", "GatewayB", os.urandom(400)
LOOPS = ("passthrough", "forwarder")
DAY = 86_400_000


# --- one loop, in a process of its own -----------------------------------------------------------


def passthrough(cluster: Cluster, count: int) -> tuple[float, float]:
    """Copy the records by the loop that a forwarder has, without looking at them."""
    consumer = cluster.consumer(f"bench.{uuid.uuid4()}")
    producer = cluster.producer(linger_ms=1)
    source, copies = cluster.topics.txq(GATEWAY), cluster.topics.txq(OTHER)
    consumer.subscribe([source], on_assign=_from_the_beginning)
    failed: list[object] = []

    def reported(error: object, _: Message) -> None:
        failed.append(error)

    done, commit_at, begun = 0, time.monotonic(), (0.0, 0.0)
    while done < count:
        first = consumer.poll(0.05)
        if first is None:
            continue
        begun = begun if done else (time.process_time(), time.monotonic())
        batch = [first, *consumer.consume(2_000, 0)]
        for message in batch:
            if message.error() is None:
                producer.produce(
                    copies, message.value(), message.key(), -1, reported, None,
                    message.timestamp()[1], message.headers(),
                )  # fmt: skip
        done += len(batch)
        if time.monotonic() >= commit_at:
            producer.flush()
            consumer.commit(message=batch[-1], asynchronous=False)
            commit_at = time.monotonic() + 0.2
    producer.flush()
    took = time.process_time() - begun[0], time.monotonic() - begun[1]
    consumer.close()
    assert not failed
    return took


def _from_the_beginning(consumer: object, partitions: list[TopicPartition]) -> None:
    for partition in partitions:
        partition.offset = 0
    consumer.assign(partitions)  # type: ignore[attr-defined]


def forwarder(cluster: Cluster, count: int) -> tuple[float, float]:
    """Let the worker forward the same records."""
    control = Control(cluster, (GATEWAY, "ServerB"))  # whom nobody hears is sent nothing
    control.start()
    worker, stop = ForwarderWorker(cluster, GATEWAY, control), threading.Event()
    begun: list[float] = []
    wait_for = [1, count]

    def watch() -> None:
        for passed in wait_for:
            while worker.passed < passed:
                time.sleep(0.01)
            begun.extend((time.process_time(), time.monotonic()))
        stop.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    with collecting_rarely():
        worker.run(stop)
    took = time.process_time() - begun[0], time.monotonic() - begun[1]
    watcher.join()
    control.stop()
    again = cluster.consumer(f"{cluster.topics.prefix}forwarder.{GATEWAY}")
    source = cluster.topics.txq(GATEWAY)
    again.commit(offsets=[TopicPartition(source, 0, 0)], asynchronous=False)
    again.close()
    return took


# --- the table -----------------------------------------------------------------------------------


def fill(cluster: Cluster, count: int) -> None:
    """Write the records that every loop reads: of 1,000 dialogs, locked to DatabaseB."""
    now = time.time_ns() // 1_000_000
    parties = Parties(
        "TargetService", "DatabaseB", "InitiatorService", "DatabaseA", "DEFAULT", True
    )
    route = encode_parties(parties)
    hop = b""
    producer = cluster.producer(linger_ms=20)
    keys = [str(uuid.UUID(int=n << 64)).encode() for n in range(1_000)]
    for n in range(count):
        if n % 20 == 0:  # what an endpoint sends in one transaction has one sb-hop
            sent = now + n // 20
            hop = encode_journey(Journey(16, sent + DAY, 0, sent, 0, (("ServerA", sent),)))
        header = Header(uuid.UUID(int=n), "DEFAULT", n // 1000, now, now + DAY, Flag.NONE)
        headers: Headers = [(ROUTE, route), (MESSAGE, encode_header(header)), (HOP, hop)]
        while True:
            try:
                producer.produce(
                    cluster.topics.txq(GATEWAY), key=keys[n % 1000], value=BODY, headers=headers
                )
                break
            except BufferError:
                producer.poll(0.1)
        if n % 1000 == 0:
            producer.poll(0)
    producer.flush()


def main() -> None:
    """Print the table, or run one loop of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--loop", choices=LOOPS, help=argparse.SUPPRESS)
    parser.add_argument("--bootstrap", help=argparse.SUPPRESS)
    parser.add_argument("--prefix", default="bench.", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.loop:
        run = passthrough if given.loop == "passthrough" else forwarder
        took = run(Cluster(given.bootstrap, Topics(given.prefix)), given.count)
        print(json.dumps((*took, given.count)))
        return
    with tempfile.TemporaryDirectory() as folder, Broker(Path(folder)) as broker:
        cluster = Cluster(broker.bootstrap, Topics(given.prefix))
        deploy(cluster, load(topologies_dir() / "combined", time.time()))
        fill(cluster, given.count)
        pid = broker.data.recorded().pid  # type: ignore[union-attr]
        rows: dict[str, list[dict[str, float]]] = {loop: [] for loop in LOOPS}
        for number in range(given.rounds):
            for loop in LOOPS if number % 2 == 0 else reversed(LOOPS):
                arguments = ["--loop", loop, "--bootstrap", broker.bootstrap, "--prefix",
                             given.prefix, "--count", str(given.count)]  # fmt: skip
                row = in_a_process("bench.kafka_forwarder", arguments, pid)
                rows[loop].append(row)
                print(loop, {k: round(v, 2) for k, v in row.items()}, file=sys.stderr)
        table(rows, dict.fromkeys(LOOPS, "passthrough"))


if __name__ == "__main__":
    main()
