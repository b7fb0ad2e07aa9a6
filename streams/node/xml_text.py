"""Read XML that strangers wrote: no document type, so no entities, no files and no expansion."""

from __future__ import annotations

from xml.etree import ElementTree


class _Refused(ValueError):
    """The document declares a type."""


class _Builder(ElementTree.TreeBuilder):
    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        """Refuse a document type before anything in it is looked at."""
        raise _Refused(name)


def parse_xml(body: bytes) -> ElementTree.Element | None:
    """Return the root of a well-formed document without a DTD, else ``None``."""
    parser = ElementTree.XMLParser(target=_Builder())
    try:
        parser.feed(body)
        root: ElementTree.Element = parser.close()
    except (ElementTree.ParseError, _Refused, ValueError, LookupError):
        return None  # ValueError and LookupError: an encoding that does not exist or does not fit
    return root
