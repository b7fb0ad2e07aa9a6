"""Between the rows of :mod:`streams.store.rows` and the columns of their tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from streams.store.rows import Cause, Row
from streams.store.tables import KINDS

AnyRow = TypeVar("AnyRow", bound=Row)


def to_columns(row: Row) -> dict[str, Any]:
    """Return a row's values by column, its key among them."""
    values = {field.name: getattr(row, field.name) for field in fields(row)}
    if isinstance(values.get("cause"), Cause):
        values["cause"] = values["cause"].value
    if "histogram" in values:
        values["histogram"] = json.dumps(values["histogram"], separators=(",", ":"))
    return values | {"key": KINDS[type(row)].key(values)}


def from_columns(kind: type[AnyRow], columns: Mapping[str, Any]) -> AnyRow:
    """Return the row of a kind that a result of its table holds."""
    values = {field.name: columns[field.name] for field in fields(kind)}
    if values.get("cause") is not None:
        values["cause"] = Cause(values["cause"])
    if "histogram" in values:
        values["histogram"] = tuple((ms, count) for ms, count in json.loads(values["histogram"]))
    return kind(**values)
