"""Any record of any Hopline topic as plain data, whatever somebody has put into it.

What can be decoded is decoded; what cannot stands in ``malformed`` with its reason. Nothing raises,
because a reader that looks for what is wrong must not stumble over it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from streams.errors import EventKind, text_of
from streams.errors.events import SUBCLASSES
from streams.protocol import Ack, Status
from streams.wire.codecs import (
    decode_ack_value,
    decode_catalog_object,
    decode_event,
    decode_header,
    decode_journey,
    decode_parties,
    decode_presence,
)
from streams.wire.evolution import ADMITS, ANNOUNCED, read_admission, read_announcement
from streams.wire.metric import decode_metric
from streams.wire.place import place_of
from streams.wire.plain import body_of, plain, text_of_bytes
from streams.wire.reading import decode_reading
from streams.wire.records import (
    COMMAND,
    CONVERSATION,
    HOP,
    MESSAGE,
    ORIGIN,
    ROUTE,
    conversation_of,
    header_of,
)
from streams.wire.single_object import MalformedError
from streams.wire.state import (
    POSITIONS_KEY,
    RequestKey,
    SeenKey,
    decode_chunk,
    decode_dialog,
    decode_key,
    decode_positions,
    decode_request,
    decode_seen,
)
from streams.wire.statements import decode_command, decode_result
from streams.wire.topics import Topics

Description = dict[str, Any]

_NOBODY = uuid.UUID(int=0)
_BROKEN = (MalformedError, ValueError, KeyError, TypeError, OverflowError, RecursionError)
_OURS = frozenset({ROUTE, MESSAGE, HOP, COMMAND, ORIGIN, CONVERSATION, ANNOUNCED, ADMITS})


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record as Kafka has it; ``timestamp`` in epoch milliseconds.

    ``unreadable`` says why the client library could not hand over all of it.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    unreadable: str = ""


def describe(record: RawRecord, topics: Topics) -> Description:
    """Return everything that a record says, as JSON-able data.

    ``at`` is when that happened which the record stands for, in epoch milliseconds: a frame keeps
    its Kafka timestamp on its way, so its path tells more; in ``in`` it has the time of its append.
    ``conversation`` is the dialog's id.
    """
    found = _Found(record)
    place = place_of(record.topic, topics)
    if place is not None:
        found.out["kind"] = place.kind
        for name in ("instance", "database", "queue", "cluster"):
            if getattr(place, name) is not None:
                found.out[name] = getattr(place, name)
        _KINDS[place.kind](found)
    else:
        found.out["kind"] = None
        found.out["body"] = body_of(record.value)
    return found.finish()


class _Found:
    """What was made of a record so far."""

    def __init__(self, record: RawRecord) -> None:
        self.record = record
        self.malformed = [record.unreadable] if record.unreadable else []
        self.out: Description = {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "at": record.timestamp,
            "kind": None,
            "key": text_of_bytes(record.key),
            "conversation": None,
        }

    def take(self, name: str, decode: Callable[[], Any]) -> Any:
        """Put what a decoder returns under a name, or its complaint under ``malformed``."""
        try:
            value = decode()
            self.out[name] = plain(value)
        except _BROKEN as error:
            kind = "" if isinstance(error, MalformedError) else f"{name}: {type(error).__name__}: "
            self.malformed.append(f"{kind}{error}")
            return None
        return value

    def header(self, name: str) -> bytes | None:
        """Return a header's bytes."""
        return header_of(self.record.headers, name)

    def finish(self) -> Description:
        """Return the description, with the headers that are none of ours."""
        others = {n: text_of_bytes(v) for n, v in self.record.headers if n not in _OURS}
        if others:
            self.out["headers"] = others
        if self.malformed:
            self.out["malformed"] = self.malformed
            if "body" not in self.out:
                self.out["body"] = body_of(self.record.value)
        return self.out


def _command(found: _Found) -> None:
    record = found.record
    conversation = _key(found)
    raw = found.header(COMMAND)
    stored = record.timestamp
    command = found.take(
        "command", lambda: decode_command(raw, conversation or _NOBODY, None, stored)
    )
    if command is not None:
        for name in ("body", "conversation", "stored_at"):
            del found.out["command"][name]
    found.out["body"] = body_of(record.value)


def _frame(found: _Found) -> None:
    """Describe a frame of ``out``, ``txq``, ``ingress`` or ``in``.

    Without ``sb-message`` it acknowledges.
    """
    conversation = _key(found)
    _envelope(found)
    if found.header(MESSAGE) is not None:
        found.take("message", lambda: decode_header(found.header(MESSAGE)))
        found.out["body"] = body_of(found.record.value)
    else:
        value = found.record.value
        found.take("ack", lambda: _acknowledgement(value, conversation or _NOBODY))


def _acknowledgement(value: bytes | None, conversation: uuid.UUID) -> Ack:
    """Return the acknowledgement of a frame; a status is the forwarder's own, and in ``ack``."""
    read = decode_ack_value(value, conversation)
    if isinstance(read, Status):
        raise MalformedError("a status where an acknowledgement belongs")
    return read


