"""The Avro schemas of ``schemas/`` as data, by name."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from streams.resources import schemas_dir

__all__ = ["NAMES", "load"]

NAMES = (
    "Route",
    "Message",
    "Hop",
    "Ack",
    "Status",
    "Command",
    "Cause",
    "Result",
    "Event",
    "Metric",
    "Presence",
    "CatalogObject",
    "Dialog",
    "Chunk",
    "Positions",
    "Request",
    "Seen",
    "Reading",
    "Secret",
    "CapturedRecord",
)


@cache
def load(name: str) -> dict[str, Any]:
    """Return the schema ``schemas/<name>.avsc``."""
    text = (schemas_dir() / f"{name}.avsc").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
