"""The thread that maintains the catalog, heartbeats and Kafka's clock for a process's workers."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from streams.errors import SurroundingsError
from streams.kafka import Cluster, ConsumerHealth, KafkaError, KafkaException, Message, is_forbidden
from streams.node import SILENCE, CatalogView, KafkaClock, SlotOwners
from streams.protocol import Claim
from streams.settings import NO_CREDENTIALS, Credentials
from streams.workers.control.catalog_follower import CatalogFollower
from streams.workers.control.catch_up import SKIPPED_WITHIN, CatchUp
from streams.workers.control.consumer import ControlConsumer
from streams.workers.control.control_thread import ControlThread
from streams.workers.control.heartbeat_schedule import HeartbeatSchedule
from streams.workers.control.heartbeat_writer import HeartbeatWriter
from streams.workers.control.heartbeats import Heartbeats
from streams.workers.control.remote_clusters import RemoteClusters
from streams.workers.pulse import beat

log = logging.getLogger("hopline.control")


class Control:
    """Read ``catalog`` and ``presence``, and write heartbeats, in one thread.

    ``catalog`` is replaced as a whole when a new version is complete; workers compare it by
    identity once per batch. Heartbeats are written for ``forwarders`` and under the names in
    ``others``. ``remote`` contains the other clusters to which the forwarders write.
    """

    def __init__(
        self,
        cluster: Cluster,
        forwarders: Sequence[str],
        others: Sequence[str] = (),
        *,
        timeout: float = 30,
        credentials: Credentials = NO_CREDENTIALS,
    ) -> None:
        self._cluster = cluster
        self._forwards = bool(forwarders)
        names = (*forwarders, *others)
        self._schedule = HeartbeatSchedule(names)
        self._timeout = timeout
        self._replica = uuid.uuid4().hex
        self._stop = threading.Event()
        self._woken = threading.Event()  # interrupts a pause between fetches
        self._ready = threading.Event()
        self._settled = threading.Event()  # ready, or failed
        self._clock = KafkaClock(time.time_ns() / 10**9 - time.monotonic())
        self._heartbeats = Heartbeats(next(iter(names), ""), self._replica, self._clock)
        self.remote = RemoteClusters(cluster.topics, credentials, self._clock)
        self._newest: Message | None = None  # the newest heartbeat of those read together
        self._catalog_topic, wake = cluster.topics.catalog, self._woken.set
        self._catalog_end = CatchUp(cluster, self._catalog_topic, timeout, wake)
        self._catalog = CatalogFollower(self._catalog_end)
        presence, longest = cluster.topics.presence, max(timeout, SKIPPED_WITHIN)
        self._presence_end = CatchUp(cluster, presence, longest, wake)
        self.thread = ControlThread(cluster, self._run, self._failed)

    def start(self) -> None:
        """Read the catalog to its end; without a complete version, no worker may consume."""
        self._cluster.wait(self._timeout, log.warning)
        self.thread.start()
        self._settled.wait(self._timeout)
        if (failure := self.failure) is not None:
            raise failure from self.thread.error
        if not self.is_ready:
            self._stop.set()
            raise SurroundingsError(
                f"The catalog {self._cluster.topics.catalog} at {self._cluster.bootstrap} has no "
                "complete version.",
                self._catalog.error or self._cluster.remedy("Run 'hopline apply TOPOLOGY' first."),
            )

    def threads(self) -> list[threading.Thread]:
        """Return the threads that must not hang: this thread and those for other clusters."""
        return [self.thread, *self.remote.threads()]

    def stop(self) -> bool:
        """Stop writing heartbeats and reading; return whether no call of Kafka's client hangs."""
        self._stop.set()
        self._woken.set()
        has_ended = self.thread.end()
        self.remote.stop()
        return all([has_ended, self._catalog_end.close(), self._presence_end.close()])

    @property
    def catalog(self) -> CatalogView:
        """Return the catalog's last valid version; raise the thread's error if it has failed."""
        if (failure := self.failure) is not None:
            raise failure from self.thread.error
        view = self._catalog.view
        assert view is not None, "start() returned"
        return view

    @property
    def version(self) -> int:
        """Return the version of the catalog that workers use; 0 if there is none."""
        view = self._catalog.view
        return view.version if view is not None else 0

    @property
    def error(self) -> str:
        """Return why the newest version of the catalog is invalid, if it is."""
        return self._catalog.error

    def failures(self) -> Iterator[str]:
        """Yield the reasons why the catalog is not read or its newest version is not used."""
        if self.thread.error is not None:
            yield f"The catalog is no longer read: {self.thread.error!r}."
        if self.error:
            yield f"The newest version of the catalog cannot be used: {self.error}."
        yield from self.remote.failures()

    @property
    def is_ready(self) -> bool:
        """Return whether a complete version of the catalog has been read."""
        return self._ready.is_set()

    def has(self, key: str) -> bool:
        """Return whether the catalog contains an object."""
        return self._catalog.has(key)

    def catch_up(self, since: float) -> None:
        """Wait until the catalog has been read to an end that it had after ``since``.

        ``since`` is a monotonic time. If a schema or object is unknown after this call, it was not
        announced before the record that needs it was written.
        """
        self._catalog_end.wait(since)

    def try_catch_up(self, since: float) -> bool:
        """Wait briefly like :meth:`catch_up`, for a record; return whether the end was reached."""
        return self._catalog_end.try_wait(since)

    def reachable(self, instance: str, silence: float = SILENCE) -> bool:
        """Return whether an instance in any cluster, or a slot, sends heartbeats."""
        if instance in self.catalog.neighbours:
            return self.remote.reachable(instance)
        return self._heartbeats.reachable(instance, silence)

    def claims(self, instance: str) -> tuple[Claim, ...] | None:
        """Return the last ownership claims of an instance; ``None`` if it sent no heartbeat."""
        if instance in self.catalog.neighbours:
            return self.remote.claims(instance)
        return self._heartbeats.claims(instance)

    def add_heartbeat(self, name: str) -> None:
        """Write heartbeats under an additional name, starting immediately."""
        self._heartbeats.follow(name)
        self._schedule.add(name)
        self._woken.set()

    def end_heartbeat(self, name: str) -> None:
        """Write a final heartbeat under a name to report that its worker has left."""
        self._schedule.leave(name)
        self._woken.set()

    def catch_up_presence(self, since: float, stop: threading.Event | None = None) -> None:
        """Wait until ``presence`` has been read to an end that it had after ``since``.

        ``since`` is monotonic time. Also returns when ``stop`` is set. Raises SurroundingsError if
        the end is not reached in time.
        """
        self._presence_end.wait(since, stop)

    def slot_owners(self, *slots: str) -> SlotOwners:
        """Return the slot owners known from heartbeats; from now on, also follow ``slots``."""
        return self._heartbeats.slot_owners(*slots)

    def now(self) -> int:
        """Return Kafka's time (epoch milliseconds), or the local time while Kafka's is unknown."""
        return self._clock.now(time.monotonic())

    def confirm_time(self) -> None:
        """Wait until Kafka's time is known from a heartbeat that was written after this call.

        Before that, Kafka's time may not include a suspension, because the machine's monotonic
        clock stops during it. Raises SurroundingsError if Kafka does not respond.
        """
        since = time.monotonic()
        self._schedule.hurry()
        self._woken.set()
        self._writer.demand_acknowledged(since, self._timeout, self._stop)

    @property
    def skew(self) -> float:
        """Return the seconds by which the local clock is ahead of Kafka's."""
        return (time.time_ns() // 10**6 - self.now()) / 1000

    @property
    def failure(self) -> SurroundingsError | None:
        """Return the error that ended reading catalog and presence, if any."""
        return self.thread.failure

    def _failed(self) -> None:
        """Wake the threads that wait for ``control``."""
        self._settled.set()
        self._catalog_end.end()
        self._presence_end.end()

    def _run(self, clients: ExitStack) -> None:
        health = ConsumerHealth(self._cluster)
        consumer = self._consumer = ControlConsumer(self._cluster, health.report)
        clients.callback(consumer.close)
        writer = self._writer = HeartbeatWriter(self._cluster, self._replica, self._clock)
        clients.callback(writer.close)
        clients.callback(self._schedule.write_left, self._write_heartbeat)
        while not self._stop.is_set():
            beat()
            now = time.monotonic()
            if not self._schedule.due_in(now):
                self._schedule.period = self._heartbeats.period
            writer.take_answers(wait=self._schedule.write_due(now, self._write_heartbeat))
            messages = consumer.take(min(0.2, self._schedule.due_in(now)))
            now = time.monotonic()
            for message in messages:
                self._take(message, now)
            if (position := consumer.end_of_catalog) is not None:
                self._end_catalog(position)
            if self._catalog.begins_again():
                consumer.read_catalog_again()
            at_end = self._look_for_end()
            health.look(bool(messages), consumer.client, writer.producer)
            if at_end:
                self._pause()

    def _write_heartbeat(self, name: str, count: int) -> None:
        # A heartbeat from a stale version would claim a lost role, and retract the schemas that a
        # newer version has announced.
        known = (self._catalog.view, self._catalog.announced) if self.is_ready else (None, {})
        self._writer.write(name, count, self._schedule.period, *known)

    def _pause(self) -> None:
        """Let heartbeats accumulate, unless a thread waits or our own heartbeats are due."""
        awaited = self._catalog_end.awaited.is_set() or self._presence_end.awaited.is_set()
        if not awaited:
            now = time.monotonic()
            pause = self._heartbeats.pause(now, self._schedule.period)
            self._consumer.suit(self._schedule.period if self._heartbeats.are_many else None)
            self._woken.wait(min(pause, self._schedule.due_in(now)))
        self._woken.clear()  # threads register a request before they set the event

    def _take(self, message: Message, now: float) -> None:
        error = message.error()
        is_catalog = message.topic() == self._catalog_topic
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF and is_catalog:
                self._end_catalog(message.offset() or 0)
            elif error.code() == KafkaError._PARTITION_EOF:
                self._consumer.presence = max(self._consumer.presence, message.offset() or 0)
                self._heartbeats.end_read(time.monotonic())
            elif is_forbidden(error) and not self.is_ready:
                raise KafkaException(error)
            else:
                log.warning("control: %s", error)
        elif is_catalog:
            self._consumer.catalog = (message.offset() or 0) + 1
            if self._catalog.read(message):
                self._note_version()
        else:
            self._consumer.presence = (message.offset() or 0) + 1
            self._newest = message
            period = self._heartbeats.read(message, now)
            if period is not None:
                self.remote.beat(now, period)

    def _note_version(self) -> None:
        self._heartbeats.expect(self._catalog.instances, self._catalog.homes)
        self._schedule.hurry()  # a pair's new principal reports its role now

    def _look_for_end(self) -> bool:
        """Detect the end of ``presence``, because with many writers no fetch is empty."""
        if self._newest is not None:
            self._heartbeats.time(self._newest, time.monotonic())
            self._newest = None
        at_end = self._consumer.at_end
        if at_end:
            self._heartbeats.end_read(time.monotonic())
        self._presence_end.move(self._consumer.presence)
        return at_end

    def _end_catalog(self, position: int) -> None:
        """Handle reaching the end of ``catalog``."""
        if self._catalog.end_read(position):
            self._note_version()
        catalog = self._catalog.view
        if catalog is not None and not self._catalog.is_doubtful:
            if self._forwards and catalog is not self.remote.catalog:
                self.remote.follow(catalog)
            self._ready.set()
            self._settled.set()
