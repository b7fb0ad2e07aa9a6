"""Recordings as SQL Server's tools write them, after the reference's lists (7.1, 7.2)."""

from __future__ import annotations

import uuid
from html import escape
from typing import Any

INITIATOR, TARGET = "InitiatorService", "TargetService"
CONTRACT, ORDER, REPLY = "//hopline/OrderContract", "//hopline/Order", "//hopline/Reply"
ONE, TWO = uuid.UUID(int=0x1111), uuid.UUID(int=0x2222)
HANDLES = {True: uuid.UUID(int=0xAAAA), False: uuid.UUID(int=0xBBBB)}

Fields = dict[str, Any]
SampleEvent = tuple[str, str, int, Fields]
"""An event: its name, the instance, milliseconds after 09:00, its fields."""

_ACTIONS = {1: "SEND Message", 2: "END CONVERSATION", 6: "Received Sequenced Message"}
_ACTIONS |= {7: "Received END CONVERSATION", 11: "BEGIN DIALOG", 12: "Dialog Created"}


def conversation(at: int, instance: str, action: int, *, dialog: uuid.UUID = ONE) -> SampleEvent:
    """Return Broker:Conversation: of the initiator at ServerA, of the target elsewhere."""
    initiator = instance == "ServerA"
    fields = {
        "conversation_state": (3, "CONVERSING"),
        "conversation_action": (action, _ACTIONS[action]),
        "conversation_handle": str(HANDLES[initiator]),
        "is_initiator": str(initiator).lower(),
        "service_contract_name": CONTRACT,
        "conversation_group_id": str(uuid.UUID(int=5)),
        "conversation_id": str(dialog).upper(),
        "database_name": "DatabaseA" if initiator else "DatabaseB",
    }
    return "broker_conversation", instance, at, fields


def classified(
    at: int, instance: str, route: int, *, back: bool = False, error: int = 0
) -> SampleEvent:
    """Return Broker:Message Classify."""
    return "broker_message_classify", instance, at, {
        "route_type": (route, {1: "Local", 2: "Remote", 3: "Delayed"}[route]),
        "delayed_error_number": error,
        "to_service_name": INITIATOR if back else TARGET,
        "to_broker_instance": "DatabaseA" if back else "DatabaseB",
        "is_initiator": str(not back).lower(),
        "message_source": "Local",
        "conversation_id": str(ONE),
    }  # fmt: skip


def forwarded(at: int, sequence: int, *, back: bool = False) -> SampleEvent:
    """Return Broker:Forwarded Message Sent, at the gateway."""
    ends = (TARGET, INITIATOR) if back else (INITIATOR, TARGET)
    return "broker_forwarded_message_sent", "GatewayA", at, {
        "time_to_live_sec": 60,
        "live_time_sec": 0,
        "remaining_hop_count": 15,
        "fragment_number": 0,
        "to_service_name": ends[1],
        "to_broker_name": "DatabaseB",
        "is_initiator": str(not back).lower(),
        "from_service_name": ends[0],
        "from_broker_name": "DatabaseA",
        "message_type_name": REPLY if back else ORDER,
        "message_sequence": sequence,
        "conversation_id": str(ONE),
    }  # fmt: skip


def dropped(at: int, dialog: uuid.UUID) -> SampleEvent:
    """Return Broker:Forwarded Message Dropped, at the gateway."""
    _, _, _, fields = forwarded(at, 0)
    more = {"dropped_reason": (28007, "hop count exhausted"), "conversation_id": str(dialog)}
    return "broker_forwarded_message_dropped", "GatewayA", at, fields | more


def acknowledged(at: int, instance: str, kind: int, sequence: int) -> SampleEvent:
    """Return Broker:Remote Message Acknowledgement: 2 sent (at ServerB), 4 received."""
    return "broker_remote_message_acknowledgement", instance, at, {
        "acknowledgement_type": (kind, {2: "Ack Sent", 4: "Ack Received"}[kind]),
        "acknowledgement_fragment_number": 0,
        "is_initiator": "false",
        "acknowlegment_message_sequence": sequence,
        "message_sequence": 0,
        "conversation_id": str(ONE),
        "fragment_number": 0,
    }  # fmt: skip


