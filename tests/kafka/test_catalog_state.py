"""What readers of the catalog make of records that any client with write access may write."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streams.kafka import CatalogState, UnusableCatalogError, catalog
from streams.kafka.catalog import VERSION_KEY, hash_of
from streams.wire import encode_catalog_object

A, B = {"A//instance/A": {"name": "A"}}, {"B//instance/B": {"name": "B"}}


class Record:
    """A record of the catalog."""

    def __init__(self, key: str, body: Any) -> None:
        self._key, self._body = key, body

    def key(self) -> bytes:
        return self._key.encode()

    def value(self) -> bytes:
        return encode_catalog_object(1, json.dumps(self._body))

    def offset(self) -> int:
        return 0


def read(objects: dict[str, Any]) -> CatalogState:
    """Return the state after a version with these objects."""
    state = CatalogState()
    for key, body in objects.items():
        state.read(Record(key, body))  # type: ignore[arg-type]
    version = {"number": 1, "hash": hash_of(state.objects)}
    state.read(Record(VERSION_KEY, version))  # type: ignore[arg-type]
    return state


def database(mirror: dict[str, Any] | None) -> dict[str, Any]:
    return {"A/D/database/D": {"name": "D", "broker_id": "d", "mirror": mirror}}


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        (
            A | database({"pair": "A", "role": "principal"}),
            "A has the name of an instance",
        ),
        (A | {"B//instance/B": {"name": "C"}}, "the record of B is about C"),
    ],
)
def test_a_version_that_would_end_some_of_its_readers_is_refused(
    objects: dict[str, Any], why: str
) -> None:
    assert read(A | B | database(None)).version == 1
    state = read(objects)
    assert state.version == 0
    assert why in state.error


def test_the_remedy_for_an_invalid_pair_removes_no_partner() -> None:
    """`apply --prune` with a topology of one partner would remove the other one."""
    objects = A | database({"pair": "A", "role": "principal"})
    texts = {key: json.dumps(body) for key, body in objects.items()}
    with pytest.raises(UnusableCatalogError, match="has the name of an instance") as refused:
        catalog._demand_usable(texts)
    assert refused.value.remedy == "Give the pair another name."
