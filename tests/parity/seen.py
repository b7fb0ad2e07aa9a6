"""What of a run is compared: queues by dialog and direction, endpoints, and who has acted."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from streams.kafka import OFFSET_BEGINNING, Cluster, TopicPartition, headers_of, partitions_of
from streams.node.views import conversation_endpoint
from streams.protocol import State
from streams.simulator import Result
from streams.topology import Topology, queues_of
from streams.wire.records import read_queued
from streams.workers.endpoint.restore import read_dialogs

Direction = tuple[str, str, str]
"""Queue (instance/database/queue), conversation, and the service that receives."""
Said = tuple[int, str, str]
"""Sequence, message type and body."""
Side = tuple[str, str, bool]
"""Database (instance/database), conversation, is initiator."""


@dataclass(frozen=True)
class Seen:
    """What a run has shown so far.

    An endpoint is its state, its far broker id, how much it has sent and received, and how many of
    its messages wait for an acknowledgement. In ERROR only the first two count: how much its
    application could say before the error came is a matter of time.
    """

    queues: dict[Direction, list[Said]] = field(default_factory=dict)
    endpoints: dict[Side, tuple[object, ...]] = field(default_factory=dict)
    acts: frozenset[tuple[str, str, int]] = frozenset()

    @classmethod
    def of(cls, result: Result) -> Seen:
        """Return what a run of the simulator has shown."""
        queues: defaultdict[Direction, list[Said]] = defaultdict(list)
        for queue, rows in result.queues.items():
            for row in rows:
                direction = (queue, row["conversation"], row["service"])
                queues[direction].append((row["sequence"], row["type"], row["body"]))
        waiting = Counter(row["conversation_handle"] for row in result.transmission_queue)
        ends = ((row, waiting[row["conversation_handle"]]) for row in result.endpoints)
        acts = frozenset(
            (f"{a['instance']}/{a['database']}/{a['service']}", a["conversation"], a["sequence"])
            for a in result.acts
        )
        return cls(dict(queues), dict(_endpoint(*end) for end in ends), acts)

    def renamed(self, names: Mapping[str, str]) -> Seen:
        """Return the same under other names of instances, databases and broker ids."""
        return Seen(
            {_renamed(k, names): v for k, v in self.queues.items()},
            {_renamed(k, names): _renamed(v, names) for k, v in self.endpoints.items()},
            frozenset(_renamed(act, names) for act in self.acts),
        )

    def begins(self, other: Seen) -> bool:
        """Tell whether every direction of this one is the beginning of the other's."""
        return all(
            other.queues.get(direction, [])[: len(said)] == said
            for direction, said in self.queues.items()
        )

    def without_forgotten(self, wanted: Seen) -> Seen:
        """Return the same without closed endpoints that somebody else has forgotten by now.

        That is a minute after the end of a dialog, which passes in the simulator alone.
        """
        kept = {
            side: said
            for side, said in self.endpoints.items()
            if said[0] != State.CD.name or side in wanted.endpoints
        }
        return replace(self, endpoints=kept)

    def differences(self, wanted: Seen) -> str:
        """Return what is not as wanted, a line each."""
        found: list[str] = []
        for name in ("queues", "endpoints"):
            here, there = getattr(self, name), getattr(wanted, name)
            found += [
                f"{key}: {str(here.get(key))[:400]} and not {str(there.get(key))[:400]}"
                for key in sorted({*here, *there})
                if here.get(key) != there.get(key)
            ][:20]
        if self.acts != wanted.acts:
            found.append(f"acts: {sorted(self.acts)} and not {sorted(wanted.acts)}")
        return "\n".join(found)


def _endpoint(row: Mapping[str, Any], waiting: int) -> tuple[Side, tuple[object, ...]]:
    side = f"{row['instance']}/{row['database']}", row["conversation_id"], row["is_initiator"]
    said: tuple[object, ...] = (row["state"], row["far_broker_instance"])
    if row["state"] != State.ER.name:
        said = (*said, row["send_sequence"], row["receive_sequence"], waiting)
    return side, said


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, tuple):
        return tuple(_renamed(part, names) for part in value)
    if isinstance(value, str):
        return "/".join(names.get(part, part) for part in value.split("/"))
    return value


class Onlooker:
    """Reads the queue topics and the state of a system's endpoint workers."""

    def __init__(self, cluster: Cluster, topology: Topology) -> None:
        self._cluster = cluster
        self._instances = tuple(topology.instances)
        self._queues = {
            cluster.topics.queue(name, database.name, queue.name): (
                f"{name}/{database.name}/{queue.name}"
            )
            for name, instance in topology.instances.items()
            for database in instance.databases.values()
            for queue in queues_of(database)
        }
        self._consumer = cluster.consumer(f"{cluster.topics.prefix}parity")
        self._consumer.assign([TopicPartition(t, 0, OFFSET_BEGINNING) for t in self._queues])
        self.queues: dict[Direction, list[Said]] = {}

    def close(self) -> None:
        """Let the broker go."""
        self._consumer.close()

    def read(self, timeout: float) -> None:
        """Read what is committed in the queues by now; waits for the first message only."""
        first = self._consumer.poll(timeout)
        for message in [] if first is None else [first, *self._consumer.consume(1_000, 0)]:
            assert message.error() is None, message.error()
            frame = read_queued(message.value(), headers_of(message))  # type: ignore[arg-type]
            queue = self._queues[message.topic() or ""]
            direction = (queue, str(frame.conversation), frame.parties.to_service)
            header, body = frame.header, frame.body.decode("utf-8", "backslashreplace")
            self.queues.setdefault(direction, []).append((header.sequence, header.type, body))

    def endpoints(self) -> Iterator[tuple[Side, tuple[object, ...]]]:
        """Yield the endpoints as the workers have committed them."""
        now = time.time_ns() // 1_000_000
        for instance in self._instances:
            topic = self._cluster.topics.dialog(instance)
            for partition in partitions_of(self._cluster, topic):
                for dialog in read_dialogs(self._cluster, topic, partition).values():
                    row = conversation_endpoint(instance, dialog, now)
                    if row is not None:
                        yield _endpoint(row, dialog.send_sequence - dialog.acknowledged[0])
