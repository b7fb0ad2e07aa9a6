"""The system views that are computed from the topics (reference 7.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from streams.live.views import catalog, dialogs, transport
from streams.live.views.contracts import CONTRACT_VIEWS
from streams.live.views.places import Asked, Row, View, words


def _nothing(_: Asked) -> Iterator[Row]:
    """Yield no row, because applications read queues and the broker activates nothing."""
    return iter(())


VIEWS: Mapping[str, View] = {
    "sys.conversation_endpoints": View(
        words(
            """instance database service_name contract_name conversation_handle conversation_id
            is_initiator service_contract_id conversation_group_id service_id lifetime state
            state_desc far_service far_broker_instance principal_id far_principal_id
            outbound_session_key_identifier inbound_session_key_identifier security_timestamp
            dialog_timer send_sequence last_send_tran_id end_dialog_sequence receive_sequence
            receive_sequence_frag system_sequence first_out_of_order_sequence
            last_out_of_order_sequence last_out_of_order_frag is_system priority"""
        ),
        words(
            """conversation_id is_initiator state far_service far_broker_instance send_sequence
            receive_sequence service_name contract_name state_desc lifetime"""
        ),
        dialogs.conversation_endpoints,
    ),
    "sys.conversation_groups": View(
        words("""instance database conversation_group_id service_id service_name is_system"""),
        words("conversation_group_id service_name"),
        dialogs.conversation_groups,
    ),
    "sys.transmission_queue": View(
        words(
            """instance database conversation_id conversation_handle to_service_name
            to_broker_instance from_service_name service_contract_name enqueue_time
            message_sequence_number message_type_name is_conversation_error is_end_of_dialog
            message_body transmission_status priority"""
        ),
        words(
            """conversation_id message_sequence_number transmission_status to_service_name
            message_type_name message_body to_broker_instance from_service_name enqueue_time"""
        ),
        dialogs.transmission_queues,
    ),
    "sys.routes": View(
        words(
            """instance database name route_id principal_id remote_service_name broker_instance
            lifetime address mirror_address"""
        ),
        words("name remote_service_name broker_instance address mirror_address lifetime route_id"),
        catalog.routes,
    ),
    "sys.services": View(
        words("instance database name service_id principal_id service_queue_id queue_name"),
        words("name queue_name"),
        catalog.services,
    ),
    "sys.service_queues": View(
        catalog.QUEUE_COLUMNS,
        words(
            """name is_receive_enabled is_poison_message_handling_enabled is_retention_enabled
            reading_group"""
        ),
        catalog.service_queues,
    ),
    **CONTRACT_VIEWS,
    "sys.service_broker_endpoints": View(
        catalog.ENDPOINT_COLUMNS,
        words(
            """name state_desc port is_message_forwarding_enabled message_forwarding_size
            connection_auth_desc"""
        ),
        catalog.service_broker_endpoints,
        databases=False,
    ),
    "sys.dm_broker_forwarded_messages": View(
        words(
            """instance conversation_id is_initiator to_service_name to_broker_instance
            from_service_name from_broker_instance adjacent_broker_address message_sequence_number
            message_fragment_number hops_remaining time_to_live time_consumed message_id"""
        ),
        words(
            """conversation_id message_sequence_number to_service_name hops_remaining time_consumed
            adjacent_broker_address"""
        ),
        transport.forwarded_messages,
        databases=False,
    ),
    "sys.dm_broker_connections": View(
        transport.CONNECTION_COLUMNS,
        words("peer_instance state_desc last_activity_time"),
        transport.connections,
        databases=False,
    ),
    "sys.dm_broker_queue_monitors": View(
        words(
            """instance database database_id queue_id state last_empty_rowset_time
            last_activated_time tasks_waiting"""
        ),
        words("queue_id state"),
        _nothing,
    ),
    "sys.dm_broker_activated_tasks": View(
        words("instance database spid database_id queue_id procedure_name execute_as"),
        words("queue_id procedure_name"),
        _nothing,
    ),
}
"""All views by name; additional columns at the start of a row contain the row's place."""

TIMES = frozenset(
    words("lifetime security_timestamp enqueue_time last_activity_time message_enqueue_time")
)
"""Columns that contain epoch milliseconds."""
