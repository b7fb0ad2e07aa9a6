"""Run a topology: topics and catalog under a unique prefix, and workers in threads.

::

    with running(kafka, unique, "two_brokers") as system, system.client() as client:
        dialog = client.begin("ServerA", "DatabaseA", "InitiatorService", "TargetService")
        client.send(dialog, b"hello")
        [message] = system.received("ServerB", "DatabaseB", "TargetQueue", 1)

No function here sleeps: each wait polls Kafka, and fails at a deadline with the last result.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from streams.cli.text.records import what
from streams.cli.text.values import clock
from streams.client import Client, Received, Receiver
from streams.kafka import (
    OFFSET_BEGINNING,
    Cluster,
    KafkaException,
    TopicPartition,
    deploy,
    partitions_of,
    read_all,
    read_ends,
    read_highs,
    watermarks,
)
from streams.kafka.follow import Follower, raw_record
from streams.kafka.listing import topic_names
from streams.protocol import Limits
from streams.resources import topologies_dir
from streams.topology import Topology, load
from streams.wire import Topics
from streams.wire.describe import Description, describe
from streams.wire.place import place_of
from streams.workers import ROLES, Plan, Process

T = TypeVar("T")

DEADLINE = 150.0
"""Seconds that anything may take on a busy machine; a healthy system needs a fraction of them."""


class GaveUpError(AssertionError):
    """What was waited for did not happen."""


def eventually(probe: Callable[[], T], what: str, deadline: float = DEADLINE) -> T:
    """Return the first true answer of ``probe``, which must take its time itself (a poll, say)."""
    end = time.monotonic() + deadline
    while True:
        answer = probe()
        if answer:
            return answer
        if time.monotonic() > end:
            raise GaveUpError(f"{what}: not within {deadline:.0f} s; at last it was {answer!r}")


def until_stable(cluster: Cluster, *topics: str) -> None:
    """Wait until no transaction is open in topics, so that readers see all committed records.

    The end of a transaction is only requested when ``commit_transaction`` or ``abort_transaction``
    returns: Kafka writes its markers later, into one partition after the other.
    """

    def are_equal() -> bool:
        return read_ends(cluster, topics) == read_highs(cluster, topics)

    eventually(are_equal, f"no transaction is open in {', '.join(topics)}")


def delete(cluster: Cluster, topic: str) -> None:
    """Delete a topic, and wait until it is gone: Kafka answers before its brokers know of it."""
    admin = cluster.admin()  # while it is held, the answer can come
    admin.delete_topics([topic])[topic].result()
    eventually(lambda: topic not in topic_names(cluster, DEADLINE), f"{topic} is deleted")


@dataclass(slots=True)
class WorkerThread:
    """A process of workers in a thread; ``failure`` is what it ended with, if not by ``stop``."""

    process: Process
    failure: BaseException | None = None
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run, name="workers", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.process.run()
        except BaseException as error:
            self.failure = error

    @property
    def alive(self) -> bool:
        """Tell whether the workers still run."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Let the workers drain and leave; raises what they failed with."""
        self.process.stop()
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive(), f"the workers did not stop within {DEADLINE:.0f} s"
        if self.failure is not None:
            raise self.failure


