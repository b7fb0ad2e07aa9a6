"""The last heartbeat of each worker, and its age by Kafka's clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import NamedTuple

from streams.kafka import Cluster, KafkaError, KafkaException, Message, TopicPartition
from streams.node import FRESH, LEFT, MOST_NAMES, displaced, next_removal
from streams.wire import MalformedError
from streams.wire.heartbeats import HeartbeatReader

_SLICE = 0.2
"""Seconds per call to the client library; short, so that interrupts are handled."""
_END_WITHIN = 30.0


class LastHeartbeat(NamedTuple):
    """The last heartbeat under a name by one process, ``replica``.

    ``age`` and ``period`` (after which the next heartbeat is due) are in seconds. ``left``: the
    worker has stopped normally and has reported this.
    """

    name: str
    replica: str
    age: float
    period: float
    left: bool


_Process = tuple[str, str]
"""A name, and a process that uses it."""


class _Seen(NamedTuple):
    appended: int
    period: float
    left: bool


def read_heartbeats(
    cluster: Cluster,
    instances: Collection[str] = (),
    *,
    clock: Callable[[], float] = time.monotonic,
    kafka_now: Callable[[], float] = time.time,
) -> list[LastHeartbeat]:
    """Return the last heartbeat of each process under each name.

    Any client with write access to ``presence`` may invent names and processes, so only the newest
    MOST_NAMES heartbeats are returned, in addition to the last heartbeat of each of ``instances``.
    Kafka's time is taken from a heartbeat that arrives during the call. If none arrives in three
    periods, no worker is alive, and ``kafka_now`` (epoch seconds) is used.
    """
    watch = _Watch(cluster, instances)
    try:
        watch.read_to_end(clock() + _END_WITHIN, clock)
        until = clock() + watch.patience
        while watch.now is None and clock() < until:
            watch.read()
    finally:
        watch.close()
    now = watch.now if watch.now is not None else int(1000 * kafka_now())
    return [
        LastHeartbeat(*who, max(0, now - seen.appended) / 1000, seen.period, seen.left)
        for who, seen in sorted(watch.seen.items())
    ]


class _Watch:
    """Read heartbeats; ``now`` is Kafka's clock in epoch milliseconds, None before the first."""

    def __init__(self, cluster: Cluster, instances: Collection[str]) -> None:
        self.seen: dict[_Process, _Seen] = {}
        self._instances, self._last = frozenset(instances), dict[str, _Process]()
        self._forget_from = MOST_NAMES
        self.now: int | None = None
        self._reader, self._at_end = HeartbeatReader(), False
        self._topic = cluster.topics.presence
        self._consumer = cluster.consumer(
            f"{cluster.topics.prefix}watch", auto_offset_reset="earliest", enable_partition_eof=True
        )
        self._consumer.assign([TopicPartition(self._topic, 0, 0)])

    def read_to_end(self, until: float, clock: Callable[[], float]) -> None:
        while not self._at_end and clock() < until:
            self.read()

    def read(self) -> None:
        message = self._consumer.poll(_SLICE)
        if message is None:
            return
        error = message.error()
        if error is None:
            self._note(message)
        elif error.code() == KafkaError._PARTITION_EOF:
            self._at_end = True
        else:
            raise KafkaException(error)

    def _note(self, message: Message) -> None:
        appended = message.timestamp()[1]
        with suppress(MalformedError):  # any client may write to this topic
            beat = self._reader.read(message.key(), message.value())
            if beat.instance.encode() != message.key():
                return
            left = beat.number == LEFT
            process = beat.instance, beat.replica
            self.seen[process] = _Seen(appended, beat.period, left)
            if beat.instance in self._instances:
                self._last[beat.instance] = process
            if len(self.seen) > self._forget_from:
                self._forget()
            if self._at_end and not left:
                self.now = appended

    def _forget(self) -> None:
        seen_at = {process: seen.appended for process, seen in self.seen.items()}
        for process in displaced(seen_at, lambda process: self._last.get(process[0]) == process):
            del self.seen[process]
        self._forget_from = next_removal(len(self.seen))

    @property
    def patience(self) -> float:
        """Return the maximum seconds between two heartbeats of a live worker."""
        periods = (seen.period for seen in self.seen.values() if not seen.left)
        return FRESH / 1000 * max(periods, default=0)

    def close(self) -> None:
        self._consumer.close()
