"""The views of messages in transit: forwarded messages, and connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from streams.kafka import Cluster, Message, headers_of, partitions_of, read_all, read_notes
from streams.live.views.places import Asked, Row, words
from streams.routing import AddressKind, parse_address
from streams.topology import Instance, Topology, instance_at
from streams.wire import MalformedError, decode_presence, period_in
from streams.wire.records import read_message
from streams.wire.spans import spans_in

_SILENT_MS = 5_000
"""Milliseconds without a heartbeat after which an instance counts as unreachable."""


def forwarded_messages(asked: Asked) -> Iterator[Row]:
    """Yield the rows of ``sys.dm_broker_forwarded_messages``: records that await the forwarder.

    The metadata of the forwarder's committed offset lists its buffered copies.
    """
    for place in asked.places:
        name = place.instance.name
        group = f"{asked.cluster.topics.prefix}forwarder.{name}"
        topics = asked.cluster.topics
        entrances = (i.cluster for i in asked.topology.ingress if i.gateway == name)
        for topic in (topics.txq(name), *(topics.ingress(name, other) for other in entrances)):
            for message in _ahead(asked.cluster, topic, group):
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
    """Yield the rows of ``sys.dm_broker_connections``: the instances to which routes lead.

    There are no connections between instances; a row represents the other forwarder's heartbeat.
    """
    alive = _last_heartbeats(asked.cluster)
    for place in asked.places:
        for other in _neighbours(asked.topology, place.instance):
            seen = alive.get(other)
            open_ = seen is not None and asked.now - seen[0] < _SILENT_MS * seen[1]
            yield {
                **dict.fromkeys(CONNECTION_COLUMNS),
                "instance": place.instance.name,
                "state": 3 if open_ else 5,
                "state_desc": "CONNECTED" if open_ else "CLOSED",
                "last_activity_time": None if seen is None else seen[0],
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


def _last_heartbeats(cluster: Cluster) -> dict[str, tuple[int, float]]:
    """Return the time of each forwarder's last heartbeat, by the broker's clock.

    The second value is the period in seconds after which the next heartbeat was due.
    """
    seen: dict[str, tuple[int, float]] = {}
    for message in read_all(cluster, cluster.topics.presence, skips=True):
        with suppress(MalformedError):
            heartbeat = decode_presence(message.value())
            seen[heartbeat["instance"]] = message.timestamp()[1], period_in(heartbeat)
    return seen


def _ahead(cluster: Cluster, topic: str, group: str) -> Iterator[Message]:
    """Yield the records of a topic that a forwarder has not read or that it buffers."""
    partitions_of(cluster, topic)  # the error explains how to create a missing topic
    notes = read_notes(cluster, group, [topic])
    held = {place: spans_in(note) for place, (_, note) in notes.items()}
    for message in read_all(cluster, topic):
        place, offset = (topic, message.partition() or 0), message.offset() or 0
        passed, _ = notes.get(place, (0, ""))
        if offset >= passed or any(offset in span for span in held.get(place, ())):
            yield message
