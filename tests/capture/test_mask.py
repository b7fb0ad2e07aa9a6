"""Rules by which bodies are masked: what they reach loses its content and keeps its shape."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.capture import CaptureReader
from streams.capture.mask import ALL, rule_of, shape
from streams.errors import UsageError
from tests.capture.commands import capture, records, send
from tests.test_xml_reader import entity_chain

MASKED = b'<Order id="17"><Customer vip="xxx">Xxx <b>X.</b> 0</Customer><Sum>9</Sum></Order>'
ORDER = b'<Order id="17"><Customer vip="yes">Ada <b>K.</b> 4</Customer><Sum>9</Sum></Order>'


def masked(rule: str, body: bytes | str) -> str:
    return rule_of(rule).apply(body.encode() if isinstance(body, str) else body).body.decode()


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("//Customer", MASKED),
        ("/Order/Sum", ORDER.replace(b">9<", b">0<")),
        ("/Order/@id", ORDER.replace(b"17", b"00")),
        ("//Nothing", ORDER),
        ("/Customer", ORDER),
        ("~Ada", ORDER.replace(b"Ada", b"Xxx")),
        ("~<Sum>(.*?)</Sum>", ORDER.replace(b">9<", b">0<")),
        ("~(id)=\"(\\d+)\"|(vip)", ORDER.replace(b'id="17"', b'xx="00"').replace(b"vip", b"xxx")),
    ],
)  # fmt: skip
def test_xml_and_regular_expressions(rule: str, expected: bytes) -> None:
    assert masked(rule, ORDER) == expected.decode()


def test_namespaces_by_a_star() -> None:
    body = '<e:Error xmlns:e="urn:x"><e:Description>Ada 1</e:Description></e:Error>'
    assert ">Xxx 0<" in masked("//{*}Description", body)


DEFAULTED = b'<Order xmlns="x" xmlns:y="y" y:id="17"><Customer at="4">Ada</Customer></Order>'


@pytest.mark.parametrize(
    ("rule", "found", "gone"),
    [
        ("//Customer", 1, ("Ada", '"4"')),
        ("/Order/Customer", 1, ("Ada",)),
        ("//Order[Customer]/@id", 1, ("17",)),
        ("//Customer[@at='4']", 1, ("Ada",)),
        ("//{x}Customer/@at", 1, ('"4"',)),
        ("/Order/@{y}id", 1, ("17",)),
        ("/Order/@{x}id", 0, ()),
        ("//{y}Customer", 0, ()),
        ("//Customer/@id", 0, ()),
    ],
)
def test_a_name_without_a_prefix_is_a_local_name(
    rule: str, found: int, gone: tuple[str, ...]
) -> None:
    body, count = rule_of(rule).apply(DEFAULTED)
    assert count == found
    assert not [text for text in gone if text in body.decode()]


@pytest.mark.parametrize("rule", ["//Nobody", "$.nobody", "~Nobody", "~x*", "~(z)?Ad"])
def test_a_body_is_the_same_where_nothing_matched(rule: str) -> None:
    body = b'{ "a" : "Ada" }' if rule.startswith("$") else b"<a ><b>Ada</b></a >"
    assert rule_of(rule).apply(body) == (body, 0)


def test_groups_within_groups_are_masked_once() -> None:
    assert rule_of("~((A)da)|(4)").apply(b"Ada 4 Ada") == (b"Xxx 0 Xxx", 3)


DOCUMENT = {"id": 7, "customer": {"name": "Ada", "mail": ["a@b.c"]}, "lines": [{"n": 1}, {"n": 2}]}


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("$.id", {"id": 0}),
        ("$.customer", {"customer": {"name": "Xxx", "mail": ["x@x.x"]}}),
        ("$.customer.mail[0]", {"customer": {"name": "Ada", "mail": ["x@x.x"]}}),
        ("$.lines[*].n", {"lines": [{"n": 0}, {"n": 0}]}),
        ("$.lines[1].n", {"lines": [{"n": 1}, {"n": 0}]}),
        ("$..n", {"lines": [{"n": 0}, {"n": 0}]}),
        ("$..customer.name", {"customer": {"name": "Xxx", "mail": ["a@b.c"]}}),
        ("$.nothing", {}),
    ],
)
def test_json(rule: str, changes: dict[str, object]) -> None:
    assert json.loads(masked(rule, json.dumps(DOCUMENT))) == DOCUMENT | changes


def test_a_rule_may_be_of_a_type() -> None:
    assert rule_of("//Customer").type == ALL
    assert rule_of("~a=/b").type == ALL
    typed = rule_of("//hopline/Order=//Customer")
    assert typed.type == "//hopline/Order"
    assert "Xxx" in typed.apply(ORDER).body.decode()
    assert rule_of("http://x/Order=$.a").type == "http://x/Order"


@pytest.mark.parametrize(
    "text",
    [
        *("", "Customer", "$", "$.a[", "~(", "~a{99999999999}", "//a[", "Order="),
        *(f"/a[{'9' * 5_000}]", f"~a{{{'9' * 5_000}}}"),
    ],
)
def test_what_is_no_rule(text: str) -> None:
    with pytest.raises(UsageError) as found:
        rule_of(text)
    if text.startswith("~"):
        assert len(str(found.value)) < 1_000


@pytest.mark.parametrize("rule", ["$.a", "//a", "~a"])
@given(body=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
@settings(derandomize=True, deadline=None, max_examples=80)
def test_a_body_is_read_or_refused(rule: str, body: bytes) -> None:
    with contextlib.suppress(ValueError):
        rule_of(rule).apply(body)


@pytest.mark.parametrize("depth", [900, 3_000, 100_000])
def test_deep_nesting_is_masked_or_refused(depth: int) -> None:
    for rule, body in (
        ("$..a", "[" * depth),
        ("$.a", '{"a":' + "[" * depth + "]" * depth + "}"),
        ("//a", "<a>" * depth + "</a>" * depth),
    ):
        with contextlib.suppress(ValueError):
            assert rule_of(rule).apply(body.encode()).found


def test_a_chain_of_entities_is_removed(tmp_path: Path) -> None:
    """A parser that follows it ends its process with a segmentation fault (CVE-2024-8176)."""
    chain, output = entity_chain(100_000), tmp_path / "s.avro"
    whole = capture(
        tmp_path / "c.avro", records([send(1, body=chain), send(1, body=b"<a>Ada</a>")])
    )
    command = [sys.executable, "-m", "streams", "capture", "slice", whole, "--mask", "//a"]
    command += ["--output", output, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert (answer["unreadable"], answer["masked"]) == (1, 1)
    assert [record.value for record in CaptureReader(output)] == [None, b"<a>Xxx</a>"]


@given(st.text())
@settings(derandomize=True, deadline=None)
def test_a_shape_reveals_only_the_shape(text: str) -> None:
    found = shape(text)
    assert len(found) == len(text)
    assert shape(found) == found
    assert not re.search(r"[^\W_xX0]", found)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=30))
@settings(derandomize=True, deadline=None)
def test_nothing_of_a_masked_element_is_left(name: str) -> None:
    order = ElementTree.Element("Order")
    ElementTree.SubElement(order, "Customer", mail=name).text = name
    [customer] = ElementTree.fromstring(masked("//Customer", ElementTree.tostring(order)))
    assert (customer.text or "") == shape(name)
    assert customer.get("mail") == shape(name)
