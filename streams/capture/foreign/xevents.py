"""Extended Events: rows of ``sys.fn_xe_file_target_read_file``, or exports of SSMS.

Fields have the names of reference 7.2; a capture's own names are trusted (C-24). An event has its
instance and database only if the session collects these actions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streams.capture.foreign.cells import first, flag, guid, instant, small, text_of, whole
from streams.capture.foreign.findings import Finding, Report
from streams.capture.foreign.seen import Seen, bears_dialog, findings_of, state_of, subclass_of
from streams.errors import EventKind
from streams.xml_reader import read_xml

EVENTS = {
    "broker_conversation": EventKind.CONVERSATION,
    "broker_conversation_group": EventKind.CONVERSATION_GROUP,
    "ucs_connection_setup": EventKind.CONNECTION,
    "broker_forwarded_message_sent": EventKind.FORWARDED_MESSAGE_SENT,
    "broker_forwarded_message_dropped": EventKind.FORWARDED_MESSAGE_DROPPED,
    "broker_message_classify": EventKind.MESSAGE_CLASSIFY,
    "broker_transmission_exception": EventKind.TRANSMISSION,
    "broker_queue_disabled": EventKind.QUEUE_DISABLED,
    "broker_mirrored_route_state_changed": EventKind.MIRRORED_ROUTE_STATE_CHANGED,
    "broker_remote_message_acknowledgement": EventKind.REMOTE_MESSAGE_ACKNOWLEDGEMENT,
    "broker_message_undeliverable": EventKind.MESSAGE_UNDELIVERABLE,
    "broker_corrupted_message": EventKind.CORRUPTED_MESSAGE,
    "broker_activation": EventKind.ACTIVATION,
}
COLUMNS = frozenset(
    {"event_data", "object_name", "conversation_action", "conversation_id", "timestamp_utc"}
)
"""Columns that identify a table of Extended Events."""
_SUBCLASS = (
    "conversation_action", "conversation_group_action", "setup_event", "route_type",
    "acknowledgement_type", "activation_state", "state",
)  # fmt: skip
_TEXT = "/text"
_DEEPEST = 20
_REASONS = ("delayed_error_number", "dropped_reason", "message_drop_reason", "error_number")
_DETAILS = ("error_message", "corruption_description", "activation_message", "address")


def read_element(text: str) -> dict[str, Any]:
    """Return the fields of an ``<event>`` element; raise XmlError for other elements.

    A map field has its number under its name and its text under ``name/text``.
    """
    event = read_xml(text)
    fields: dict[str, Any] = {"name": event.get("name"), "timestamp": event.get("timestamp")}
    for part in event:
        name = (part.get("name") or "").casefold()
        fields[name] = part.findtext("value")
        words = part.findtext("text")
        if words:
            fields[name + _TEXT] = words
    return fields


def flat(cells: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return the fields of a row, from columns or JSON that is nested up to a limit."""
    fields: dict[str, Any] = {}
    for name, cell in cells.items():
        if isinstance(cell, Mapping) and not {"value", "text"} >= set(cell):
            if depth < _DEEPEST:
                fields |= flat({str(k).casefold(): v for k, v in cell.items()}, depth + 1)
        elif isinstance(cell, Mapping):
            fields[name], fields[name + _TEXT] = cell.get("value"), cell.get("text")
        else:
            fields[name] = cell
    return fields


def read_event(
    fields: Mapping[str, Any], rank: int, instance: str, where: str, report: Report
) -> Iterator[Finding]:
    """Yield an event's findings; ``instance`` is the default."""
    name = (text_of(first(fields, "name", "object_name", "event_name")) or "").strip()
    kind = EVENTS.get(name.rpartition(".")[2].casefold())
    if kind is None:
        _not_ours(name, where, report)
        return
    at = instant(first(fields, "timestamp (utc)", "timestamp_utc", "timestamp"))
    conversation = guid(fields.get("conversation_id"))
    subclass = _subclass(kind, fields)
    if at is None:
        report.leave(f"{name} without a valid time", where)
    elif conversation is None and bears_dialog(kind) and kind is not EventKind.TRANSMISSION:
        report.leave(f"{name} without a conversation id", where)
    elif subclass is None:
        report.leave(f"{name} of an unknown kind", where)
    else:
        report.rows[name] += 1
        yield from findings_of(_seen(kind, subclass, at, rank, instance, fields))


def _not_ours(name: str, where: str, report: Report) -> None:
    if name.startswith("broker_"):
        report.leave(f"{name}, an event without known fields"[:120], where)
    else:
        report.skip(f"event {name or 'without a name'}"[:120])


def _subclass(kind: EventKind, fields: Mapping[str, Any]) -> int | None:
    """Return the subclass by its text, or else by its number; 0 without a subclass."""
    if kind is EventKind.MESSAGE_UNDELIVERABLE:
        return {True: 1, False: 2, None: 0}[flag(fields.get("sequenced_message"))]
    for name in _SUBCLASS:
        text, value = fields.get(name + _TEXT), fields.get(name)
        if text or value not in (None, ""):
            by_words = None if not text else subclass_of(kind, text)
            return subclass_of(kind, value) if by_words is None else by_words
    return None if kind is EventKind.CONVERSATION else 0


def _seen(
    kind: EventKind, subclass: int, at: int, rank: int, instance: str, fields: Mapping[str, Any]
) -> Seen:
    reason = first(fields, *_REASONS)
    return Seen(
        kind,
        subclass,
        at,
        rank,
        text_of(first(fields, "server_instance_name", "server_name")) or instance,
        text_of(fields.get("database_name")),
        guid(fields.get("conversation_id")),
        flag(fields.get("is_initiator")),
        guid(fields.get("conversation_handle")),
        state_of(first(fields, "conversation_state" + _TEXT, "conversation_state")),
        text_of(fields.get("service_contract_name")),
        text_of(fields.get("from_service_name")),
        text_of(fields.get("to_service_name")),
        text_of(fields.get("from_broker_name")),
        text_of(first(fields, "to_broker_name", "to_broker_instance")),
        None,
        small(fields.get("remaining_hop_count")),
        None,
        text_of(fields.get("message_type_name")),
        whole(first(fields, "message_sequence", "message_sequence_number")),
        small(reason) or 0,
        _detail(fields),
    )


def _detail(fields: Mapping[str, Any]) -> str:
    """Return, as text, the values that have no field of their own."""
    parts = [text_of(fields.get(name)) for name in _DETAILS]
    parts += [text_of(fields.get(name + _TEXT)) for name in _REASONS]
    parts += [text_of(v) for v in map(fields.get, _REASONS) if v is not None and whole(v) is None]
    acknowledged = first(
        fields, "acknowlegment_message_sequence", "acknowledgement_sequence_number"
    )
    if whole(acknowledged) is not None:
        parts.append(f"acknowledges message {whole(acknowledged)}")
    return ", ".join(dict.fromkeys(filter(None, parts)))
