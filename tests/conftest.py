"""What every test may ask for: a real broker, and names that no other test uses."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest

from streams.embedded import Broker
from streams.errors import HoplineError
from tests.dealing import ByFile, rank
from tests.postgres import MissingError, Postgres

# Every run draws the same examples, and none fails because a machine was slow.
hypothesis.settings.register_profile("hopline", derandomize=True, deadline=None)
hypothesis.settings.load_profile("hopline")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Deal the tests by files."""
    config.option.loadscopereorder = False  # it is we who order them
    return ByFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes longest, where there are several processes."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank(item.nodeid))


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the bootstrap address of a real broker that the whole session shares."""
    broker = Broker(tmp_path_factory.mktemp("kafka"))
    try:
        broker.start()
    except HoplineError as error:
        pytest.fail(f"These tests need a Kafka broker. {error.message}", pytrace=False)
    yield broker.bootstrap
    broker.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Return the SQLAlchemy URL of a real PostgreSQL that the whole session shares."""
    try:
        server = Postgres()
    except MissingError as error:
        pytest.fail(f"These tests need PostgreSQL. {error}", pytrace=False)
    server.start()
    yield server.url
    server.stop()


@pytest.fixture
def unique() -> str:
    """Return a prefix for topics and groups that is this test's own, such as ``t3f9a01c2.``."""
    return f"t{uuid.uuid4().hex[:12]}."
