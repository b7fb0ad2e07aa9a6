"""The views over what is on its way: forwarded messages, connections; and what a queue holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from streams.kafka import Cluster, Message, headers_of, partitions_of, read_all, read_notes
from streams.live.places import Asked, Row, words
from streams.protocol import Flag
from streams.routing import AddressKind, parse_address
from streams.topology import (
    Database,
    Instance,
    Queue,
    Topology,
    Validation,
    home_of,
    instance_at,
    queues_of,
)
from streams.wire import MalformedError, decode_presence
from streams.wire.records import priority_of, read_message, read_queued
from streams.wire.spans import spans_in

_SILENT_MS = 5_000
"""An instance whose forwarder has said nothing for as long counts as unreachable."""
_VALIDATED = {
    Validation.EMPTY: "E",
    Validation.NONE: "N",
    Validation.WELL_FORMED_XML: "X",
    Validation.VALID_XML: "X",
}


def forwarded_messages(asked: Asked) -> Iterator[Row]:
    """Yield the rows of ``sys.dm_broker_forwarded_messages``: what the forwarder has not passed.

    What it holds in memory for a next hop that is unreachable it has noted beside its position.
    """
    for place in asked.places:
        name = place.instance.name
        group = f"{asked.cluster.topics.prefix}forwarder.{name}"
        for message in _unread(asked.cluster, asked.cluster.topics.txq(name), group):
            with suppress(MalformedError):
                yield _forwarded(asked, name, message)


def _forwarded(asked: Asked, instance: str, message: Message) -> Row:
    frame = read_message(message.key(), message.value(), headers_of(message))
    parties, header, journey = frame.parties, frame.header, frame.journey
    came_from = asked.topology.instance(journey.path[-1][0]) if journey.path else None
    return {
        "instance": instance,
        "conversation_id": str(frame.conversation),
        "is_initiator": parties.from_initiator,
        "to_service_name": parties.to_service,
        "to_broker_instance": parties.to_broker,
        "from_service_name": parties.from_service,
        "from_broker_instance": parties.from_broker,
        "adjacent_broker_address": str(came_from.address) if came_from else None,
        "message_sequence_number": header.sequence,
        "message_fragment_number": header.fragment,
        "hops_remaining": journey.hops_remaining,
        "time_to_live": (journey.expires_at - journey.sent_at) // 1000,
        "time_consumed": max(0, asked.now - journey.sent_at) // 1000,
        "message_id": str(header.message_id),
    }


def connections(asked: Asked) -> Iterator[Row]:
    """Yield the rows of ``sys.dm_broker_connections``: the instances that routes lead to.

    There are no connections between instances; what stands for one is the sign of life that the
    other's forwarder gives.
    """
    alive = _signs_of_life(asked.cluster)
    for place in asked.places:
        for other in _neighbours(asked.topology, place.instance):
            seen = alive.get(other)
            open_ = seen is not None and asked.now - seen < _SILENT_MS
            yield {
                **dict.fromkeys(CONNECTION_COLUMNS),
                "instance": place.instance.name,
                "state": 3 if open_ else 5,
                "state_desc": "CONNECTED" if open_ else "CLOSED",
                "last_activity_time": seen,
                "is_accept": False,
                "peer_instance": other,
            }


CONNECTION_COLUMNS = words(
    """instance connection_id transport_stream_id state state_desc connect_time login_time
    authentication_method principal_name remote_user_name last_activity_time is_accept
    login_state login_state_desc peer_certificate_id encryption_algorithm
    encryption_algorithm_desc receives_posted is_receive_flow_controlled sends_posted
    is_send_flow_controlled total_bytes_sent total_bytes_received total_fragments_sent
    total_fragments_received total_sends total_receives peer_arbitration_id peer_instance"""
)


def _neighbours(topology: Topology, instance: Instance) -> list[str]:
    found: dict[str, None] = {}
    for database in (*instance.databases.values(), instance.msdb):
        for route in database.routes:
            for text in (route.address, route.mirror):
                address = parse_address(text) if text else None
                if address is not None and address.kind is AddressKind.NETWORK:
                    leads = instance_at(topology, address, instance.name)
                    if leads is not None and leads != instance.name:
                        found[leads] = None
    return list(found)


def _signs_of_life(cluster: Cluster) -> dict[str, int]:
    """Return when each instance's forwarder was last heard of, by the broker's clock."""
    seen: dict[str, int] = {}
    for message in read_all(cluster, cluster.topics.presence):
        with suppress(MalformedError):
            seen[decode_presence(message.value())["instance"]] = message.timestamp()[1]
    return seen


def queue_rows(asked: Asked, instance: Instance, database: Database, queue: Queue) -> Iterator[Row]:
    """Yield what a queue holds: what its reading group has not passed, else its whole topic."""
    home = home_of(instance.name, database)
    topic = asked.cluster.topics.queue(home, database.name, queue.name)
    types = {t.name: t.validation for t in database.message_types.values()}
    for message in _unread(asked.cluster, topic, queue.group):
        with suppress(MalformedError):
            headers = headers_of(message)
            frame = read_queued(message.value(), headers)
            header = frame.header
            key = message.key()
            yield {
                "instance": instance.name,
                "database": database.name,
                "status": 1,
                "priority": priority_of(headers),
                "queuing_order": message.offset(),
                "conversation_group_id": key.decode() if isinstance(key, bytes) else key,
                "conversation_handle": None,
                "conversation_id": str(frame.conversation),
                "message_sequence_number": header.sequence,
                "service_name": frame.parties.to_service,
                "service_id": None,
                "service_contract_name": frame.parties.contract,
                "service_contract_id": None,
                "message_type_name": header.type,
                "message_type_id": None,
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
    """Yield the queues whose name occurs in a text, in any case."""
    folded = text.casefold()
    for instance, database in asked.databases():
        for queue in queues_of(database):
            if queue.name.casefold() in folded:
                yield instance, database, queue


def _unread(cluster: Cluster, topic: str, group: str | None) -> Iterator[Message]:
    """Yield a topic's records that a group has not passed, all of them without a group.

    What it has passed and holds is not done with either.
    """
    partitions_of(cluster, topic)  # says how a topic comes to be that is not there
    notes = read_notes(cluster, group) if group else {}
    held = {place: spans_in(note) for place, (_, note) in notes.items()}
    for message in read_all(cluster, topic):
        place, offset = (topic, message.partition() or 0), message.offset() or 0
        passed, _ = notes.get(place, (0, ""))
        if offset >= passed or any(offset in span for span in held.get(place, ())):
            yield message
