"""Schema evolution: provide this version's schemas, and learn the schemas of other versions.

A writer's schema is an object of the catalog, named by its fingerprint. ``apply`` adds the schemas
of its own version and removes none, because topics contain records with old schemas. Every reader
of the catalog learns all these schemas. So an upgrade begins with ``apply`` of the new version;
after that, old workers can read the records of new workers.

A process that writes to another cluster cannot read the catalog there. Instead, it uses a header of
that cluster's heartbeats, which lists the envelope schemas in that cluster's catalog.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from streams.schema import load
from streams.schema.bounded import is_bounded
from streams.topology import catalog_key, split_key
from streams.wire import commands, id_secret, metric, reading, state
from streams.wire.acknowledgements import ACK, STATUS
from streams.wire.catalog_objects import CATALOG_OBJECT
from streams.wire.events import EVENT
from streams.wire.frame_headers import HOP_CODEC, MESSAGE_CODEC, ROUTE_CODEC
from streams.wire.heartbeats import PRESENCE
from streams.wire.records import HOP, MESSAGE, ROUTE, Headers
from streams.wire.single_object import (
    LARGEST_SCHEMA,
    MARKER,
    PREFIX_LENGTH,
    Codec,
    MalformedError,
    demand_small,
    prefix_of,
)

KIND = "schema"
_CODECS: dict[str, Codec] = {
    codec.name: codec
    for codec in (
        ROUTE_CODEC,
        MESSAGE_CODEC,
        HOP_CODEC,
        ACK,
        STATUS,
        commands.COMMAND,
        commands.CAUSE,
        commands.RESULT,
        EVENT,
        PRESENCE,
        metric.METRIC,
        state.DIALOG,
        state.CHUNK,
        state.POSITIONS,
        state.REQUEST,
        state.SEEN,
        reading.READING,
        id_secret.SECRET,
    )
}
"""All schemas in the catalog. The schema of catalog objects is excluded: it is needed to read
them."""


def schema_key(schema: Any) -> str:
    """Return the key of a schema's object in the catalog."""
    return _key(schema, prefix_of(schema))


def _key(schema: Any, prefix: bytes) -> str:
    return catalog_key("", "", KIND, f"{schema['name']}.{prefix[len(MARKER) :].hex()}")


def written_schemas() -> dict[str, Any]:
    """Return the schemas that this version writes, by their keys in the catalog."""
    return {schema_key(load(name)): load(name) for name in _CODECS}


def is_schema(key: str) -> bool:
    """Return whether a catalog object is a schema."""
    return key.count("/") == 3 and split_key(key)[2] == KIND


def learn(key: str, schema: Any) -> None:
    """Learn a schema, so that records written with it can be read; skip unknown record types.

    Raises MalformedError for an invalid schema.
    """
    codec = _CODECS.get(split_key(key)[3].split(".")[0])
    if codec is not None:
        codec.announce(schema)


# --- in captures ---------------------------------------------------------------------------------


_CAPTURED = {**_CODECS, CATALOG_OBJECT.name: CATALOG_OBJECT}


def own_schemas() -> tuple[str, ...]:
    """Return the schemas that this version writes, as Avro's canonical JSON."""
    return tuple(codec.known[0] for codec in _CAPTURED.values())


def learned_schemas() -> tuple[str, ...]:
    """Return the other readable schemas, which were learned from catalogs and captures."""
    return tuple(schema for codec in _CAPTURED.values() for schema in codec.known[1:])


