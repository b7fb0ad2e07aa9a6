"""Count the items of arrays and maps in Avro data without decoding the data.

An empty item takes one or two bytes when encoded, and some hundred bytes when decoded. So a reader
of untrusted data counts the items before it decodes the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from streams.wire.single_object import read_long

_Skip = Callable[["_Position"], None]
_WIDTHS = {"null": 0, "boolean": 1, "float": 4, "double": 8}


def exceeds(schema: Any, data: bytes, values: int, most: int) -> bool:
    """Return whether the ``values`` values in ``data`` have more than ``most`` items in total.

    ``schema`` must be bounded, see :mod:`streams.schema.bounded`. Counting stops at the limit.
    Raises ValueError or IndexError if the data is damaged.
    """
    position = _Position(data, most)
    skip = _skipper(schema, {})
    try:
        for _ in range(values):
            skip(position)
    except _TooManyError:
        return True
    return False


class _TooManyError(Exception):
    """The data has more items than the limit."""


class _Position:
    """A position in the data, and the number of items that may still follow."""

    __slots__ = ("at", "data", "left")

    def __init__(self, data: bytes, left: int) -> None:
        self.data, self.at, self.left = data, 0, left

    def number(self) -> int:
        """Read an integer."""
        try:
            value, self.at = read_long(self.data, self.at)
        except ValueError as error:
            raise ValueError("an unterminated number") from error
        return value

    def skip_bytes(self) -> None:
        """Skip bytes or a string."""
        length = self.number()
        if not 0 <= length <= len(self.data) - self.at:
            raise ValueError("a length that is not in the data")
        self.at += length

    def counts(self) -> Iterator[int]:
        """Yield the number of items of each part of an array; raise an error above the limit."""
        while count := self.number():
            if count < 0:  # the part's size in bytes follows
                count = -count
                self.number()
            self.left -= count
            if self.left < 0:
                raise _TooManyError
            yield count


def _skipper(schema: Any, named: dict[str, _Skip]) -> _Skip:
    """Return a function that skips one value of a type."""
    if isinstance(schema, list):
        return _skip_union([_skipper(one, named) for one in schema])
    if isinstance(schema, str):
        return _skip_named(schema, named)
    kind = schema["type"]
    if kind in ("array", "map"):
        return _skip_items(kind, _skipper(schema.get("items", schema.get("values")), named))
    if kind in ("record", "error"):
        skip = _skip_all([_skipper(field["type"], named) for field in schema["fields"]])
    elif kind in ("enum", "fixed"):
        skip = _skip_number if kind == "enum" else _skip_width(schema["size"])
    else:
        return _skipper(kind, named)
    named[_short(schema["name"])] = skip
    return skip


def _skip_named(name: str, named: Mapping[str, _Skip]) -> _Skip:
    if name in _WIDTHS:
        return _skip_width(_WIDTHS[name])
    if name in ("int", "long"):
        return _skip_number
    return _Position.skip_bytes if name in ("bytes", "string") else named[_short(name)]


def _skip_number(position: _Position) -> None:
    position.number()


def _skip_width(width: int) -> _Skip:
    def skip(position: _Position) -> None:
        position.at += width

    return skip


def _skip_union(branches: list[_Skip]) -> _Skip:
    def skip(position: _Position) -> None:
        branch = position.number()
        if branch < 0:
            raise ValueError("a union without this branch")
        branches[branch](position)

    return skip


def _skip_items(kind: str, skip_item: _Skip) -> _Skip:
    def skip(position: _Position) -> None:
        for count in position.counts():
            for _ in range(count):
                if kind == "map":
                    position.skip_bytes()
                skip_item(position)

    return skip


def _skip_all(skips: list[_Skip]) -> _Skip:
    def skip(position: _Position) -> None:
        for one in skips:
            one(position)

    return skip


def _short(name: str) -> str:
    return name.rpartition(".")[2]
