"""The system views over dialogs and routes: rows with SQL Server's column names (reference 7.4).

A row has every documented column; columns without a counterpart in Hopline (keys, principals,
internal numbers) are ``None``. Additional columns at the start of a row show where the row is
stored, and the names of the service and the contract.
Times are in epoch milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from streams.errors import Number, text_of
from streams.node.object_ids import object_id
from streams.protocol import (
    DEFAULT,
    END_DIALOG,
    ERROR,
    Command,
    CommandKind,
    Dialog,
    Flag,
    Message,
    State,
)
from streams.protocol.frames import joined
from streams.topology import Database

Row = dict[str, Any]

CLOSED_FOR = 1_800_000
"""Milliseconds for which a closed target endpoint is shown; closed initiators are not (U-29)."""


def conversation_endpoint(instance: str, dialog: Dialog, now: int) -> Row | None:
    """Return an endpoint's row of ``sys.conversation_endpoints``, if it has one.

    CLEANUP, NEW_BROKER and DROP SERVICE remove the row; Hopline keeps the key (``Ending.forget``).
    """
    closed = dialog.state is State.CD
    removed = dialog.refusal == Number.REMOTE_CANNOT_EXCHANGE
    if closed and (dialog.is_initiator or removed or now >= (dialog.closed_at or 0) + CLOSED_FOR):
        return None
    held = sorted(dialog.held)
    return {
        "instance": instance,
        "database": dialog.database,
        "service_name": dialog.service,
        "contract_name": dialog.contract,
        "conversation_handle": str(dialog.handle),
        "conversation_id": str(dialog.conversation),
        "is_initiator": dialog.is_initiator,
        "service_contract_id": object_id(dialog.contract),
        "conversation_group_id": str(dialog.group),
        "service_id": object_id(dialog.service),
        "lifetime": dialog.expires_at,
        "state": dialog.state.name,
        "state_desc": dialog.state.value,
        "far_service": dialog.far_service,
        "far_broker_instance": dialog.far_broker,
        "principal_id": None,
        "far_principal_id": None,
        "outbound_session_key_identifier": None,
        "inbound_session_key_identifier": None,
        "security_timestamp": (dialog.closed_at or 0) + CLOSED_FOR if closed else None,
        "dialog_timer": dialog.timer_at,
        "send_sequence": dialog.send_sequence,
        "last_send_tran_id": None,
        "end_dialog_sequence": None,
        "receive_sequence": dialog.receive_sequence,
        "receive_sequence_frag": dialog.received[1],
        "system_sequence": 0,
        "first_out_of_order_sequence": held[0][0] if held else None,
        "last_out_of_order_sequence": held[-1][0] if held else None,
        "last_out_of_order_frag": held[-1][1] if held else None,
        "is_system": False,
        "priority": dialog.priority,
    }


def transmission_queue(
    instance: str, dialog: Dialog, command: Callable[[int], Command | None]
) -> Iterator[Row]:
    """Yield a dialog's rows of ``sys.transmission_queue``: accepted, unacknowledged messages.

    ``command`` returns the record at a position of ``cmd``, or ``None`` if it was deleted.
    """
    for sequence in range(dialog.acknowledged[0], dialog.send_sequence):
        said = command(dialog.stored(sequence)[0])
        ends = said is not None and said.kind is CommandKind.END
        fails = ends and said is not None and said.error_code is not None
        kind = None if said is None else ERROR if fails else END_DIALOG if ends else said.type
        yield {
            "instance": instance,
            "database": dialog.database,
            "conversation_id": str(dialog.conversation),
            "conversation_handle": str(dialog.handle),
            "to_service_name": dialog.far_service,
            "to_broker_instance": dialog.far_broker,
            "from_service_name": dialog.service,
            "service_contract_name": dialog.contract,
            "enqueue_time": None if said is None else said.stored_at,
            "message_sequence_number": sequence,
            "message_type_name": kind or (DEFAULT if said is not None else None),
            "is_conversation_error": fails,
            "is_end_of_dialog": ends and not fails,
            "message_body": None if said is None else said.body,
            # While no message is acknowledged, only the first message is retried. SQL Server shows
            # its status for all messages.
            "transmission_status": f"{dialog.status}: {text_of(dialog.status)}"
            if dialog.status
            else "",
            "priority": dialog.priority,
        }


def parked_messages(
    instance: str, dialog: Dialog, frame: Callable[[int], Message | None]
) -> Iterator[Row]:
    """Yield a dialog's other rows of ``sys.transmission_queue``: messages for a queue that is off.

    These messages have arrived and are acknowledged (U-31). ``frame`` returns the record at a
    position of ``in``. Messages that the broker has created have no row.
    """
    fragments: list[Message] = []
    for sequence, position in dialog.parked:
        message = frame(position) if sequence >= 0 else None
        fragments = [] if message is None else [*fragments, message]
        if message is None or len(fragments) < message.header.fragments:
            continue
        whole, fragments = joined(fragments), []
        header = whole.header
        yield {
            "instance": instance,
            "database": dialog.database,
            "conversation_id": str(dialog.conversation),
            "conversation_handle": str(dialog.handle),
            "to_service_name": dialog.service,
            "to_broker_instance": dialog.broker_id,
            "from_service_name": dialog.far_service,
            "service_contract_name": dialog.contract,
            "enqueue_time": header.enqueued_at,
            "message_sequence_number": header.sequence,
            "message_type_name": header.type,
            "is_conversation_error": bool(header.flags & Flag.ERROR),
            "is_end_of_dialog": bool(header.flags & Flag.END),
            "message_body": whole.body,
            "transmission_status": f"{Number.QUEUE_DISABLED}: {text_of(Number.QUEUE_DISABLED)}",
            "priority": dialog.priority,
        }


def routes(instance: str, database: Database) -> Iterator[Row]:
    """Yield the rows of a database's ``sys.routes``; like SQL Server, include expired routes."""
    for number, route in enumerate(database.routes, 1):
        yield {
            "instance": instance,
            "database": database.name,
            "name": route.name,
            "route_id": route.route_id or number,
            "principal_id": None,
            "remote_service_name": route.service,
            "broker_instance": route.broker,
            "lifetime": None if route.expires is None else int(route.expires * 1000),
            "address": route.address,
            "mirror_address": route.mirror,
        }
