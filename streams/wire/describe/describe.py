"""Select the decoder for a record by its topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streams.wire.describe.builder import Description, DescriptionBuilder
from streams.wire.describe.cluster_topics import (
    describe_catalog,
    describe_event,
    describe_metric,
    describe_presence,
    describe_reading,
)
from streams.wire.describe.endpoint_state import describe_state
from streams.wire.describe.messages import (
    describe_ack,
    describe_command,
    describe_frame,
    describe_queued,
    describe_result,
)
from streams.wire.describe.raw_record import RawRecord
from streams.wire.place import place_of
from streams.wire.plain import body_of
from streams.wire.topics import Topics

_KINDS: Mapping[str, Callable[[DescriptionBuilder], None]] = {
    "cmd": describe_command,
    "out": describe_frame,
    "txq": describe_frame,
    "ingress": describe_frame,
    "in": describe_frame,
    "ack": describe_ack,
    "queue": describe_queued,
    "dialog": describe_state,
    "result": describe_result,
    "catalog": describe_catalog,
    "presence": describe_presence,
    "event": describe_event,
    "metric": describe_metric,
    "reading": describe_reading,
}


def describe(record: RawRecord, topics: Topics) -> Description:
    """Return the content of a record as data that can be converted to JSON.

    ``at`` is the time of the event that the record represents, in epoch milliseconds. A frame keeps
    its Kafka timestamp when it is forwarded, so for a forwarded frame, ``at`` is the time of its
    latest visit; in ``in``, it is the append time. ``conversation`` is the dialog's id.
    """
    found = DescriptionBuilder(record)
    place = place_of(record.topic, topics)
    if place is not None:
        found.out["kind"] = place.kind
        for name in ("instance", "database", "queue", "cluster"):
            if getattr(place, name) is not None:
                found.out[name] = getattr(place, name)
        _KINDS[place.kind](found)
    else:
        found.out["body"] = body_of(record.value)
    return found.finish()
