"""The latency of a message on a real Kafka: `python -m bench.kafka_latency`.

- one hop: from a gateway's ``txq`` to that of the next gateway, 1,000 messages a second
- end to end: from SEND to readable in the queue over one forwarder, 200 messages a second; three
  instances in three processes, pace `latency`

The baseline of the same rounds produces and consumes at the same rate, with the same settings and
nothing in between. The load is an open loop (bench/open_loop.py) with separate processes for sender
and reader. ``--stages`` follows each message of the second case through the topics instead.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.kafka_end_to_end import FROM, TO, running
from bench.kafka_forwarder import DAY, GATEWAY
from bench.open_loop import LATE, latency, read, send
from bench.part import hand_over, options, progress
from bench.rows import Measurement, Of, Unit, at_most
from bench.stages import Stages
from bench.turns import Turn, by_turns, lasting_broker, rows_of
from streams.client import Client
from streams.kafka import Cluster, Consumer, Headers, TopicPartition, create, deploy
from streams.protocol import Flag, Header, Journey, Parties
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics, encode_header, encode_journey, encode_parties
from streams.wire.records import HOP, MESSAGE, ROUTE
from streams.wire.specs import spec
from streams.workers.collector import collecting_rarely
from streams.workers.control import Control
from streams.workers.forwarder import ForwarderWorker

NEXT = "ServerB"
PLAIN_TOPIC = "bench.plain"
HOP_RATE, SEND_RATE, DIALOGS = 1_000.0, 200.0, 100
NOTHING, HOP_MORE = "produce and consume, 1,000/s", "one hop"
NOTHING_SLOWLY, END_TO_END = "produce and consume, 200/s", "end to end"
UNCOUNTED = 3
"""Warm-up turns of each load, because topics, groups, plans and the broker are new."""
RATES = {
    NOTHING: HOP_RATE,
    HOP_MORE: HOP_RATE,
    NOTHING_SLOWLY: SEND_RATE,
    END_TO_END: SEND_RATE,
}
MEASURED = {
    "p50": ("latency, p50", Unit.SECONDS),
    "p95": ("latency, p95", Unit.SECONDS),
    "p99": ("latency, p99", Unit.SECONDS),
}
Give = Callable[[int, bytes], None]
Giver = tuple[Give, Callable[[], object]]
"""Functions that send a message, and that wait until Kafka has all messages."""


# --- senders and the gateway, in processes of their own ------------------------------------------


def plain(cluster: Cluster, _: float) -> Giver:
    """Return the sender of the baseline, which writes bare records."""
    producer = cluster.producer(linger_ms=0)

    def give(number: int, body: bytes) -> None:
        producer.produce(PLAIN_TOPIC, body, str(number % DIALOGS))
        producer.poll(0)

    return give, producer.flush


def frames(cluster: Cluster, now: float) -> Giver:
    """Return the sender of frames for the gateway, like another instance's forwarder."""
    producer = cluster.producer(linger_ms=0)
    route = encode_parties(
        Parties("TargetService", "DatabaseB", "InitiatorService", "DatabaseA", "DEFAULT", True)
    )
    topic, begun = cluster.topics.txq(GATEWAY), int(now * 1000)

    def give(number: int, body: bytes) -> None:
        sent = time.time_ns() // 1_000_000
        header = Header(uuid.UUID(int=number), "DEFAULT", number, sent, begun + DAY, Flag.NONE)
        hop = encode_journey(Journey(16, sent + DAY, 0, sent, 0, (("ServerA", sent),)))
        headers: Headers = [(ROUTE, route), (MESSAGE, encode_header(header)), (HOP, hop)]
        key = str(uuid.UUID(int=number % DIALOGS))
        producer.produce(topic, body, key, headers=headers)  # type: ignore[arg-type]
        producer.poll(0)

    return give, producer.flush


def messages(cluster: Cluster, _: float) -> Giver:
    """Return the sender that SENDs on open dialogs."""
    client = Client(cluster)
    dialogs = [client.begin("SQL1", "DatabaseA", FROM, TO) for _ in range(DIALOGS)]

    def give(number: int, body: bytes) -> None:
        client.send(dialogs[number % DIALOGS], body)

    return give, client.flush


GIVERS = {NOTHING: plain, HOP_MORE: frames, NOTHING_SLOWLY: plain, END_TO_END: messages}


