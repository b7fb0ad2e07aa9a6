"""Classifiers by configuration: XPath, JMESPath, an Avro field, a function; and what is wrong."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest
from fastavro.schema import fingerprint, to_parsing_canonical_form

from streams.errors import InputError, UsageError
from streams.services import Classifier, make_classifier, to_service_name
from streams.services.finders import find_in_avro
from streams.topology import Agent, Classification, Language, Stated, load

SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "number", "type": "long"},
        {"name": "customer", "type": {"type": "record", "name": "Customer", "fields": [
            {"name": "region", "type": "string"}, {"name": "size", "type": "double"}]}},
    ],
}  # fmt: skip
ORDER = {"number": 7, "customer": {"region": "north", "size": 1.5}}


def stated(folder: Path, classifier: str) -> Agent:
    """Return the agent of a topology that states this classifier, in its fourth line."""
    text = f"agents:\n  a:\n    runs: data-dependent-routing\n    classifier: {classifier}\n"
    (folder / "topology.yaml").write_text(text, encoding="utf-8")
    (folder / "order.avsc").write_text(json.dumps(SCHEMA), encoding="utf-8")
    return load(folder, 0.0).agents["a"]


def bare(record: Any) -> bytes:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(SCHEMA), record)
    return buffer.getvalue()


def single(record: Any) -> bytes:
    digest = fingerprint(to_parsing_canonical_form(SCHEMA), "CRC-64-AVRO")
    return b"\xc3\x01" + bytes.fromhex(digest) + bare(record)


def test_a_schema_of_records_in_themselves_is_refused(tmp_path: Path) -> None:
    """The decoder, in C, would end the agent's process with SIGSEGV on a body of a megabyte."""
    tree = {"type": "record", "name": "Tree", "fields": [{"name": "x", "type": ["null", "Tree"]}]}
    path = tmp_path / "tree.avsc"
    path.write_text(json.dumps(tree), encoding="utf-8")
    with pytest.raises(ValueError, match="can expand to more memory"):
        find_in_avro("x", path)


@pytest.mark.parametrize(
    ("classifier", "body", "service"),
    [
        ("{xpath: /order/region}", b"<order><region>north</region></order>", "north"),
        ("{xpath: region/@code}", b"<order><region code='n'/></order>", "n"),
        ("{xpath: //region}", b"<o><region>first</region><region>second</region></o>", "first"),
        (
            "{xpath: \"concat('Orders', /order/region)\"}",
            b"<order><region>North</region></order>",
            "OrdersNorth",
        ),
        (
            "{xpath: '/s:order/s:region', namespaces: {s: 'urn:shop'}}",
            b"<order xmlns='urn:shop'><region>north</region></order>",
            "north",
        ),
        ("{xpath: /order/region}", b"<order/>", None),
        ("{xpath: /order/region}", b"no XML", None),
        (
            "{xpath: /o}",
            b'<!DOCTYPE o [<!ENTITY e SYSTEM "file:///etc/hostname">]><o>&e;</o>',
            None,
        ),
        ("{jmespath: order.region}", b'{"order": {"region": "north"}}', "north"),
        ("{jmespath: order.number}", b'{"order": {"number": 7}}', "7"),
        ("{jmespath: order.paid}", b'{"order": {"paid": true}}', None),
        ("{jmespath: order.region}", b'{"order": {}}', None),
        ("{avro: customer.region, schema: order.avsc}", bare(ORDER), "north"),
        ("{avro: customer.region, schema: order.avsc}", single(ORDER), "north"),
        ("{avro: number, schema: order.avsc}", single(ORDER), "7"),
        ("{avro: customer.size, schema: order.avsc}", single(ORDER), None),
        ("{python: 'tests.services.test_classifiers:upper'}", b"north", "NORTH"),
    ],
)
def test_what_is_found(tmp_path: Path, classifier: str, body: bytes, service: str | None) -> None:
    assert make_classifier(stated(tmp_path, classifier).classifier)(body) == service


def upper(body: bytes) -> str:
    return body.decode().upper()


def test_a_text_may_stand_for_a_service(tmp_path: Path) -> None:
    classify = made(tmp_path, "{jmespath: region, services: {n: North, '7': South}}")
    assert [classify(json.dumps({"region": r}).encode()) for r in ("n", 7, "x", "")] == [
        "North", "South", None, None,
    ]  # fmt: skip
    classify = made(tmp_path, "{jmespath: region, services: {n: North}, otherwise: Rest}")
    assert [classify(json.dumps({"region": r}).encode()) for r in ("n", "x", None)] == [
        "North", "Rest", None,
    ]  # fmt: skip


def made(folder: Path, classifier: str) -> Classifier:
    return make_classifier(stated(folder, classifier).classifier)


def test_nothing_stated_is_the_sample() -> None:
    assert make_classifier(None) is to_service_name


@pytest.mark.parametrize(
    ("classifier", "body"),
    [
        ("{jmespath: region}", b"no JSON"),
        ("{avro: number, schema: order.avsc}", b""),
        ("{avro: number, schema: order.avsc}", b"\xc3\x01of another schema"),
    ],
)
def test_a_body_of_another_kind_is_a_failure(tmp_path: Path, classifier: str, body: bytes) -> None:
    """Whatever is raised: the router ends the dialog with error 1."""
    with pytest.raises(Exception):  # noqa: B017
        made(tmp_path, classifier)(body)


@pytest.mark.parametrize(
    ("classifier", "message"),
    [
        ("{xpath: '/order['}", ":4:25: unusable xpath: "),
        ("{xpath: '/s:order'}", "prefix 's' is not declared"),
        ("{jmespath: 'a..b'}", ":4:28: unusable jmespath: "),
        ("{avro: a, schema: nowhere.avsc}", "nowhere.avsc"),
        (
            "{avro: region, schema: order.avsc}",
            "it has no field region; its fields: number, customer",
        ),
        ("{avro: a, schema: topology.yaml}", ":4:24: unusable avro: "),
        ("{python: 'no.such.module:f'}", "ModuleNotFoundError"),
        ("{python: 'json:no_such'}", "no_such"),
        ("{python: 'nothing at all'}", ":4:26: unusable python: "),
    ],
)
def test_an_invalid_classifier_is_reported_with_its_place(
    tmp_path: Path, classifier: str, message: str
) -> None:
    agent = stated(tmp_path, classifier)
    with pytest.raises(InputError) as caught:
        make_classifier(agent.classifier)
    assert message in str(caught.value) and caught.value.remedy


def test_a_value_from_the_command_line_has_no_place() -> None:
    with pytest.raises(UsageError, match="unusable jmespath"):
        make_classifier(Classification(Language.JMESPATH, Stated("a..b")))
