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

_DEEPEST, _DEEPEST_LEARNED = 100, 20
"""Maximum levels of nested types, and of those of a learned schema; Hopline's schemas have four."""
_MOST_EMPTY, _MOST_EMPTY_LEARNED = 100, 10
"""Maximum number of adjacent values without bytes, such as nulls, and of those in the item of an
array or map of a learned schema. Hopline's schemas have no such values; up to 22 optional values
count, because an optional value may be null."""


class _Cost(NamedTuple):
    """The cost of one value of a type: its depth, and its number of values that take no bytes.

    ``ends``: skipping a value raises an error at the end of the bytes.
    """

    empty: int
    takes_bytes: bool
    levels: int
    ends: bool


class _UnboundedError(ValueError):
    """The cost of a value is not bounded by its bytes, or the schema is invalid."""

    def __init__(self) -> None:
        super().__init__("not a schema, or not a bounded one")


def is_bounded(schema: Any, *, skips: bool = False) -> bool:
    """Return whether decoding takes time and stack at most in proportion to the bytes.

    ``schema`` is any JSON; an invalid schema is not bounded. Two types with the same name, in any
    namespaces, are rejected, because references would be ambiguous.

    ``skips``: the reader may lack fields, and skips their values. The decoder then ignores the end
    of the bytes in an array of values of a fixed size, so 14 bytes can be an endless array. The
    other limits are stricter, too: each byte of an array may stand for an item of many types.
    """
    named: dict[str, Any] = {}
    try:
        for one in _within(schema):
            if "name" in one:
                name = _short(one["name"])
                if name in _NO_NAMES or named.setdefault(name, one) is not one:
                    return False
        _Costs(named, skips).of(schema, 0)
    except _UnboundedError:
        return False
    return True


def longest_name(schema: Any) -> int:
    """Return the number of characters of the longest full name of a type.

    The canonical form repeats this name for each use of the type. Raises ValueError for an invalid
    schema.
    """
    return max(
        (len(str(o.get("name", ""))) + len(str(o.get("namespace", ""))) for o in _within(schema)),
        default=0,
    )


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


class _Costs:
    """The costs of the types of a schema."""

    def __init__(self, named: Mapping[str, Any], skips: bool) -> None:
        self._named, self._skips = named, skips
        self._deepest = _DEEPEST_LEARNED if skips else _DEEPEST
        self._known: dict[str, _Cost] = {}

    def of(self, schema: Any, depth: int) -> _Cost:
        """Return the cost of a type; raise an error if it is not bounded."""
        if depth > self._deepest:
            raise _UnboundedError
        if isinstance(schema, str):
            name = _short(schema)
            if name not in self._named:
                if name not in _PRIMITIVES:
                    raise _UnboundedError
                return _PRIMITIVES[name]
            if name not in self._known:
                self._known[name] = self.of(self._named[name], depth + 1)
            found = self._known[name]
        elif isinstance(schema, list):  # a union's bytes name its branch
            branches = [self.of(one, depth + 1) for one in schema]
            found = _Cost(
                max((b.empty for b in branches), default=0),
                True,
                1 + max((b.levels for b in branches), default=0),
                True,
            )
        elif isinstance(schema, dict):
            found = self._of_object(schema, depth)
        else:
            return _PLAIN
        if depth + found.levels > self._deepest or found.empty > _MOST_EMPTY:
            raise _UnboundedError
        return found

    def _of_object(self, schema: dict[str, Any], depth: int) -> _Cost:
        kind = schema.get("type")
        if kind == "enum":
            return _PLAIN
        if kind == "fixed":
            size = schema.get("size")
            if type(size) is not int or size < 0:
                raise _UnboundedError
            return _FIXED if size else _NULL
        if kind in ("array", "map"):
            item = self.of(schema.get("items" if kind == "array" else "values"), depth + 1)
            if kind == "array" and not (item.takes_bytes and (item.ends or not self._skips)):
                raise _UnboundedError
            if self._skips and item.empty > _MOST_EMPTY_LEARNED:
                raise _UnboundedError
            return _Cost(item.empty, True, item.levels + 1, True)
        if kind not in ("record", "error"):
            inner = kind if isinstance(kind, (str, dict, list)) else None
            return self.of(inner, depth + 1)
        found = _sum([self.of(one, depth + 1) for one in _types(schema)])
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
        any(one.ends for one in costs),
    )


_NULL, _PLAIN, _FIXED = _Cost(1, False, 1, False), _Cost(0, True, 1, True), _Cost(0, True, 1, False)
_PRIMITIVES: Mapping[str, _Cost] = {
    "null": _NULL, "boolean": _FIXED, "float": _FIXED, "double": _FIXED,
    "int": _PLAIN, "long": _PLAIN, "bytes": _PLAIN, "string": _PLAIN,
}  # fmt: skip
_NO_NAMES = frozenset(_PRIMITIVES) | {
    "array", "map", "fixed", "enum", "record", "error", "union", "error_union", "request",
}  # fmt: skip
"""Names with a meaning of their own for the decoder, which would not look up such a type."""


def _short(name: Any) -> str:
    if not isinstance(name, str):
        raise _UnboundedError
    return name.rpartition(".")[2]
