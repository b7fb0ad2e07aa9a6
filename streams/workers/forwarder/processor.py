"""What becomes of a record that a forwarder has read: passed on, held in memory, or dropped.

``node`` decides (:class:`streams.node.Forwarder`), and ``outcome_writer`` writes. Most records take
the fast path (:mod:`streams.workers.forwarder.fast_path`), by what was decided for the first one of
their route. Another cluster is never waited for: what it does not confirm is held.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping

from streams.errors import HoplineError, Number, SurroundingsError
from streams.kafka import (
    Cluster,
    Headers,
    KafkaError,
    KafkaException,
    Message,
    headers_of,
    is_fatal,
)
from streams.node import HELD, CatalogView, Forwarder, Outcome, Principals, Record
from streams.routing import Origin
from streams.topology import Transport
from streams.wire import Envelope, MalformedError, UnknownSchemaError
from streams.wire.records import HOP, MESSAGE, ROUTE, header_of
from streams.workers.control import Control
from streams.workers.forwarder.buffered_copies import BufferedCopies, BufferedCopy
from streams.workers.forwarder.delivery import Delivery, source_of
from streams.workers.forwarder.fast_path import FastPath, Input
from streams.workers.forwarder.offset_tracker import OffsetTracker, Position, Where
from streams.workers.forwarder.outcome_writer import OutcomeWriter
from streams.workers.forwarder.remote_producers import RemoteCopy, RemoteProducers
from streams.workers.forwarder.topic_names import TopicNames
from streams.workers.pulse import beat

log = logging.getLogger("hopline.forwarder")


class Processor:
    """The records of one forwarder on their way through its instance.

    ``out`` is the topic of what begins here; whatever is read from another one came from outside.
    Each other cluster writes into a topic of its own (``ingress``), which says that it did.
    """

    def __init__(self, cluster: Cluster, instance: str, control: Control, out: str) -> None:
        self._instance, self._control, self._out = instance, control, out
        self._topics = TopicNames(cluster.topics, instance)
        self._buffered = BufferedCopies(control.reachable)
        self._remote_producers = RemoteProducers(control.remote, cluster.topics)
        self.decided = 0

    def begin(self, delivery: Delivery, tracker: OffsetTracker) -> None:
        """Begin, or begin anew: only what is held and what is under way elsewhere remains."""
        self._delivery, self._tracker = delivery, tracker
        self._fast_path = FastPath(delivery, self._topics, self._write_remote)
        self._inputs: dict[tuple[str | None, int | None], Input] = {}
        principals = self._principals = Principals(
            self._instance, self._control, lambda address: self._forwarder.instance_at(address)
        )
        self._forwarder = Forwarder(
            self._instance,
            self._control.catalog,
            Envelope,
            self._buffered.reachable,
            principals,
        )
        self._outcomes = OutcomeWriter(
            self._forwarder, delivery, self._topics, self._write_remote, self._control.now
        )
        self._limit()

    @property
    def catalog(self) -> CatalogView:
        """Return the version of the catalog by which it decides."""
        return self._forwarder.catalog

    @property
    def buffered(self) -> tuple[int, int]:
        """Return how many frames are held in memory, and their bytes; any thread may ask."""
        return len(self._buffered), self._buffered.size

    @property
    def is_idle(self) -> bool:
        """Tell whether only a record can give it something to do."""
        return not (
            self._buffered or self._principals.are_asked_for or self._remote_producers.are_used
        )

    def notes(self) -> Mapping[Where, str]:
        """Return where the held copies are from (``spans``)."""
        return self._buffered.notes()

    def in_flight(self) -> Iterator[Position]:
        """Yield where the copies were read that another cluster has not confirmed yet."""
        return (source_of(message) for message in self._remote_producers.in_flight())

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

    def ingress_topics(self) -> list[str]:
        """Return the topics that other clusters write, by the catalog; one for each of them."""
        return self._topics.ingress(self.catalog)

    def _limit(self) -> None:
        size = self._forwarder.catalog.forward_bytes[self._instance]
        self._buffered.limit(size)
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
                self._outcomes.write_corrupted(message, broken, now)
            except (HoplineError, KafkaException):
                raise
            except Exception as error:  # it would fail again after every restart, for all others
                log.exception("%s: %s was not passed on", self._instance, source_of(message))
                text = f"it cannot be handled: {type(error).__name__}"
                self._outcomes.write_corrupted(message, MalformedError(text), now)
            source.last = message
            self.decided += 1
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
        """Let ``node`` decide: for the whole route in this batch, else for this record alone."""
        beat()  # a batch of thousands of decisions may take longer than a thread may be silent
        record = self._record(source.origin, message, headers)
        try:
            outcome = self._outcome(source, message, headers, record, now)
        except UnknownSchemaError:
            self._control.catch_up(read_at)
            outcome = self._outcome(source, message, headers, record, now)
        if outcome is None:
            return
        if outcome is HELD:
            outcome = self._hold(message, record, now)
        self._outcomes.write(message, record, outcome)

    def _outcome(
        self, source: Input, message: Message, headers: Headers, record: Record, now: int
    ) -> Outcome | None:
        """Return what becomes of a record; None: it was passed on by the lane of its route."""
        if self._fast_path.find_lane(source, record) and self._fast_path.take(
            source, message, headers
        ):
            return None
        return self._forwarder.handle(record, now)

    def _write_remote(
        self, origin: Origin, instance: str, message: Message, headers: Headers, stamp: int
    ) -> None:
        """Hand a copy over to another cluster, or hold it."""
        copy = RemoteCopy(message, origin, instance)
        if not self._remote_producers.take(copy, headers, stamp):
            self._hold_back(copy)

    # --- held copies -----------------------------------------------------------------------------

    def look_around(self) -> None:
        """Find out the principals of mirrored pairs, and release held copies that can leave."""
        now = self._control.now()
        for change in self._principals.look(now):
            self._delivery.emit((self._out, 0, None), None, change)
        if self._buffered:
            self._release(now)

    def _hold(self, message: Message, record: Record, now: int) -> Outcome:
        held = BufferedCopy(message, record, Envelope.hop(record.hop).expires_at)
        number = self._buffered.add(self._forwarder.hold_key(record), held)
        return HELD if number is None else self._forwarder.reject(record, number, now)

    def _release(self, now: int) -> None:
        for held in self._buffered.due(now):
            outcome = self._forwarder.release(held.record, now)
            if outcome is HELD:
                outcome = self._hold(held.message, held.record, now)
            self._outcomes.write(held.message, held.record, outcome)

    def take_back(self) -> None:
        """Hold what another cluster did not confirm; report what it will never take (11292)."""
        for copy, why in self._remote_producers.come_back():
            message = copy.message
            if why is not None:
                topic = self._remote_producers.topic(copy.instance)
                self._delivery.give_up(why, topic, message.key(), source_of(message))
                continue
            try:
                self._hold_back(copy)
            except MalformedError as broken:  # only who holds it looks at its key and message
                self._outcomes.write_corrupted(message, broken, self._control.now())

    def _hold_back(self, copy: RemoteCopy) -> None:
        """Hold what another cluster did not take; what began here its dialog keeps and retries."""
        message, now = copy.message, self._control.now()
        record = self._record(copy.origin, message, headers_of(message))
        if copy.origin is Origin.OUTSIDE:
            self._buffered.refused(copy.instance)
            self._outcomes.write(message, record, self._hold(message, record, now))
        elif self._forwarder.catalog.transports[self._instance] is not Transport.ALL:
            outcome = self._forwarder.reject(record, Number.TARGET_UNREACHABLE, now)
            self._outcomes.write(message, record, outcome)

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
        writer = self._topics.writers.get(message.topic())
        return Record(origin, key, route, hop, len(message), body is None, body, writer)
