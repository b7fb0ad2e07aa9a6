"""One Spark session for all tests of the monitor."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streams.errors import HoplineError
from streams.monitor import close_session, open_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Forgive pyspark that it leaves its sockets to the garbage collector."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """See to it that they are collected while that is forgiven, and not in other tests."""
    yield
    gc.collect()


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return the session; without Java these tests fail, they do not skip."""
    log = tmp_path_factory.mktemp("spark") / "spark.log"
    try:
        session = open_session(master="local[2]", log=log)
    except HoplineError as error:
        pytest.fail(f"These tests need Spark. {error.message}", pytrace=False)
    yield session
    close_session(session)
