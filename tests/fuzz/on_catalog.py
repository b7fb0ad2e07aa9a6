"""Fuzz what a hostile `apply` role may publish: objects of the catalog, and schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from streams.kafka.catalog import VERSION_KEY, CatalogState, hash_of
from streams.node import catalog_of
from streams.schema import load as schema
from streams.topology import flatten
from streams.wire import MalformedError
from streams.wire.catalog_objects import encode_catalog_object
from streams.wire.single_object import Codec
from tests.fuzz.mutate import joined, parts_of
from tests.fuzz.target import (
    TOPICS,
    Target,
)
from tests.topology.build import shipped
from tests.wire.test_compatibility import examples

# --- the catalog ---------------------------------------------------------------------------------


class _Message:
    def __init__(self, key: str, value: bytes | None) -> None:
        self._key, self._value = key.encode("utf-8", "surrogatepass"), value

    def key(self) -> bytes:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def offset(self) -> int:
        return 0


def _catalogs() -> list[bytes]:
    return [
        json.dumps(flatten(shipped(n))).encode() for n in ("local", "combined", "mirrored", "hub")
    ]


def _catalog(data: bytes) -> None:
    """Publish objects under a hash that fits: workers use them, or keep the version before."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return
    if not isinstance(found, dict):
        return
    state = CatalogState()
    bodies = {key: json.dumps(value) for key, value in found.items()}
    for key, body in bodies.items():
        state.read(_Message(key, _object(body)))  # type: ignore[arg-type]
    body = json.dumps({"number": 7, "hash": _hash(state), "objects": len(state.objects)})
    if state.read(_Message(VERSION_KEY, _object(body))):  # type: ignore[arg-type]
        assert state.topology is not None
        try:
            catalog = catalog_of(state.topology, 7)
        except Exception:  # as the worker's control does: it keeps the version before
            return
        _use(catalog)


def _object(body: str) -> bytes | None:
    try:
        return encode_catalog_object(7, body)
    except (ValueError, UnicodeEncodeError):
        return b"none"


def _hash(state: CatalogState) -> str:
    try:
        return hash_of(state.objects)
    except UnicodeEncodeError:
        return ""


def _use(catalog: Any) -> None:
    """Ask a catalog what workers ask of it, for every service that it has."""
    for instance in catalog.instances.values():
        TOPICS.txq(instance.name).encode()
    for (instance, database, service), found in list(catalog.services.items())[:20]:
        catalog.priority(instance, database, "DEFAULT", service, "S")
        TOPICS.queue(instance, database, found.queue).encode()
        assert found.partitions > 0


def _announced(data: bytes) -> None:
    """Read a record under a schema that somebody announces: schema, then bytes without a prefix."""
    text, *bodies = parts_of(data) or [data]
    codec = Codec("Presence")
    try:
        prefix = codec.announce(json.loads(text))
    except (MalformedError, ValueError, RecursionError):
        return
    for body in (*bodies, b"\x02" * 100_000, b"\x00" * 1_000):
        try:
            codec.decode(prefix + body)
        except MalformedError:
            continue


def _announcements() -> list[bytes]:
    body = examples()["Presence"][10:]
    newer = schema("Presence") | {"fields": [
        *schema("Presence")["fields"],
        {"name": "map", "type": {"type": "map", "values": "long"}, "default": {}},
        {"name": "deep", "type": {"type": "record", "name": "A", "fields": [
            {"name": "b", "type": ["null", {"type": "array", "items": "double"}]}]}},
    ]}  # fmt: skip
    texts = [json.dumps(one).encode() for one in (schema("Presence"), newer, schema("Dialog"))]
    return [joined([text, body, body + b"\x00" * 4]) for text in texts]


TARGETS: Mapping[str, Target] = {
    "catalog": Target(_catalogs, _catalog),
    "announced_schema": Target(_announcements, _announced),
}  # fmt: skip
