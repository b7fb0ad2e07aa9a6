"""Which service a message is for: the documentation's sample classifier (reference, section 6)."""

from __future__ import annotations

from streams.node.xml_text import parse_xml


def to_service_name(body: bytes) -> str | None:
    """Return the text at ``/message/toServiceName``; ``None`` where there is none.

    A document with a type declaration is refused, so that no entity is ever read.
    """
    root = parse_xml(body)
    found = None if root is None or root.tag != "message" else root.find("toServiceName")
    return None if found is None else found.text
