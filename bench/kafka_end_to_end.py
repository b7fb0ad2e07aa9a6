"""The cost of a message from SEND to its queue on a real Kafka: `python -m bench.kafka_end_to_end`.

SQL1 sends to SQL3 through the forwarder SQL2: three instances in three processes, a broker, and one
client that sends on 1,000 dialogs, with a bounded number of messages in flight, and reads the
queue. A second case gives every message its own dialog, which is begun, used once, and ended by
both sides. In a third case, one dialog carries all messages. In the baseline of the same rounds the
client produces the bodies to a topic and reads them. The CPU time per message is shown for each
process. An otherwise idle machine with two cores has two million microseconds of CPU per second,
which limits the number of messages.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from itertools import cycle

from bench.part import hand_over, options
from bench.rows import Measurement, Of, Unit, at_least
from bench.turns import Turn, by_turns, compiler_of, cpu_of, lasting_broker
from streams.client import Client, Conversation
from streams.embedded import Broker
from streams.errors import SurroundingsError
from streams.kafka import Cluster, Consumer, TopicPartition, create, deploy, headers_of
from streams.kafka.listing import topic_names
from streams.protocol import END_DIALOG
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from streams.wire.records import read_queued
from streams.wire.specs import spec

FROM, TO = "//sqltalk/sendTweetService", "//sqltalk/rcvTweetService"
INSTANCES = ("SQL1", "SQL2", "SQL3")
DIALOGS, UNDER_WAY = 1_000, 20_000
BODIES = tuple(os.urandom(400) for _ in range(DIALOGS))  # random bytes, which cannot be compressed
NOTHING, MESSAGES, ENDED = "produce and consume", "messages", "dialogs"
SINGLE = "messages of one dialog"
COMPILER = "the broker's compiler"
"""Java's compiler works for some minutes, until all frequently used code is compiled."""
SECONDS = {NOTHING: 5.0, MESSAGES: 60.0, ENDED: 12.0, SINGLE: 12.0}
BEFORE = {NOTHING: 1.0, MESSAGES: 6.0, ENDED: 4.0, SINGLE: 6.0}
"""Seconds of warm-up before the measurement."""
PACES = {MESSAGES: "throughput", ENDED: "throughput", SINGLE: "latency"}
ONLY = {"messages": MESSAGES, "dialogs": ENDED, "dialog": SINGLE}
GOALS = {
    MESSAGES: {"rate": at_least(10_000, Of.VALUE)},
    ENDED: {"rate": at_least(2_000, Of.VALUE)},
    SINGLE: {"rate": at_least(5_000, Of.VALUE)},
}


@contextmanager
def running(bootstrap: str, prefix: str, pace: str) -> Iterator[dict[str, int]]:
    """Run the workers of each instance in a separate process; yield their process ids."""
    command = [sys.executable, "-m", "streams", "worker", "both", "--bootstrap", bootstrap,
               "--prefix", prefix, "--pace", pace]  # fmt: skip
    workers = {name: subprocess.Popen([*command, "--instance", name]) for name in INSTANCES}
    try:
        yield {name: worker.pid for name, worker in workers.items()}
    finally:
        for worker in workers.values():
            worker.terminate()
        for worker in workers.values():
            worker.wait(60)


class Load:
    """The client, with the numbers of messages that it has sent and has found in the queue."""

    def __init__(self, cluster: Cluster, client: Client) -> None:
        self.client, self.sent, self.delivered, self.ended = client, 0, 0, 0
        self._queue: Consumer = cluster.consumer("bench.reader")
        topic = cluster.topics.queue("SQL3", "DatabaseB", "rcvTweetQueue")
        self._queue.assign([TopicPartition(topic, 0, 0)])
        self._dialogs: list[Conversation] = []

    def close(self) -> None:
        """Read nothing more."""
        self._queue.close()

    def begin(self) -> Conversation:
        """BEGIN DIALOG."""
        return self.client.begin("SQL1", "DatabaseA", FROM, TO, wait=False)

    def messages(self, dialogs: int) -> None:
        """SEND as many messages as there are bodies, on a number of dialogs in turn."""
        if not self._dialogs:
            self._dialogs = [self.begin() for _ in range(dialogs)]
        for dialog, body in zip(cycle(self._dialogs), BODIES, strict=False):
            self.client.send(dialog, body)
        self.sent += len(BODIES)

    def conversations(self) -> None:
        """Begin dialogs, SEND once on each, and END them."""
        for body in BODIES[:100]:
            dialog = self.begin()
            self.client.send(dialog, body)
            self.client.end(dialog)
        self.sent += 100

    def receive(self) -> None:
        """Count the messages in the queue."""
        records = self._queue.consume(5_000, 0.05)
        self.delivered += sum(1 for record in records if record.error() is None)

    def answer(self) -> None:
        """Count the messages in the queue, and END dialogs that the other side has ended."""
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