def learn_schemas(texts: Iterable[str]) -> None:
    """Learn schemas from :func:`own_schemas` or :func:`learned_schemas` of this or another process.

    Unused schemas are skipped. Raises MalformedError if a schema is invalid.
    """
    for text in texts:
        try:
            schema = json.loads(text)
            name = str(schema["name"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise MalformedError(f"invalid schema: {text[:60]!r}") from error
        codec = _CAPTURED.get(name.rpartition(".")[2])
        if codec is not None:
            codec.announce(schema)


# --- across clusters -----------------------------------------------------------------------------

ANNOUNCED = "sb-schemas"
"""The header of a heartbeat: concatenated fingerprints of eight bytes.

This is a header and not a field, because readers that lack the newest ``Presence`` schema need it.
"""
ADMITS = "sb-ingress"
"""The header of a gateway's heartbeat: the other clusters that have their own topic at the gateway.

Its value is a JSON list of the clusters' names. A gateway of an older version does not send this
header, and reads only ``txq``.
"""
MOST_ANNOUNCED = 512
"""Maximum number of announced schemas (4 kB): enough for a hundred versions of the five schemas."""
LARGEST_ADMISSION = 16_384
"""Maximum size in bytes of a gateway's header: enough for a hundred clusters with long names.

All parts of a heartbeat together are smaller than 128 kB, the limit of readers in other clusters.
"""
_ENVELOPE = "hopline.envelope"
_WRITTEN = frozenset({ROUTE, MESSAGE, HOP})
_FINGERPRINT = PREFIX_LENGTH - len(MARKER)
LARGEST_ANNOUNCEMENT = MOST_ANNOUNCED * _FINGERPRINT


def announcement(objects: Mapping[str, str]) -> bytes:
    """Return the heartbeat header for a catalog: its envelope schemas.

    Schemas that are invalid or have a wrong fingerprint are skipped, because no writer can use
    them. If there are too many schemas, those that this version writes are still announced.
    """
    ours = written_schemas()
    known = [
        key
        for key, body in objects.items()
        if is_schema(key) and len(body) <= LARGEST_SCHEMA and _ENVELOPE in body
    ]
    known.sort(key=lambda key: (key not in ours, key))
    schemas = (_envelope_of(key, objects[key]) for key in known[:MOST_ANNOUNCED])
    return b"".join(sorted(filter(None, schemas)))


@lru_cache(2 * MOST_ANNOUNCED)
def _envelope_of(key: str, body: str) -> bytes | None:
    """Return the fingerprint of an envelope schema; ``None`` for other or invalid schemas."""
    try:
        schema = json.loads(body)
        # this order matters: the cost of prefix_of is limited only for a bounded schema
        demand_small(schema)
        if schema["namespace"] != _ENVELOPE or not is_bounded(schema):
            return None
        prefix = prefix_of(schema)
        return prefix[len(MARKER) :] if _key(schema, prefix) == key else None
    except Exception:  # any client with write access may write any object
        return None


def read_announcement(raw: bytes) -> frozenset[bytes]:
    """Return the prefixes of all frame parts that the cluster with this announcement can read.

    Raises MalformedError if there are more than :data:`MOST_ANNOUNCED`.
    """
    if len(raw) > LARGEST_ANNOUNCEMENT:
        raise MalformedError(f"{ANNOUNCED}: {len(raw):,} bytes, at most {LARGEST_ANNOUNCEMENT:,}")
    places = range(0, len(raw), _FINGERPRINT)
    return frozenset(MARKER + raw[at : at + _FINGERPRINT] for at in places)


def clusters_that_fit(clusters: Iterable[str]) -> tuple[str, ...]:
    """Return the names, in order, that an :func:`admission` has room for."""
    found, room = list[str](), LARGEST_ADMISSION - len("[]")
    for name in sorted(clusters):
        size = len(json.dumps(name)) + len(", ")
        if size <= room:
            found.append(name)
            room -= size
    return tuple(found)


def admission(clusters: Iterable[str]) -> bytes:
    """Return the heartbeat header of a gateway: the clusters whose topics it reads."""
    return json.dumps([*clusters]).encode("ascii")


def read_admission(raw: bytes | None) -> frozenset[str]:
    """Return the clusters whose topics a gateway reads; raises MalformedError for invalid bytes."""
    if raw is None:
        return frozenset()
    if len(raw) > LARGEST_ADMISSION:
        raise MalformedError(f"{ADMITS}: {len(raw):,} bytes, at most {LARGEST_ADMISSION:,}")
    try:
        names = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"{ADMITS}: no JSON") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise MalformedError(f"{ADMITS}: not a list of names")
    try:
        "".join(names).encode()
    except UnicodeEncodeError as error:
        raise MalformedError(f"{ADMITS}: half of a surrogate pair") from error
    return frozenset(names)


def unannounced(
    headers: Headers, value: bytes | str | None, announced: Collection[bytes]
) -> str | None:
    """Describe the first schema of a frame, if any, that is not among ``announced``.

    The result contains the schema's fingerprint and the part of the frame.
    """
    is_message = False
    for name, raw in headers:
        is_message = is_message or name == MESSAGE
        if raw is not None and raw[:PREFIX_LENGTH] not in announced and name in _WRITTEN:
            return _strange(name, raw)
    if is_message or not isinstance(value, bytes) or value[:PREFIX_LENGTH] in announced:
        return None
    return _strange("the acknowledgement", value)


def _strange(what: str, raw: bytes) -> str:
    return f"the schema {raw[len(MARKER) : PREFIX_LENGTH].hex()} of {what}"
