"""The values of ``catalog``: objects of the topology, each with a version."""

from __future__ import annotations

from typing import Any

from streams.wire.single_object import Codec

CATALOG_OBJECT = Codec("CatalogObject")


def encode_catalog_object(version: int, body: str) -> bytes:
    """Encode a value of ``catalog``; ``body`` is JSON."""
    return CATALOG_OBJECT.encode({"version": version, "body": body})


def decode_catalog_object(raw: bytes | None) -> tuple[int, str]:
    """Decode a value of ``catalog`` to (version, JSON); raises MalformedError if it is invalid."""
    record: dict[str, Any] = CATALOG_OBJECT.decode(raw)
    return record["version"], record["body"]