def story() -> list[SampleEvent]:
    """Return a dialog of two messages and a reply over a gateway, and one that is dropped there."""
    return [
        conversation(0, "ServerA", 11),
        conversation(1, "ServerA", 1),
        classified(2, "ServerA", 2),
        forwarded(4, 0),
        conversation(6, "ServerB", 12),
        conversation(6, "ServerB", 6),
        acknowledged(7, "ServerB", 2, 0),
        acknowledged(9, "ServerA", 4, 0),
        conversation(10, "ServerA", 1),
        forwarded(12, 1),
        conversation(14, "ServerB", 6),
        conversation(20, "ServerB", 1),
        classified(21, "ServerB", 2, back=True),
        forwarded(22, 0, back=True),
        conversation(30, "ServerA", 2),
        conversation(40, "ServerA", 11, dialog=TWO),
        conversation(41, "ServerA", 1, dialog=TWO),
        dropped(44, TWO),
    ]


def stamp(at: int) -> str:
    """Return the instant of a story as Extended Events write it."""
    return f"2026-01-05T09:00:{at // 1000:02}.{at % 1000:03}Z"


def element(event: SampleEvent, *, action: bool = True) -> str:
    """Return an event as ``event_data`` has it; with ``action`` it knows its server."""
    name, instance, at, fields = event
    parts = [
        f'<event name="{name}" package="sqlserver" timestamp="{stamp(at)}">',
        *(_data(field, value) for field, value in fields.items() if field != "database_name"),
    ]
    if "database_name" in fields:
        parts.append(_action("database_name", fields["database_name"]))
    if action:
        parts.append(_action("server_instance_name", instance))
    return "".join(parts) + "</event>"


def _data(name: str, value: Any) -> str:
    number, text = value if isinstance(value, tuple) else (value, "")
    words = f"<text>{escape(text)}</text>" if text else ""
    return f'<data name="{name}"><value>{escape(str(number))}</value>{words}</data>'


def _action(name: str, value: str) -> str:
    return f'<action name="{name}" package="sqlserver"><value>{escape(value)}</value></action>'


# --- SQL Trace -----------------------------------------------------------------------------------

_CLASSES = {
    "broker_conversation": 124, "broker_forwarded_message_sent": 139,
    "broker_forwarded_message_dropped": 140, "broker_message_classify": 141,
    "broker_remote_message_acknowledgement": 149,
}  # fmt: skip
_PASSING = {
    "to_service_name": "FileName", "to_broker_name": "OwnerName",
    "from_service_name": "TargetUserName", "from_broker_name": "DBUserName",
    "message_sequence": "BigintData1", "remaining_hop_count": "IndexID",
    "message_type_name": "MethodName",
}  # fmt: skip
_COLUMNS: dict[int, dict[str, str]] = {
    124: {"conversation_handle": "ObjectName", "service_contract_name": "TargetLoginName",
          "conversation_state": "TextData", "conversation_action": "EventSubClass",
          "database_name": "DatabaseName"},
    139: _PASSING,
    140: _PASSING | {"dropped_reason": "Error"},
    141: {"route_type": "EventSubClass", "delayed_error_number": "Error",
          "to_service_name": "FileName", "to_broker_instance": "OwnerName"},
    149: {"acknowledgement_type": "EventSubClass", "message_sequence": "BigintData1",
          "acknowlegment_message_sequence": "BigintData2"},
}  # fmt: skip


def trace_row(event: SampleEvent, sequence: int) -> dict[str, Any]:
    """Return an event as a row of ``fn_trace_gettable``; EventClass is a number, as there."""
    name, instance, at, fields = event
    number = _CLASSES[name]
    row: dict[str, Any] = {
        "EventClass": number,
        "EventSequence": sequence,
        "ServerName": instance,
        "StartTime": stamp(at).replace("T", " ").rstrip("Z"),
        "GUID": fields["conversation_id"],
        "RoleName": "Initiator" if fields["is_initiator"] == "true" else "Target",
    }
    for field, column in _COLUMNS[number].items():
        value = fields.get(field, "")
        plain = value[1 if column == "TextData" else 0] if isinstance(value, tuple) else value
        row[column] = plain
    return row
