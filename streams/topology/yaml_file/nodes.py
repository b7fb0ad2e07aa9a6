"""Read YAML nodes strictly: each wrong type or unknown key is an error with line and column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import yaml

from streams.errors import InputError
from streams.prose import clipped, meant
from streams.topology.findings import Source

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_E = TypeVar("_E", bound=Enum)
_TAG = "tag:yaml.org,2002:"
_DEPTH = 100
_DIGITS = 30
_COPIES = 1_000_000
_SWITCH = {
    "on": True, "true": True, "yes": True, "enabled": True,
    "off": False, "false": False, "no": False, "disabled": False,
}  # fmt: skip


def parse_file(path: Path) -> Node | None:
    """Return the root of a file, or ``None`` for an empty file; a byte order mark is allowed."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message, remedy = "The file is not UTF-8.", "Save the file as UTF-8."
        raise InputError(message, file=str(path), remedy=remedy) from error
    return parse_yaml(text, str(path))


def parse_yaml(text: str, file: str) -> Node | None:
    """Return the document's root, or ``None`` for an empty document."""
    loader = _Loader(text)
    try:
        _refuse_depth(text, file)
        root = loader.get_single_node()
        if root is not None:
            _refuse_size(root, file)
        return None if root is None else Node(root, file, loader)
    except yaml.MarkedYAMLError as error:
        raise _no_yaml(error, file) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"a character that YAML does not allow: {error.reason}"
        raise InputError(message, file=file, line=line, remedy="Remove it.") from error
    finally:
        loader.dispose()