def gateway(cluster: Cluster) -> None:
    """Forward until the process is ended."""
    control = Control(cluster, (GATEWAY, NEXT))  # instances without heartbeats are sent no messages
    control.start()
    with collecting_rarely():
        ForwarderWorker(cluster, GATEWAY, control).run(threading.Event())


# --- the table -----------------------------------------------------------------------------------


class Load:
    """Sends one load after the other, and reads the messages of each."""

    def __init__(self, cluster: Cluster, seconds: float) -> None:
        self._cluster, self._seconds = cluster, seconds
        queue = cluster.topics.queue("SQL3", "DatabaseB", "rcvTweetQueue")
        topics = {HOP_MORE: cluster.topics.txq(NEXT), END_TO_END: queue}
        self._topics = {name: topics.get(name, PLAIN_TOPIC) for name in RATES}

    def turn(self, load: str) -> Turn:
        """Send one load and return its latencies."""
        count = int(self._seconds * RATES[load])
        consumer = self._reader(load)
        sender = _child(self._cluster, "--send", load, "--count", str(count))
        found = latency(read(consumer, count))
        sender.wait(60)
        consumer.close()
        return {"p50": found.p50, "p95": found.p95, "p99": found.p99, "late": found.late}

    def _reader(self, load: str) -> Consumer:
        consumer = self._cluster.consumer("bench.reader")
        place = TopicPartition(self._topics[load], 0)
        place.offset = consumer.get_watermark_offsets(place, timeout=10)[1]
        consumer.assign([place])
        return consumer


def rows(turns: dict[str, list[Turn]]) -> list[Measurement]:
    """Return the figures of both cases."""
    hop = {"p50": at_most(0.001, Of.MORE), "p95": at_most(0.005, Of.MORE)}
    whole = {"p50": at_most(0.030, Of.VALUE), "p95": at_most(0.100, Of.VALUE)}
    return [
        *rows_of(turns, "one hop, 1,000 messages a second", HOP_MORE, NOTHING, hop, MEASURED),
        *rows_of(turns, "end to end over one forwarder, 200 messages a second", END_TO_END,
                 NOTHING_SLOWLY, whole, MEASURED),
    ]  # fmt: skip


def main() -> None:
    """Print the table, or run as one of its processes."""
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=8, help="of each load in a round")
    parser.add_argument("--stages", action="store_true", help="where the milliseconds go")
    parser.add_argument("--send", choices=RATES)
    parser.add_argument("--gateway", action="store_true")
    parser.add_argument("--count", type=int)
    parser.add_argument("--bootstrap")
    parser.add_argument("--prefix", default="bench.")
    given = parser.parse_args()
    if given.send or given.gateway:
        cluster = Cluster(given.bootstrap, Topics(given.prefix))
        if given.gateway:
            gateway(cluster)
        give, finish = GIVERS[given.send](cluster, time.time())
        send(RATES[given.send], given.count, give)
        finish()
        return
    with serving() as cluster:
        if given.stages:
            count = int(given.seconds * SEND_RATE)
            stages = Stages(cluster, "SQL1", "SQL2", "SQL3")
            sender = _child(cluster, "--send", END_TO_END, "--count", str(count))
            print(stages.follow(count))
            sender.wait(60)
            return
        load = Load(cluster, given.seconds)
        progress(f"{UNCOUNTED} turns of each load that do not count")
        for name in tuple(RATES) * UNCOUNTED:
            load.turn(name)
        turns = by_turns(tuple(RATES), given.rounds, lambda name, _: load.turn(name))
    late = max(turn["late"] for each in turns.values() for turn in each)
    progress(f"sends more than {LATE / 1e6:.0f} ms late: {late:.1%} in the worst turn")
    hand_over(rows(turns), given)


@contextmanager
def serving() -> Iterator[Cluster]:
    """Run a broker with both topologies, and the workers of both."""
    with lasting_broker() as broker:
        cluster = Cluster(broker.bootstrap, Topics("bench."))
        for name in ("combined", "forwarding_chain"):
            deploy(cluster, load(topologies_dir() / name, time.time()))
        create(cluster, [spec(PLAIN_TOPIC, "txq")])
        forwarder = _child(cluster, "--gateway")
        try:
            with running(broker.bootstrap, cluster.topics.prefix, "latency"):
                yield cluster
        finally:
            forwarder.terminate()
            forwarder.wait(60)


def _child(cluster: Cluster, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "bench.kafka_latency", *arguments, "--bootstrap",
               cluster.bootstrap, "--prefix", cluster.topics.prefix]  # fmt: skip
    return subprocess.Popen(command)


if __name__ == "__main__":
    main()
