"""What all workers of a process share: the catalog, signs of life, and what time it is."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from streams.errors import SurroundingsError
from streams.kafka import (
    CatalogState,
    Cluster,
    KafkaError,
    KafkaException,
    LostBrokers,
    Message,
    Producer,
    is_forbidden,
)
from streams.node import SILENCE, CatalogView, KafkaClock, SlotState, catalog_of, claims_of
from streams.protocol import Claim
from streams.settings import NO_CREDENTIALS, Credentials
from streams.wire import encode_presence
from streams.wire.evolution import ADMITS, ANNOUNCED, admission, announcement
from streams.workers.catch_up import CatchUp
from streams.workers.control_consumer import ControlConsumer
from streams.workers.heartbeat_schedule import HeartbeatSchedule
from streams.workers.heartbeats import Heartbeats, appended
from streams.workers.remote_clusters import RemoteClusters

log = logging.getLogger("hopline.control")

_REPORTED = 0.05
"""Seconds to wait for Kafka's answer to a heartbeat, which tells its clock."""


class Control:
    """One thread that reads ``catalog`` and ``presence`` and writes the latter.

    ``catalog`` is replaced as a whole when a new version is complete; a worker compares it by
    identity once per batch. A version that cannot be read leaves the last good one in place and is
    reported in ``error``. Heartbeats are written for ``forwarders``, and under the names of
    ``others``.
    ``remote`` are the other clusters that the forwarders write into.
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
        self._signs = HeartbeatSchedule(names)
        self._timeout = timeout
        self._replica = uuid.uuid4().hex
        self._stop = threading.Event()
        self._woken = threading.Event()  # ends a pause between two fetches
        self._ready = threading.Event()
        self._settled = threading.Event()  # ready, or failed
        self._catalog_reader = CatalogState()
        self._catalog_topic = cluster.topics.catalog
        self._announced: dict[str, str | bytes | None] = {}
        self._clock = KafkaClock(_own_time() / 1000 - time.monotonic())
        self._heartbeats = Heartbeats(next(iter(names), ""), self._replica, self._clock)
        self.remote = RemoteClusters(cluster.topics, credentials, self._clock)
        self._catalog: CatalogView | None = None
        self._failure: Exception | None = None
        self._told = ""
        self._newest: Message | None = None  # of the heartbeats that were read at once
        self._catch_up = CatchUp(cluster, cluster.topics.catalog, timeout, self._woken.set)
        self._all_heard = CatchUp(cluster, cluster.topics.presence, timeout, self._woken.set)
        self._thread = threading.Thread(target=self._guarded, name="control", daemon=True)

    def start(self) -> None:
        """Read the catalog to its end; without a complete version nothing may be consumed."""
        self._cluster.wait(self._timeout, log.warning)
        self._thread.start()
        self._settled.wait(self._timeout)
        if self._failure is not None:
            raise self._ended() from self._failure
        if not self.is_ready:
            self._stop.set()
            raise SurroundingsError(
                f"The catalog {self._cluster.topics.catalog} at {self._cluster.bootstrap} has no "
                "complete version.",
                self._catalog_reader.error
                or self._cluster.remedy("Run 'hopline apply TOPOLOGY' first."),
            )

    def stop(self) -> None:
        """Stop giving signs of life."""
        self._stop.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(5)
        self.remote.stop()
        self._catch_up.close()
        self._all_heard.close()

    @property
    def catalog(self) -> CatalogView:
        """Return the catalog's last good version; raises what the thread has ended with, if so."""
        if self._failure is not None:
            raise self._ended() from self._failure
        assert self._catalog is not None, "start() returned"
        return self._catalog

    @property
    def version(self) -> int:
        """Return the version of the catalog that workers live by; 0 while there is none."""
        return self._catalog.version if self._catalog is not None else 0

    @property
    def error(self) -> str:
        """Return why the newest version of the catalog cannot be used, if so."""
        return self._catalog_reader.error

    def failures(self) -> Iterator[str]:
        """Yield why the catalog is not, or not wholly, followed any more."""
        if self._failure is not None:
            yield f"The catalog is not read any more: {self._failure!r}."
        if self.error:
            yield f"The newest version of the catalog cannot be used: {self.error}."
        yield from self.remote.failures()

    @property
    def is_ready(self) -> bool:
        """Tell whether a complete version of the catalog has been read."""
        return self._ready.is_set()

    def has(self, key: str) -> bool:
        """Tell whether the catalog has an object."""
        return key in self._catalog_reader.objects

    def catch_up(self, since: float) -> None:
        """Return when the catalog was read to its end as of some moment after ``since``.

        ``since`` is monotonic time. What a record refers to and is unknown even then, nobody has
        announced before it was written.
        """
        self._catch_up.wait(since)

    def reachable(self, instance: str, silence: float = SILENCE) -> bool:
        """Tell whether an instance's forwarder gives signs of life, in whichever cluster.

        So do endpoint workers that have a name of their own.
        """
        if instance in self.catalog.neighbours:
            return self.remote.reachable(instance)
        return self._heartbeats.reachable(instance, silence)

    def claims(self, instance: str) -> tuple[Claim, ...] | None:
        """Return what an instance has said last of its mirrored databases; ``None``: nothing."""
        if instance in self.catalog.neighbours:
            return self.remote.claims(instance)
        return self._heartbeats.claims(instance)

    def speak_for(self, name: str) -> None:
        """Give signs of life in one more name, at once and from now on."""
        self._heartbeats.follow(name)
        self._signs.speak_for(name)
        self._woken.set()

    def leave(self, name: str) -> None:
        """Give none in a name any more, and say so."""
        self._signs.leave(name)
        self._woken.set()

    def hear_all(self, since: float) -> None:
        """Return when ``presence`` was read to its end as of some moment after ``since``.

        ``since`` is monotonic time. Raises SurroundingsError where that does not come about.
        """
        self._all_heard.wait(since)

    def tenancy(self, slot: str) -> SlotState:
        """Tell whether a slot may be taken, by the signs of life in its name."""
        return self._heartbeats.tenants(slot).tenancy(slot)

    def patience(self, slots: Iterable[str]) -> float:
        """Return for how many seconds at most somebody who works in one of these is silent."""
        slots = tuple(slots)
        return self._heartbeats.tenants(*slots).patience(slots)

    def heard(self, slot: str) -> int:
        """Return the count of one's own last sign in a slot that has come back."""
        return self._heartbeats.tenants(slot).heard(slot)

    def has_rival(self, slot: str) -> bool:
        """Tell whether somebody else gives signs of life in a slot beside this process."""
        return self._heartbeats.tenants(slot).has_rival(slot)

    def has_left(self, slot: str) -> bool:
        """Tell whether the last one to work in a slot has said that it leaves."""
        return self._heartbeats.tenants(slot).has_left(slot)

    def now(self) -> int:
        """Return the time by Kafka's clock (epoch milliseconds), by our own while it is unknown."""
        return self._clock.now(time.monotonic())

    @property
    def skew(self) -> float:
        """Return by how many seconds the machine's clock is ahead of Kafka's."""
        return (_own_time() - self.now()) / 1000

    def _ended(self) -> SurroundingsError:
        """Return what tells why there is neither catalog nor presence any more."""
        if isinstance(self._failure, SurroundingsError):
            return self._failure
        if isinstance(self._failure, KafkaException):
            return self._cluster.unreachable(self._failure)
        return SurroundingsError(f"The catalog is not read any more: {self._failure!r}.")

    @property
    def failure(self) -> SurroundingsError | None:
        """Return why there is neither catalog nor presence any more, if there is not."""
        return None if self._failure is None else self._ended()

    def _guarded(self) -> None:
        try:
            self._run()
        except Exception as error:  # without signs of life and catalog no worker may go on
            known = isinstance(error, (KafkaException, SurroundingsError))
            log.error("control has failed: %s", error, exc_info=not known)
            self._failure = error
            self._settled.set()
            self._catch_up.end()
            self._all_heard.end()

    def _run(self) -> None:
        consumer = self._consumer = ControlConsumer(self._cluster)
        producer = self._cluster.producer(
            linger_ms=0,
            message_timeout_ms=3000,
            delivery_report_only_error=False,
            compression_type="none",  # whoever reads would pay more for it than it saves
        )
        sign, stranded = partial(self._sign, producer), LostBrokers(self._cluster)
        try:
            while not self._stop.is_set():
                now = time.monotonic()
                if not self._signs.due_in(now):
                    self._signs.period = self._heartbeats.period
                if self._signs.give(now, sign):
                    producer.poll(_REPORTED)
                producer.poll(0)
                messages = consumer.take(min(0.2, self._signs.due_in(now)))
                now = time.monotonic()
                for message in messages:
                    self._take(message, now)
                at_end = self._look_for_end()
                stranded.look(bool(messages), consumer.client, producer)
                if at_end:
                    self._pause()
        finally:
            self._signs.take_leave(sign)
            producer.flush(1)
            consumer.close()

    def _pause(self) -> None:
        """Let heartbeats gather, unless somebody waits or a heartbeat of its own is due."""
        awaited = self._catch_up.awaited.is_set() or self._all_heard.awaited.is_set()
        if not awaited:
            now = time.monotonic()
            pause = self._heartbeats.pause(now, self._signs.period)
            self._consumer.suit(pausing=self._heartbeats.are_many)
            self._woken.wait(min(pause, self._signs.due_in(now)))
        self._woken.clear()  # who has set it since has said before what for

    def _take(self, message: Message, now: float) -> None:
        error, is_catalog = message.error(), message.topic() == self._catalog_topic
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                self._end(message.offset() or 0, is_catalog=is_catalog)
            elif is_forbidden(error) and not self.is_ready:
                raise KafkaException(error)
            else:
                log.warning("control: %s", error)
        elif is_catalog:
            self._read_catalog(message)
            self._consumer.catalog = (message.offset() or 0) + 1
            self._catch_up.move(self._consumer.catalog)
        else:
            self._consumer.presence = (message.offset() or 0) + 1
            self._newest = message
            period = self._heartbeats.read(message, now)
            if period is not None:
                self.remote.beat(now, period)

    def _look_for_end(self) -> bool:
        """Tell whether ``presence`` is read to its end: where many write, no fetch is empty."""
        if self._newest is not None:
            self._heartbeats.time(self._newest, time.monotonic())
            self._newest = None
        at_end = self._consumer.at_end
        if at_end:
            self._heartbeats.end_read(time.monotonic())
        self._all_heard.move(self._consumer.presence)
        return at_end

    def _end(self, position: int, *, is_catalog: bool) -> None:
        """Come to the end of one of the two topics, as it is now."""
        if not is_catalog:
            self._consumer.presence = max(self._consumer.presence, position)
            self._heartbeats.end_read(time.monotonic())
            return
        self._catch_up.move(position)
        if self._catalog is not None:
            self._follow_remote(self._catalog)
            self._ready.set()
            self._settled.set()

    def _sign(self, producer: Producer, name: str, count: int) -> None:
        # A version that is behind would claim a role that has gone, and take back what a newer one
        # has announced.
        catalog, said = (self._catalog, self._announced) if self._ready.is_set() else (None, {})
        period, claims = self._signs.period, claims_of(catalog, name)
        entrances = catalog.ingress.get(name) if catalog is not None else None
        if entrances:
            said = {**said, ADMITS: admission(entrances)}
        value = encode_presence(name, self._replica, count, self.now(), claims, period)
        producer.produce(
            self._cluster.topics.presence,
            key=name,
            value=value,
            headers=said,
            on_delivery=self._delivered,
        )

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        """Learn Kafka's clock from when a heartbeat was appended, sooner than by reading it."""
        if error is None:
            now = time.monotonic()
            self._clock.end_read(now)
            self._clock.seen(appended(message), now)

    def _follow_remote(self, catalog: CatalogView) -> None:
        """Only forwarders write into other clusters, and only what counts now is followed."""
        if self._forwards and catalog is not self.remote.catalog:
            self.remote.follow(catalog)

    def _read_catalog(self, message: Message) -> None:
        if self._catalog_reader.read(message):
            assert self._catalog_reader.topology is not None
            try:
                self._catalog = catalog_of(
                    self._catalog_reader.topology, self._catalog_reader.version
                )
                self._announced = {ANNOUNCED: announcement(self._catalog_reader.objects)}
                self._signs.hurry()  # who has become the principal of a pair says so at once
            except Exception as error:  # objects that make no sense together
                self._catalog_reader.error = f"version {self._catalog_reader.version}: {error!r}"
        if self._catalog_reader.error and self._catalog_reader.error != self._told:
            log.error("the catalog cannot be read: %s", self._catalog_reader.error)
        self._told = self._catalog_reader.error


def _own_time() -> int:
    return time.time_ns() // 1_000_000