@dataclass(slots=True)
class System:
    """A topology whose workers run; everything of it is reachable from here."""

    cluster: Cluster
    topology: Topology
    limits: Limits
    workers: list[WorkerThread] = field(default_factory=list)

    @property
    def options(self) -> tuple[str, ...]:
        """Return the options of ``hopline`` that name this system."""
        return "--bootstrap", self.cluster.bootstrap, "--prefix", self.cluster.topics.prefix

    def start(self, *instances: str, roles: Sequence[str] = ROLES, slot: str = "") -> WorkerThread:
        """Start workers for these instances, else for all; they stop with the system."""
        names = instances or tuple(self.topology.instances)
        plan = Plan(tuple(roles), names, slot)
        worker = WorkerThread(Process(self.cluster, plan, limits=self.limits, timeout=DEADLINE))
        self.workers.append(worker)
        return worker

    def stop(self) -> None:
        """Stop all workers; raises the failure of the first that has failed."""
        workers, self.workers = self.workers, []
        for worker in workers:
            worker.process.stop()
        for worker in workers:
            worker.stop()

    def client(self, **options: Any) -> Client:
        """Return a client, to be used as a context manager."""
        return Client(self.cluster, **{"timeout": DEADLINE, **options})

    def received(
        self, instance: str, database: str, queue: str, count: int, *, group: str = "test"
    ) -> list[Received]:
        """Receive so many messages of a queue, and commit them."""
        found: list[Received] = []

        def enough() -> bool:
            self.check()
            found.extend(receiver.receive(0.5, count - len(found)))
            return len(found) >= count

        name = f"{self.cluster.topics.prefix}{group}"
        with Receiver(self.cluster, instance, database, queue, name) as receiver:
            try:
                eventually(enough, f"{count} messages in {queue} of {instance}/{database}")
            except GaveUpError as error:
                raise GaveUpError(f"{error}; received {len(found)}: {found}") from None
            receiver.commit()
        return found

    def records(
        self,
        topic: str,
        wanted: Callable[[Description], bool] = lambda _: True,
        count: int = 1,
        deadline: float = DEADLINE,
    ) -> list[Description]:
        """Return so many of a topic's records, described, waiting for those still to come."""
        consumer = self.cluster.consumer(f"{self.cluster.topics.prefix}test.records")
        found: list[Description] = []

        def enough() -> bool:
            self.check()
            message = consumer.poll(0.5)
            if message is not None and message.error() is None:
                described = describe(raw_record(message), self.cluster.topics)
                if wanted(described):
                    found.append(described)
            return len(found) >= count

        try:
            partitions = partitions_of(self.cluster, topic)
            watermarks(consumer, topic, partitions[0])  # it knows the topic then, and reads at once
            consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
            eventually(enough, f"{count} records in {topic}", deadline)
        except GaveUpError as error:
            raise GaveUpError(f"{error}; there were {len(found)}: {found}") from None
        finally:
            consumer.close()
        return found

    def snapshot(self, topic: str) -> list[Description]:
        """Return all committed records that a topic has now, described.

        Waits for open transactions: Kafka writes the markers of a transaction one after the other,
        so another topic may show it already.
        """
        return [
            describe(raw_record(message), self.cluster.topics)
            for message in read_all(self.cluster, topic, to_high=True)
        ]

    def events(
        self,
        number: int,
        wanted: Callable[[dict[str, Any]], bool] = lambda _: True,
        count: int = 1,
        deadline: float = DEADLINE,
    ) -> list[dict[str, Any]]:
        """Return so many events of a class, waiting for those still to come."""
        return [
            record["event"]
            for record in self.records(
                self.cluster.topics.event,
                lambda d: "event" in d and d["event"]["event"] == number and wanted(d["event"]),
                count,
                deadline,
            )
        ]

    def story(self) -> str:
        """Return everything in the topics, one line each, for a test that has failed."""
        names = [n for n in topic_names(self.cluster).items() if self._tells(n[0])]
        follower = Follower(
            self.cluster,
            names,
            lambda message: describe(raw_record(message), self.cluster.topics),
            lambda found: found["at"],
        )
        lines = [
            f"{clock(found['at'])} {found['topic']}@{found['offset']} {what(found)}"
            for found in follower.to_end()
        ]
        follower.close()
        return "\n".join(lines)

    def _tells(self, topic: str) -> bool:
        place = place_of(topic, self.cluster.topics)
        return place is not None and place.kind not in ("catalog", "presence")

    def check(self) -> None:
        """Raise the failure of a worker that has failed: waiting for it would be in vain."""
        for worker in self.workers:
            if worker.failure is not None:
                raise worker.failure


@contextmanager
def running(
    bootstrap: str,
    prefix: str,
    topology: str | Path | Topology,
    *,
    limits: Limits | None = None,
    roles: Sequence[str] = ROLES,
    start: bool = True,
) -> Iterator[System]:
    """Apply a topology (a shipped one by its name) and run its workers until the block ends.

    ``limits`` sets retries and times to live; without ``start`` only topics and catalog are made,
    and :meth:`System.start` does the rest.
    """
    if not isinstance(topology, Topology):
        shipped = isinstance(topology, str)
        folder = topologies_dir() / topology if shipped else Path(topology)
        topology = load(folder, time.time())
    cluster = Cluster(bootstrap, Topics(prefix))
    deploy(cluster, topology)
    system = System(cluster, topology, limits or Limits())
    if start:
        system.start(roles=roles)
    else:
        until_stable(cluster, cluster.topics.catalog)
    try:
        yield system
    except BaseException:
        with suppress(KafkaException):  # a broker that is away has no story
            print(system.story())  # pytest shows it with the failure
        for worker in system.workers:
            worker.process.stop()
        raise
    system.stop()
