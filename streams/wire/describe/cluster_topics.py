"""Events, heartbeats, the catalog, metrics and readings: the topics of the whole cluster."""

from __future__ import annotations

import json
from urllib.parse import unquote

from streams.errors import EventKind, text_of
from streams.errors.event_kinds import SUBCLASSES
from streams.wire.catalog_objects import decode_catalog_object
from streams.wire.describe.builder import Description, DescriptionBuilder
from streams.wire.dialog_records import EventRecord
from streams.wire.evolution import ADMITS, ANNOUNCED, read_admission, read_announcement
from streams.wire.heartbeats import decode_presence
from streams.wire.id_secret import secret_owner
from streams.wire.metric import decode_metric
from streams.wire.plain import text_of_bytes
from streams.wire.reading import decode_reading
from streams.wire.records import conversation_of
from streams.wire.single_object import MalformedError


def describe_event(found: DescriptionBuilder) -> None:
    """Describe an event; its key contains the conversation if its value does not."""
    event = found.take("event", lambda: EventRecord(found.record).event)
    if event is None:
        return
    described = found.out["event"]
    found.out["at"] = event["at"]
    found.out["instance"] = event["instance"]
    try:
        kind = EventKind(event["event"])
    except ValueError:
        described["name"] = f"event {event['event']}"
    else:
        described["name"] = kind.title
        subclass = SUBCLASSES.get(kind, {}).get(event["subclass"])
        if subclass is not None:
            described["subclass_name"] = subclass
    if event["error"]:
        described["text"] = text_of(event["error"])
    # If a record could not be read, its key may still identify the conversation.
    found.out["conversation"] = event["conversation"] or _guid(found.record.key)


def describe_presence(found: DescriptionBuilder) -> None:
    """Describe a heartbeat, with the announcements and admissions of its process."""
    seen = found.take("presence", lambda: decode_presence(found.record.value))
    if seen is not None:
        found.out["at"], found.out["instance"] = seen["at"], seen["instance"]
    announced = found.header(ANNOUNCED)
    if announced is not None:
        found.take("schemas", lambda: sorted(p[2:].hex() for p in read_announcement(announced)))
    if found.header(ADMITS) is not None:
        found.take("ingress", lambda: sorted(read_admission(found.header(ADMITS))))


def describe_catalog(found: DescriptionBuilder) -> None:
    """Describe an object of the catalog."""
    found.out["object"] = [unquote(part) for part in (found.out["key"] or "").split("/")]
    value = found.kept_value()
    if value is not None:
        found.take("catalog", lambda: _catalog_object(value))


def _catalog_object(value: bytes) -> Description:
    version, body = decode_catalog_object(value)
    return {"version": version, "object": json.loads(body)}


def describe_metric(found: DescriptionBuilder) -> None:
    """Describe a metric of the monitor."""
    metric = found.take("metric", lambda: decode_metric(found.record.value))
    if metric is not None:
        found.out["conversation"] = metric["values"].get("conversation")


def describe_reading(found: DescriptionBuilder) -> None:
    """Describe a consumer group's position in a queue; for a secret, describe only its owner."""
    value, owner = found.kept_value(), secret_owner(found.record.key)
    if owner is not None:
        found.out["secret"] = {"application": text_of_bytes(owner)}
    elif value is not None:
        found.take("reading", lambda: decode_reading(value))


def _guid(raw: bytes | None) -> str | None:
    try:
        return str(conversation_of(raw))
    except MalformedError:
        return None
