"""What becomes of a record that a forwarder has read: passed on, held in memory, or dropped.

``node`` decides (:class:`streams.node.Forwarder`), and here it is done. Most records take a short
way (:mod:`streams.workers.forwarder.fast_path`) that the long one has learned. Another cluster is
never waited for: what it does not confirm is held.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from functools import partial

from streams.errors import EventKind, HoplineError, Number, SurroundingsError
from streams.kafka import (
    Cluster,
    Headers,
    KafkaError,
    KafkaException,
    Message,
    headers_of,
    is_fatal,
)
from streams.node import (
    HELD,
    CatalogView,
    Forwarder,
    Outcome,
    Place,
    Principals,
    Record,
    event,
    home_of,
)
from streams.routing import Origin
from streams.topology import Transport
from streams.wire import Envelope, MalformedError, UnknownSchemaError, encode_status
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
from streams.workers.forwarder.delivery import Delivery, short, source_of
from streams.workers.forwarder.fast_path import FastPath, Input, Known
from streams.workers.forwarder.offset_tracker import OffsetTracker, Position, Where
from streams.workers.forwarder.remote_producers import Crossed, RemoteProducers
from streams.workers.forwarder.waiting import Held, Waiting

log = logging.getLogger("hopline.forwarder")


class Processor:
    """The records of one forwarder on their way through its instance.

    ``out`` is the topic of what begins here; whatever is read from another one came from outside.
    Each other cluster writes into a topic of its own (``ingress``), which says that it did.
    """

    def __init__(self, cluster: Cluster, instance: str, control: Control, out: str) -> None:
        self._cluster, self._instance, self._control = cluster, instance, control
        self._out = out
        self._names: dict[tuple[Place, str], str] = {}
        self._waiting = Waiting(control.reachable)
        self._remote_producers = RemoteProducers(control.remote, cluster.topics)
        self._writers: dict[str | None, str] = {}
        """Which other cluster writes a topic; kept after the catalog has it no longer."""
        self.passed = 0

    def begin(self, delivery: Delivery, tracker: OffsetTracker) -> None:
        """Begin, or begin anew: only what is held and what is under way elsewhere remains."""
        self._delivery, self._tracker = delivery, tracker
        self._fast_path = FastPath(delivery)
        self._inputs: dict[tuple[str | None, int | None], Input] = {}
        principals = self._principals = Principals(
            self._instance, self._control, lambda address: self._forwarder.instance_at(address)
        )
        self._forwarder = Forwarder(
            self._instance, self._control.catalog, Envelope, self._waiting.reachable, principals
        )
        self._limit()

    @property
    def catalog(self) -> CatalogView:
        """Return the version of the catalog by which it decides."""
        return self._forwarder.catalog

    @property
    def held(self) -> tuple[int, int]:
        """Return how many frames are held in memory, and their bytes; any thread may ask."""
        return len(self._waiting), self._waiting.size

    @property
    def is_idle(self) -> bool:
        """Tell whether only a record can give it something to do."""
        return not (
            self._waiting or self._principals.are_asked_for or self._remote_producers.are_used
        )

    def notes(self) -> Mapping[Where, str]:
        """Return where the held copies are from (``spans``)."""
        return self._waiting.notes()

    def under_way(self) -> Iterator[Position]:
        """Yield where the copies were read that another cluster has not confirmed yet."""
        return (source_of(message) for message in self._remote_producers.under_way())

    def follow_catalog(self) -> bool:
        """Take over a new version of the catalog, also while nothing comes: copies are held.

        Tells whether there was one.
        """
        catalog = self._control.catalog
        if catalog is self._forwarder.catalog:
            return False
        if self._instance not in catalog.instances:
            raise SurroundingsError(f"The catalog has {self._instance} no longer.")
        self._forwarder.switch(catalog)
        self._limit()
        return True

    def entrances(self) -> list[str]:
        """Return the topics that other clusters write, by the catalog; one for each of them."""
        writers, topics = self.catalog.ingress.get(self._instance, ()), self._cluster.topics
        found = {topics.ingress(self._instance, cluster): cluster for cluster in writers}
        self._writers.update(found)
        return sorted(found)

    def _limit(self) -> None:
        size = self._forwarder.catalog.forward_bytes[self._instance]
        self._waiting.limit(size)
        self._remote_producers.limit(size)

    # --- records ---------------------------------------------------------------------------------

    def pass_on(self, batch: list[Message]) -> None:
        """Decide what was read together, and note how far that is."""
        now, read_at = self._control.now(), time.monotonic()
        take, inputs = self._fast_path.take, self._batch(now)
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
            except (HoplineError, KafkaException):
                raise
            except Exception as error:  # it would fail again after every restart, for all others
                log.exception("%s: %s was not passed on", self._instance, source_of(message))
                text = f"it cannot be handled: {type(error).__name__}"
                self._corrupted(message, MalformedError(text), now)
            source.last = message
            self.passed += 1
        self._note_positions()

    def _batch(self, now: int) -> Mapping[tuple[str | None, int | None], Input]:
        """Begin a batch: what was decided in the last one may not hold any more."""
        self._fast_path.begin(self._forwarder, now)
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
                self._tracker.note((source.topic, source.partition), offset + 1)
                source.last = None

    def _not_a_record(self, message: Message, error: KafkaError) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            # The end lies behind the markers of transactions, which are no records: without this
            # the position would never say that everything has left `out`, and retries would wait.
            topic, partition, offset = source_of(message)
            self._tracker.note((topic, partition), offset or 0)
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise SurroundingsError(
                f"{self._instance}: {error.str()}",
                "Records before the committed position are gone, or the topic was made anew.",
            )
        elif is_fatal(error):
            raise KafkaException(error)
        else:
            log.warning("%s: %s", self._instance, error.str())

    def _decide(
        self, source: Input, message: Message, headers: Headers, now: int, read_at: float
    ) -> None:
        """Take the long way, and learn from it what the short one needs."""
        record = self._record(source.origin, message, headers)
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
            is_remote = lane.instance in self._forwarder.catalog.neighbours
            cross = partial(self._cross, source.origin, lane.instance) if is_remote else None
            lanes = source.acks if record.is_ack else source.lanes
            topic = self._topic(lane.place, lane.instance, lane.database)
            lanes[record.route] = Known(lane, topic, cross)

    def _perform(self, message: Message, record: Record, outcome: Outcome) -> None:
        source = source_of(message)
        stamp = min(max(message.timestamp()[1], 0), self._control.now())
        for copy in outcome.copies:
            headers: Headers = [(ROUTE, copy.route), (HOP, copy.hop)]
            if record.message is not None:
                headers.insert(1, (MESSAGE, record.message))
            if copy.instance in self._forwarder.catalog.neighbours:
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
            topic = self._topic(Place.ACK, self._instance, status.database)
            key = str(status.conversation).encode()
            self._delivery.produce(source, topic, key, encode_status(status))
        if outcome.event is not None:
            self._delivery.emit(source, record.key, outcome.event)

    def _cross(
        self, origin: Origin, instance: str, message: Message, headers: Headers, stamp: int
    ) -> None:
        """Hand a copy over to another cluster, or hold it."""
        crossed = Crossed(message, origin, instance)
        if not self._remote_producers.take(crossed, headers, stamp):
            self._hold_back(crossed)

    def _topic(self, place: Place, instance: str, database: str | None = None) -> str:
        home = home_of(self._forwarder.catalog, instance, database)
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
            instance=self._instance,
            error=error.number,
            detail=str(error),
            topic=topic,
            partition=partition,
            offset=offset,
        )
        self._delivery.emit(source, short(message.key()), told)

    # --- held copies -----------------------------------------------------------------------------

    def look_around(self) -> None:
        """Hear who is the principal of which pair, and let go what was held and can leave."""
        now = self._control.now()
        for told in self._principals.look(now):
            self._delivery.emit((self._out, 0, None), None, told)
        if self._waiting:
            self._release(now)

    def _hold(self, message: Message, record: Record, now: int) -> Outcome:
        held = Held(message, record, Envelope.hop(record.hop).expires_at)
        number = self._waiting.add(self._forwarder.hold_key(record), held)
        return HELD if number is None else self._forwarder.refuse(record, number, now)

    def _release(self, now: int) -> None:
        for held in self._waiting.due(now):
            outcome = self._forwarder.release(held.record, now)
            if outcome is HELD:
                outcome = self._hold(held.message, held.record, now)
            self._perform(held.message, held.record, outcome)

    def take_back(self) -> None:
        """Hold what another cluster did not confirm; tell of what it will never take (11292)."""
        for crossed, why in self._remote_producers.come_back():
            message = crossed.message
            if why is not None:
                topic = self._remote_producers.topic(crossed.instance)
                self._delivery.give_up(why, topic, message.key(), source_of(message))
                continue
            try:
                self._hold_back(crossed)
            except MalformedError as broken:  # only who holds it looks at its key and message
                self._corrupted(message, broken, self._control.now())

    def _hold_back(self, crossed: Crossed) -> None:
        """Hold what another cluster did not take; what began here its dialog keeps and retries."""
        message, now = crossed.message, self._control.now()
        record = self._record(crossed.origin, message, headers_of(message))
        if crossed.origin is Origin.OUTSIDE:
            self._waiting.refused(crossed.instance)
            self._perform(message, record, self._hold(message, record, now))
        elif self._forwarder.catalog.transports[self._instance] is not Transport.ALL:
            told = self._forwarder.refuse(record, Number.TARGET_UNREACHABLE, now)
            self._perform(message, record, told)

    def settle(self) -> None:
        """Wait for other clusters: what has not arrived there is somebody else's from now on."""
        self._remote_producers.settle()
        self.take_back()

    def _record(self, origin: Origin, message: Message, headers: Headers) -> Record:
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
        writer = self._writers.get(message.topic())
        return Record(origin, key, route, hop, len(message), body is None, body, writer)
