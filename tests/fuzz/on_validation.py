"""Fuzz the schemas of VALID_XML, their patterns, and the bodies that are checked with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from streams.node import MessageType
from streams.node.endpoint.patterns import LinearPattern
from streams.node.endpoint.validation import is_valid
from streams.topology import Validation
from tests.fuzz.mutate import joined, parts_of
from tests.fuzz.target import Target
from tests.node.test_patterns import EVERYWHERE, PATTERNS, element, translated
from tests.node.test_receiving_services import DEEP, SCHEMA, SECOND, SEQUENCE, WHEN

_LONGEST_PATTERN, _LONGEST_TEXT, _MOST_TEXTS = 60, 6, 8
"""Characters of a pattern and of a text that ``re`` is asked, too: with more it may take years."""
_OTHER_FILE = (
    '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">'
    '<xs:{} namespace="urn:x" schemaLocation="{}"/><xs:element name="a"/></xs:schema>'
)
_KINDS = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified">
<xs:complexType name="base" abstract="true"><xs:sequence minOccurs="0" maxOccurs="3">
<xs:element name="b" type="xs:decimal" nillable="true"/><xs:any processContents="lax"/>
</xs:sequence><xs:anyAttribute/></xs:complexType>
<xs:complexType name="more"><xs:complexContent><xs:extension base="base"><xs:all>
<xs:element name="c" type="xs:date" default="2026-01-05"/></xs:all></xs:extension>
</xs:complexContent></xs:complexType>
<xs:simpleType name="code"><xs:restriction base="xs:token"><xs:enumeration value="x"/>
<xs:length value="1"/></xs:restriction></xs:simpleType>
<xs:element name="a" type="base"><xs:key name="k"><xs:selector xpath="b"/><xs:field xpath="@id"/>
</xs:key><xs:unique name="u"><xs:selector xpath=".//b"/><xs:field xpath="."/></xs:unique>
</xs:element><xs:element name="d" type="code" substitutionGroup="e"/><xs:element name="e"/>
<xs:group name="g"><xs:choice><xs:element ref="d"/><xs:group ref="g"/></xs:choice></xs:group>
</xs:schema>"""


def _valid_xml(data: bytes) -> None:
    """A schema collection, then bodies: each is valid or not, whatever is in the schema."""
    schema, *bodies = parts_of(data) or [data]
    kind = MessageType(Validation.VALID_XML, schema.decode("utf-8", "replace"))
    for body in (*bodies[:_MOST_TEXTS], b"<a/>"):
        assert is_valid(kind, body) in (True, False)


def _schemas() -> list[bytes]:
    other = [
        _OTHER_FILE.format(word, place)
        for word in ("import", "include", "redefine", "override")
        for place in ("file:///etc/hostname", "http://127.0.0.1:1/x.xsd", "x.xsd")
    ]
    found: list[tuple[str, Iterable[bytes]]] = [
        (WHEN, (b"<when>2026-01-05T09:00:00Z</when>", b"<when>9999999999-01-01T00:00:00</when>")),
        (SEQUENCE, (b"<a><b/></a>", b"<a><b/><b/></a>")),
        (SCHEMA + SECOND, (b'<order xmlns="urn:order">7</order>', b"<note/>")),
        (EVERYWHERE, (
            b"<r at='at'><local>lo</local><union>7</union><list>li li</list><derived>gg</derived>"
            b"<content x='ex'>ggg</content><group>gr</group></r>",
        )),
        (element(r"[A-Z]{2}\d{4}", r"([\w\-\.]+)@([\w\-]+\.)+[a-z]{2,4}"), (b"<a>AB1234</a>",)),
        (_KINDS, (
            b"<a xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:type='more' id='1'>"
            b"<b xsi:nil='true'/><c/></a>", b"<d>x</d>",
        )),
        *((text, (b"<a/>",)) for text in (*other, DEEP)),
    ]  # fmt: skip
    return [joined([schema.encode(), *bodies]) for schema, bodies in found]


def _pattern(data: bytes) -> None:
    """A pattern of a schema, then texts: RE2 refuses the pattern, or finds what ``re`` finds."""
    pattern, *texts = [part.decode("utf-8", "replace") for part in parts_of(data) or [data]]
    try:
        expression = translated(pattern)
        old = re.compile(expression)
    except Exception:  # the library compiles each pattern first, and then refuses the schema
        return
    try:
        new = LinearPattern(expression)
    except ValueError:
        return
    assert new.steps >= 0
    for text in (*texts[:_MOST_TEXTS], ""):
        found = new.match(text)
        if len(pattern) <= _LONGEST_PATTERN and len(text) <= _LONGEST_TEXT:
            assert (found is None) == (old.match(text) is None), (pattern, text)


def _patterns() -> list[bytes]:
    texts = [text.encode() for text in ("a", "aab", "hi hi", "A1", "1-2", "é\n", "x.y", "true")]
    return [joined([pattern.encode(), *texts]) for pattern in PATTERNS]


TARGETS: Mapping[str, Target] = {
    "valid_xml": Target(_schemas, _valid_xml),
    "schema_pattern": Target(_patterns, _pattern),
}
