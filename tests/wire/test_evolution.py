"""Schemas as objects of the catalog: what is learnt, and what is not touched by it."""

from __future__ import annotations

import copy
import uuid
from typing import Any

import pytest

from streams.protocol import Status
from streams.schema import NAMES, load
from streams.topology import split_key, unflatten
from streams.wire import MalformedError, decode_ack_value, encode_status
from streams.wire.codecs import ROUTE
from streams.wire.evolution import is_schema, learn, schema_key, written_schemas
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
    before = ROUTE._writers[ROUTE.prefix]
    learn(schema_key(load("Route")), copy.deepcopy(load("Route")))
    assert ROUTE._writers[ROUTE.prefix] is before


def test_a_schema_of_a_record_that_we_do_not_have_is_passed_over() -> None:
    learn("//schema/Fragment.0123456789abcdef", {"type": "record", "name": "Fragment"})


def test_what_is_no_schema_is_malformed() -> None:
    with pytest.raises(MalformedError):
        learn("//schema/Route.0123456789abcdef", {"type": "nothing"})
