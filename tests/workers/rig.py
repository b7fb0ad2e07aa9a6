"""Single workers in threads that a test may hold, break and look into.

``tests/running.py`` runs a whole system as users do. Here a test stands at the border to Kafka's
client: :class:`HookedCluster` lets it come between a worker and any call to its clients.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from streams.client import Client
from streams.errors import Event
from streams.kafka import (
    CACHE_BYTES,
    Cluster,
    Message,
    TopicPartition,
    create,
    partitions_of,
    read_all,
    specs_of,
    watermarks,
)
from streams.kafka.catalog import VERSION_KEY, hash_of
from streams.protocol import Limits
from streams.topology import Topology, flatten, load
from streams.wire import Topics, decode_event, encode_catalog_object
from streams.workers import Control, EndpointWorker, ForwarderWorker, Tuning
from tests.running import DEADLINE, eventually

TO_B = "{name: ToB, service_name: TargetService, broker_instance: DatabaseB, address: 'tcp://B:1'}"
PAIR = """
instances:
  A:
    address: tcp://A:1
    partitions: {partitions}
    databases:
      DatabaseA:
        broker_id: DatabaseA
        auto_created_local: false
        services: {{InitiatorService: {{queue: InitiatorQueue}}}}
        routes: [{route}]
  B:
    address: tcp://B:1
    partitions: {partitions}
    databases:
      DatabaseB:
        broker_id: DatabaseB
        services: {{TargetService: {{queue: TargetQueue}}}}
        routes:
          - {{name: ToA, service_name: InitiatorService, address: 'tcp://A:1'}}
"""
"""Two instances, a route each way; the way there may be left out, or be another one."""

QUICK = Limits(retries=(200, 400, 800, 1_000), recheck=100)
"""Retries for tests: what takes four seconds in production takes a fifth of one."""

Hook = Callable[..., Any]


class _Proxy:
    """A client of Kafka whose methods may be hooked: a hook gets the real method first."""

    def __init__(self, real: Any, hooks: dict[str, Hook]) -> None:
        self._real, self._hooks = real, hooks

    def __len__(self) -> int:
        return len(self._real)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._real, name)
        if name not in self._hooks:
            return method
        return lambda *args, **kwargs: self._hooks.get(name, _through)(method, *args, **kwargs)


def _through(method: Hook, *args: Any, **kwargs: Any) -> Any:
    return method(*args, **kwargs)


@dataclass(frozen=True)
class HookedCluster(Cluster):
    """A cluster whose clients call ``hooks[method]`` instead of the method."""

    hooks: dict[str, Hook] = field(default_factory=dict)
    consumers: dict[str, Any] = field(default_factory=dict)

    def producer(self, **config: Any) -> Any:
        """Build a producer with hooks."""
        return _Proxy(Cluster.producer(self, **config), self.hooks)

    def consumer(self, group: str, **config: Any) -> Any:
        """Build a consumer with hooks; the last member of each group is remembered."""
        consumer = Cluster.consumer(self, group, **config)
        if config.get("isolation_level") != "read_uncommitted":  # that one only reads offsets
            self.consumers[group] = consumer
        return _Proxy(consumer, self.hooks)


class Killed(BaseException):
    """The worker's process ends here, as far as a test is concerned."""


class Gate:
    """A place where a worker stops until the test lets it through; every one passes once."""

    def __init__(self) -> None:
        self._reached, self._open = threading.Event(), threading.Event()

    def __call__(self, method: Hook, *args: Any, **kwargs: Any) -> Any:
        """Stop here once, then go on."""
        self.hold()
        return method(*args, **kwargs)

    def hold(self) -> None:
        """Stop here once."""
        self._reached.set()
        assert self._open.wait(DEADLINE), "nobody opened the gate"

    def wait(self) -> None:
        """Wait until a worker stands here."""
        assert self._reached.wait(DEADLINE), "no worker came to the gate"

    def open(self) -> None:
        """Let it through."""
        self._open.set()


@dataclass
class Running:
    """A worker's loop in a thread."""

    worker: Any
    cluster: HookedCluster
    failure: BaseException | None = None
    _end: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.worker.run(self._end)
        except BaseException as error:
            self.failure = error

    @property
    def hooks(self) -> dict[str, Hook]:
        """Return what stands between this worker and Kafka."""
        return self.cluster.hooks

    def consumer(self, role: str) -> Any:
        """Return the worker's consumer in the group of a role: endpoint or forwarder."""
        group = f"{self.cluster.topics.prefix}{role}.{self.worker.ownership.home}"
        eventually(lambda: group in self.cluster.consumers or pause(), f"a consumer in {group}")
        return self.cluster.consumers[group]

    def ended(self) -> BaseException | None:
        """Wait until the worker has ended by itself; returns why."""
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive(), "the worker goes on"
        return self.failure

    def stop(self) -> None:
        """Let the worker drain and leave."""
        self._end.set()
        self.ended()


