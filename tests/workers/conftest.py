"""Fixtures for the tests of single workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.embedded import Broker
from tests.workers.compaction import BROKER
from tests.workers.rig import Rig, pair, rig


@pytest.fixture(scope="session")
def compacting_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a broker that compacts its topics all the time."""
    broker = Broker(tmp_path_factory.mktemp("compacting"), beside=BROKER)
    broker.start(tied=True)
    yield broker.bootstrap
    broker.stop()


@pytest.fixture
def two(kafka: str, unique: str, tmp_path: Path) -> Iterator[Rig]:
    """Return two instances with a route each way, in which nothing runs yet."""
    with rig(kafka, unique, pair(tmp_path)) as made:
        yield made
