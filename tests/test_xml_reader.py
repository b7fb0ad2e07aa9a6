"""XML from outside is read within limits or rejected with a message, without crashes or hangs."""

from __future__ import annotations

import encodings
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.xml_reader import (
    CHECKED,
    DEEPEST,
    LARGEST,
    LONGEST_NAMESPACE,
    XmlError,
    is_checkable,
    is_well_formed,
    parse_xml,
    read_xml,
)

BRANCH = "<b xmlns:m='v'/>"
NO_ENCODINGS = ("zlib", "rot13", "idna", "hex", "undefined")


def entity_chain(links: int, root: str = "a") -> bytes:
    """Return a chain of entities, over which a parser recurses (CVE-2024-8176)."""
    entities = "".join(f'<!ENTITY e{n} "&e{n + 1};">' for n in range(links))
    return f'<!DOCTYPE {root} [{entities}<!ENTITY e{links} "x">]><{root}>&e0;</{root}>'.encode()


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
        (entity_chain(100_000), False),
    ],
)
def test_well_formed(body: bytes, fine: bool) -> None:
    """One document, of any encoding, without a document type of its own."""
    assert is_well_formed(body) is fine
    assert (parse_xml(body) is not None) is fine


def test_a_name_of_an_encoding_that_does_not_exist_is_not_kept() -> None:
    """Python's registry keeps each name that it looks up, of any length, until the process ends."""
    kept = len(encodings._cache)  # type: ignore[attr-defined]
    for number in range(10):
        assert not is_well_formed(b"<?xml version='1.0' encoding='x%d'?><a/>" % number)
    assert len(encodings._cache) == kept  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "name", ["UTF-8", "ISO-8859-15", "windows-1252", "US-ASCII", "KOI8-R", "IBM437", "latin1"]
)
def test_usual_encodings_are_known(name: str) -> None:
    assert is_well_formed(b"<?xml version='1.0' encoding='%s'?><a/>" % name.encode())


def test_a_refusal_says_why() -> None:
    for text, why in (
        (entity_chain(3), "a document type is not allowed"),
        (b"<a>" * 200, "nested more than 128 levels deep"),
        (b"<a>" + b"x" * LARGEST, "more than 16 MiB"),
        ("<a", "unclosed token"),
    ):
        with pytest.raises(XmlError, match=why):
            read_xml(text)


def _scopes(declared: int, elements: int) -> bytes:
    """Elements that declare a namespace each, in the scope of many others."""
    names = " ".join(f"xmlns:n{n}='u'" for n in range(declared))
    return f"<a {names}>{BRANCH * elements}</a>".encode()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"<a xmlns='%s'/>" % (b"u" * LONGEST_NAMESPACE), None),
        (b"<a xmlns='%s'/>" % (b"u" * (LONGEST_NAMESPACE + 1)), "a namespace of more than 1,024"),
        (b"<a><b xmlns:p='%s'/></a>" % (b"u" * 450_000), "a namespace of more than 1,024"),
        (_scopes(3, 20_000), None),  # as SELECT ... FOR XML writes them
        (_scopes(5_000, 10_000), "too many namespaces in scope"),
    ],
)
def test_namespaces_that_take_long_to_copy_are_refused(body: bytes, why: str | None) -> None:
    """900 kB of them held an agent for 54 s, and 239 kB took a gigabyte of an endpoint worker."""
    assert is_well_formed(body)
    assert (parse_xml(body) is not None) is (why is None)
    if why is not None:
        assert not is_checkable(body, lists=False, steps=0)
        with pytest.raises(XmlError, match=why):
            read_xml(body)


def test_namespaces_out_of_scope_do_not_count() -> None:
    siblings = b"<a>" + b"<b xmlns='u'><c/></b>" * 10_000 + b"</a>"
    assert parse_xml(siblings) is not None


@pytest.mark.parametrize("form", [b"<a>%s</a>", b"<a b='%s'/>"])
def test_items_count_where_a_type_may_be_a_list(form: bytes) -> None:
    """Each is validated: 440,000 of them, in one element, took 9 s."""
    body = form % (b"x " * CHECKED)
    assert is_checkable(body, lists=False, steps=0)
    assert not is_checkable(body, lists=True, steps=0)
    chosen = b"<c xmlns:i='http://www.w3.org/2001/XMLSchema-instance'>%s</c>" % body
    assert not is_checkable(chosen, lists=False, steps=0), "xsi:type may choose a list"
    assert is_checkable(form % (b"x " * (CHECKED // 2)), lists=True, steps=0)


@pytest.mark.parametrize("form", [b"<a>%s</a>", b"<a b='%s'/>"])
def test_a_text_counts_with_its_square_where_a_pattern_backtracks(form: bytes) -> None:
    """The pattern of a mail address takes 0.1 s for 4,000 characters, 8 minutes for 300,000."""
    assert is_checkable(form % (b"x" * 5_000), lists=True, steps=inf)
    assert not is_checkable(form % (b"x" * 7_000), lists=False, steps=inf)
    assert is_checkable(form % (b"x" * 700_000), lists=True, steps=0)
    many = b"<c>%s</c>" % (form % (b"x" * 100) * 1_000)
    assert is_checkable(many, lists=True, steps=inf)
    assert not is_checkable(many.replace(b"x", b"xxxxxx"), lists=True, steps=inf)


@pytest.mark.parametrize("form", [b"<a>%s</a>", b"<a b='%s'/>"])
def test_a_text_counts_with_the_steps_of_other_patterns(form: bytes) -> None:
    """4,000 steps count as a node, and no text counts more than with its square."""
    assert is_checkable(form % (b"x" * 395_000), lists=False, steps=50)
    assert not is_checkable(form % (b"x" * 405_000), lists=False, steps=50)
    assert not is_checkable(form % (b"x" * 405_000), lists=False, steps=16_000)
    assert is_checkable(form % (b"x" * 5_000), lists=False, steps=16_000)
    assert is_checkable(b"<c>%s</c>" % (form % (b"x" * 10) * 2_000), lists=False, steps=16_000)


def test_a_document_that_takes_long_to_check_is_not_checked() -> None:
    """A check takes 40 µs for a node, and for the attributes of one element the square of them."""
    attributes = b" ".join(b"a%d=''" % n for n in range(1_300))
    for body, checkable in (
        (b"<a>" + b"<b/>" * (CHECKED - 1) + b"</a>", True),
        (b"<a>" + b"<b/>" * CHECKED + b"</a>", False),
        (b"<a " + attributes[: len(attributes) // 4].rsplit(b" ", 1)[0] + b"/>", True),
        (b"<a " + attributes + b"/>", False),
        (b"<a>" + b"<b c=''/>" * CHECKED + b"</a>", False),
        (b"<a>", False),
    ):
        assert is_checkable(body, lists=False, steps=0) is checkable
        assert body == b"<a>" or parse_xml(body) is not None, "only a check is refused"


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
