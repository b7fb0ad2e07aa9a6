"""Patterns of schemas: RE2 runs them, and finds the same texts as ``re`` does."""

from __future__ import annotations

import math
import re
import sys
import time

import pytest
from elementpath.regex import translate_pattern
from hypothesis import given, settings
from hypothesis import strategies as st
from xmlschema import XMLSchema
from xmlschema.validators import XsdPatternFacets

from streams.node import MessageType
from streams.node.endpoint import validation
from streams.node.endpoint.patterns import LinearPattern, run_linearly
from streams.node.endpoint.validation import is_valid
from streams.topology import Validation

NESTED = "([a-z]+ ?)+"
"""``re`` doubles its time with each character of a text that does not match."""

SCHEMA = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">{}</xs:schema>'
TYPE = '<xs:simpleType {}><xs:restriction base="xs:string">{}</xs:restriction></xs:simpleType>'


def translated(pattern: str) -> str:
    """Return a pattern as the schema library hands it to ``re``."""
    return translate_pattern(pattern, back_references=False, lazy_quantifiers=False, anchors=False)


def pattern_type(*patterns: str, name: str = "") -> str:
    facets = "".join(f'<xs:pattern value="{pattern}"/>' for pattern in patterns)
    return TYPE.format(f'name="{name}"' if name else "", facets)


def element(*patterns: str) -> str:
    return SCHEMA.format(f'<xs:element name="a">{pattern_type(*patterns)}</xs:element>')


def words(text: str) -> list[str]:
    return text.split()


TEXTS = (
    *("", " ", "x y", " x", "x ", "hi there", "hihi there", "hi hi  there", "Chapter 7"),
    *("\n", "a\n", "\na", "a\nb", "\r", "\t", "\x1f", "\x85", "\xa0", "\u2028", "\u200d"),
    *("\ud7ff", "\ue000", "\ufffd", "\U0010ffff"),
    *words("a b ab ba aab abab abc a1 A1 AB12 1 12 123 12345 12345-6789 true 2026-11-26 12:30"),
    *words("^a$ ^ $ a$ . .. a.b a,b - -- a-b \\ [ ] { } (a) | * + ? _ : a:b ax bx zx aax aaax 1x"),
    *words("xb zb aa aaa abcd é É ß α Ω ж ٣ ५ Ⅷ ² ½ 中 中文 한 · € 𝒜 𐐀 a@b.cd a-b@c.de"),
)

