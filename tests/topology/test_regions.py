"""The shipped sample of a service that answers queries: no query can stop it."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from streams.resources import topologies_dir

QUERY = (
    b"<salesQuery><country>DE</country><product>T-100</product>"
    b"<from>%b</from><to>2026-03-31</to></salesQuery>"
)


@pytest.fixture(scope="module")
def regions() -> ModuleType:
    path = topologies_dir() / "data_dependent_routing" / "regions.py"
    spec = importlib.util.spec_from_file_location("regions", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_query_is_answered_by_its_months(regions: ModuleType) -> None:
    assert b">1920</salesFigures>" in regions.figures(QUERY % b"2026-01-01", "Europe")


@pytest.mark.parametrize("query", [b"", b"<a", b"<a/>", QUERY % b"soon", QUERY % b"2026-xx-01"])
def test_a_query_without_months_raises_nothing(regions: ModuleType, query: bytes) -> None:
    """Five rollbacks would turn the queue off for all."""
    assert regions.figures(query, "Europe") is None
