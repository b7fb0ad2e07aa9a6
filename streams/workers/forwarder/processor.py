"""Process the records of a forwarder: forward, buffer in memory, or drop.

``node`` decides (:class:`streams.node.Forwarder`), and ``outcome_writer`` writes. Most records take
the fast path (``fast_path``), which reuses the decision for the first record of their route. The
forwarder never waits for another cluster; unconfirmed copies are buffered.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping

from streams.errors import Number, SurroundingsError
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
from streams.wire import Envelope, UnknownSchemaError
from streams.workers.control import Control
from streams.workers.forwarder.admission import admission
from streams.workers.forwarder.buffered_copies import BufferedCopy
from streams.workers.forwarder.fast_path import FastPath, Input
from streams.workers.forwarder.local_producer import LocalProducer, source_of
from streams.workers.forwarder.offset_tracker import OffsetTracker, Position, Where
from streams.workers.forwarder.outcome_writer import OutcomeWriter
from streams.workers.forwarder.postponed_events import PostponedEvents
from streams.workers.forwarder.read_record import read_record
from streams.workers.forwarder.remote_producers import RemoteCopy
from streams.workers.forwarder.restart_state import Lasting
from streams.workers.forwarder.topic_names import TopicNames
from streams.workers.ownership import PairOwnership
from streams.workers.pulse import beat

log = logging.getLogger("hopline.forwarder")


class Processor:
    """Process the records of one forwarder.

    ``out`` contains messages sent from this instance; all other topics contain messages from
    outside. Each other cluster writes to its own topic (``ingress``), which identifies the cluster.
    """

    def __init__(
        self,
        cluster: Cluster,
        ownership: PairOwnership,
        control: Control,
        lasting: Lasting,
        local_producer: LocalProducer,
        tracker: OffsetTracker,
    ) -> None:
        self._instance = ownership.instance
        self._control, self._lasting = control, lasting
        self._out = cluster.topics.out(ownership.home)
        # Messages from another instance are addressed to the instance, regardless of the database.
        self._txq = None if ownership.may_go else cluster.topics.txq(self._instance)
        self._topics = TopicNames(cluster.topics, self._instance)
        self._buffered, self._remote_producers = lasting.buffered, lasting.remote_producers
        self.local_producer, self.tracker = local_producer, tracker
        self._inputs: dict[tuple[str | None, int | None], Input] = {}
        self._principals = Principals(
            self._instance, control, lambda address: self._forwarder.instance_at(address)
        )
        self._forwarder = Forwarder(
            self._instance, control.catalog, Envelope, self._buffered.reachable, self._principals
        )
        self._outcomes = OutcomeWriter(
            self._forwarder, local_producer, self._topics, self._write_remote, control.now
        )
        self.postponed = PostponedEvents(local_producer, self._outcomes)
        self._fast_path = FastPath(local_producer, self._topics, self._write_remote, self.postponed)
        self._limit()

    @property
    def catalog(self) -> CatalogView:
        """Return the catalog version in use."""
        return self._forwarder.catalog

    @property
    def is_idle(self) -> bool:
        """Return whether there is no work until a record arrives."""
        return not (
            self._buffered or self._principals.are_asked_for or self._remote_producers.are_used
        )

    def notes(self) -> Mapping[Where, str]:
        """Return the source offsets of buffered copies (``spans``)."""
        return self._buffered.notes()

    def unfinished(self) -> Iterator[Position]:
        """Yield the sources of unconfirmed copies, and of drops not reported yet."""
        yield from map(source_of, self._remote_producers.in_flight())
        yield from self.postponed.positions()

    def follow_catalog(self) -> bool:
        """Switch to a new catalog version, which may affect buffered copies without new records.

        Returns whether there was a new version.
        """
        catalog = self._control.catalog
        if catalog is self._forwarder.catalog:
            return False
        if self._instance not in catalog.instances:
            raise SurroundingsError(f"The catalog no longer has {self._instance}.")
        self._forwarder.switch(catalog)
        self._limit()
        return True

    def inputs(self) -> list[str]:
        """Return the topics to read; the catalog may add and remove topics of other clusters."""
        if self._txq is None:
            return [self._out]
        return [self._out, self._txq, *self._topics.ingress(self.catalog)]

    def _limit(self) -> None:
        size = self._forwarder.catalog.forward_bytes[self._instance]
        self._buffered.limit(size)
        self._remote_producers.limit(size)

    # --- records ---------------------------------------------------------------------------------

    def pass_on(self, batch: list[Message]) -> None:
        """Process records that were read together, and record the progress."""
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
                headers = source.headers(message)
                if not take(source, message, headers):
                    self._decide(source, message, headers, now, read_at)
            except Exception as failure:
                self._outcomes.write_failed(message, failure)
            source.last = message
            self._lasting.decided += 1
        self._note_positions()

    def _batch(self, now: int) -> Mapping[tuple[str | None, int | None], Input]:
        """Begin a batch; the decisions of the previous batch may be outdated."""
        self._fast_path.begin(self._forwarder, now)
        for source in self._inputs.values():
            source.lanes.clear()
            source.acks.clear()
        return self._inputs

    def _input(self, topic: str | None, partition: int | None) -> Input:
        assert topic is not None and partition is not None
        origin = Origin.INSIDE if topic == self._out else Origin.OUTSIDE
        read = admission(self._control.now) if topic in self._topics.writers else headers_of
        found = Input(topic, partition, origin, self.local_producer.report(topic, partition), read)
        return self._inputs.setdefault((topic, partition), found)

    def _note_positions(self) -> None:
        for source in self._inputs.values():
            if source.last is not None:
                topic, partition, offset = source_of(source.last)
                self.tracker.note((topic, partition), offset + 1)
                source.last = None

    def _not_a_record(self, message: Message, error: KafkaError) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            # The end is after transaction markers, which are not records. Without this step, the
            # offset would never show that all records of `out` were processed, and retries would
            # wait.
            topic, partition, offset = source_of(message)
            self.tracker.note((topic, partition), offset or 0)
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise SurroundingsError(
                f"{self._instance}: {error.str()}",
                "Records after the committed offset were deleted, or the topic was recreated. If "
                "this was done on purpose, set the offset of the worker's group to the beginning "
                "of the log (kafka-consumer-groups.sh --reset-offsets --to-earliest).",
            )
        elif is_fatal(error):
            raise KafkaException(error)
        else:
            log.warning("%s: %s", self._instance, error.str())

    def _decide(
        self, source: Input, message: Message, headers: Headers, now: int, read_at: float
    ) -> None:
        """Let ``node`` decide for the route in this batch, or only for this record."""
        beat()  # thousands of decisions in a batch may take longer than the hang timeout
        record = self._record(source.origin, message, headers)
        try:
            outcome = self._outcome(source, message, headers, record, now)
        except UnknownSchemaError:
            self._control.try_catch_up(read_at)
            outcome = self._outcome(source, message, headers, record, now)
        if outcome is None:
            return
        if outcome is HELD:
            outcome = self._hold(message, record, now)
        self._outcomes.write(message, record, outcome)

    def _outcome(
        self, source: Input, message: Message, headers: Headers, record: Record, now: int
    ) -> Outcome | None:
        """Return the outcome of a record; None if it took the fast path after all."""
        if self._fast_path.find_lane(source, record):
            report = self.local_producer.report(*source_of(message))
            if self._fast_path.take(source, message, headers, report):
                return None
        outcome = self._forwarder.handle(record, now)
        self._fast_path.note_drop(source, record, outcome)
        return outcome

    def _write_remote(
        self, origin: Origin, instance: str, message: Message, headers: Headers, stamp: int
    ) -> None:
        """Send a copy to another cluster, or buffer it."""
        copy = RemoteCopy(message, origin, instance)
        if not self._remote_producers.take(copy, headers, stamp):
            self._hold_back(copy)

    # --- held copies -----------------------------------------------------------------------------

    def look_around(self) -> None:
        """Find the principals of mirrored pairs, and release buffered copies that can be sent."""
        now = self._control.now()
        try:
            changes = self._principals.look(now)
        except Exception:  # messages name the pairs, so an error would end all forwarders
            log.exception("%s: mirrored routes cannot be evaluated", self._instance)
            self._principals.forget()
            changes = ()
        for change in changes:
            self.local_producer.emit((self._out, 0, None), None, change)
        if self._buffered:
            self._release(now)

    def _hold(self, message: Message, record: Record, now: int, hop: str | None = None) -> Outcome:
        held = BufferedCopy(message, record, Envelope.hop(record.hop).expires_at, refused_by=hop)
        key = self._forwarder.hold_key(record)
        gone = self._buffered.take_expired(key, now)
        if gone is not None:
            self._reconsider(gone, now)
        number = self._buffered.add(key, held)
        return HELD if number is None else self._forwarder.reject(record, number, now)

    def _release(self, now: int) -> None:
        for held in self._buffered.due(now):
            self._reconsider(held, now)

    def _reconsider(self, held: BufferedCopy, now: int) -> None:
        """Forward, drop or rebuffer a copy that was removed from the buffer."""
        try:
            outcome = self._forwarder.release(held.record, now)
            if outcome is HELD:
                outcome = self._hold(held.message, held.record, now)
            self._outcomes.write(held.message, held.record, outcome)
        except Exception as error:
            self._outcomes.write_failed(held.message, error)

    def take_back(self) -> None:
        """Buffer copies that another cluster did not confirm; report rejected copies (11292)."""
        for copy, why in self._remote_producers.come_back():
            try:
                if why is None:
                    self._hold_back(copy)
                    continue
                topic, source = self._remote_producers.topic(copy.instance), source_of(copy.message)
                self.local_producer.give_up(why, topic, copy.message.key(), source)
            except Exception as error:
                self._outcomes.write_failed(copy.message, error)

    def _hold_back(self, copy: RemoteCopy) -> None:
        """Buffer a copy that another cluster did not accept, unless a local dialog retries it."""
        message, now = copy.message, self._control.now()
        record = self._record(copy.origin, message, headers_of(message))
        if copy.origin is Origin.OUTSIDE:
            outcome = self._hold(message, record, now, copy.instance)
            self._outcomes.write(message, record, outcome)
        elif self._forwarder.catalog.transports[self._instance] is not Transport.ALL:
            outcome = self._forwarder.reject(record, Number.TARGET_UNREACHABLE, now)
            self._outcomes.write(message, record, outcome)

    def settle(self) -> None:
        """Wait for other clusters; copies that remain unconfirmed are left to the next owner."""
        self.postponed.write_all()
        self._remote_producers.settle()
        self.take_back()

    def _record(self, origin: Origin, message: Message, headers: Headers) -> Record:
        return read_record(message, headers, origin, self._topics.writers.get(message.topic()))
