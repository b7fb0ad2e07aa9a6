"""Whether what is written under a schema takes any room: a few bytes must not stand for billions.

Avro writes the length of an array and then its items. Where an item takes no bytes, ten of them
say an array that no machine can hold, and a decoder in C makes it without listening to Ctrl-C.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def is_bounded(schema: Any) -> bool:
    """Tell whether every item of every array takes at least one byte.

    ``schema`` is one as JSON has it, names in the namespace of whatever they stand in.
    """
    named = {_short(one["name"]): one for one in _within(schema) if "name" in one}
    return not any(
        _is_nothing(one.get("items"), named, frozenset())
        for one in _within(schema)
        if one.get("type") == "array"
    )


def _within(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every schema within one that is an object."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            yield one
            waiting += [one.get("type"), one.get("items"), one.get("values")]
            waiting += [field.get("type") for field in one.get("fields", ())]


def _is_nothing(schema: Any, named: dict[str, Any], above: frozenset[str]) -> bool:
    if isinstance(schema, str):
        known = named.get(_short(schema))
        return schema == "null" or (known is not None and _is_nothing(known, named, above))
    if not isinstance(schema, dict):
        return False  # a union says which of its branches it is
    kind, name = schema.get("type"), _short(str(schema.get("name")))
    if kind == "fixed":
        return not schema.get("size")
    if kind not in ("record", "error"):
        return isinstance(kind, (str, dict)) and _is_nothing(kind, named, above)
    if name in above:
        return True
    inner = above | {name}
    return all(_is_nothing(field.get("type"), named, inner) for field in schema.get("fields", ()))


def _short(name: str) -> str:
    return name.rpartition(".")[2]
