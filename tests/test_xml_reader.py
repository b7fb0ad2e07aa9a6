"""XML from outside is read within bounds, or refused in words: never a crash, never for ever."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.xml_reader import DEEPEST, LARGEST, XmlError, is_well_formed, parse_xml, read_xml

NO_ENCODINGS = ("zlib", "rot13", "idna", "hex", "undefined")


def _chain(links: int) -> bytes:
    """A chain of entities, over which a parser recurses (CVE-2024-8176)."""
    entities = "".join(f'<!ENTITY e{n} "&e{n + 1};">' for n in range(links))
    return f'<!DOCTYPE a [{entities}<!ENTITY e{links} "x">]><a>&e0;</a>'.encode()


@pytest.mark.parametrize(
    ("body", "fine"),
    [
        (b"<a/>", True),
        ("<?xml version='1.0' encoding='utf-16'?><ä/>".encode("utf-16"), True),
        (b"", False),
        (b"<a>", False),
        (b"<a/><b/>", False),
        (b"text", False),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', False),
        (b"<?xml version='1.0' encoding='nonsense'?><a/>", False),
        *((f"<?xml version='1.0' encoding='{e}'?><a/>".encode(), False) for e in NO_ENCODINGS),
        (b"<a>" * DEEPEST + b"</a>" * DEEPEST, True),
        (b"<a>" * (DEEPEST + 1) + b"</a>" * (DEEPEST + 1), False),
        (b"<a>" * 1_000_000, False),
        (_chain(100_000), False),
    ],
)
def test_well_formed(body: bytes, fine: bool) -> None:
    """One document, of any encoding, without a document type of its own."""
    assert is_well_formed(body) is fine
    assert (parse_xml(body) is not None) is fine


def test_a_refusal_says_why() -> None:
    for text, why in (
        (_chain(3), "a document type is not allowed"),
        (b"<a>" * 200, "nested more than 128 levels deep"),
        (b"<a>" + b"x" * LARGEST, "more than 16 MiB"),
        ("<a", "unclosed token"),
    ):
        with pytest.raises(XmlError, match=why):
            read_xml(text)


@pytest.mark.parametrize("text", [b"<a:b/>", b"<a><b :c='1'/></a>", b"<a:b:c/>", b"<a b:c='2'/>"])
def test_a_prefix_that_is_bound_to_nothing_is_refused(text: bytes) -> None:
    """Without namespaces it is well-formed; a tree cannot be built of it."""
    with pytest.raises(XmlError):
        read_xml(text)
    assert parse_xml(text) is None


def test_of_a_text_the_declared_encoding_does_not_count() -> None:
    assert read_xml('<?xml version="1.0" encoding="utf-16"?><a>ä</a>').text == "ä"


@given(st.binary(max_size=80) | st.text("<>a/&;!?[]'\"= \x00\ud800", max_size=40))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_anything_is_read_or_refused(text: bytes | str) -> None:
    try:
        read_xml(text)
    except XmlError:
        if isinstance(text, bytes):
            assert not is_well_formed(text)
