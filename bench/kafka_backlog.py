"""Whether a backlog drains after an absence: `python -m bench.kafka_backlog`.

SQL1 sends to SQL3 over the forwarder SQL2, each in a process of its own, on a real Kafka. First the
steady rate is measured, with a bounded number of messages in flight, and the latency of messages on
new dialogs beside it and on the idle system. Then something is absent, a backlog is sent and
accepted, and it returns. `--absent` says what: the target (SQL3) or the gateway (SQL2), which have
returned with the first heartbeat of their forwarder; the target's endpoint worker, while its
forwarder goes on, which has returned when it is ready; the target's queue, which is off and on.
Without options each of them is absent once, and the target twice: for 1,000 and 100,000 dialogs.
`--shares` says how the messages are shared by the dialogs.
"""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import accumulate, cycle, islice, product
from random import Random
from statistics import quantiles

from bench.kafka_end_to_end import BODIES, FROM, INSTANCES, TO, removed
from bench.part import hand_over, options, progress
from bench.rows import Goal, Measurement, Of, Unit, at_least, at_most
from bench.turns import lasting_broker, resident_of
from streams.client import Client, Conversation
from streams.embedded import Broker
from streams.errors import SurroundingsError
from streams.kafka import Cluster, TopicPartition, deploy, headers_of
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics, decode_presence
from streams.wire.records import read_queued

GATEWAY, TARGET = "SQL2", "SQL3"
QUEUE_IN, QUEUE = "SQL3/DatabaseB", "rcvTweetQueue"
STEADY_DIALOGS, IN_FLIGHT = 1_000, 20_000
STEADY_SECONDS, IDLE_SECONDS = 30.0, 10.0
PROBES_A_SECOND = 10
PROBE = b"probe"
STILL = 120.0
"""Seconds without any delivery after which a run is given up."""
STEADY, IDLE = "steady load", "idle system"
GOALS: dict[str, tuple[Unit, str, Goal | None]] = {
    "messages a second": (Unit.RATE, STEADY, at_least(0.7)),
    "first delivery": (Unit.SECONDS, STEADY, at_most(2, Of.VALUE)),
    "longest transaction": (Unit.SECONDS, STEADY, at_most(5, Of.VALUE)),
    "memory, largest growth of a process": (Unit.BYTES, STEADY, at_most(200e6, Of.VALUE)),
    "new dialogs, p95": (Unit.SECONDS, STEADY, at_most(3)),
    "new dialogs, p95 (idle)": (Unit.SECONDS, IDLE, at_most(3)),
}
"""What is measured of a run: its unit, its baseline, its goal."""
Figures = dict[str, float]


FORWARDER, ENDPOINT = f"{TARGET} forwarder", f"{TARGET} endpoint"
PROCESSES = {**{name: ("both", name) for name in INSTANCES}, FORWARDER: ("forwarder", TARGET),
             ENDPOINT: ("endpoint", TARGET)}  # fmt: skip
"""Role and instance of each process; those of the target are one, or two."""
FIRST_PORT = 8_700


class Workers:
    """The processes of workers; the figures of each are served on a port of its own."""

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
        """Stop all."""
        for name in list(self.running):
            self.stop(name)

    @property
    def resident(self) -> dict[str, int]:
        """Return how many bytes each process has."""
        return {name: resident_of(process.pid) for name, process in self.running.items()}

    @property
    def longest_transaction(self) -> float:
        """Return how many seconds the longest transaction of any of them has taken."""
        return max(map(self._longest, self.running))

    def is_ready(self, name: str) -> bool:
        """Tell whether a process has its partitions, with what lives in them."""
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


