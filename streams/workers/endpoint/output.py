"""Write the output of an endpoint worker's transaction.

All records are encoded before any record is produced, so an encoding error does not require an
abort. (If records were produced immediately before an abort, the abort may break the client,
librdkafka issue 4849.)
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from streams.kafka import Headers, KafkaError, KafkaException, Message, Producer, headers_of
from streams.node import OutFrame, Transaction
from streams.times import AGE, plausible
from streams.wire import Topics, encode_event, encode_result
from streams.wire.commands import ResultRecord
from streams.wire.records import (
    ack_record,
    command_record,
    message_record,
    moved_headers,
    queue_record,
)
from streams.wire.state import (
    Positions,
    encode_chunk,
    encode_dialog,
    encode_positions,
    encode_request,
    encode_seen,
)
from streams.wire.state_keys import POSITIONS_KEY, RequestKey, SeenKey, chunk_key, dialog_key
from streams.workers.endpoint.rounds import Rounds
from streams.workers.produce_when_full import Room

log = logging.getLogger("hopline.endpoint")

Report = Callable[[KafkaError | None, Message], None]
_FLUSH = 15.0
"""Seconds to wait until Kafka has confirmed the records of a transaction."""

_REPORT = 1.0
"""Seconds to wait until Kafka confirms events that are not part of a transaction; the client
retries later."""


class Output:
    """Encode the records of a transaction partition by partition, and produce them together.

    ``stop`` ends the wait for space in the client's queue with SurroundingsError. Only the last
    copy has a delivery report; other reports are unnecessary, because a transaction with an
    undelivered record cannot be committed. If there is a ``reporter``, this producer writes the
    events after the commit.
    """

    def __init__(
        self,
        topics: Topics,
        instance: str,
        producer: Producer,
        stop: threading.Event,
        reporter: Producer | None = None,
    ) -> None:
        self._topics = topics
        self._instance = instance
        self._stop = stop
        self._producer = producer
        self._room = Room(producer, instance, stop)
        self._out = topics.out(instance)
        self._cmd = topics.cmd(instance)
        self._in = topics.inbox(instance)
        self._dialog = topics.dialog(instance)
        self._out_ends: dict[int, int] = {}
        self._records = Rounds()
        self._reporter = reporter
        self._events: list[tuple[bytes | None, bytes]] = []

    def begin(self) -> None:
        """Drop the previous transaction's records and events, and the offsets of its last
        copies."""
        self._out_ends.clear()
        self._records.clear()
        self._events.clear()

    def out_end(self, partition: int) -> int:
        """Return the offset in ``out`` of a partition's last copy, after the flush."""
        return self._out_ends.get(partition, -1)

    def send(self) -> None:
        """Produce all records, round by round, and wait until Kafka has confirmed them.

        If records are missing, the commit fails. Raises KafkaException for a record that Kafka
        never accepts.
        """
        produce, end = self._producer.produce, time.monotonic() + _FLUSH
        for records in self._records:
            for record in records:
                try:
                    produce(*record)
                except BufferError:
                    self._room.produce(*record)
            records.clear()  # the client owns the bodies now
            self._producer.flush(max(0, end - time.monotonic()))

    def report(self) -> None:
        """Write the events of a committed transaction that were not written within it."""
        if self._reporter is None or not self._events:
            return
        room = Room(self._reporter, self._instance, self._stop)
        try:
            for key, value in self._events:
                room.produce(self._topics.event, key=key, value=value)
        except KafkaException as error:  # not raised, because the transaction has been committed
            log.warning("%s: events were not written: %s", self._instance, error.args[0].str())
        self._events.clear()
        self._reporter.flush(_REPORT)

    def move(self, tx: Transaction, bodies: Sequence[Message]) -> None:
        """Copy bodies to the ends of their topics, and record their new offsets."""
        places: dict[str, dict[int, int]] = {self._cmd: {}, self._in: {}}
        for body in bodies:
            topic, offset = body.topic() or "", body.offset() or 0
            timestamp = plausible(body.timestamp()[1], tx.now)
            report = partial(_note, places[topic], offset)
            headers = moved_headers(headers_of(body))
            record = body.value(), body.key(), body.partition()
            self._room.produce(topic, *record, report, None, timestamp, headers)
        if bodies:
            self._producer.flush(_FLUSH)
            for machine in tx.machines.values():
                touched = machine.dialog.move_bodies(places[self._cmd], places[self._in])
                machine.touched_chunks.update(touched)

    def write(self, tx: Transaction, partition: int, positions: Positions) -> None:
        """Encode a part; after an error, nothing has been sent to Kafka."""
        last, oldest = len(tx.frames) - 1, tx.now - AGE
        for index, frame in enumerate(tx.frames):
            report = self._last_copy if index == last else None
            self._write(self._out, *_frame_record(frame), partition, report)
        for m in tx.queued:
            topic = self._topics.queue(self._instance, m.database, m.queue)
            at = m.header.enqueued_at
            if not oldest <= at <= tx.now:  # Kafka would reject it and the whole transaction
                at = plausible(at, tx.now)
            record = queue_record(
                m.group, m.conversation, m.parties, m.header, m.journey, m.body, m.priority
            )
            self._write(topic, *record, timestamp=at)
        for result in tx.results:
            answer = ResultRecord(result.command_id, result.conversation, result.number)
            self._write(
                self._topics.result(self._instance),
                result.reply_to.encode(),
                encode_result(answer),
            )
        for event in tx.events:
            conversation = event.get("conversation")
            about = conversation.encode() if conversation else None
            if self._reporter is None:
                self._write(self._topics.event, about, encode_event(event))
            else:
                self._events.append((about, encode_event(event)))
        for command in tx.notices.said:  # the database's own commands, to be read like others
            key, value, headers = command_record(command)
            self._write(self._cmd, key, value, headers, partition)
        self._write_state(tx, partition, positions)

    def _write_state(self, tx: Transaction, partition: int, positions: Positions) -> None:
        for at, machine in tx.machines.items():
            dialog = machine.dialog
            value = None
            if not machine.forgotten:
                value = tx.records[at] = encode_dialog(dialog)
            key = dialog_key(at)
            self._write(self._dialog, key, value, None, partition)
            if not machine.touched_chunks:
                continue
            chunks = tx.chunks[at] = {}
            for number in machine.touched_chunks:
                chunk = dialog.chunks.get(number)
                body = chunks[number] = encode_chunk(chunk) if chunk is not None else None
                self._write(self._dialog, chunk_key(key, number), body, None, partition)
        for (database, service), request in tx.notices.changed.items():
            key = RequestKey(database, service).encode()
            self._write(self._dialog, key, encode_request(request), partition=partition)
        for forgotten in tx.notices.forgotten:
            self._write(self._dialog, RequestKey(*forgotten).encode(), None, partition=partition)
        for source, seen in tx.seen.items():
            self._write(
                self._dialog, SeenKey(source).encode(), encode_seen(seen), partition=partition
            )
        for source in tx.forgotten_sources:
            self._write(self._dialog, SeenKey(source).encode(), None, partition=partition)
        self._write(self._dialog, POSITIONS_KEY, encode_positions(positions), partition=partition)

    def _write(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Headers | None = None,
        partition: int = -1,
        report: Report | None = None,
        timestamp: int = 0,
    ) -> None:
        # Positional arguments are faster: ..., callback, on_delivery, timestamp, headers.
        record = topic, value, key, partition, report, None, timestamp, headers
        self._records.add(topic, value, record)

    def _last_copy(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._out_ends[message.partition() or 0] = message.offset() or 0


def _note(places: dict[int, int], offset: int, error: KafkaError | None, copy: Message) -> None:
    """Record the offset of a copy; if a copy is not delivered, its transaction fails."""
    if error is None:
        places[offset] = copy.offset() or 0


def _frame_record(frame: OutFrame) -> tuple[bytes, bytes | None, Headers]:
    if frame.ack is not None:
        return ack_record(frame.conversation, frame.parties, frame.ack, frame.journey)
    assert frame.header is not None
    return message_record(
        frame.conversation, frame.parties, frame.header, frame.journey, frame.body
    )
