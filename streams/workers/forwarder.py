"""The forwarder worker: consume a transmission queue, let ``node`` decide, republish, commit.

The commit rule: a position is committed only behind records that have ended as *confirmed*,
*dropped* (with its event) or *held* in memory. What a crash leaves behind it:

    after produce, before flush     the copies may arrive; they are read and produced again
    after flush, before commit      the copies have arrived; they are read and produced again
    held                            gone; the sender's dialog retries

Another cluster is never waited for: what it has not confirmed within two seconds is held.

So a forwarder never loses, and may repeat; the dialog at the other end removes what it repeated.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from functools import partial

from streams.errors import EventKind, Number, SurroundingsError
from streams.kafka import (
    Cluster,
    Consumer,
    Headers,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    headers_of,
    is_fatal,
)
from streams.node import HELD, Forwarder, Outcome, Place, Record, event, home_of
from streams.routing import Origin
from streams.topology import Transport
from streams.wire import (
    Envelope,
    MalformedError,
    UnknownSchemaError,
    encode_status,
)
from streams.wire.records import (
    HOP,
    INSIDE,
    MESSAGE,
    ORIGIN,
    OUTSIDE,
    ROUTE,
    header_of,
)
from streams.workers.control import Control
from streams.workers.counts import Told, Traffic
from streams.workers.crossings import Crossed, Crossings
from streams.workers.delivery import Delivery, short, source_of
from streams.workers.express import Express, Input, Known
from streams.workers.positions import Positions
from streams.workers.principals import Principals
from streams.workers.slot import Slot
from streams.workers.tenure import Tenure
from streams.workers.waiting import Held, Waiting

log = logging.getLogger("hopline.forwarder")
ready = logging.getLogger("hopline.ready")

BATCH = 2_000
COMMIT_EVERY = 0.2
RELEASE_EVERY = 0.1
_BEGINNING = -2


class ForwarderWorker:
    """One replica of an instance's forwarder; :meth:`run` owns the loop and decides nothing.

    ``slot`` names it across restarts, if any. With ``pair`` it forwards what begins in the
    databases of that mirrored pair, while its instance is the principal, and needs none.
    """

    role = "forwarder"

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        control: Control,
        *,
        pair: str | None = None,
        slot: str = "",
    ) -> None:
        self.instance = instance
        self.tenure = Tenure(control, instance, pair)
        self._slot = Slot(instance, self.role, slot if pair is None else "")
        self._cluster = cluster
        self._control = control
        topics, home = cluster.topics, self.tenure.home
        self._out = topics.out(home)
        # What comes from outside is for the instance, whichever of its databases it is meant for.
        self._reads = [self._out] if pair is not None else [self._out, topics.txq(instance)]
        self._names: dict[tuple[Place, str], str] = {}
        self._inputs: dict[tuple[str | None, int | None], Input] = {}
        self._positions = Positions()
        self.told, self.traffic = Told(), Traffic()
        self._waiting = Waiting(control.reachable)
        self._crossings = Crossings(control.abroad)
        self.passed = 0

    @property
    def spare(self) -> dict[tuple[str, int], int]:
        """Return below which positions nothing is needed any more; any thread may ask."""
        return self._positions.spare()

    @property
    def pending(self) -> tuple[int, int]:
        """Return how many frames are held in memory, and their bytes; any thread may ask."""
        return len(self._waiting), self._waiting.size

    def run(self, stop: threading.Event) -> None:
        """Forward until ``stop``; then drain: flush and commit.

        Raises FencedError where another worker has the slot.
        """
        if not self._slot.name:
            self._work(stop)
            return
        self._slot.hold(self._control, stop, lambda: self._work(stop))

    def _work(self, stop: threading.Event) -> None:
        self._inputs, self._positions = {}, Positions()
        world = self._control.world
        principals = self._principals = Principals(
            self.instance, self._control, lambda address: self._forwarder.instance_at(address)
        )
        self._forwarder = Forwarder(
            self.instance, world, Envelope, self._waiting.reachable, principals
        )
        self._limit()
        self._delivery = Delivery(
            self._cluster, self.instance, stop, told=self.told, traffic=self.traffic
        )
        self._express = Express(self._delivery)
        while self.tenure.begins(stop):
            self._serve(stop)

    def _serve(self, stop: threading.Event) -> None:
        group = f"{self._cluster.topics.prefix}forwarder.{self.tenure.home}"
        consumer = self._consumer = self._offsets = self._cluster.consumer(
            group + self.tenure.suffix,
            partition_assignment_strategy="cooperative-sticky",
            enable_partition_eof=True,
            stats=self.traffic.reader,
            **self._slot.member,
        )
        if self.tenure.suffix:  # positions outlive the tenure in a group without members
            self._offsets = self._cluster.consumer(group)
        consumer.subscribe(
            self._reads,
            on_assign=self._assigned,
            on_revoke=self._revoked,
            on_lost=self._lost,
        )
        commit_at = release_at = time.monotonic()
        try:
            while not stop.is_set() and self.tenure.lasts:
                self._follow_catalog()
                first = consumer.poll(0.05)
                if first is not None:
                    self._pass_on([first, *consumer.consume(BATCH, 0)])
                now = time.monotonic()
                self._take_back()
                if now >= release_at:
                    self._look_around()
                    release_at = now + RELEASE_EVERY
                if now >= commit_at:
                    self._commit(2.0)
                    commit_at = now + COMMIT_EVERY
            self._settle()
            self._commit(10.0)
        finally:
            self.tenure.assigned = False
            consumer.close()
            if self._offsets is not consumer:
                self._offsets.close()

    @property
    def assigned(self) -> bool:
        """Tell whether it has its partitions, or another instance has the pair's."""
        return self.tenure.is_served

    # --- records ---------------------------------------------------------------------------------

    def _follow_catalog(self) -> None:
        """Take over a new version of the catalog, also while nothing comes: copies are held."""
        world = self._control.world
        if world is self._forwarder.world:
            return
        if self.instance not in world.instances:
            raise SurroundingsError(f"The catalog has {self.instance} no longer.")
        self._forwarder.switch(world)
        self._limit()

    def _limit(self) -> None:
        size = self._forwarder.world.forward_bytes[self.instance]
        self._waiting.limit(size)
        self._crossings.limit(size)

    def _pass_on(self, batch: list[Message]) -> None:
        now, read_at = self._control.now(), time.monotonic()
        take, inputs = self._express.take, self._begin(now)
        for message in batch:
            error = message.error()
            if error is not None:
                self._not_a_record(message, error)
                continue
            place = message.topic(), message.partition()
            source = inputs.get(place) or self._input(*place)
            try:
                headers = headers_of(message)
                if not take(source, message, headers):
                    self._decide(source, message, headers, now, read_at)
            except MalformedError as broken:
                self._corrupted(message, broken, now)
            source.last = message
            self.passed += 1
        self._note_positions()

    def _begin(self, now: int) -> Mapping[tuple[str | None, int | None], Input]:
        """Begin a batch: what was decided in the last one may not hold any more."""
        self._express.begin(self._forwarder, now)
        for source in self._inputs.values():
            source.lanes.clear()
            source.acks.clear()
        return self._inputs

    def _input(self, topic: str | None, partition: int | None) -> Input:
        assert topic is not None and partition is not None
        origin = Origin.INSIDE if topic == self._out else Origin.OUTSIDE
        report = self._delivery.report(topic, partition)
        found = self._inputs[topic, partition] = Input(topic, partition, origin, report)
        return found

    def _note_positions(self) -> None:
        for source in self._inputs.values():
            if source.last is not None:
                offset = source.last.offset()
                assert offset is not None
                self._positions.passed((source.topic, source.partition), offset + 1)
                source.last = None

    def _decide(
        self, source: Input, message: Message, headers: Headers, now: int, read_at: float
    ) -> None:
        """Take the long way, and learn from it what the short one needs."""
        record = self._read(source.origin, message, headers)
        try:
            outcome = self._forwarder.handle(record, now)
        except UnknownSchemaError:
            self._control.catch_up(read_at)
            outcome = self._forwarder.handle(record, now)
        if outcome is HELD:
            outcome = self._hold(message, record, now)
        self._perform(message, record, outcome)
        lane = self._forwarder.lane(record, now)
        if lane is not None:
            abroad = lane.instance in self._forwarder.world.neighbours
            cross = partial(self._cross, source.origin, lane.instance) if abroad else None
            lanes = source.acks if record.is_ack else source.lanes
            topic = self._topic(lane.place, lane.instance, lane.database)
            lanes[record.route] = Known(lane, topic, cross)

    def _read(self, origin: Origin, message: Message, headers: Headers) -> Record:
        key = message.key()
        if len(headers) == 3 and headers[1][0] == MESSAGE:
            route, body, hop = headers[0][1], headers[1][1], headers[2][1]
        else:
            route, body, hop = (header_of(headers, n) for n in (ROUTE, MESSAGE, HOP))
        if not isinstance(key, bytes):
            text = "a frame without a conversation id (11271)"
            raise MalformedError(text, Number.CONVERSATION_ID_NULL)
        if route is None or hop is None:
            raise MalformedError("a frame without sb-route or sb-hop")
        return Record(origin, key, route, hop, len(message), body is None, body)

    def _perform(self, message: Message, record: Record, outcome: Outcome) -> None:
        source = source_of(message)
        stamp = min(max(message.timestamp()[1], 0), self._control.now())
        for copy in outcome.copies:
            headers: Headers = [(ROUTE, copy.route), (HOP, copy.hop)]
            if record.message is not None:
                headers.insert(1, (MESSAGE, record.message))
            if copy.instance in self._forwarder.world.neighbours:
                self._cross(record.origin, copy.instance, message, headers, stamp)
                continue
            if copy.place is Place.IN:
                headers.append((ORIGIN, INSIDE if copy.inside else OUTSIDE))
            self._delivery.produce(
                source,
                self._topic(copy.place, copy.instance, copy.database),
                record.key,
                message.value(),
                headers,
                stamp,
            )
        for status in outcome.statuses:
            topic = self._topic(Place.ACK, self.instance, status.database)
            key = str(status.conversation).encode()
            self._delivery.produce(source, topic, key, encode_status(status))
        if outcome.event is not None:
            self._delivery.emit(source, record.key, outcome.event)

    def _cross(
        self, origin: Origin, instance: str, message: Message, headers: Headers, stamp: int
    ) -> None:
        """Hand a copy over to another cluster, or hold it."""
        crossed = Crossed(message, origin, instance)
        if not self._crossings.take(crossed, headers, stamp):
            self._hold_back(crossed)

    def _topic(self, place: Place, instance: str, database: str | None = None) -> str:
        home = home_of(self._forwarder.world, instance, database)
        name = self._names.get((place, home))
        if name is None:
            topics = self._cluster.topics
            make = {Place.TXQ: topics.txq, Place.IN: topics.inbox, Place.ACK: topics.ack}[place]
            name = self._names[place, home] = make(home)
        return name

    def _corrupted(self, message: Message, error: MalformedError, now: int) -> None:
        topic, partition, offset = source = source_of(message)
        told = event(
            EventKind.CORRUPTED_MESSAGE,
            at=now,
            instance=self.instance,
            error=error.number,
            detail=str(error),
            topic=topic,
            partition=partition,
            offset=offset,
        )
        self._delivery.emit(source, short(message.key()), told)

    # --- held copies -----------------------------------------------------------------------------

    def _hold(self, message: Message, record: Record, now: int) -> Outcome:
        held = Held(message, record, Envelope.hop(record.hop).expires_at)
        number = self._waiting.add(self._forwarder.hold_key(record), held)
        return HELD if number is None else self._forwarder.refuse(record, number, now)

    def _look_around(self) -> None:
        """Hear who is the principal of which pair, and let go what was held and can leave."""
        now = self._control.now()
        for told in self._principals.look(now):
            self._delivery.emit((self._out, 0, None), None, told)
        if self._waiting:
            self._release(now)

    def _release(self, now: int) -> None:
        for held in self._waiting.due(now):
            outcome = self._forwarder.release(held.record, now)
            if outcome is HELD:
                outcome = self._hold(held.message, held.record, now)
            self._perform(held.message, held.record, outcome)

    def _take_back(self) -> None:
        """Hold what another cluster did not confirm; tell of what it will never take (11292)."""
        for crossed, why in self._crossings.come_back():
            message = crossed.message
            if why is not None:
                topic = self._topic(Place.TXQ, crossed.instance)
                self._delivery.give_up(why, topic, message.key(), source_of(message))
                continue
            try:
                self._hold_back(crossed)
            except MalformedError as broken:  # only who holds it looks at its key and message
                self._corrupted(message, broken, self._control.now())

    def _hold_back(self, crossed: Crossed) -> None:
        """Hold what another cluster did not take; what began here its dialog keeps and retries."""
        message, now = crossed.message, self._control.now()
        record = self._read(crossed.origin, message, headers_of(message))
        if crossed.origin is Origin.OUTSIDE:
            self._waiting.refused(crossed.instance)
            self._perform(message, record, self._hold(message, record, now))
        elif self._forwarder.world.transports[self.instance] is not Transport.ALL:
            told = self._forwarder.refuse(record, Number.TARGET_UNREACHABLE, now)
            self._perform(message, record, told)

    # --- positions -------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Wait for other clusters: what has not arrived there is somebody else's from now on."""
        self._crossings.settle()
        self._take_back()

    def _commit(self, timeout: float) -> None:
        """Flush, then commit what is confirmed; what is not stays uncommitted for the next time."""
        under_way = (source_of(m) for m in self._crossings.under_way())
        offsets = self._positions.due(under_way, self._waiting.notes())
        if not offsets:
            self._delivery.serve()
            return
        if not self._delivery.confirm(timeout):
            return
        try:
            self._offsets.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            # The next commit takes them along. If a rebalance has taken the partitions, they are
            # dropped with these, and whoever has them now reads the records again.
            log.info("%s: positions were not committed: %s", self.instance, error)
            return
        self._positions.committed(offsets)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        committed = self._offsets.committed(partitions, timeout=10)
        self._positions.begin(committed)
        for partition in committed:
            if partition.offset < 0:
                partition.offset = _BEGINNING
        consumer.incremental_assign(committed)
        if not self.tenure.assigned:
            self.tenure.assigned = True
            ready.info("%s forwarder%s: ready", self.instance, self.tenure.of)
        log.info("%s forwards %s", self.instance, _named(partitions))

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._settle()
        self._commit(5.0)
        self._positions.forget(partitions)
        consumer.incremental_unassign(partitions)

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._positions.forget(partitions)
        self.tenure.assigned = False
        log.warning("%s has lost %s", self.instance, _named(partitions))
        consumer.incremental_unassign(partitions)

    def _not_a_record(self, message: Message, error: KafkaError) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            # The end lies behind the markers of transactions, which are no records: without this
            # the position would never say that everything has left `out`, and retries would wait.
            topic, partition, offset = source_of(message)
            self._positions.passed((topic, partition), offset or 0)
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise SurroundingsError(
                f"{self.instance}: {error.str()}",
                "Records before the committed position are gone, or the topic was made anew.",
            )
        elif is_fatal(error):
            raise KafkaException(error)
        else:
            log.warning("%s: %s", self.instance, error.str())


def _named(partitions: list[TopicPartition]) -> str:
    return ", ".join(f"{p.topic}/{p.partition}" for p in partitions)