def _refuse_depth(text: str, file: str) -> None:
    """Raise InputError if lists and mappings are nested so deeply that the composer would crash."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEPTH:
            line, column = _place(event.start_mark)
            message, remedy = f"more than {_DEPTH} nested lists and mappings", "Flatten it."
            raise InputError(message, file=file, line=line, column=column, remedy=remedy)


def _refuse_size(root: yaml.Node, file: str) -> None:
    """Raise InputError if aliases expand to an excessive size or depth.

    A few lines of nested aliases can expand to more than fits into memory, or be nested so deeply
    that merging them would crash.
    """
    sizes: dict[int, float] = {}
    depths: dict[int, int] = {}

    def measure(node: yaml.Node) -> float:
        if id(node) not in sizes:
            sizes[id(node)] = math.inf  # reading a recursive alias would never end
            parts = node.value if isinstance(node, yaml.CollectionNode) else ()
            flat = [part for item in parts for part in (item if type(item) is tuple else (item,))]
            sizes[id(node)] = 1 + sum(map(measure, flat))
            if sizes[id(node)] - len(sizes) > _COPIES:
                raise refused(node, f"its aliases expand to more than {_COPIES:,} values")
            depths[id(node)] = max((1 + depths[id(part)] for part in flat), default=0)
            if depths[id(node)] > _DEPTH:
                raise refused(node, f"its aliases nest more than {_DEPTH} lists and mappings")
        return sizes[id(node)]

    def refused(node: yaml.Node, message: str) -> InputError:
        line, column = _place(node.start_mark)
        remedy = "Write the values out."
        return InputError(message, file=file, line=line, column=column, remedy=remedy)

    measure(root)


def _place(mark: Any) -> tuple[int, int]:
    """Return the line and column (from 1) of a mark of either loader."""
    return (mark.line + 1, mark.column + 1) if mark else (0, 0)


def _no_yaml(error: yaml.MarkedYAMLError, file: str) -> InputError:
    line, column = _place(error.problem_mark or error.context_mark)
    message = "invalid YAML: " + " ".join(str(error.problem or error.context).split())
    remedy = "Check the indentation, the quotes and the brackets before this place."
    return InputError(message, file=file, line=line, column=column, remedy=remedy)


@dataclass(frozen=True, slots=True)
class Node:
    """A YAML node with its file; the methods return values or raise InputError."""

    raw: yaml.Node
    file: str
    loader: yaml.SafeLoader

    @property
    def source(self) -> Source:
        """Return the node's place."""
        mark = self.raw.start_mark
        return Source(self.file, mark.line + 1, mark.column + 1)

    @property
    def is_null(self) -> bool:
        """Return whether the node is empty or null."""
        return bool(self.raw.tag == _TAG + "null")

    @property
    def is_list(self) -> bool:
        """Return whether the node is a sequence."""
        return isinstance(self.raw, yaml.SequenceNode)

    @property
    def is_mapping(self) -> bool:
        """Return whether the node is a mapping."""
        return isinstance(self.raw, yaml.MappingNode)

    def fail(self, expected: str, remedy: str = "") -> NoReturn:
        """Raise an error that names the content expected here."""
        raise self.error(f"expected {expected}, found {self._raw_text()}", remedy)

    def error(self, message: str, remedy: str = "") -> InputError:
        """Return an error at this place."""
        s = self.source
        return InputError(message, file=s.file, line=s.line, column=s.column, remedy=remedy)

    def _raw_text(self) -> str:
        if isinstance(self.raw, yaml.MappingNode):
            return "a mapping"
        if isinstance(self.raw, yaml.SequenceNode):
            return "a list"
        return "nothing" if self.is_null else f"'{clipped(self.raw.value)}'"

    def mapping(self, what: str) -> dict[str, tuple[Node, Node]]:
        """Return (key node, value node) by key text; null counts as an empty mapping."""
        if self.is_null:
            return {}
        if not isinstance(self.raw, yaml.MappingNode):
            self.fail(f"a mapping of {what}", "Write one `NAME: VALUE` per line.")
        try:
            self.loader.flatten_mapping(self.raw)
        except yaml.MarkedYAMLError as error:
            raise _no_yaml(error, self.file) from error
        found: dict[str, tuple[Node, Node]] = {}
        begin, end = self.raw.start_mark.index, self.raw.end_mark.index
        for raw_key, raw_value in self.raw.value:
            key = Node(raw_key, self.file, self.loader)
            if not isinstance(raw_key, yaml.ScalarNode) or key.is_null or not raw_key.value:
                key.fail(f"a name among {what}")
            first = found.get(raw_key.value)
            # Keys from a merge (<<) are in another place of the file, and may be overridden.
            if first is not None and begin <= first[0].raw.start_mark.index < end:
                remedy = f"The first is on line {first[0].source.line}; keep one of them."
                raise key.error(f"'{raw_key.value}' is given twice", remedy)
            found[raw_key.value] = (key, Node(raw_value, self.file, self.loader))
        return found

    def named(self, what: str) -> dict[str, tuple[Node, Node]]:
        """Return a mapping; keys that differ only in case are an error."""
        found = self.mapping(what)
        folded: dict[str, str] = {}
        for name, (key, _) in found.items():
            other = folded.setdefault(name.casefold(), name)
            if other != name:
                raise key.error(
                    f"'{name}' and '{other}' differ only in case",
                    f"Names of {what} are case-insensitive; rename one.",
                )
        return found

    def fields(self, what: str, allowed: Iterable[str]) -> Mapping[str, Node]:
        """Return the values of a record with known keys; an unknown key is an error."""
        known = tuple(allowed)
        found = self.mapping(f"{what}'s settings")
        for name, (key, _) in found.items():
            if name not in known:
                takes = f"{what[0].upper()}{what[1:]} takes: {', '.join(known)}."
                remedy = " ".join(filter(None, (meant(name, known), takes)))
                raise key.error(f"'{name}' is not a setting of {what}", remedy)
        return {name: value for name, (_, value) in found.items()}

    def items(self, what: str) -> tuple[Node, ...]:
        """Return the members of a list; null counts as an empty list."""
        if self.is_null:
            return ()
        if not isinstance(self.raw, yaml.SequenceNode):
            self.fail(f"a list of {what}", "Write one `- ITEM` per line.")
        return tuple(Node(item, self.file, self.loader) for item in self.raw.value)

    def text(self, what: str) -> str:
        """Return a string; numbers and booleans must be quoted."""
        if not isinstance(self.raw, yaml.ScalarNode) or self.is_null:
            self.fail(what)
        if self.raw.tag != _TAG + "str":
            self.fail(f"{what}: a text", f"Put it in quotes: '{clipped(self.raw.value)}'.")
        return str(self.raw.value)

    def maybe_text(self, what: str) -> str | None:
        """Return a string or nothing."""
        return None if self.is_null else self.text(what)

    def texts(self, what: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(item.text(what) for item in self.items(what))

    def integer(self, what: str, least: int, most: int) -> int:
        """Return a whole number within bounds."""
        if self.raw.tag != _TAG + "int" or not self.raw.value.lstrip("+-").isdecimal():
            self.fail(f"{what}: a whole number")
        # Python refuses to read thousands of digits.
        value = int(self.raw.value) if len(self.raw.value) < _DIGITS else None
        if value is None or not least <= value <= most:
            self.fail(f"{what} from {least} to {most}")
        return value

    def switch(self, what: str) -> bool:
        """Return true or false for any of YAML's words for on and off."""
        if isinstance(self.raw, yaml.ScalarNode):
            value = _SWITCH.get(self.raw.value.casefold())
            if value is not None:
                return value
        return self.fail(f"{what}: on or off")

    def choice(self, what: str, values: type[_E]) -> _E:
        """Return a member of an enum by its case-insensitive value."""
        words = {str(member.value): member for member in values}
        if isinstance(self.raw, yaml.ScalarNode) and self.raw.value.casefold() in words:
            return words[self.raw.value.casefold()]
        text = self.raw.value.casefold() if isinstance(self.raw, yaml.ScalarNode) else ""
        return self.fail(f"{what}: {', '.join(words)}", meant(text, words))

    def instant(self, what: str) -> float:
        """Return epoch seconds from a number or an ISO 8601 text, in UTC if it has no zone."""
        value = str(self.raw.value) if isinstance(self.raw, yaml.ScalarNode) else ""
        try:
            if self.raw.tag in (_TAG + "int", _TAG + "float"):
                return float(value)
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{what}: such as 2031-01-31T12:00:00Z or seconds since 1970")
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def optional(given: Mapping[str, Node], key: str) -> str | None:
    """Return the text of an optional key."""
    return given[key].maybe_text(key) if key in given else None
