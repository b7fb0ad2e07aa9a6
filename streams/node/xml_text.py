"""Read XML that strangers wrote."""

from __future__ import annotations

from xml.etree import ElementTree

from streams.node.validation import is_well_formed


def parse_xml(body: bytes) -> ElementTree.Element | None:
    """Return the root of a well-formed document without a document type, else ``None``."""
    return ElementTree.fromstring(body) if is_well_formed(body) else None