_never = threading.Event()


def pause() -> bool:
    """Let others work for a moment, between two looks at something; returns False."""
    return _never.wait(0.01)


class Waits:
    """The waits for a record that a worker's consumer was asked for, newest last."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def __call__(self, poll: Hook, timeout: float) -> Any:
        """Note one, and wait as long; a look without waiting, as producers do, is none."""
        if timeout:
            self.seen.append(timeout)
        return poll(timeout)

    def next(self, count: int) -> list[float]:
        """Return so many waits that begin from now on, but for the one that goes on."""
        start = len(self.seen) + 1
        eventually(lambda: len(self.seen) >= start + count or pause(), "it goes on")
        return self.seen[start : start + count]


@dataclass
class Rig:
    """A deployed topology without workers, and the means to start each of them alone."""

    cluster: Cluster
    topology: Topology
    running: list[Running] = field(default_factory=list)
    controls: dict[tuple[str, ...], Control] = field(default_factory=dict)
    _producer: Any = None

    @property
    def topics(self) -> Topics:
        """Return the names of the topics."""
        return self.cluster.topics

    def settle(self) -> None:
        """Make the topics and the first version of the catalog.

        It is what ``deploy`` makes, without its transaction: that takes longer than a whole test.
        """
        create(self.cluster, specs_of(self.topology, self.topics))
        objects = {k: json.dumps(v, sort_keys=True) for k, v in flatten(self.topology).items()}
        version = json.dumps({"number": 1, "hash": hash_of(objects), "objects": len(objects)})
        self._write(objects)
        self._write({VERSION_KEY: version})  # a producer without idempotence may change the order

    def _write(self, objects: Mapping[str, str]) -> None:
        for key, body in objects.items():
            value = encode_catalog_object(1, body)
            self._client().produce(self.topics.catalog, key=key, value=value)
        assert self._client().flush(DEADLINE) == 0

    def _client(self) -> Any:
        if self._producer is None:
            self._producer = self.cluster.producer(enable_idempotence=False)
        return self._producer

    def control(self, *forwarders: str) -> Control:
        """Return what tells workers of the catalog, and others of these forwarders."""
        if forwarders not in self.controls:
            self.controls[forwarders] = Control(self.cluster, forwarders, timeout=DEADLINE)
            self.controls[forwarders].start()
        return self.controls[forwarders]

    def endpoint(
        self,
        instance: str = "A",
        *,
        slot: str = "",
        pair: str | None = None,
        limits: Limits = QUICK,
        control: Control | None = None,
        hooks: dict[str, Hook] | None = None,
        standby: bool = False,
        trims_every: float | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> Running:
        """Start an endpoint worker."""
        cluster = self._hooked(hooks)
        control = control or self.control()
        worker = EndpointWorker(
            cluster,
            instance,
            control,
            pair=pair,
            slot=slot,
            standby=standby,
            tuning=Tuning(limits, cache_bytes, trims_every=trims_every),
        )
        return self._run(worker, cluster)

    def forwarder(
        self,
        instance: str = "A",
        *,
        slot: str = "",
        pair: str | None = None,
        control: Control | None = None,
        hooks: dict[str, Hook] | None = None,
    ) -> Running:
        """Start a forwarder."""
        cluster = self._hooked(hooks)
        control = control or self.control(instance)
        worker = ForwarderWorker(cluster, instance, control, pair=pair, slot=slot)
        return self._run(worker, cluster)

    def _hooked(self, hooks: dict[str, Hook] | None) -> HookedCluster:
        return HookedCluster(
            self.cluster.bootstrap, self.topics, self.cluster.properties, hooks=hooks or {}
        )

    def _run(self, worker: Any, cluster: HookedCluster) -> Running:
        running = Running(worker, cluster)
        self.running.append(running)
        return running

    def client(self) -> Client:
        """Return a client, to be used as a context manager."""
        return Client(self.cluster, timeout=DEADLINE)

    def stop(self) -> None:
        """Stop everything that runs."""
        for running in self.running:
            running._end.set()
        for running in self.running:
            running._thread.join(DEADLINE)
        for control in self.controls.values():
            control.stop()

    # --- looking and waiting ---------------------------------------------------------------------

    def records(self, topic: str, *, stable: bool = False) -> list[Message]:
        """Return all committed records of a topic.

        Waits for open transactions: Kafka writes the markers of a transaction one after the other,
        so another topic may show it already. With ``stable``, what is open is left out.
        """
        return list(read_all(self.cluster, topic, to_high=not stable))

    def until(
        self, topic: str, count: int, wanted: Callable[[Message], bool] = lambda _: True
    ) -> list[Message]:
        """Wait for so many committed records that are wanted."""
        found: list[Message] = []
        consumer = self.cluster.consumer(f"{self.topics.prefix}test")
        partitions = partitions_of(self.cluster, topic)
        watermarks(consumer, topic, partitions[0])  # it knows the topic then, and reads at once
        consumer.assign([TopicPartition(topic, p, -2) for p in partitions])

        def enough() -> bool:
            self.check()
            message = consumer.poll(0.2)
            if message is not None and message.error() is None and wanted(message):
                found.append(message)
            return len(found) >= count

        try:
            eventually(enough, f"{count} records in {topic}")
        finally:
            consumer.close()
        return found

    def events(self, count: int, **wanted: Any) -> list[Event]:
        """Wait for so many events with these fields."""

        def fits(message: Message) -> bool:
            reported = dict(decode_event(message.value()))
            return all(reported[name] == value for name, value in wanted.items())

        found = self.until(self.topics.event, count, fits)
        return [decode_event(message.value()) for message in found]

    def check(self) -> None:
        """Raise the failure of a worker that has failed: waiting for it would be in vain."""
        for running in self.running:
            if running.failure is not None:
                raise running.failure

    def produce(
        self,
        topic: str,
        key: bytes | str | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        **config: Any,
    ) -> None:
        """Write one record as anybody could, and wait until Kafka has it."""
        failed: list[Any] = []
        self._client().produce(
            topic,
            key=key,
            value=value,
            headers=list(headers),
            on_delivery=lambda error, _: failed.append(error) if error else None,
            **config,
        )
        assert self._client().flush(DEADLINE) == 0 and not failed, failed

    def copy(self, message: Message, topic: str) -> None:
        """Write a record that was read once more, to this topic."""
        self.produce(topic, message.key(), message.value(), message.headers() or ())  # type: ignore[arg-type]

    def commit_forwarder_offset(self, instance: str, offset: int) -> None:
        """Commit a position in ``out``, in the forwarder's stead."""
        consumer = self.cluster.consumer(f"{self.topics.prefix}forwarder.{instance}")
        where = TopicPartition(self.topics.out(instance), 0, offset)
        consumer.commit(offsets=[where], asynchronous=False)
        consumer.close()

    def committed(self, role: str, topic: str, instance: str = "A", partition: int = 0) -> int:
        """Return the committed position of a worker's group."""
        consumer = self.cluster.consumer(f"{self.topics.prefix}{role}.{instance}")
        found = consumer.committed([TopicPartition(topic, partition)], timeout=DEADLINE)
        consumer.close()
        return found[0].offset


