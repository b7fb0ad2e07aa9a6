"""Schemas as objects of the catalog: what is learnt, and what is not touched by it."""

from __future__ import annotations

import copy
import json
import uuid
from typing import Any

import pytest

from streams.protocol import Status
from streams.schema import NAMES, load
from streams.topology import split_key, unflatten
from streams.wire import MalformedError, decode_ack_value, encode_status
from streams.wire.acknowledgements import ACK
from streams.wire.evolution import (
    LARGEST_ADMISSION,
    LARGEST_ANNOUNCEMENT,
    MOST_ANNOUNCED,
    admission,
    announcement,
    clusters_that_fit,
    is_schema,
    learn,
    learn_schemas,
    learned_schemas,
    read_admission,
    read_announcement,
    schema_key,
    unannounced,
    written_schemas,
)
from streams.wire.frame_headers import HOP_CODEC, MESSAGE_CODEC, ROUTE_CODEC
from streams.wire.records import HOP, MESSAGE, ORIGIN
from streams.wire.records import ROUTE as ROUTE_HEADER
from streams.wire.single_object import prefix_of

ID = uuid.UUID(int=1)


def newer(name: str, field: str) -> Any:
    """Return a schema with one number more."""
    schema = copy.deepcopy(load(name))
    schema["fields"].append({"name": field, "type": "long", "default": 0})
    return schema


def test_every_schema_of_a_topic_is_announced() -> None:
    """All but the catalog's own, which nobody could learn there, and the capture files'."""
    names = {split_key(key)[3].split(".")[0] for key in written_schemas()}
    assert names == set(NAMES) - {"CatalogObject", "CapturedRecord"}
    assert all(map(is_schema, written_schemas()))
    assert unflatten(written_schemas()).instances == {}, "a topology has none of them"


def test_a_status_of_tomorrow_is_no_acknowledgement() -> None:
    schema = newer("Status", "of_tomorrow")
    status = Status(ID, "D", True, 9750, 1, 2)
    raw = bytes(prefix_of(schema) + encode_status(status)[10:] + b"\x02")
    with pytest.raises(MalformedError):
        decode_ack_value(raw, ID)
    learn(schema_key(schema), schema)
    assert decode_ack_value(raw, ID) == status


def test_hearing_of_ones_own_schema_changes_nothing() -> None:
    """It is not read in the slow way of foreign ones from then on."""
    before = ROUTE_CODEC._writers[ROUTE_CODEC.prefix]
    learn(schema_key(load("Route")), copy.deepcopy(load("Route")))
    assert ROUTE_CODEC._writers[ROUTE_CODEC.prefix] is before


@pytest.mark.parametrize(
    ("kind", "logical"),
    [("long", "timestamp-millis"), ("long", "time-micros"), ("string", "uuid")],
)
def test_logical_types_change_no_value(kind: str, logical: str) -> None:
    """The fingerprint does not cover them, and the first schema with a fingerprint is kept."""
    plain = newer("Status", f"odd_{kind}_{logical[:4]}")
    odd = copy.deepcopy(plain)
    for field in odd["fields"]:
        if field["type"] == kind:
            field["type"] = {"type": kind, "logicalType": logical}
    assert odd != plain
    assert prefix_of(odd) == prefix_of(plain)
    learn(schema_key(odd), odd)
    learn(schema_key(plain), plain)
    status = Status(ID, str(ID), True, 9750, 1, 2)
    raw = bytes(prefix_of(plain) + encode_status(status)[10:] + b"\x02")
    assert decode_ack_value(raw, ID) == status


def test_a_schema_of_a_record_that_we_do_not_have_is_passed_over() -> None:
    learn("//schema/Fragment.0123456789abcdef", {"type": "record", "name": "Fragment"})


def test_what_is_no_schema_is_malformed() -> None:
    with pytest.raises(MalformedError):
        learn("//schema/Route.0123456789abcdef", {"type": "nothing"})


# --- across clusters -----------------------------------------------------------------------------

ENVELOPE = {"Ack", "Hop", "Message", "Route", "Status"}
FRAME = [(n, c.prefix + b"1") for n, c in ((ROUTE_HEADER, ROUTE_CODEC), (HOP, HOP_CODEC))]


def catalog(*schemas: Any) -> dict[str, str]:
    """Return the objects of a catalog with the schemas of today and some more."""
    more = {schema_key(schema): schema for schema in schemas}
    objects = {**written_schemas(), **more, "A//instance/A": {"name": "A"}}
    return {key: json.dumps(body) for key, body in objects.items()}


def test_signs_of_life_announce_the_schemas_of_the_envelope_and_no_others() -> None:
    """State and statements are nobody else's business; there is room for any number of versions."""
    today = {bytes(prefix_of(load(name))) for name in ENVELOPE}
    assert read_announcement(announcement(catalog())) == today
    schema = newer("Hop", "of_tomorrow")
    found = read_announcement(announcement(catalog(schema, newer("Dialog", "of_tomorrow"))))
    assert found == {*today, prefix_of(schema)}
    assert read_announcement(announcement({})) == frozenset()


def test_a_gateway_says_which_clusters_it_reads_topics_of() -> None:
    names = {"buyer", "Käufer", 'a "b"'}
    assert read_admission(admission(names)) == names
    assert read_admission(None) == frozenset(), "an older version says nothing"


@pytest.mark.parametrize(
    "raw",
    [b"", b"\xff", b"{}", b"1", b"[1]", b"[" * 100_000, rb'["\ud800"]', rb'["\ud83d", "\ude00"]'],
)
def test_rubbish_about_clusters_is_malformed(raw: bytes) -> None:
    with pytest.raises(MalformedError):
        read_admission(raw)


