"""The cost of forwarding on a real Kafka: `python -m bench.kafka_forwarder`.

The baselines of the same rounds, on the same records with their three headers, are:

- a bare passthrough: the same client library and settings, no decision
- MirrorMaker 2, tuned and warm, which takes no decision either (bench/mirror.py)
- the same forwarding written as a Faust agent (bench/faust_agent.py)
- the forwarder with 10 routes, for the case with 10,000 routes

The loops run alternately, each in its own process.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace

from bench.mirror import WARM, mirroring
from bench.part import hand_over, options, progress
from bench.rows import NO_GROWTH, Measurement, at_least, at_most
from bench.turns import MEASURED, Turn, by_turns, in_a_process, lasting_broker, rows_of
from streams.kafka import Cluster, Consumer, Headers, Message, TopicPartition, create, deploy
from streams.protocol import Flag, Header, Journey, Parties
from streams.resources import topologies_dir
from streams.topology import Route, Topology, load
from streams.wire import Topics, encode_header, encode_journey, encode_parties
from streams.wire.records import HOP, MESSAGE, ROUTE
from streams.wire.specs import spec
from streams.workers.collector import collecting_rarely
from streams.workers.control import Control
from streams.workers.forwarder import ForwarderWorker

GATEWAY, OTHER, DAY = "GatewayA", "GatewayB", 86_400_000
PASSTHROUGH, FORWARDER, MIRROR = "passthrough", "forwarder", "MirrorMaker 2"
FAUST, MANY = "the same as a Faust agent", "10,000 routes"
GROUP = "forwarder, bodies of 400 bytes"
LOOPS = (PASSTHROUGH, FORWARDER, MANY, MIRROR, FAUST)
FEW_ROUTES, MANY_ROUTES = 10, 10_000
SLOW = 40
"""A Faust agent gets only a fraction of the records, because it is slower."""


# --- one loop, in a process of its own -----------------------------------------------------------


def passthrough(
    cluster: Cluster, count: int, note: Callable[[Consumer, int], None] | None = None
) -> tuple[float, float]:
    """Copy the records with a forwarder's loop, without decoding them."""
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
        if note is not None:
            note(consumer, done)
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
    # instances without heartbeats are sent no messages
    control = Control(cluster, (GATEWAY, "ServerB"))
    control.start()
    worker, stop = ForwarderWorker(cluster, GATEWAY, control), threading.Event()
    begun: list[float] = []
    wait_for = [1, count]

    def watch() -> None:
        for passed in wait_for:
            while worker.decided < passed:
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


def fill(cluster: Cluster, topic: str, count: int) -> None:
    """Write the records that every loop reads, of 1,000 dialogs that are locked to DatabaseB."""
    now = time.time_ns() // 1_000_000
    parties = Parties(
        "TargetService", "DatabaseB", "InitiatorService", "DatabaseA", "DEFAULT", True
    )
    route = encode_parties(parties)
    hop = b""
    producer = cluster.producer(linger_ms=20)
    keys = [str(uuid.UUID(int=n << 64)).encode() for n in range(1_000)]
    bodies = [os.urandom(400) for _ in keys]  # random bytes, which cannot be compressed
    for n in range(count):
        if n % 20 == 0:  # all frames that an endpoint sends in one transaction have the same sb-hop
            sent = now + n // 20
            hop = encode_journey(Journey(16, sent + DAY, 0, sent, 0, (("ServerA", sent),)))
        header = Header(uuid.UUID(int=n), "DEFAULT", n // 1000, now, now + DAY, Flag.NONE)
        headers: Headers = [(ROUTE, route), (MESSAGE, encode_header(header)), (HOP, hop)]
        while True:
            try:
                producer.produce(topic, bodies[n % 1000], keys[n % 1000], headers=headers)  # type: ignore[arg-type]
                break
            except BufferError:
                producer.poll(0.1)
        if n % 1000 == 0:
            producer.poll(0)
    producer.flush()


def with_routes(topology: Topology, count: int) -> Topology:
    """Give the gateway this number of routes in total."""
    at = topology.instances[GATEWAY]
    more = tuple(
        Route(f"R{n}", f"//bench/Service{n}", str(uuid.UUID(int=n)), f"tcp://host{n % 500}:4022")
        for n in range(count - len(at.msdb.routes))
    )
    msdb = replace(at.msdb, routes=(*at.msdb.routes, *more))
    return replace(topology, instances={**topology.instances, GATEWAY: replace(at, msdb=msdb)})


def rows(turns: dict[str, list[Turn]]) -> list[Measurement]:
    """Return the forwarder's figures compared with each of its baselines."""
    some = {key: MEASURED[key] for key in ("client", "rate")}
    wanted = {"client": at_most(1.1), "rate": at_least(0.9)}
    return [
        *rows_of(turns, GROUP, FORWARDER, PASSTHROUGH, wanted),
        *rows_of(turns, GROUP, FORWARDER, MIRROR, {"client": at_most(0.5)}),
        *rows_of(turns, GROUP, FORWARDER, FAUST, {"rate": at_least(20)}, some),
        *rows_of(turns, f"{GROUP}, {MANY}", MANY, FORWARDER, {"client": NO_GROWTH}, some),
    ]


def main() -> None:
    """Print the table, or run one loop."""
    parser = options(__doc__)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--only", choices=LOOPS)
    parser.add_argument("--bootstrap", help="with --only: a broker with the records")
    parser.add_argument("--prefix", default="bench.")
    given = parser.parse_args()
    if given.only:
        cluster = Cluster(given.bootstrap, Topics(given.prefix))
        print(json.dumps((*_run(given.only, cluster, given.count), given.count)))
        return
    with lasting_broker() as broker:
        few, many = (Cluster(broker.bootstrap, Topics(f"bench{n}.")) for n in (1, 2))
        combined = load(topologies_dir() / "combined", time.time())
        for cluster, routes in ((few, FEW_ROUTES), (many, MANY_ROUTES)):
            progress(f"{GROUP}: {given.count:,} records for {routes:,} routes")
            deploy(cluster, with_routes(combined, routes))
            fill(cluster, cluster.topics.txq(GATEWAY), given.count)
        copied = "bench.mirrored"
        create(few, [spec(copied, "txq")])
        fill(few, copied, WARM + given.count * (given.rounds + 1))
        pid = broker.data.recorded().pid  # type: ignore[union-attr]
        progress(f"{GROUP}: {MIRROR} warms up")
        with mirroring(few, copied, broker.data.path) as mirror:

            def run(loop: str, _: int) -> Turn:
                if loop == MIRROR:
                    return mirror.turn(given.count, pid)
                cluster = many if loop == MANY else few
                count = given.count // SLOW if loop == FAUST else given.count
                arguments = ["--only", loop, "--bootstrap", broker.bootstrap, "--prefix",
                             cluster.topics.prefix, "--count", str(count)]  # fmt: skip
                return in_a_process("bench.kafka_forwarder", arguments, pid)

            turns = by_turns(LOOPS, given.rounds, run)
    hand_over(rows(turns), given)


def _run(loop: str, cluster: Cluster, count: int) -> tuple[float, float]:
    if loop == FAUST:
        # imported here, so that other loops do not pay for it
        from bench.faust_agent import faust_agent

        return faust_agent(cluster, GATEWAY, count)
    return passthrough(cluster, count) if loop == PASSTHROUGH else forwarder(cluster, count)


if __name__ == "__main__":
    main()
