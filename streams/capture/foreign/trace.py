"""SQL Trace and Profiler: rows of ``fn_trace_gettable``, a trace table, or Profiler's XML.

Columns are read by name, or by number if a table has only numbers; both numbering conventions of
the documentation (C-23) are accepted. A column's content depends on the event (reference 7.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streams.capture.foreign.cells import first, flag, guid, instant, small, text_of, whole, word
from streams.capture.foreign.findings import Finding, Report
from streams.capture.foreign.seen import Seen, bears_dialog, findings_of, state_of, subclass_of
from streams.errors import EventKind
from streams.xml_reader import read_xml

COLUMNS = frozenset({"eventclass", "eventsubclass", "eventsequence", "starttime", "rolename"})
"""Columns that identify a trace table."""
BY_NUMBER = {
    "1": "textdata", "2": "binarydata", "3": "databaseid", "5": "priority", "8": "hostname",
    "12": "spid", "14": "starttime", "20": "severity", "21": "eventsubclass", "22": "objectid",
    "23": "success", "24": "indexid", "25": "integerdata", "26": "servername", "27": "eventclass",
    "29": "nestlevel", "30": "state", "31": "error", "32": "mode", "33": "handle",
    "34": "objectname", "35": "databasename", "36": "filename", "37": "ownername",
    "38": "rolename", "39": "targetusername", "40": "dbusername", "42": "targetloginname",
    "45": "linkedservername", "47": "methodname", "51": "eventsequence", "52": "bigintdata1",
    "53": "bigintdata2", "54": "guid", "55": "integerdata2",
}  # fmt: skip
"""Trace column ids that the broker's events use; 27 has the event's number."""
_DROPPED_BY_MISTAKE = 191
"""T140's number for Forwarded Message Dropped (C-22); elsewhere it means TM: Save Tran starting."""
_SEVERITY = ("severity", "nestlevel")
_PRIORITY = ("priority", "linenumber")
_NAMES = {word(kind.title): kind for kind in EventKind} | {
    word("Broker:Message Drop"): EventKind.MESSAGE_UNDELIVERABLE
}
_NO_MESSAGE = (EventKind.CONVERSATION, EventKind.CONVERSATION_GROUP, EventKind.MESSAGE_CLASSIFY)
_PASSING = (EventKind.FORWARDED_MESSAGE_SENT, EventKind.FORWARDED_MESSAGE_DROPPED)


def read_element(text: str) -> dict[str, Any]:
    """Return the columns of an ``<Event>`` element of Profiler's XML; raise XmlError if invalid."""
    event = read_xml(text)
    cells: dict[str, Any] = {"eventclass": event.get("id"), "eventname": event.get("name")}
    for column in event:
        name = (column.get("name") or "").strip().casefold()
        cells[name or column.get("id") or ""] = column.text
    return named(cells)