class Plain:
    """The baseline: the same bodies are produced to a topic and read from it."""

    def __init__(self, cluster: Cluster) -> None:
        self.sent, self.delivered = 0, 0
        self._topic = f"{cluster.topics.prefix}plain"
        create(cluster, [spec(self._topic, "txq")])
        self._producer, self._reader = cluster.producer(linger_ms=5), cluster.consumer("bench")
        self._reader.assign([TopicPartition(self._topic, 0, 0)])

    def close(self) -> None:
        """Read nothing more."""
        self._reader.close()

    def messages(self) -> None:
        """Produce as many messages as there are dialogs."""
        for body in BODIES:
            self._producer.produce(self._topic, body)
        self._producer.poll(0)
        self.sent += DIALOGS

    def receive(self) -> None:
        """Count the received records."""
        records = self._reader.consume(5_000, 0.05)
        self.delivered += sum(1 for record in records if record.error() is None)


def run(load: Load | Plain, pids: Mapping[str, int], times: tuple[float, float],
        send: Callable[[], None], receive: Callable[[], None], under_way: int) -> Turn:  # fmt: skip
    """Keep messages in flight during the warm-up, and then during the measured seconds."""
    start, (uncounted, counted) = time.monotonic(), times
    marks: list[tuple[float, int, dict[str, float]]] = []
    for until in (start + uncounted, start + uncounted + counted):
        while time.monotonic() < until:
            while load.sent - load.delivered < under_way:
                send()
            receive()
        used = {name: cpu_of(pid) for name, pid in pids.items()}
        used[COMPILER] = compiler_of(pids["broker"])
        marks.append((time.monotonic(), load.delivered, used))
    (began, first, before), (ended, last, after) = marks
    count = last - first
    if not count:
        raise SurroundingsError(f"Nothing of {load.sent} messages was delivered in {counted:g} s.")
    cost = {name: (after[name] - before[name]) / count for name in after}
    everything = sum(cost[name] for name in pids)
    return {"rate": count / (ended - began), "all": everything, **cost}


def turn(broker: Broker, kind: str, seconds: float, pace: str) -> Turn:
    """Run one kind of load on separate topics and workers."""
    times = BEFORE[kind], seconds
    cluster = Cluster(broker.bootstrap, Topics(f"bench{uuid.uuid4().hex[:6]}."))
    pids = {"broker": broker.data.recorded().pid, "client": os.getpid()}  # type: ignore[union-attr]
    with removed(cluster):
        if kind == NOTHING:
            with closing(Plain(cluster)) as plain:
                return run(plain, pids, times, plain.messages, plain.receive, UNDER_WAY)
        deploy(cluster, load(topologies_dir() / "forwarding_chain", time.time()))
        with (
            running(broker.bootstrap, cluster.topics.prefix, pace) as workers,
            Client(cluster) as client,
            closing(Load(cluster, client)) as one,
        ):
            pids |= workers
            if kind != ENDED:
                send = partial(one.messages, 1 if kind == SINGLE else DIALOGS)
                return run(one, pids, times, send, one.receive, UNDER_WAY)
            return run(one, pids, times, one.conversations, one.answer, 4_000)


@contextmanager
def removed(cluster: Cluster) -> Iterator[None]:
    """Remove the gigabytes that a turn has written, which would slow down the next turns."""
    yield
    admin, prefix = cluster.admin(), cluster.topics.prefix
    ours = [name for name in topic_names(cluster) if name.startswith(prefix)]
    for deleted in admin.delete_topics(ours).values():
        deleted.result()


def rows(turns: Mapping[str, list[Turn]], kind: str, pace: str) -> list[Measurement]:
    """Return the rate and each process's CPU; a worker is compared with the whole baseline."""
    group = f"end to end over one forwarder, {kind}, pace {pace}"
    names = {"rate": f"{kind} a second", "all": "CPU of each, all processes"}
    names |= {name: f"  of that {name}" for name in ("broker", COMPILER, *INSTANCES, "client")}
    return [
        Measurement(
            group, what, Unit.RATE if key == "rate" else Unit.SECONDS,
            tuple(each[key] for each in turns[kind]), NOTHING,
            tuple(each.get(key, each["all"]) for each in turns[NOTHING]), GOALS[kind].get(key),
        )
        for key, what in names.items()
    ]  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, help="of each kind in a round")
    parser.add_argument(
        "--pace",
        choices=("latency", "throughput"),
        help="of the workers (default: latency with one dialog, else throughput)",
    )
    parser.add_argument("--only", choices=ONLY, help="one of the cases, beside the baseline")
    given = parser.parse_args()
    kinds = (NOTHING, *([ONLY[given.only]] if given.only else GOALS))
    paces = PACES if given.pace is None else dict.fromkeys(GOALS, given.pace)
    with lasting_broker() as broker:
        turns = by_turns(
            kinds,
            given.rounds,
            lambda kind, _: turn(broker, kind, given.seconds or SECONDS[kind], paces.get(kind, "")),
        )
    hand_over([row for kind in kinds[1:] for row in rows(turns, kind, paces[kind])], given)


if __name__ == "__main__":
    main()
