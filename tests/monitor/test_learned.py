"""Records under schemas that the catalog announces are read like our own."""

from __future__ import annotations

import io
import json
import uuid
from typing import Any

import fastavro
from pyspark.sql import SparkSession

from streams.monitor import read
from streams.monitor.learned import MOST_WRITERS, OWN, Schemas
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


def test_only_what_affects_the_encoding_is_used() -> None:
    """The fingerprint does not cover a logical type, which would change the type of a column."""
    older = _older()
    dressed = json.loads(json.dumps(older))
    for each in dressed["fields"]:
        if each["name"] == "at":
            each["type"] = {"type": "long", "logicalType": "timestamp-millis"}
    assert dressed != older and prefix_of(dressed) == prefix_of(older)
    writers = Schemas([(schema_key(dressed), json.dumps(dressed))]).writers("Event")
    assert "logicalType" not in json.dumps(writers[prefix_of(older)])


def test_the_schemas_of_a_record_are_limited() -> None:
    """Each is a branch of every query of the monitor."""

    def schema(number: int) -> dict[str, Any]:
        added = {"name": f"x{number}", "type": "long"}
        return {**load("Event"), "fields": [*load("Event")["fields"], added]}

    schemas = [schema(number) for number in range(MOST_WRITERS + 10)]
    found = Schemas([(schema_key(each), json.dumps(each)) for each in schemas]).writers("Event")
    assert len(found) == MOST_WRITERS
    assert prefix_of(load("Event")) in found


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
