"""The only reader of XML from outside: bodies, captures, exported traces.

It accepts a subset that is safe to parse: no document type (entities could expand without limit or
read other files), and elements no deeper than SQL Server's ``xml`` type allows.
"""

from __future__ import annotations

from xml.etree import ElementTree
from xml.parsers import expat

DEEPEST = 128
"""Maximum element depth: SQL Server refuses more with error 6335."""
LARGEST = 16 << 20
"""Maximum bytes to parse: a tree takes up to a hundred times as much memory."""


class XmlError(ValueError):
    """A text that is not one well-formed document, or outside the accepted subset."""


def is_well_formed(body: bytes) -> bool:
    """Tell whether a body is one XML document without a document type, not nested too deeply."""
    try:
        _demand_well_formed(body)
    except XmlError:
        return False
    return True


def parse_xml(body: bytes) -> ElementTree.Element | None:
    """Return the root of a document, or ``None`` for what :func:`read_xml` refuses."""
    try:
        return read_xml(body)
    except XmlError:
        return None


def read_xml(text: bytes | str) -> ElementTree.Element:
    """Return the root of a document; raise XmlError with the reason if it is not accepted.

    The declared encoding of a ``str`` is ignored: it is already decoded.
    """
    encoding = None if isinstance(text, bytes) else "utf-8"
    body = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    if len(body) > LARGEST:
        raise XmlError(f"more than {LARGEST >> 20} MiB")
    _demand_well_formed(body, encoding)
    try:
        return ElementTree.fromstring(body, ElementTree.XMLParser(encoding=encoding))
    except ElementTree.ParseError as error:  # of a tree's names: a prefix without a namespace
        raise XmlError(str(error)) from None


def _demand_well_formed(body: bytes, encoding: str | None = None) -> None:
    """Raise XmlError unless a body is acceptable; memory does not grow with the body."""
    parser = expat.ParserCreate(encoding)
    parser.StartDoctypeDeclHandler = _no_document_type
    depth = 0

    def begin(*_: object) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise XmlError(f"nested more than {DEEPEST} levels deep")

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    try:
        parser.Parse(body, True)
    except XmlError:
        raise
    except expat.ExpatError as error:
        raise XmlError(expat.ErrorString(error.code)) from None
    except (ValueError, LookupError) as error:  # of an unknown encoding
        raise XmlError(str(error)) from None


def _no_document_type(*_: object) -> None:
    raise XmlError("a document type is not allowed")
