"""The cost of XML schema collections is known before the library compiles them."""

from __future__ import annotations

import pytest

from streams.node.endpoint import validation
from streams.node.endpoint.schema_cost import EndlessError, schema_cost

_SCHEMA = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">%s</xs:schema>'
_ROOT = '<xs:element name="r"><xs:complexType>%s</xs:complexType></xs:element>'


def cost(text: str) -> int:
    """Return the estimate without the part that is proportional to the text."""
    found = schema_cost([_SCHEMA % text]).microseconds
    return found - 500 * (text.count("<xs:") + 1)


def choice(count: int, occurs: str = "") -> str:
    """Return a choice of elements."""
    elements = "".join(f'<xs:element name="e{n}"/>' for n in range(count))
    return f"<xs:choice{occurs}>{elements}</xs:choice>"


def groups(depth: int) -> str:
    """Return groups that each refer twice to the next one, and an element with the first one."""
    both = '<xs:group ref="g%d" minOccurs="0"/>' * 2
    inner = "".join(
        f'<xs:group name="g{n}"><xs:sequence>{both % (n + 1, n + 1)}</xs:sequence></xs:group>'
        for n in range(depth)
    )
    last = f'<xs:group name="g{depth}"><xs:sequence><xs:element name="x"/></xs:sequence></xs:group>'
    return inner + last + _ROOT % '<xs:sequence><xs:group ref="g0"/></xs:sequence>'


def test_particles_count_in_pairs_with_references_expanded() -> None:
    assert cost(_ROOT % choice(100)) == 100**2
    per_group = sum((2**n) ** 2 for n in range(6))  # the first of six groups has 32 elements
    assert cost(groups(5)) == per_group + 32**2
    assert cost(groups(60)) > 2**120


def test_substitutes_count_once_for_each_particle() -> None:
    members = "".join(f'<xs:element name="m{n}" substitutionGroup="h"/>' for n in range(9))
    chain = '<xs:element name="h"/>' + members + '<xs:element name="n" substitutionGroup="m1"/>'
    model = '<xs:choice><xs:element ref="h"/><xs:element name="other"/></xs:choice>'
    assert cost(chain + _ROOT % model) == 2 * (1 + 9 + 1 + 1)


def test_a_derived_type_counts_with_its_base() -> None:
    base = f'<xs:complexType name="b">{choice(10)}<xs:attribute name="a"/></xs:complexType>'
    derived = (
        '<xs:complexType name="d"><xs:complexContent><xs:extension base="b">'
        + choice(5)
        + "</xs:extension></xs:complexContent></xs:complexType>"
    )
    assert cost(base + derived) == 10**2 + 7 + 15**2 + 7


def test_attributes_count_in_each_type() -> None:
    attributes = '<xs:attribute name="a"/>' * 20
    group = f'<xs:attributeGroup name="g">{attributes}</xs:attributeGroup>'
    types = '<xs:complexType name="t"><xs:attributeGroup ref="g"/></xs:complexType>' * 3
    assert cost(group + types) == 7 * 20 * 4


@pytest.mark.parametrize(
    "text",
    [
        '<xs:group name="g"><xs:sequence><xs:group ref="g"/></xs:sequence></xs:group>',
        '<xs:complexType name="t"><xs:complexContent><xs:extension base="t"/>'
        "</xs:complexContent></xs:complexType>",
        _ROOT % '<xs:sequence><xs:element ref="h"/></xs:sequence>'
        + '<xs:element name="h" substitutionGroup="h"/>',
    ],
)
def test_what_contains_itself_is_refused(text: str) -> None:
    with pytest.raises(EndlessError, match="contains itself"):
        schema_cost([_SCHEMA % text])


def test_an_element_may_contain_itself() -> None:
    tree = '<xs:element name="r"><xs:complexType><xs:sequence><xs:element ref="r" minOccurs="0"/>'
    text = _SCHEMA % (tree + "</xs:sequence></xs:complexType></xs:element>")
    assert schema_cost([text]).widths == {"": 1, "r": 1}


def test_the_width_of_an_element_is_that_of_its_type() -> None:
    text = (
        f'<xs:complexType name="wide">{choice(80)}</xs:complexType>'
        '<xs:element name="one" type="wide"/>'
        '<xs:element name="two" substitutionGroup="one"/>' + _ROOT % choice(2)
    )
    widths = schema_cost([_SCHEMA % text]).widths
    assert {name: widths[name] for name in ("", "one", "two", "r", "e0")} == {
        "": 80, "one": 80, "two": 80, "r": 2, "e0": 0,
    }  # fmt: skip


@pytest.mark.parametrize("text", [groups(30), _ROOT % choice(3_500)])
def test_an_expensive_schema_is_never_compiled(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With it no body is valid, as with a schema that the library rejects."""

    def compile_it(*_: object, **__: object) -> None:
        raise SystemExit("the library compiles it")

    monkeypatch.setattr("xmlschema.XMLSchema", compile_it)
    assert not validation._fits(_SCHEMA % text, b"<r/>")


def test_a_child_of_a_wide_element_counts_as_several_nodes() -> None:
    schema = _SCHEMA % (_ROOT % choice(1_000, ' minOccurs="0" maxOccurs="unbounded"'))
    assert validation._fits(schema, b"<r>%s</r>" % (b"<e999/>" * 240))
    assert not validation._fits(schema, b"<r>%s</r>" % (b"<e999/>" * 260))
    narrow = _SCHEMA % (_ROOT % choice(40, ' minOccurs="0" maxOccurs="unbounded"'))
    assert validation._fits(narrow, b"<r>%s</r>" % (b"<e9/>" * 4_990))
