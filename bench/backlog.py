"""A system with a backlog: its client, delivered messages, and probes on separate dialogs."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from statistics import quantiles

from bench.kafka_end_to_end import BODIES, FROM, TO
from bench.worker_processes import TARGET, Workers
from streams.client import Client, Conversation
from streams.errors import SurroundingsError
from streams.kafka import Cluster, TopicPartition, headers_of
from streams.wire.records import read_queued

QUEUE_IN, QUEUE = "SQL3/DatabaseB", "rcvTweetQueue"
PROBES_A_SECOND = 10
PROBE = b"probe"
STILL = 120.0
"""Seconds without a delivery after which a run is aborted."""


@dataclass(slots=True)
class Probes:
    """A few messages per second on separate dialogs, and the latency of each."""

    client: Client
    sent: dict[uuid.UUID, float] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    count: int = 0
    _next: float = 0.0

    def send(self, now: float) -> None:
        """Send a probe if one is due."""
        if now >= self._next:
            self._next = now + 1 / PROBES_A_SECOND
            dialog = self.client.begin("SQL1", "DatabaseA", FROM, TO, wait=False)
            self.sent[dialog.id] = now
            self.client.send(dialog, PROBE)

    def came(self, conversation: uuid.UUID) -> None:
        """Record that a probe is in the queue."""
        self.count += 1
        at = self.sent.pop(conversation, None)
        if at is not None:
            self.seconds.append(time.monotonic() - at)

    def p95(self) -> float:
        """Return the 95th percentile since the last call, including probes still in flight."""
        now = time.monotonic()
        values = [*self.seconds, *(now - at for at in self.sent.values())]
        self.seconds.clear()
        self.sent.clear()
        return quantiles(values, n=20)[-1]


@dataclass
class System:
    """The running system, its client, and the messages that the client has found in the queue."""

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
        """Stop reading."""
        self._queue.close()

    def dialogs(self, count: int) -> list[Conversation]:
        """Begin this number of dialogs."""
        begin = self.client.begin
        return [begin("SQL1", "DatabaseA", FROM, TO, wait=False) for _ in range(count)]

    def send(self, dialogs: Iterable[Conversation], count: int) -> None:
        """SEND this number of messages, each on the next dialog."""
        for number, dialog in enumerate(islice(dialogs, count)):
            self.client.send(dialog, BODIES[number % len(BODIES)])
        self.sent += count

    def receive(self, *, probing: bool = True) -> None:
        """Count the messages in the queue, and send a probe if one is due."""
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
        """Receive until all messages are delivered."""
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