@dataclass(slots=True)
class Probes:
    """Messages on dialogs of their own, a few a second, and how long each took."""

    client: Client
    sent: dict[uuid.UUID, float] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    count: int = 0
    _next: float = 0.0

    def send(self, now: float) -> None:
        """Send one when it is time."""
        if now >= self._next:
            self._next = now + 1 / PROBES_A_SECOND
            dialog = self.client.begin("SQL1", "DatabaseA", FROM, TO, wait=False)
            self.sent[dialog.id] = now
            self.client.send(dialog, PROBE)

    def came(self, conversation: uuid.UUID) -> None:
        """Note that one is in the queue."""
        self.count += 1
        at = self.sent.pop(conversation, None)
        if at is not None:
            self.seconds.append(time.monotonic() - at)

    def p95(self) -> float:
        """Return the 95th percentile since the last call; what has not come yet counts as well."""
        now = time.monotonic()
        values = [*self.seconds, *(now - at for at in self.sent.values())]
        self.seconds.clear()
        self.sent.clear()
        return quantiles(values, n=20)[-1]


@dataclass
class System:
    """The running system, its client, and what the client has found in the queue."""

    cluster: Cluster
    workers: Workers
    client: Client
    sent: int = 0
    delivered: int = 0
    last: float = 0.0

    def __post_init__(self) -> None:
        self.probes = Probes(self.client)
        self._queue = self.cluster.consumer("bench.backlog")
        topic = self.cluster.topics.queue(TARGET, QUEUE_IN.split("/")[1], QUEUE)
        self._queue.assign([TopicPartition(topic, 0, 0)])

    def close(self) -> None:
        """Read nothing more."""
        self._queue.close()

    def dialogs(self, count: int) -> list[Conversation]:
        """Begin so many dialogs."""
        begin = self.client.begin
        return [begin("SQL1", "DatabaseA", FROM, TO, wait=False) for _ in range(count)]

    def send(self, dialogs: Iterable[Conversation], count: int) -> None:
        """SEND so many messages, each on the next of the dialogs."""
        for number, dialog in enumerate(islice(dialogs, count)):
            self.client.send(dialog, BODIES[number % len(BODIES)])
        self.sent += count

    def receive(self, *, probing: bool = True) -> None:
        """Count what is in the queue, and send a probe when it is time."""
        if probing:
            self.probes.send(time.monotonic())
        for record in self._queue.consume(5_000, 0.02):
            if record.error() is None:
                if record.value() == PROBE:
                    message = read_queued(record.value(), headers_of(record))
                    self.probes.came(message.conversation)
                else:
                    self.delivered += 1
                    self.last = time.monotonic()

    def drain(self, *, probing: bool) -> None:
        """Receive until everything is delivered."""
        still = time.monotonic()
        while self.delivered < self.sent:
            before = self.delivered
            self.receive(probing=probing)
            if self.delivered > before:
                still = time.monotonic()
            if time.monotonic() > still + STILL:
                raise SurroundingsError(
                    f"{self.delivered} of {self.sent} messages, then none for {STILL:.0f} s."
                )


def steady(system: System) -> Figures:
    """Return the steady rate, and the latency of new dialogs beside it."""
    dialogs = system.dialogs(STEADY_DIALOGS)

    def go_on(seconds: float) -> float:
        began, before = time.monotonic(), system.delivered
        while time.monotonic() < began + seconds:
            while system.sent - system.delivered < IN_FLIGHT:
                system.send(dialogs, len(dialogs))
            system.receive()
        return (system.delivered - before) / (time.monotonic() - began)

    go_on(STEADY_SECONDS / 3)
    system.probes.p95()
    rate = go_on(STEADY_SECONDS)
    p95 = system.probes.p95()
    system.drain(probing=False)
    return {
        "messages a second": rate,
        "new dialogs, p95": p95,
        "longest transaction": system.workers.longest_transaction,
    }


def idle(system: System) -> Figures:
    """Return the latency of new dialogs where nothing else is sent."""
    until = time.monotonic() + IDLE_SECONDS
    while time.monotonic() < until:
        system.receive()
    return {"new dialogs, p95 (idle)": system.probes.p95()}


