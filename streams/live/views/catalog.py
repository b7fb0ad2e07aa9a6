"""The views of declared objects, from the catalog.

Ids are derived from names (:mod:`streams.node.object_ids`); other numbers that a server assigns
are ``None``. Additional columns contain the names.
"""

from __future__ import annotations

from collections.abc import Iterator

from streams.live.views.places import Asked, Row, words
from streams.node.object_ids import object_id, queue_id
from streams.node.views import routes as route_rows
from streams.topology import EndpointState, queues_of

_STATES = (EndpointState.STARTED, EndpointState.STOPPED, EndpointState.DISABLED)


def routes(asked: Asked) -> Iterator[Row]:
    """Yield the rows of ``sys.routes``."""
    for instance, database in asked.databases():
        yield from route_rows(instance.name, database)


def services(asked: Asked) -> Iterator[Row]:
    """Yield the rows of ``sys.services``."""
    for instance, database in asked.databases():
        for service in database.services.values():
            yield {
                "instance": instance.name,
                "database": database.name,
                "name": service.name,
                "service_id": object_id(service.name),
                "principal_id": None,
                "service_queue_id": queue_id(service.queue),
                "queue_name": service.queue,
            }


def service_queues(asked: Asked) -> Iterator[Row]:
    """Yield the rows of ``sys.service_queues``; ``reading_group`` is the consumer group's name."""
    for instance, database in asked.databases():
        for queue in queues_of(database):
            yield {
                **dict.fromkeys(QUEUE_COLUMNS),
                "instance": instance.name,
                "database": database.name,
                "name": queue.name,
                "object_id": queue_id(queue.name),
                "type": "SQ",
                "type_desc": "SERVICE_QUEUE",
                "is_ms_shipped": False,
                "max_readers": queue.max_readers if queue.activation is not None else 0,
                "activation_procedure": queue.activation,
                # applications read queues; there is no activation
                "is_activation_enabled": False,
                "is_receive_enabled": queue.status,
                "is_enqueue_enabled": queue.status,
                "is_retention_enabled": queue.retention,
                "is_poison_message_handling_enabled": queue.poison_message_handling,
                "reading_group": queue.group,
            }


QUEUE_COLUMNS = words(
    """instance database name object_id principal_id schema_id parent_object_id type type_desc
    create_date modify_date is_ms_shipped is_published is_schema_published max_readers
    activation_procedure execute_as_principal_id is_activation_enabled is_receive_enabled
    is_enqueue_enabled is_retention_enabled is_poison_message_handling_enabled reading_group"""
)


def service_broker_endpoints(asked: Asked) -> Iterator[Row]:
    """Yield the rows of ``sys.service_broker_endpoints``: one for each instance."""
    for place in asked.places:
        instance, endpoint = place.instance, place.instance.endpoint
        yield {
            **dict.fromkeys(ENDPOINT_COLUMNS),
            "instance": instance.name,
            "name": endpoint.name,
            "protocol": 2,
            "protocol_desc": "TCP",
            "type": 3,
            "type_desc": "SERVICE_BROKER",
            "state": _STATES.index(endpoint.state),
            "state_desc": endpoint.state.value.upper(),
            "is_admin_endpoint": False,
            "is_message_forwarding_enabled": endpoint.forwarding,
            "message_forwarding_size": endpoint.forward_size_mb,
            "connection_auth_desc": " ".join(endpoint.authentication) or None,
            "encryption_algorithm_desc": " ".join(endpoint.algorithms) or None,
            "port": instance.address.port,
        }


ENDPOINT_COLUMNS = words(
    """instance name endpoint_id principal_id protocol protocol_desc type type_desc state
    state_desc is_admin_endpoint is_message_forwarding_enabled message_forwarding_size
    connection_auth connection_auth_desc certificate_id encryption_algorithm
    encryption_algorithm_desc port"""
)
