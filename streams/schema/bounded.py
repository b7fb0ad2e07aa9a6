"""Check that the cost of decoding a schema's records is bounded by their size in bytes.

A decoder in C cannot be interrupted by Ctrl-C, and uses the C stack. Examples of the danger:

* if items take no bytes, ten bytes can be an array of ten billion items;
* if each of 40 nested records contains the next one twice, and the last one is empty, there are a
  trillion fields in zero bytes;
* a recursive record is nested as deeply as its bytes allow, and crashes the process (SIGSEGV).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_DEEPEST = 100
"""Maximum levels of nested types; Hopline's schemas have four."""
_LONGEST_NAME = 256
"""Maximum characters of a type's name and namespace: the canonical form repeats both for each use.

100 kB with a namespace of 60,000 characters have a canonical form of 90 MB.
"""
_MOST_EMPTY = 100
"""Maximum number of adjacent values without bytes, such as nulls; Hopline's schemas have none."""


class _Cost(NamedTuple):
    """The cost of one value of a type: its depth, and its number of values that take no bytes."""

    empty: int
    takes_bytes: bool
    levels: int


class _UnboundedError(Exception):
    """The cost of a value is not bounded by its bytes, or the schema is invalid."""


def is_bounded(schema: Any) -> bool:
    """Return whether decoding takes time and stack at most in proportion to the bytes.

    ``schema`` is any JSON; an invalid schema is not bounded. Two types with the same name, in any
    namespaces, are rejected, because references would be ambiguous. So are long names. Call this
    before any function of fastavro, whose cost is not limited.
    """
    named: dict[str, Any] = {}
    try:
        for one in _within(schema):
            if len(str(one.get("name", ""))) + len(str(one.get("namespace", ""))) > _LONGEST_NAME:
                return False
            if "name" in one and named.setdefault(_short(one["name"]), one) is not one:
                return False
        _cost(schema, named, {}, 0)
    except _UnboundedError:
        return False
    return True


def _within(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every nested schema that is an object; raise an error for an invalid schema."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            yield one
            waiting += [one.get("type"), one.get("items"), one.get("values")]
            waiting += _types(one)


def _cost(schema: Any, named: Mapping[str, Any], known: dict[str, _Cost], depth: int) -> _Cost:
    if depth > _DEEPEST:
        raise _UnboundedError
    if isinstance(schema, str):
        name = _short(schema)
        if name not in named:
            return _NULL if schema == "null" else _PLAIN
        if name not in known:
            known[name] = _cost(named[name], named, known, depth + 1)
        found = known[name]
    elif isinstance(schema, list):  # a union's bytes name its branch
        branches = [_cost(one, named, known, depth + 1) for one in schema]
        empty, levels = (max((b[n] for b in branches), default=0) for n in (0, 2))
        found = _Cost(empty, True, 1 + levels)
    elif isinstance(schema, dict):
        found = _cost_of_object(schema, named, known, depth)
    else:
        return _PLAIN
    if depth + found.levels > _DEEPEST or found.empty > _MOST_EMPTY:
        raise _UnboundedError
    return found


def _cost_of_object(
    schema: dict[str, Any], named: Mapping[str, Any], known: dict[str, _Cost], depth: int
) -> _Cost:
    kind = schema.get("type")
    if kind == "fixed":
        return _PLAIN if schema.get("size") else _NULL
    if kind in ("array", "map"):
        item = _cost(schema.get("items", schema.get("values")), named, known, depth + 1)
        if kind == "array" and not item.takes_bytes:
            raise _UnboundedError
        return _Cost(item.empty, True, item.levels + 1)
    if kind not in ("record", "error"):
        inner = kind if isinstance(kind, (str, dict, list)) else None
        return _cost(inner, named, known, depth + 1)
    found = _sum([_cost(one, named, known, depth + 1) for one in _types(schema)])
    return found if found.takes_bytes else found._replace(empty=found.empty + 1)


def _types(record: dict[str, Any]) -> list[Any]:
    """Return the types of a record's fields."""
    fields = record.get("fields", [])
    if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
        raise _UnboundedError
    return [field.get("type") for field in fields]


def _sum(costs: list[_Cost]) -> _Cost:
    return _Cost(
        sum(one.empty for one in costs),
        any(one.takes_bytes for one in costs),
        1 + max((one.levels for one in costs), default=0),
    )


_NULL, _PLAIN = _Cost(1, False, 1), _Cost(0, True, 1)


def _short(name: Any) -> str:
    if not isinstance(name, str):
        raise _UnboundedError
    return name.rpartition(".")[2]
