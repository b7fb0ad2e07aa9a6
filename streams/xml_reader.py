"""The one reader of XML that comes from outside: bodies, captures, exported traces.

What it takes is a subset that any reader can hold: no document type (it could name entities without
end, or outside of the document), and elements no deeper than SQL Server's ``xml`` type has them.
"""

from __future__ import annotations

from xml.etree import ElementTree
from xml.parsers import expat

DEEPEST = 128
"""Levels of elements: SQL Server refuses more with error 6335."""
LARGEST = 16 << 20
"""Bytes of which a tree is built: one takes up to a hundred times as much memory."""


class XmlError(ValueError):
    """A text that is not one well-formed document, or not one that is read."""


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
    """Return the root of a document; raises XmlError, in words, for what is not read.

    Of a ``str`` the declared encoding does not count: it has been decoded before.
    """
    encoding = None if isinstance(text, bytes) else "utf-8"
    body = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    if len(body) > LARGEST:
        raise XmlError(f"more than {LARGEST >> 20} MiB")
    _demand_well_formed(body, encoding)
    try:
        return ElementTree.fromstring(body, ElementTree.XMLParser(encoding=encoding))
    except ElementTree.ParseError as error:  # of a tree's names: a prefix that is bound to nothing
        raise XmlError(str(error)) from None


def _demand_well_formed(body: bytes, encoding: str | None = None) -> None:
    """Raise XmlError unless a body may be read; no memory grows with the body meanwhile."""
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
    except (ValueError, LookupError) as error:  # of an encoding that is none
        raise XmlError(str(error)) from None


def _no_document_type(*_: object) -> None:
    raise XmlError("a document type is not allowed")