@pytest.mark.parametrize("odd", ["", "of_an_odd_"], ids=["no schema", "another schema"])
def test_a_fingerprint_is_announced_only_with_its_own_schema(odd: str) -> None:
    """Any JSON may stand there under any name, and nobody could read such a record."""
    today = announcement(catalog())
    body = json.dumps(newer("Hop", odd + "schema") if odd else {"namespace": "hopline.envelope"})
    forged = {f"//schema/Hop.{number:016x}": body for number in range(130_000 if not odd else 500)}
    assert announcement({**forged, **catalog()}) == today


def test_a_schema_that_no_reader_takes_is_not_announced() -> None:
    """Readers refuse types that nest deeply, and so nobody writes under them."""
    schema = newer("Hop", "deep")
    kind = "long"
    for _ in range(100):
        kind = {"type": "array", "items": kind}  # type: ignore[assignment]
    schema["fields"][-1] |= {"type": kind, "default": []}
    assert announcement(catalog(schema)) == announcement(catalog())


def test_a_heartbeat_announces_no_more_schemas_than_it_has_room_for() -> None:
    """Those that this version writes are always among them: its frames are passed on."""
    schemas = [newer("Hop", f"version{number}") for number in range(3 * MOST_ANNOUNCED)]
    found = read_announcement(announcement(catalog(*schemas)))
    assert len(found) == MOST_ANNOUNCED
    assert read_announcement(announcement(catalog())) < found
    few = schemas[: MOST_ANNOUNCED - len(ENVELOPE)]
    found = read_announcement(announcement(catalog(*few)))
    assert found > {bytes(prefix_of(schema)) for schema in few}


def test_an_announcement_of_more_schemas_is_malformed() -> None:
    """Another cluster could send 130 MB, and each eight bytes of it would be kept."""
    most = bytes(LARGEST_ANNOUNCEMENT)
    assert len(read_announcement(most)) == 1
    with pytest.raises(MalformedError, match="sb-schemas: 4,097 bytes, at most 4,096"):
        read_announcement(most + b"x")


def test_a_schema_that_is_too_large_is_not_announced() -> None:
    schema = newer("Hop", "x" * 20_000)
    assert announcement(catalog(schema)) == announcement(catalog())


@pytest.mark.parametrize("name", ["x", "\u4e00" * 200])
def test_a_gateway_names_no_more_clusters_than_it_has_room_for(name: str) -> None:
    """What it names can be read; a name that is too long leaves room for others."""
    names = {f"{name}{number}" for number in range(10_000)}
    fitting = clusters_that_fit({"0" * 1_000_000, *names})
    raw = admission(fitting)
    assert read_admission(raw) == {*fitting} < names
    assert LARGEST_ADMISSION * 9 // 10 < len(raw) <= LARGEST_ADMISSION
    with pytest.raises(MalformedError, match="at most"):
        read_admission(json.dumps(sorted(names)).encode())


@pytest.mark.parametrize("name", [ROUTE_HEADER, HOP])
def test_a_header_in_a_schema_that_is_not_announced_is_named(name: str) -> None:
    schemas = {ROUTE_HEADER: "Route", HOP: "Hop"}
    announced = read_announcement(announcement(catalog())) - {prefix_of(load(schemas[name]))}
    frame = [*FRAME, (MESSAGE, MESSAGE_CODEC.prefix)]
    reported = unannounced([*frame, (ORIGIN, b"any")], b"any", announced)
    assert reported == f"the schema {prefix_of(load(schemas[name]))[2:].hex()} of {name}"


def test_a_body_is_anything_and_an_acknowledgement_has_a_schema() -> None:
    announced = read_announcement(announcement(catalog()))
    message = [*FRAME, (MESSAGE, MESSAGE_CODEC.prefix)]
    assert unannounced(message, b"any", announced) is None
    assert unannounced(FRAME, ACK.prefix, announced) is None
    assert unannounced(FRAME, None, announced) is None
    reported = unannounced(FRAME, ACK.prefix, announced - {ACK.prefix})
    assert reported == f"the schema {ACK.prefix[2:].hex()} of the acknowledgement"


@pytest.mark.parametrize("schema", [[], ["null", "string"], "string", {"type": "string"}])
def test_what_is_learned_can_be_learned_elsewhere(schema: object) -> None:
    """Captures and Spark's executors are told all that is known, and take only records."""
    known = learned_schemas()
    with pytest.raises(MalformedError, match="not a record schema"):
        learn("//schema/Route.strange", schema)
    assert learned_schemas() == known


@pytest.mark.parametrize("body", ["[" * 5_000, "[]", "7", "", '{"namespace": "hopline.envelope"}'])
def test_rubbish_in_the_place_of_a_schema_is_announced_by_nobody(body: str) -> None:
    """Whoever may write the catalog may write it, and nothing removes a schema."""
    known = {key: json.dumps(schema) for key, schema in written_schemas().items()}
    odd = {f"//schema/Route.{name}": body for name in ("zz", "ab", "", "00" * 9)}
    assert announcement({**known, **odd}) == announcement(known) != b""


def test_text_that_is_no_schema_is_quoted_so_that_it_can_be_printed() -> None:
    """A capture's manifest may contain half of a surrogate pair, which UTF-8 cannot encode."""
    with pytest.raises(MalformedError) as refused:
        learn_schemas(["\ud800"])
    assert str(refused.value) == "invalid schema: '\\ud800'"