def named(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row's cells by column names, converted from numbers."""
    return {BY_NUMBER.get(name, name.replace(" ", "")): cell for name, cell in cells.items()}


def read_row(
    cells: Mapping[str, Any],
    rank: int,
    instance: str | None,
    utc_offset: int,
    where: str,
    report: Report,
) -> Iterator[Finding]:
    """Yield a row's findings; ``instance`` overrides the instance in the row.

    Times are the server's local times, ``utc_offset`` minutes ahead of UTC.
    """
    kind = _kind(cells)
    if kind is None:
        _not_ours(cells, where, report)
        return
    at = instant(cells.get("starttime"), utc_offset)
    subclass = subclass_of(kind, cells.get("eventsubclass"))
    server = instance or text_of(cells.get("servername"))
    if at is None:
        report.leave(f"{kind.title} without a valid time", where)
    elif guid(cells.get("guid")) is None and _requires_dialog(kind):
        report.leave(f"{kind.title} without a conversation id", where)
    elif subclass is None and kind is EventKind.CONVERSATION:
        report.leave(f"{kind.title} with an unknown subclass", where)
    elif server is None:
        report.leave(f"{kind.title} without a server name", where)
    else:
        report.rows[kind.title] += 1
        order = whole(cells.get("eventsequence"))
        place = (at, rank if order is None else order, server)
        yield from findings_of(_seen(kind, subclass or 0, place, cells))


def _requires_dialog(kind: EventKind) -> bool:
    return bears_dialog(kind) and kind is not EventKind.TRANSMISSION


def _kind(cells: Mapping[str, Any]) -> EventKind | None:
    raw = cells.get("eventclass")
    name = word(first(cells, "eventname", "eventclassname", "name"))
    number = whole(raw)
    if number is None:
        return _NAMES.get(word(raw)) or _NAMES.get(name)
    if number == _DROPPED_BY_MISTAKE and "forwardedmessagedropped" in name:
        return EventKind.FORWARDED_MESSAGE_DROPPED
    return EventKind(number) if number in EventKind._value2member_map_ else None


def _not_ours(cells: Mapping[str, Any], where: str, report: Report) -> None:
    raw = text_of(cells.get("eventclass"))
    name = text_of(first(cells, "eventname", "eventclassname"))
    if raw is None and name is None:
        report.leave("a row without an event class", where)
    elif (name or raw or "").startswith("Broker:"):
        report.leave(f"{name or raw}, an event class without known columns"[:120], where)
    else:
        report.skip(f"event {name or raw}"[:120])


def _seen(
    kind: EventKind, subclass: int, place: tuple[int, int, str], cells: Mapping[str, Any]
) -> Seen:
    more = _more(kind, cells)
    return Seen(
        kind,
        subclass,
        *place,
        database=text_of(cells.get("databasename")),
        conversation=guid(cells.get("guid")) if bears_dialog(kind) else None,
        from_initiator=_side(cells.get("rolename")),
        error=small(cells.get("error")) or 0,
        sequence=None if kind in _NO_MESSAGE else whole(cells.get("bigintdata1")),
        detail=_detail(kind, cells),
        **more,
    )


def _side(raw: Any) -> bool | None:
    """Return a role; a classification event may have the message's origin in its place."""
    role = word(raw)
    return flag(role) if role in ("initiator", "target") else None


def _more(kind: EventKind, cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of an event that have a different meaning in other events."""
    if kind is EventKind.CONVERSATION:
        return {
            "handle": guid(cells.get("objectname")),
            "state": state_of(cells.get("textdata")),
            "contract": text_of(cells.get("targetloginname")),
        }
    if kind is EventKind.MESSAGE_CLASSIFY:
        return {
            "to_service": text_of(cells.get("filename")),
            "to_broker": text_of(cells.get("ownername")),
            "next_hop": text_of(cells.get("targetusername")),
        }
    if kind not in _PASSING:
        return {}
    return {
        "to_service": text_of(cells.get("filename")),
        "to_broker": text_of(cells.get("ownername")),
        "from_service": text_of(cells.get("targetusername")),
        "from_broker": text_of(cells.get("dbusername")),
        "next_hop": text_of(cells.get("targetloginname")),
        "hops_remaining": small(cells.get("indexid")),
        "message_id": text_of(cells.get("objectname")),
        "type": text_of(cells.get("methodname")),
    }


def _detail(kind: EventKind, cells: Mapping[str, Any]) -> str:
    """Return, as text, the values that have no field of their own."""
    parts = [] if kind is EventKind.CONVERSATION else [text_of(cells.get("textdata"))]
    acknowledged = whole(cells.get("bigintdata2"))
    if acknowledged is not None:
        parts.append(f"acknowledges message {acknowledged}")
    severity = small(first(cells, *_SEVERITY))
    if severity is not None and small(cells.get("error")):
        parts.append(f"severity {severity}")
    priority = small(first(cells, *_PRIORITY))
    if priority is not None and kind is EventKind.CONVERSATION:
        parts.append(f"priority {priority}")
    return ", ".join(filter(None, parts))