def by_turns(dialogs: Sequence[Conversation]) -> Iterator[Conversation]:
    """Yield on which dialog each message is: as many on each."""
    return cycle(dialogs)


def by_zipf(dialogs: Sequence[Conversation]) -> Iterator[Conversation]:
    """Yield on which dialog each message is: on the n-th one n-th part of those on the first."""
    chance = Random(1)
    shares = list(accumulate(1 / number for number in range(1, len(dialogs) + 1)))
    while True:
        yield from chance.choices(dialogs, cum_weights=shares, k=1_000)


SHARES = {"even": by_turns, "zipf": by_zipf}


def drain(system: System, absent: str, count: int, dialogs: int, shares: str) -> Figures:
    """Let something be absent, send a backlog, let it return; return how the backlog drains."""
    workers, memory = system.workers, Growth(system.workers)
    leave, come_back = ABSENCES[absent]
    leave(system)
    began = time.monotonic()
    system.send(SHARES[shares](system.dialogs(dialogs)), count)
    system.client.begin("SQL1", "DatabaseA", FROM, TO, wait=True)  # all before it are accepted
    progress(f"  {count:,} messages accepted in {time.monotonic() - began:.0f} s")
    memory.look()
    before = system.delivered
    returned = come_back(system)
    first = shown = 0.0
    still = time.monotonic()
    while system.delivered < system.sent:
        known = system.delivered
        system.receive()
        now = time.monotonic()
        if system.delivered > known:
            first, still = first or now, now
        if now > shown + 5:
            shown = now
            memory.look()
            progress(f"  {now - returned:5.0f} s: {system.delivered - before:,} delivered")
        if now > still + STILL:
            progress(
                f"  nothing more for {STILL:.0f} s: {system.sent - system.delivered:,} missing"
            )
            break
    rate = (system.delivered - before) / max(system.last - first, 1e-9)
    p95 = system.probes.p95()
    progress(f"  {memory.whose} has grown most, by {memory.most / 1e6:.0f} MB")
    return {
        "messages a second": rate,
        "first delivery": first - returned,
        "longest transaction": workers.longest_transaction,
        "memory, largest growth of a process": memory.most,
        "new dialogs, p95": p95,
        "new dialogs, p95 (idle)": p95,
    }


class Growth:
    """By how many bytes the process that has grown most has grown since before the backlog."""

    def __init__(self, workers: Workers) -> None:
        self._workers, self._first = workers, workers.resident
        self.most, self.whose = 0, ""

    def look(self) -> None:
        """Look how much each process has now."""
        for name, size in self._workers.resident.items():
            if size - self._first[name] > self.most:
                self.most, self.whose = size - self._first[name], name


def wait_for_heartbeat(cluster: Cluster, instance: str) -> float:
    """Return when an instance's next heartbeat has come."""
    with closing(cluster.consumer("bench.presence")) as consumer:
        where = TopicPartition(cluster.topics.presence, 0)
        where.offset = consumer.get_watermark_offsets(where, timeout=10)[1]
        consumer.assign([where])
        until = time.monotonic() + STILL
        while time.monotonic() < until:
            record = consumer.poll(0.2)
            if record is None or record.error() is not None:
                continue
            if decode_presence(record.value())["instance"] == instance:
                return time.monotonic()
    raise SurroundingsError(f"{instance} did not return.")


def start(system: System, name: str) -> float:
    """Start an instance again; return when its forwarder was there."""
    system.workers.start(name)
    return wait_for_heartbeat(system.cluster, name)


def start_endpoint(system: System) -> float:
    """Start the target's endpoint worker again; return when it was ready."""
    system.workers.start(ENDPOINT)
    until = time.monotonic() + STILL
    while not system.workers.is_ready(ENDPOINT):
        if time.monotonic() > until:
            raise SurroundingsError(f"{ENDPOINT} did not return.")
        time.sleep(0.01)
    return time.monotonic()


