"""Records of ``metric``: rows of the monitor's store as Avro."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.wire.single_object import Codec

METRIC = Codec("Metric")
Value = str | int | float | None


def encode_metric(
    table: str, key: str, query: str, batch: int, values: Mapping[str, Value]
) -> bytes:
    """Encode a row of a table; null values are omitted."""
    numbers = [(name, float(v)) for name, v in values.items() if isinstance(v, (int, float))]
    texts = [(name, v) for name, v in values.items() if isinstance(v, str)]
    return METRIC.pack((table, key, query, batch, numbers, texts))


def decode_metric(raw: bytes | None) -> dict[str, Any]:
    """Decode a row; the result's ``values`` contains its columns by name. Raises MalformedError."""
    record = METRIC.decode(raw)
    found = (*record.pop("texts"), *record.pop("numbers"))
    return {**record, "values": {one["name"]: _short(one["value"]) for one in found}}


def _short(value: str | float) -> str | float:
    return int(value) if isinstance(value, float) and value.is_integer() else value
