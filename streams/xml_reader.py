"""The only reader of XML from outside: message bodies, captures and exported traces.

The reader accepts a subset of XML that is safe to parse. It rejects document types (entities could
expand without limit or read other files), elements deeper than SQL Server's ``xml`` type allows,
and namespaces that are expensive to copy. Parsers copy a namespace's name for each name that uses
it, and validators copy all namespaces in scope for each element that declares one.
"""

from __future__ import annotations

from collections.abc import Mapping
from encodings.aliases import aliases
from xml.etree import ElementTree
from xml.parsers import expat

DEEPEST = 128
"""Maximum element depth; SQL Server rejects deeper documents with error 6335."""
LARGEST = 16 << 20
"""Maximum bytes to parse; a tree takes up to a hundred times as much memory."""


LONGEST_NAMESPACE = 1_024
"""Maximum characters of a namespace's name."""
SCOPES = 1_000_000
"""Maximum namespaces in scope, summed over the elements that declare one.

The elements of a typical document have few namespaces, but 240 kB can contain 10,000 elements with
5,000 namespaces each, which take a gigabyte.
"""
CHECKED = 5_000
"""Maximum nodes of a document that is checked against a schema: elements and attributes.

Attributes also count: those of an element as the square of their number, divided by 50. A worker
needs 20 to 50 µs per node of a simple schema. If the schema has list types, each item of a text
also counts as a node; if it has patterns, a text also counts by its length.
"""
PATTERN_STEPS = 4_000
"""Number of steps of a pattern's automaton that count as one node; a step takes 5 to 15 ns."""
BACKTRACKING_NODE = 7_500
"""If a pattern backtracks, a text counts as the square of its length divided by this number.

Common patterns, such as one for a mail address, take quadratic time: 0.1 s for 4,000 characters.
With patterns that do not backtrack, this value is the maximum that a text counts.
"""
ENCODINGS = frozenset(aliases) | frozenset(aliases.values())
"""Encodings that a document may declare, as Python writes them: in lower case, with underscores.

If an unknown name is looked up, Python keeps it until the process exits.
"""
_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"


class XmlError(ValueError):
    """A text that is not one well-formed document, or is outside the accepted subset."""


def is_well_formed(body: bytes) -> bool:
    """Return whether a body is one XML document without a document type, not nested too deeply."""
    return _is_accepted(body, _Depth())


def is_checkable(body: bytes, *, lists: bool, steps: float) -> bool:
    """Return whether a body is well-formed and cheap enough to check against a schema.

    ``lists``: whether the schema has list types. ``steps``: the maximum number of a pattern's steps
    per character; 0 without patterns, and infinite if a pattern backtracks.
    """
    return _is_accepted(body, _Cost(lists, steps))


def parse_xml(body: bytes) -> ElementTree.Element | None:
    """Return the root of a document, or ``None`` for a text that :func:`read_xml` rejects."""
    try:
        return read_xml(body)
    except XmlError:
        return None


def read_xml(text: bytes | str) -> ElementTree.Element:
    """Return the root of a document; raise XmlError with the reason if it is not accepted.

    The declared encoding of a ``str`` is ignored, because the text is already decoded.
    """
    encoding = None if isinstance(text, bytes) else "utf-8"
    body = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    if len(body) > LARGEST:
        raise XmlError(f"more than {LARGEST >> 20} MiB")
    _demand(body, _Scopes(), encoding)
    try:
        return ElementTree.fromstring(body, ElementTree.XMLParser(encoding=encoding))
    except ElementTree.ParseError as error:  # for example, a prefix without a namespace
        raise XmlError(str(error)) from None


class _Depth:
    """Rejects elements that are nested too deeply."""

    def __init__(self) -> None:
        self._depth = 0

    def begin(self, _name: str, _attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise XmlError(f"nested more than {DEEPEST} levels deep")

    def end(self, _name: str) -> None:
        self._depth -= 1


class _Scopes(_Depth):
    """Also rejects namespaces that are expensive to copy."""

    def __init__(self) -> None:
        super().__init__()
        self._in_scope, self._copied = [0], 0

    def begin(self, _name: str, attributes: Mapping[str, str]) -> None:
        super().begin(_name, attributes)
        self._in_scope.append(self._in_scope[-1])
        if attributes:
            self._declare([v for n, v in attributes.items() if n == "xmlns" or n[:6] == "xmlns:"])

    def end(self, _name: str) -> None:
        super().end(_name)
        self._in_scope.pop()

    def _declare(self, names: list[str]) -> None:
        if not names:
            return
        if max(map(len, names)) > LONGEST_NAMESPACE:
            raise XmlError(f"a namespace of more than {LONGEST_NAMESPACE:,} characters")
        self._in_scope[-1] += len(names)
        self._copied += self._in_scope[-1]
        if self._copied > SCOPES:
            raise XmlError("too many namespaces in scope")


class _Cost(_Scopes):
    """Also rejects documents that are expensive to check against a schema."""

    def __init__(self, lists: bool, steps: float) -> None:
        super().__init__()
        self._left: float = CHECKED
        self._lists, self._steps = lists, steps
        self._length = 0  # the length of the text since the last tag

    def begin(self, _name: str, attributes: Mapping[str, str]) -> None:
        super().begin(_name, attributes)
        self._end_text()
        # xsi:type lets a document choose a list type of XML Schema itself
        self._lists = self._lists or _INSTANCE in attributes.values()
        self._take(1 + len(attributes) + len(attributes) ** 2 / 50)
        for value in attributes.values():
            self.text(value)
            self._end_text()

    def end(self, _name: str) -> None:
        super().end(_name)
        self._end_text()

    def text(self, data: str) -> None:
        self._length += len(data)
        if self._lists:
            self._take(len(data.split()))

    def _end_text(self) -> None:
        if self._steps and self._length:
            linear = self._length * self._steps / PATTERN_STEPS
            self._take(min(linear, self._length**2 / BACKTRACKING_NODE))
        self._length = 0

    def _take(self, nodes: float) -> None:
        self._left -= nodes
        if self._left < 0:
            raise XmlError("validation against the schema exceeds its limit")


def _is_accepted(body: bytes, shape: _Depth) -> bool:
    try:
        _demand(body, shape)
    except XmlError:
        return False
    return True


def _demand(body: bytes, shape: _Depth, encoding: str | None = None) -> None:
    """Raise XmlError unless a body is well-formed and has an acceptable shape.

    Memory does not grow with the body.
    """
    parser = expat.ParserCreate(encoding)
    parser.StartDoctypeDeclHandler = _no_document_type
    parser.StartElementHandler, parser.EndElementHandler = shape.begin, shape.end
    if encoding is None:
        parser.XmlDeclHandler = _known_encoding
    if isinstance(shape, _Cost):
        parser.CharacterDataHandler = shape.text
    try:
        parser.Parse(body, True)
    except XmlError:
        raise
    except expat.ExpatError as error:
        raise XmlError(expat.ErrorString(error.code)) from None
    except (ValueError, LookupError) as error:  # the encoding is unknown
        raise XmlError(str(error)) from None


def _known_encoding(_version: str, encoding: str | None, _standalone: int) -> None:
    """Raise XmlError before the parser looks up an encoding that Python does not have."""
    if encoding is not None and encoding.lower().replace("-", "_") not in ENCODINGS:
        raise XmlError("unknown encoding")


def _no_document_type(*_: object) -> None:
    raise XmlError("a document type is not allowed")