def turn_queue(system: System, status: str) -> float:
    """Turn the target's queue off or on."""
    topics, text = system.cluster.topics, f"ALTER QUEUE {QUEUE} WITH STATUS = {status}"
    command = [sys.executable, "-m", "streams", "sql", "--at", QUEUE_IN, text, "--bootstrap",
               system.cluster.bootstrap, "--prefix", topics.prefix]  # fmt: skip
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic()


ABSENCES: dict[str, tuple[Callable[[System], object], Callable[[System], float]]] = {
    "target": (lambda s: s.workers.stop(TARGET), lambda s: start(s, TARGET)),
    "gateway": (lambda s: s.workers.stop(GATEWAY), lambda s: start(s, GATEWAY)),
    "worker": (lambda s: s.workers.stop(ENDPOINT), start_endpoint),
    "queue": (lambda s: turn_queue(s, "OFF"), lambda s: turn_queue(s, "ON")),
}
"""How something leaves, and how it returns: when, in monotonic seconds."""


CASES = [("target", 1_000), ("target", 100_000), *product(list(ABSENCES)[1:], [1_000])]
"""What is absent, and the dialogs of the backlog."""


@contextmanager
def running(broker: Broker, pace: str, processes: Sequence[str]) -> Iterator[System]:
    """Run a system of its own."""
    cluster = Cluster(broker.bootstrap, Topics(f"bench{uuid.uuid4().hex[:6]}."))
    with removed(cluster):
        deploy(cluster, load(topologies_dir() / "forwarding_chain", time.time()))
        with (
            closing(Workers(cluster, pace)) as workers,
            Client(cluster, timeout=600) as client,
            closing(System(cluster, workers, client)) as system,
        ):
            for name in processes:
                workers.start(name)
            yield system


def shown(what: str, figures: Figures) -> Figures:
    """Say what was found so far."""
    progress(f"{what}: " + ", ".join(f"{name} {value:.3g}" for name, value in figures.items()))
    return figures


def rows(group: str, found: Figures, base: Figures) -> list[Measurement]:
    """Return what was found of one backlog, beside the baseline of the same run."""
    return [
        Measurement(
            group, what, unit, (found[what],), baseline, (base.get(what, found[what]),), goal
        )
        for what, (unit, baseline, goal) in GOALS.items()
    ]


def cases(absent: Sequence[str] | None, dialogs: Sequence[int] | None) -> list[tuple[str, int]]:
    """Return what is to be absent, with how many dialogs; what is not given is as in CASES."""
    if absent is None and dialogs is None:
        return CASES
    return list(product(absent or ["target"], dialogs or [1_000]))


def main() -> None:
    """Print the table."""
    parser = options(__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--dialogs", type=int, nargs="+")
    parser.add_argument("--absent", choices=ABSENCES, nargs="+")
    parser.add_argument("--shares", choices=SHARES, nargs="+", default=["even"])
    parser.add_argument("--pace", choices=("latency", "throughput"), default="throughput")
    given = parser.parse_args()
    table: list[Measurement] = []
    with lasting_broker() as broker:
        for (absent, dialogs), shares in product(cases(given.absent, given.dialogs), given.shares):
            split = absent == "worker"
            processes = [*INSTANCES[:-1], *([FORWARDER, ENDPOINT] if split else [TARGET])]
            with running(broker, given.pace, processes) as system:
                base = shown(STEADY, steady(system)) | shown(IDLE, idle(system))
                what = f"{absent} absent, {given.messages:,} messages on {dialogs:,} dialogs"
                what += ", shared by Zipf's law" if shares == "zipf" else ""
                found = shown(what, drain(system, absent, given.messages, dialogs, shares))
                table += rows(f"{what}, pace {given.pace}", found, base)
    hand_over(table, given)


if __name__ == "__main__":
    main()
