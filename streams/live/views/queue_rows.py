"""The rows of a service queue, as SELECT returns them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from streams.kafka import Cluster, Message, headers_of, partitions_of, read_all, read_notes
from streams.live.views.places import Asked, Row, words
from streams.node import Progress
from streams.node.object_ids import object_id
from streams.protocol import Flag
from streams.topology import Database, Instance, Queue, Validation, home_of, queues_of
from streams.wire import MalformedError
from streams.wire.plain import text_of_bytes
from streams.wire.records import priority_of, read_queued

_READY = 1
"""The status of a message that can be received (C-16); other messages are in no queue topic."""
_VALIDATED = {
    Validation.EMPTY: "E",
    Validation.NONE: "N",
    Validation.WELL_FORMED_XML: "X",
    Validation.VALID_XML: "X",
}


def queue_rows(asked: Asked, instance: Instance, database: Database, queue: Queue) -> Iterator[Row]:
    """Yield a queue's rows: the messages that its consumer group has not received.

    If the queue has no group, these are all messages.
    """
    topic = asked.cluster.topics.queue(home_of(instance.name, database), database.name, queue.name)
    types = {t.name: t.validation for t in database.message_types.values()}
    for message in _left(asked.cluster, topic, queue.reading_group):
        with suppress(MalformedError):
            headers = headers_of(message)
            frame = read_queued(message.value(), headers)
            header = frame.header
            key = message.key()
            yield {
                "instance": instance.name,
                "database": database.name,
                "status": _READY,
                "priority": priority_of(headers),
                "queuing_order": message.offset(),
                "conversation_group_id": text_of_bytes(key) if isinstance(key, bytes) else key,
                "conversation_handle": None,
                "conversation_id": str(frame.conversation),
                "message_sequence_number": header.sequence,
                "service_name": frame.parties.to_service,
                "service_id": object_id(frame.parties.to_service),
                "service_contract_name": frame.parties.contract,
                "service_contract_id": object_id(frame.parties.contract),
                "message_type_name": header.type,
                "message_type_id": object_id(header.type),
                "validation": _VALIDATED[types.get(header.type, Validation.NONE)],
                "message_body": frame.body,
                "message_id": str(header.message_id),
                "message_enqueue_time": message.timestamp()[1],
                "is_end_of_dialog": bool(header.flags & Flag.END),
            }


ROW_COLUMNS = words(
    """instance database status priority queuing_order conversation_group_id conversation_handle
    conversation_id message_sequence_number service_name service_id service_contract_name
    service_contract_id message_type_name message_type_id validation message_body message_id
    message_enqueue_time is_end_of_dialog"""
)


def queues_named(asked: Asked, text: str) -> Iterator[tuple[Instance, Database, Queue]]:
    """Yield the queues whose name occurs in a string, in any case."""
    folded = text.casefold()
    for instance, database in asked.databases():
        for queue in queues_of(database):
            if queue.name.casefold() in folded:
                yield instance, database, queue


def _left(cluster: Cluster, topic: str, group: str | None) -> Iterator[Message]:
    """Yield the records that a consumer group has not received; without a group, all records."""
    partitions_of(cluster, topic)  # the error explains how to create a missing topic
    notes = read_notes(cluster, group, [topic]) if group else {}
    received = {place: Progress.decode(at, note) for place, (at, note) in notes.items()}
    for message in read_all(cluster, topic):
        place = topic, message.partition() or 0
        if not received.get(place, Progress()).has(message.offset() or 0):
            yield message
