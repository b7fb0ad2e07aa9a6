"""Fixtures for all tests: a real broker, and names that no other test uses.

With ``--containers``, the broker and PostgreSQL are containers of the public images, and only the
tests that use one of them run.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

from streams.embedded import Broker
from streams.errors import HoplineError
from tests.distribution import ByFile, rank
from tests.killable import RESTARTS_SOON, Embedded, KillableKafka
from tests.leftovers import Leftovers
from tests.postgres import MissingError, Postgres

# Every run draws the same examples, and none fails because a machine was slow.
hypothesis.settings.register_profile("hopline", derandomize=True, deadline=None)
hypothesis.settings.load_profile("hopline")


_LEFTOVERS = pytest.StashKey[Leftovers]()


def pytest_configure(config: pytest.Config) -> None:
    """Leave no process behind, whatever ends this one; take no width from the terminal.

    An unexpected error of a command is a traceback, in this process and in those that it starts.
    Java compiles quickly rather than well, because most of a short run of Spark is compilation.
    """
    os.environ.pop("COLUMNS", None)
    os.environ["HOPLINE_TRACEBACK"] = "1"
    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    config.stash[_LEFTOVERS] = Leftovers()


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what the tests have not ended."""
    config.stash[_LEFTOVERS].end()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Deal the tests by files."""
    config.option.loadscopereorder = False  # it is we who order them
    return ByFile(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what chooses the servers."""
    parser.addoption("--containers", action="store_true", help="run on servers in containers")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector what lives as long as the session: modules and tests.

    It would look at millions of objects while they are made, and at each later ``gc.collect()``.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


LEEWAY = 60.0
"""Seconds between the exception of pytest-timeout and the end of the process."""
_LIMIT = pytest.StashKey[float]()


def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> None:
    """End a process whose test does not end with an error when its time is over.

    The exception of pytest-timeout does not interrupt a call of a C library, and none is raised in
    the teardown of a test that has failed. The traces of all threads show where the process was.
    """
    item.stash[_LIMIT] = settings.timeout + LEEWAY
    _end_later(item)


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Continue to watch a test that has failed: pytest has just stopped the clock."""
    _end_later(node)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Stop the clock after a test's teardown."""
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _end_later(node: pytest.Item | pytest.Collector) -> None:
    if (limit := node.stash.get(_LIMIT, None)) is not None:
        errors = node.config.stash[fault_handler_stderr_fd_key]
        faulthandler.dump_traceback_later(limit, exit=True, file=errors)


_SERVERS = {"kafka", "postgres", "killable_kafka"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes longest, where there are several processes."""
    if config.getoption("--containers"):
        items[:] = [i for i in items if _SERVERS & set(getattr(i, "fixturenames", ()))]
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank(item.nodeid))


@pytest.fixture(scope="session")
def kafka(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Return the bootstrap address of a real broker that the whole session shares."""
    if request.config.getoption("--containers"):
        from tests.containers.servers import kafka_container  # nobody else needs Docker

        with kafka_container() as address:
            yield address
        return
    broker = Broker(tmp_path_factory.mktemp("kafka"))
    try:
        broker.start(tied=True)
    except HoplineError as error:
        pytest.fail(f"These tests need a Kafka broker. {error.message}", pytrace=False)
    yield broker.bootstrap
    broker.stop()


@pytest.fixture
def killable_kafka(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KillableKafka]:
    """Return a broker of the test's own, which it may kill."""
    if request.config.getoption("--containers"):
        from tests.containers.servers import KafkaContainer

        with KafkaContainer() as container:
            yield container
        return
    with Embedded(tmp_path / "kafka", beside=RESTARTS_SOON) as broker:
        yield broker


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the SQLAlchemy URL of a real PostgreSQL that the whole session shares."""
    if request.config.getoption("--containers"):
        from tests.containers.servers import postgres_container

        with postgres_container() as url:
            yield url
        return
    try:
        server = Postgres()
    except MissingError as error:
        pytest.fail(f"These tests need PostgreSQL. {error}", pytrace=False)
    server.start()
    yield server.url
    server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def application_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of an application's database, of either kind; its tables may be left there."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'application.sqlite'}"
    return str(request.getfixturevalue("postgres"))


@pytest.fixture
def unique() -> str:
    """Return a prefix for topics and groups that is this test's own, such as ``t3f9a01c2.``."""
    return f"t{uuid.uuid4().hex[:12]}."
