"""Convert the rows of :mod:`streams.store.rows` to and from columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from streams.store.kinds import KINDS
from streams.store.rows import Cause, Row

AnyRow = TypeVar("AnyRow", bound=Row)
_LISTS = {"histogram", "statuses"}
"""Columns that contain pairs of a value and a count, as JSON."""


def to_columns(row: Row) -> dict[str, Any]:
    """Return a row's values by column, including its key."""
    kind, values = KINDS[type(row)], _values(row)
    values["key"] = kind.key(values)
    # A statement that sets columns uses a parameter with the column's name for the new value.
    return {f"b_{name}": value for name, value in values.items()} if kind.forgets else values


def as_columns(row: Row) -> tuple[str, str, dict[str, Any]]:
    """Return a row's table, key, and values by column, for writers other than the store."""
    kind = KINDS[type(row)]
    values = _values(row)
    return kind.table.name, kind.key(values), values


def from_columns(kind: type[AnyRow], columns: Mapping[str, Any]) -> AnyRow:
    """Return a row of a kind from one row of a query's result."""
    values = {field.name: columns[field.name] for field in fields(kind)}
    if values.get("cause") is not None:
        values["cause"] = Cause(values["cause"])
    for name in _LISTS & values.keys():
        values[name] = tuple(map(tuple, json.loads(values[name])))
    return kind(**values)


def _values(row: Row) -> dict[str, Any]:
    values = {field.name: getattr(row, field.name) for field in fields(row)}
    if isinstance(values.get("cause"), Cause):
        values["cause"] = values["cause"].value
    for name in _LISTS & values.keys():
        values[name] = json.dumps(values[name], separators=(",", ":"))
    return values
