"""Decode selected fields of a column that contains Avro in single-object encoding."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from streams.wire.bounds import LONGEST
from streams.wire.single_object import PREFIX_LENGTH

Writers = Mapping[bytes, Mapping[str, Any]]
"""The writer schemas by their ten-byte prefixes."""


def _is(raw: str, prefix: bytes) -> Column:
    return F.substring(raw, 1, PREFIX_LENGTH) == F.lit(bytearray(prefix))


def spoiled_by(name: str, raw: str, writers: Writers, largest: int) -> Column:
    """Return why a column is not decoded: missing, unknown schema, or too large; otherwise null.

    ``largest`` is the limit in bytes of the workers' codec.
    """
    known = reduce(or_, (_is(raw, prefix) for prefix in writers))
    return (
        F.when(F.col(raw).isNull(), f"{name}: missing")
        .when(~known, f"{name}: unknown schema")
        .when(F.length(raw) > largest, f"{name}: too large")
    )


def is_long(*columns: str) -> Column:
    """Return true if one of these texts exceeds the limit of names, otherwise null or false."""
    return reduce(or_, (F.length(column) > LONGEST for column in columns))


def decode(raw: str, writers: Writers, *names: str) -> Column:
    """Return the named fields of a single-object encoded record; all null if it is invalid."""
    body = F.substring(raw, PREFIX_LENGTH + 1, 1 << 30)
    options = {"mode": "PERMISSIVE", "avroSchema": json.dumps(_projected(writers, names))}
    decoded = F.lit(None)
    for prefix, writer in writers.items():
        decoded = F.when(_is(raw, prefix), from_avro(body, json.dumps(writer), options)).otherwise(
            decoded
        )
    return decoded


def _projected(writers: Writers, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the reader's schema: the current schema with only the needed fields."""
    current = dict(next(iter(writers.values())))
    kinds = (field["type"] for field in current["fields"])
    # A type is defined where it is first used, which may be in a field that is not needed.
    defined = {kind["name"]: kind for kind in kinds if isinstance(kind, dict) and "name" in kind}
    wanted = [dict(field) for field in current["fields"] if field["name"] in names]
    for field in wanted:
        if isinstance(field["type"], str):
            field["type"] = defined.pop(field["type"], field["type"])
        elif isinstance(field["type"], dict):
            defined.pop(field["type"].get("name", ""), None)
    return {**current, "fields": wanted}


def clean(column: Column) -> Column:
    """Return a string without invalid UTF-8, and without NUL, which PostgreSQL does not store."""
    return F.translate(F.make_valid_utf8(column), "\0", "\ufffd")
