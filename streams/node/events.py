"""Trace events of the workers, with the field names of ``schemas/Event.avsc``."""

from __future__ import annotations

import uuid
from typing import Any, cast

from streams.errors import Event, EventKind, text_of
from streams.protocol import Header, Journey, Parties


def event(
    kind: EventKind,
    *,
    at: int,
    instance: str,
    conversation: uuid.UUID | str | None = None,
    error: int = 0,
    subclass: int = 0,
    parties: Parties | None = None,
    header: Header | None = None,
    journey: Journey | None = None,
    detail: str = "",
    **fields: Any,
) -> Event:
    """Build an event with the fields of the frame's envelope."""
    record: Event = {
        "event": int(kind),
        "subclass": subclass,
        "at": at,
        "instance": instance,
        "conversation": str(conversation) if conversation is not None else None,
        "error": int(error),
        "detail": detail or (text_of(error) if error else ""),
    }
    record.update(cast(Event, fields))
    if parties is not None:
        record["from_initiator"] = parties.from_initiator
        record["from_service"] = parties.from_service
        record["to_service"] = parties.to_service
        record["from_broker"] = parties.from_broker
        record["to_broker"] = parties.to_broker
    if header is not None:
        record["sequence"] = header.sequence
        record["message_id"] = str(header.message_id)
        record["fragment"] = header.fragment
    if journey is not None:
        record["sent_at"] = journey.sent_at
        record["first_hop"] = journey.first_hop
        record["left_at"] = journey.path[0][1] if journey.path else None
        record["path"] = ">".join(name for name, _ in journey.path)
    return record