def pair(folder: Path, *, route: str = TO_B, partitions: int = 1) -> Topology:
    """Return the topology of two instances."""
    (folder / "topology.yaml").write_text(PAIR.format(route=route, partitions=partitions))
    return load(folder, time.time())


@contextmanager
def rig(bootstrap: str, prefix: str, topology: Topology) -> Iterator[Rig]:
    """Set a topology up; whatever a test starts of it ends with the block."""
    made = Rig(Cluster(bootstrap, Topics(prefix)), topology)
    made.settle()
    try:
        yield made
    finally:
        made.stop()


def limit_size(cluster: Cluster, topic: str, size: int) -> None:
    """Let the broker refuse records above a size in one topic."""
    configure(cluster, topic, {"max.message.bytes": str(size)})


def configure(cluster: Cluster, topic: str, config: dict[str, str]) -> None:
    """Change a topic's configuration behind everybody's back, and wait until the broker has it."""
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in config.items()
    ]
    admin = cluster.admin()
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    for future in admin.incremental_alter_configs([resource]).values():
        future.result()

    def has_it() -> bool:
        [described] = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
        return all(described.result()[name].value == value for name, value in config.items())

    eventually(lambda: has_it() or pause(), f"{topic} is configured")


def declare_dead(running: Running, role: str = "endpoint") -> None:
    """Take a worker out of its group as its coordinator does when it hears nothing of it."""
    group = f"{running.cluster.topics.prefix}{role}.{running.worker.instance}"
    member = running.consumer(role).memberid()
    host, _, port = running.cluster.bootstrap.rpartition(":")
    # LeaveGroup, version 0: header (key, version, correlation, client id), group, member.
    body = struct.pack(">hhih", 13, 0, 7, -1) + _text(group) + _text(member)
    with socket.create_connection((host, int(port)), DEADLINE) as connection:
        connection.sendall(struct.pack(">i", len(body)) + body)
        answer = _answer(connection)
    assert answer == struct.pack(">ih", 7, 0), answer


def _answer(connection: socket.socket) -> bytes:
    (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
    return connection.recv(size, socket.MSG_WAITALL)


def _text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack(">h", len(raw)) + raw


__all__ = [
    "PAIR",
    "QUICK",
    "TO_B",
    "Gate",
    "HookedCluster",
    "Rig",
    "Running",
    "configure",
    "declare_dead",
    "eventually",
    "limit_size",
    "pair",
    "pause",
    "rig",
]