def _ack(found: _Found) -> None:
    conversation, value = _key(found), found.record.value
    try:
        read = decode_ack_value(value, conversation or _NOBODY)
    except MalformedError as error:
        found.malformed.append(str(error))
        return
    if isinstance(read, Status):
        found.out["status"] = {**plain(read), "text": text_of(read.number)}
        del found.out["status"]["conversation"]
        found.out["at"] = read.at
    else:
        found.out["ack"] = plain(read)
        _envelope(found)


def _queued(found: _Found) -> None:
    raw = found.header(CONVERSATION)
    if raw is None or len(raw) != 16:
        found.malformed.append("a queue message without its conversation id")
    else:
        found.out["conversation"] = str(uuid.UUID(bytes=raw))
    found.out["group"] = found.out["key"]
    _envelope(found)
    found.take("message", lambda: decode_header(found.header(MESSAGE)))
    found.out["body"] = body_of(found.record.value)


def _envelope(found: _Found) -> None:
    found.take("route", lambda: decode_parties(found.header(ROUTE)))
    journey = found.take("hop", lambda: decode_journey(found.header(HOP)))
    origin = found.header(ORIGIN)
    if origin is not None:
        found.out["origin"] = text_of_bytes(origin)
    if journey is not None:
        found.out["hop"]["path"] = [{"instance": i, "at": at} for i, at in journey.path]
        found.out["at"] = journey.path[-1][1] if journey.path else journey.sent_at


def _event(found: _Found) -> None:
    event = found.take("event", lambda: decode_event(found.record.value))
    if event is None:
        return
    said = found.out["event"]
    found.out["at"] = event["at"]
    found.out["instance"] = event["instance"]
    try:
        kind = EventKind(event["event"])
    except ValueError:
        said["name"] = f"event {event['event']}"
    else:
        said["name"] = kind.title
        subclass = SUBCLASSES.get(kind, {}).get(event["subclass"])
        if subclass is not None:
            said["subclass_name"] = subclass
    if event["error"]:
        said["text"] = text_of(event["error"])
    # A record that could not be read may still be known by its key.
    found.out["conversation"] = event["conversation"] or _guid(found.record.key)


def _result(found: _Found) -> None:
    result = found.take("result", lambda: decode_result(found.record.value))
    if result is not None:
        found.out["conversation"] = str(result.conversation)
        if result.number and not result.text:
            found.out["result"]["text"] = text_of(result.number)


def _presence(found: _Found) -> None:
    seen = found.take("presence", lambda: decode_presence(found.record.value))
    if seen is not None:
        found.out["at"], found.out["instance"] = seen["at"], seen["instance"]
    announced = found.header(ANNOUNCED)
    if announced is not None:
        found.out["schemas"] = sorted(p[2:].hex() for p in read_announcement(announced))
    if found.header(ADMITS) is not None:
        found.take("ingress", lambda: sorted(read_admission(found.header(ADMITS))))


def _catalog(found: _Found) -> None:
    found.out["object"] = [unquote(part) for part in (found.out["key"] or "").split("/")]
    if found.record.value is None:
        found.out["removed"] = True
        return
    found.take("catalog", lambda: _catalog_object(found.record.value))


def _catalog_object(value: bytes | None) -> Description:
    version, body = decode_catalog_object(value)
    return {"version": version, "object": json.loads(body)}


def _metric(found: _Found) -> None:
    metric = found.take("metric", lambda: decode_metric(found.record.value))
    if metric is not None:
        found.out["conversation"] = metric["values"].get("conversation")


def _reading(found: _Found) -> None:
    if found.record.value is None:
        found.out["removed"] = True
        return
    found.take("reading", lambda: decode_reading(found.record.value))


def _state(found: _Found) -> None:
    key, value = found.record.key or b"", found.record.value
    if key == POSITIONS_KEY:
        found.take("positions", lambda: decode_positions(value or b""))
        return
    about = found.take("about", lambda: decode_key(key))
    if about is None:
        return
    if isinstance(about, RequestKey):
        found.out["database"] = about.database
        if value is None:
            found.out["removed"] = True
        else:
            found.take("request", lambda: decode_request(value, about.service))
        return
    if isinstance(about, SeenKey):
        found.take("seen", lambda: decode_seen(value or b""))
        return
    found.out["conversation"] = str(about.conversation)
    found.out["database"] = about.database
    if value is None:
        found.out["removed"] = True
    elif about.chunk is not None:
        found.take("chunk", lambda: list(decode_chunk(value)))
    elif found.take("dialog", lambda: decode_dialog(value, about.conversation)) is not None:
        for name in ("chunks", "last_copy", "in_flight"):  # records of their own; not stored
            del found.out["dialog"][name]


_KINDS: Mapping[str, Callable[[_Found], None]] = {
    "cmd": _command,
    "out": _frame,
    "txq": _frame,
    "ingress": _frame,
    "in": _frame,
    "ack": _ack,
    "queue": _queued,
    "dialog": _state,
    "result": _result,
    "catalog": _catalog,
    "presence": _presence,
    "event": _event,
    "metric": _metric,
    "reading": _reading,
}


def _key(found: _Found) -> uuid.UUID | None:
    """Take the key for the conversation id that it must be."""
    try:
        conversation = conversation_of(found.record.key)
    except MalformedError as error:
        found.malformed.append(str(error))
        return None
    found.out["conversation"] = str(conversation)
    return conversation


def _guid(raw: bytes | None) -> str | None:
    try:
        return str(conversation_of(raw))
    except MalformedError:
        return None
