"""What a version of tomorrow writes: schemas that nobody has yet, and records under them."""

from __future__ import annotations

import copy
import json
import uuid
from typing import Any

from streams.kafka import read_catalog
from streams.kafka.catalog import VERSION_KEY, hash_of
from streams.schema import load
from streams.wire import encode_catalog_object
from streams.wire.evolution import schema_key
from streams.wire.records import Headers
from streams.wire.single_object import prefix_of
from tests.workers.rig import Rig

EXTRA = b"\x02"  # the number 1


def newer(name: str) -> Any:
    """Return a schema of tomorrow, which nobody else has: one field more, at its end."""
    schema = copy.deepcopy(load(name))
    field = {"name": f"extra_{uuid.uuid4().hex}", "type": "long", "default": 0}
    schema["fields"].append(field)
    return schema


def rewritten(raw: bytes | None, schema: Any) -> bytes:
    """Return the bytes of a record as a writer of tomorrow would have written it."""
    assert raw is not None
    return bytes(prefix_of(schema) + raw[10:] + EXTRA)


def under(headers: Headers, name: str, schema: Any) -> Headers:
    """Return headers of which one is written under a schema."""
    return [(n, rewritten(raw, schema) if n == name else raw) for n, raw in headers]


def announce(at: Rig, schema: Any) -> None:
    """Put a schema into the catalog, as tomorrow's ``apply`` does."""
    state = read_catalog(at.cluster)
    number, key, body = state.version + 1, schema_key(schema), json.dumps(schema)
    closing = json.dumps({"number": number, "hash": hash_of({**state.objects, key: body})})
    at.produce(at.topics.catalog, key, encode_catalog_object(number, body))
    at.produce(at.topics.catalog, VERSION_KEY, encode_catalog_object(number, closing))
