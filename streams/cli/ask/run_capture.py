"""Write a simulated run as a capture, in which every topic has the same bytes as on Kafka."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from streams.capture import CaptureOrigin, CaptureWriter, Metadata, Record, TimestampType
from streams.node import OutFrame, QueueMessage
from streams.protocol import Command, Status
from streams.simulator import START, Simulation
from streams.simulator.records import TopicRecord, topic_records
from streams.wire import Topics, encode_event, encode_status
from streams.wire.evolution import own_schemas
from streams.wire.records import (
    INSIDE,
    ORIGIN,
    OUTSIDE,
    Wire,
    ack_record,
    command_record,
    message_record,
    queue_record,
)

TOPICS = Topics()
_RANKS = ("cmd", "out", "txq", "in", "ack", "queue", "event")


def write_run(path: Path, run: Simulation, topology: str) -> int:
    """Write the capture of a completed run; return its number of records.

    Records are in timestamp order; the records of one topic are in offset order. Raises UsageError
    if the file cannot be written.
    """
    ordered = []
    latest: defaultdict[str, int] = defaultdict(int)
    for record in topic_records(run):
        topic = _topic(record)
        latest[topic] = at = max(latest[topic], record.timestamp)
        ordered.append((at, _RANKS.index(record.kind), topic, record.offset, record))
    ordered.sort(key=lambda item: item[:4])
    metadata = Metadata(CaptureOrigin.GENERATED, TOPICS.prefix, topology, START, own_schemas())
    with CaptureWriter(path, metadata) as writer:
        for *_, topic, offset, record in ordered:
            key, value, headers = _wire(record)
            writer.write(
                Record(
                    topic,
                    0,
                    offset,
                    record.timestamp,
                    TimestampType.LOG_APPEND_TIME
                    if record.kind == "in"
                    else TimestampType.CREATE_TIME,
                    key or None,
                    tuple(headers),
                    value,
                )
            )
    return len(ordered)


def _topic(record: TopicRecord) -> str:
    if record.kind == "event":
        return TOPICS.event
    if isinstance(record.value, QueueMessage):
        return TOPICS.queue(record.instance, record.value.database, record.value.queue)
    return TOPICS.name(record.kind, record.instance)


def _wire(record: TopicRecord) -> Wire:
    """Return key, value and headers, as applications and workers write them."""
    match record.value:
        case Command() as command:
            return command_record(command)
        case OutFrame() as frame:
            return _frame(frame, record)
        case Status() as status:
            return str(status.conversation).encode("ascii"), encode_status(status), []
        case QueueMessage() as m:
            return queue_record(
                m.group, m.conversation, m.parties, m.header, m.journey, m.body, m.priority
            )
        case event:
            return (event["conversation"] or "").encode("ascii"), encode_event(event), []


def _frame(frame: OutFrame, record: TopicRecord) -> Wire:
    about = frame.conversation, frame.parties
    if frame.ack is not None:
        return ack_record(*about, frame.ack, frame.journey)
    assert frame.header is not None, "a frame is a message or an acknowledgement"
    key, value, headers = message_record(*about, frame.header, frame.journey, frame.body)
    if record.kind == "in":
        headers.append((ORIGIN, INSIDE if record.inside else OUTSIDE))
    return key, value, headers