PATTERNS = (
    "",
    # XML Schema part 2, appendix F, and the like
    *(r"Chapter \d", r"(hi){2} there", r"(hi\s){2} there", r"[\n\r\t ]+", NESTED),
    *words(r"a| a*b [xyz]b a?b a+b [a-c]x [-ac] [ac-]x [^0-9]x \Dx .x .abc (a|b)+x a{1,3}x a{2,}"),
    *words(r"a{2} a{0,0}b [0-9]{5}(-[0-9]{4})? [\i-[:]][\c-[:]]* [a-z-[aeiou]]+ (ab|a)(bc|c)?"),
    *words(r"[^\s]+ [\S]* [\w\W]* [^\w\W] [a-[a]]?b [a-c-[b-[b]]]* [\d-[0-4]]+ [^a-[b]]*"),
    # anchors and others are ordinary characters; escapes
    *words(r"^a$ \^a\$ ^ $ [$^] [\^a]+ a\.b a.b \\ \[ \] \{ \} \(a\) \| \* \+ \? \- [\-a]*"),
    *words(r"\n a\nb \r|\t .* . [.]"),
    # sets of characters
    *words(r"\i \I \i\c* \c+ \C+ \d+ \D+ \s+ \S+ \w+ \W+ [\i\d]+ [^\c]+ [\s\S]* [^\d\s]+"),
    *words(r"\p{L}+ \P{L}+ \p{Lu}\p{Nd}* \p{Nd}+ \p{N} \p{Zs} \p{Cc} \p{Co} \p{Cs} \P{Cs} \p{Sc}"),
    *words(r"\p{IsBasicLatin}* \p{IsGreek} \P{IsBasicLatin}+ \p{IsCyrillic} [\p{IsGreek}-[α]]"),
    *words(r"[\p{L}\p{N}_.\-]+ [^\p{L}]+ [\P{L}-[\d]]+ [\W-[a]]+ 中+ [一-龥]+ 𝒜|𐐀 [!-\]]?"),
    *words("[𐀀-\U0010ffff] \ue000|\ud7ff"),
    # what schemas contain
    *words(
        r"[\w\-\.]+@([\w\-]+\.)+[a-z]{2,4} true|false \d{4}-\d{2}-\d{2} ([01]\d|2[0-3]):[0-5]\d"
    ),
    *words(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{0,30} (a*)*b (a|a)*b (a|ab|b)* ((a?){3}b?){1,2} (|a)+"),
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_linear_pattern_matches_the_same_texts(pattern: str) -> None:
    expression = translated(pattern)
    old, new = re.compile(expression), LinearPattern(expression)
    differ = [t for t in TEXTS if (old.match(t) is None) != (new.match(t) is None)]
    assert differ == []


SETS = words(r"\d \w \s \D \W \S \i \c \I \p{Lu} \p{IsGreek} .")


@pytest.mark.parametrize("pattern", SETS)
def test_a_set_has_the_same_characters(pattern: str) -> None:
    """Each range of a set is looked at where it begins and where it ends."""
    expression = translated(pattern)
    inner = expression.removeprefix("^(?:").removesuffix(r")$(?!\n\Z)")
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    ranges = [run.span() for run in re.finditer(f"(?:{inner})+", every)]
    near = {edge + n for span in ranges for edge in span for n in (-1, 0)} - {-1, len(every)}
    new = LinearPattern(expression)
    inside = {code for code in near if new.match(chr(code)) is not None}
    assert inside == {code for code in near if any(a <= code < b for a, b in ranges)}


ATOMS = (
    " ",
    *words(r"a b é . ^ $ - \d \w \s \S \i \C [ab] [^a] \p{Lu} \P{L} \n \. [.\-] [\s\d]"),
    *words(r"[a-z-[b]] [^\d-[a]] [\w-[é]]"),
)
COUNTS = ("?", "*", "+", "{2}", "{0,2}", "{1,}", "{0}")


def groups(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sequences = st.lists(inner, min_size=0, max_size=3).map("".join)
    return st.builds(
        lambda branches, count: f"({'|'.join(branches)}){count}",
        st.lists(sequences, min_size=1, max_size=3),
        st.sampled_from(("", *COUNTS)),
    )


SINGLE = st.builds(str.__add__, st.sampled_from(ATOMS), st.sampled_from(("", "", *COUNTS)))
EXPRESSIONS = st.lists(st.recursive(SINGLE, groups, max_leaves=4), max_size=3).map("".join)
"""With more groups, or longer texts, ``re`` may take minutes for an example."""


@pytest.mark.long
@settings(max_examples=1_000)
@given(EXPRESSIONS, st.lists(st.text("abéB1 .-^$\n\r\u00a0", max_size=4), min_size=10, max_size=20))
def test_random_patterns_match_the_same_texts(pattern: str, texts: list[str]) -> None:
    expression = translated(pattern)
    old, new = re.compile(expression), LinearPattern(expression)
    assert [old.match(t) is None for t in texts] == [new.match(t) is None for t in texts]


def test_a_nested_repetition_takes_linear_time() -> None:
    """``re`` would need 2^5,000 steps for the first body."""
    kind = MessageType(Validation.VALID_XML, element(NESTED))
    started = time.process_time()
    assert not is_valid(kind, b"<a>%s!</a>" % (b"a" * 5_000))
    assert is_valid(kind, b"<a>%s</a>" % (b"abc " * 100_000))
    assert time.process_time() - started < 5


EVERYWHERE = SCHEMA.format(
    pattern_type("g+", name="g")
    + f'<xs:attribute name="at">{pattern_type("at")}</xs:attribute>'
    + '<xs:group name="gr"><xs:sequence><xs:element name="group">'
    + f"{pattern_type('gr')}</xs:element></xs:sequence></xs:group>"
    + '<xs:element name="r"><xs:complexType><xs:choice maxOccurs="unbounded">'
    + f'<xs:element name="local">{pattern_type("lo", "la")}</xs:element>'
    + '<xs:element name="union"><xs:simpleType><xs:union memberTypes="xs:int">'
    + f"{pattern_type('un')}</xs:union></xs:simpleType></xs:element>"
    + f'<xs:element name="list"><xs:simpleType><xs:list>{pattern_type("li")}</xs:list>'
    + "</xs:simpleType></xs:element>"
    + '<xs:element name="derived"><xs:simpleType><xs:restriction base="g">'
    + '<xs:pattern value="gg|x"/></xs:restriction></xs:simpleType></xs:element>'
    + '<xs:element name="content"><xs:complexType><xs:simpleContent><xs:extension base="g">'
    + f'<xs:attribute name="x">{pattern_type("ex")}</xs:attribute></xs:extension>'
    + "</xs:simpleContent></xs:complexType></xs:element>"
    + '<xs:group ref="gr"/></xs:choice><xs:attribute ref="at"/></xs:complexType></xs:element>'
)


def test_all_patterns_of_a_schema_are_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    built = list[XsdPatternFacets]()
    parse = XsdPatternFacets._parse

    def remember(facets: XsdPatternFacets) -> None:
        parse(facets)
        built.append(facets)

    monkeypatch.setattr(XsdPatternFacets, "_parse", remember)
    schema = XMLSchema(EVERYWHERE)
    assert 0 < run_linearly(schema) < 100
    left = [f.regexps for f in built if f.schema is schema and type(f.patterns[0]) is re.Pattern]
    assert left == []
    assert {facets.regexps[0] for facets in built if facets.schema is schema} == {
        *("g+", "at", "gr", "lo", "un", "li", "gg|x", "ex")
    }


@pytest.mark.parametrize(
    ("inner", "fits"),
    [
        ("<local>lo</local><local>la</local>", True),
        ("<local>lola</local>", False),
        ("<union>7</union><union>un</union>", True),
        ("<union>x</union>", False),
        ("<list>li li</list>", True),
        ("<list>li lo</list>", False),
        ("<derived>gg</derived>", True),
        ("<derived>g</derived>", False),
        ("<derived>x</derived>", False),
        ("<content x='ex'>ggg</content>", True),
        ("<content x='e'>ggg</content>", False),
        ("<group>gr</group>", True),
        ("<group/>", False),
    ],
)
def test_patterns_hold_wherever_they_are(inner: str, fits: bool) -> None:
    kind = MessageType(Validation.VALID_XML, EVERYWHERE)
    assert is_valid(kind, f"<r>{inner}</r>".encode()) is fits


def test_several_patterns_of_a_type_add_up() -> None:
    one, two = (run_linearly(XMLSchema(element(*["a{9}b"] * n))) for n in (1, 2))
    assert 9 < two == 2 * one < 100


@pytest.mark.parametrize(
    "pattern", ["a{1,1001}", "(a{1,900}){1,900}", "(a{1,30}b?){1,32}" * 11], ids=len
)
def test_what_re2_does_not_run_is_left_to_re(pattern: str) -> None:
    schema = element(pattern)
    assert run_linearly(XMLSchema(schema)) == math.inf
    kind = MessageType(Validation.VALID_XML, schema)
    assert is_valid(kind, b"<a>aaaaaaaaaaa</a>")
    assert not is_valid(kind, b"<a>c</a>")


def test_patterns_are_judged_without_re2_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The base install has no RE2. A text then counts with the square of its length."""
    monkeypatch.setitem(sys.modules, "re2", None)
    schema = element("[a-z]+")
    assert run_linearly(XMLSchema(schema)) == math.inf
    monkeypatch.setattr(validation, "_schemas", {})
    for text, fits in ((b"a", True), (b"1", False), (b"a" * 7_000, False)):
        assert validation._fits(schema, b"<a>%s</a>" % text) is fits
