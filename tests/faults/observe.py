"""Observe from outside when each message could be received, measured by one clock."""

from __future__ import annotations

import threading
import time
import uuid
from array import array
from bisect import bisect_left
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from streams.errors import EventKind, SurroundingsError
from streams.kafka import (
    OFFSET_BEGINNING,
    Cluster,
    Consumer,
    LostBrokers,
    Message,
    Statistics,
    TopicPartition,
    headers_of,
    partitions_of,
    watermarks,
)
from streams.wire import MalformedError, decode_event
from streams.wire.records import read_queued

_END_ACKNOWLEDGED = 10


@dataclass(slots=True)
class Sightings:
    """Messages of one direction: when each was sent, and when it was seen (epoch ms).

    They are in the order in which they were seen, which is roughly the order of sending.
    """

    sent: array[int] = field(default_factory=lambda: array("q"))
    seen: array[int] = field(default_factory=lambda: array("q"))

    def add(self, sent: int, seen: int) -> None:
        """Record a message."""
        self.sent.append(sent)
        self.seen.append(seen)

    def felt(self, at: int, over: int) -> int:
        """Return the longest wait of a message that was in flight between two times.

        The wait counts from ``at``, or from the message's send time if that was later.
        """
        first = bisect_left(self.seen, at)
        in_flight = zip(self.sent[first:], self.seen[first:], strict=False)
        return max((seen - max(at, sent) for sent, seen in in_flight if sent < over), default=0)

    def waits(self) -> list[int]:
        """Return how long each message had to wait, in milliseconds."""
        return [seen - sent for sent, seen in zip(self.sent, self.seen, strict=True)]

    def late(self, over: int) -> list[int]:
        """Return when messages were seen that were sent before a time and seen after it."""
        first = bisect_left(self.seen, over)
        both = zip(self.sent[first:], self.seen[first:], strict=False)
        return [seen for sent, seen in both if sent < over]

    def longest(self, begin: int, end: int) -> int:
        """Return the longest wait of the messages that were sent in this time."""
        both = zip(self.sent, self.seen, strict=True)
        return max((seen - sent for sent, seen in both if begin <= sent < end), default=0)

    def sent_after(self, at: int) -> int:
        """Return how long after ``at`` the next message was sent; 0 if there was none."""
        first = bisect_left(self.seen, at)
        return min((sent - at for sent in self.sent[first:] if sent > at), default=0)


class Observer:
    """A thread that reads queues, like an application, and events; a context manager.

    ``watched``: clusters, each with its queues; ``ours``: the dialogs that count, or ``None`` for
    all.
    """

    def __init__(
        self,
        watched: Sequence[tuple[Cluster, Sequence[str]]],
        ours: Container[uuid.UUID] | None = None,
    ) -> None:
        self._watched, self._ours = watched, ours
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="observer", daemon=True)
        self.by_initiator, self.by_target = Sightings(), Sightings()
        self.ended = 0
        self._eyes: list[_Eye] = []

    def __enter__(self) -> Observer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)

    @property
    def seen(self) -> int:
        """Return how many messages were seen."""
        return len(self.by_initiator.seen) + len(self.by_target.seen)

    def behind(self) -> list[str]:
        """Return what is not read yet, a line per partition, because a client may hang for good."""
        return [line for eye in self._eyes for line in eye.behind()]

    def _run(self) -> None:
        self._eyes += [_Eye(cluster, queues) for cluster, queues in self._watched]
        events = {cluster.topics.event for cluster, _ in self._watched}
        while not self._stop.is_set():
            for eye in self._eyes:
                for message in eye.take():
                    self._look(message, events)
        for eye in self._eyes:
            eye.close()

    def _look(self, message: Message, events: Container[str | None]) -> None:
        if message.error() is not None:
            return
        with suppress(MalformedError, ValueError):  # an event's conversation may be any text
            if message.topic() in events:
                self._note_event(message.value())
            else:
                self._note(message.value(), headers_of(message))

    def _note(self, value: bytes | None, headers: list[tuple[str, bytes | None]]) -> None:
        frame = read_queued(value, headers)
        if self._ours is not None and frame.conversation not in self._ours:
            return
        sightings = self.by_initiator if frame.parties.from_initiator else self.by_target
        sightings.add(frame.header.enqueued_at, time.time_ns() // 1_000_000)

    def _note_event(self, value: bytes | None) -> None:
        told = decode_event(value)
        kind = (told["event"], told["subclass"], told["error"])
        if kind == (EventKind.CONVERSATION, _END_ACKNOWLEDGED, 0):
            self.ended += self._ours is None or uuid.UUID(told["conversation"]) in self._ours


class _Eye:
    """Reads the queues and the events of a cluster from their beginning, without a group."""

    def __init__(self, cluster: Cluster, queues: Sequence[str]) -> None:
        self._cluster, self._stranded = cluster, LostBrokers(cluster)
        self._at = {
            (topic, partition): OFFSET_BEGINNING
            for topic in (*queues, cluster.topics.event)
            for partition in partitions_of(cluster, topic)
        }
        self._said: dict[str, dict[str, dict[str, dict[str, object]]]] = {}
        self._consumer = self._begun()

    def _begun(self) -> Consumer:
        consumer = self._cluster.consumer(
            f"{self._cluster.topics.prefix}observer", stats=self._report
        )
        consumer.assign([TopicPartition(*place, at) for place, at in self._at.items()])
        return consumer

    def _report(self, report: Statistics) -> None:
        self._said = report["topics"]

    def behind(self) -> list[str]:
        """Return the unread partitions, each with its position and the report of Kafka's client."""
        lines, asked = [], self._cluster.consumer(f"{self._cluster.topics.prefix}observer")
        for (topic, partition), at in self._at.items():
            _, end = watermarks(asked, topic, partition)
            said = self._said.get(topic, {}).get("partitions", {}).get(str(partition), {})
            told = {name: said.get(name) for name in ("leader", "fetch_state", "next_offset")}
            if at < end:
                lines.append(f"{topic}/{partition}: read up to {at} of {end}: {told}")
        asked.close()
        return lines

    def take(self) -> list[Message]:
        """Return the records that have arrived."""
        found = self._consumer.consume(1000, 0.05)
        for message in found:
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            if message.error() is None and topic and partition is not None and offset is not None:
                self._at[topic, partition] = offset + 1
        try:
            self._stranded.look(bool(found), self._consumer)
        except SurroundingsError:
            self.close()
            self._consumer = self._begun()
        return found

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()
