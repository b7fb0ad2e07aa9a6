"""Records under schemas that the catalog announces are read like our own."""

from __future__ import annotations

import io
import json
import uuid
from typing import Any

import fastavro
from pyspark.sql import SparkSession

from streams.monitor import read
from streams.monitor.learned import OWN, Schemas
from streams.schema import load
from streams.wire import encode_event
from streams.wire.evolution import schema_key
from streams.wire.single_object import prefix_of
from tests.monitor.records import NOON, Stored, frame

EVENT = {"event": 160, "error": 11218, "at": NOON, "instance": "ServerB"}


def _older() -> dict[str, Any]:
    """The schema as it was before events reported copies."""
    schema = load("Event")
    return {**schema, "fields": [f for f in schema["fields"] if f["name"] != "left_at"]}


def _written(schema: dict[str, Any]) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), EVENT)
    return prefix_of(schema) + body.getvalue()


def test_what_the_catalog_announces_is_read(spark: SparkSession) -> None:
    older = _older()
    raw = frame(spark, [Stored(value=_written(older)), Stored(value=encode_event(EVENT))])
    unknown, known = read.events(raw).collect()
    assert (unknown.reason, known.reason) == ("value: unknown schema", None)
    schemas = Schemas([(schema_key(older), json.dumps(older))])
    first, second = read.events(raw, writers=schemas.writers("Event")).collect()
    assert first == second
    assert (first.reason, first.error, first.left_at) == (None, 11218, None)


def test_ours_comes_first_and_what_is_none_is_left_out() -> None:
    older = _older()
    objects = [
        (schema_key(older), json.dumps(older)),
        (schema_key(load("Event")), json.dumps(load("Event"))),
        ("//schema/Event.0123456789abcdef", '{"type": "nothing"}'),
        ("//schema/Event.0123456789abcdee", "{"),
        ("ServerA/DatabaseA/route/Event", "{}"),
    ]
    writers = Schemas(objects).writers("Event")
    assert list(writers) == [prefix_of(load("Event")), prefix_of(older)]
    assert OWN.writers("Hop") == read.HOPS


def test_the_ids_of_an_event_are_text(spark: SparkSession) -> None:
    event = encode_event({**EVENT, "conversation": "no uuid", "message_id": str(uuid.UUID(int=1))})
    (row,) = read.events(frame(spark, [Stored(value=event)])).collect()
    assert (row.conversation, row.message_id) == ("no uuid", str(uuid.UUID(int=1)))
