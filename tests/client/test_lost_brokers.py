"""A client that has lost all brokers raises an error, or continues with another client."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from streams.client import Client, Conversation, answers
from streams.errors import SurroundingsError
from streams.kafka import Cluster, Producer, lost_brokers
from streams.wire import Topics
from tests.running import DEADLINE, eventually, running
from tests.workers.rig import HookedCluster, pause

AT, SERVICES = ("ServerA", "DatabaseA"), ("InitiatorService", "TargetService")
LOST = r"not confirmed by Kafka at {}: it is up, but this client has lost all brokers"


class LostCluster(Cluster):
    """A cluster whose producers know no broker."""

    def producer(self, **config: Any) -> Producer:
        """Build a producer."""
        return Cluster("127.0.0.1:1", self.topics).producer(**config)


@pytest.fixture
def _checked_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost_brokers, "_PATIENCE", 0.1)
    monkeypatch.setattr(lost_brokers, "_TIMEOUT", 1.0)


def somewhere() -> Conversation:
    return Conversation(*AT, uuid.uuid4())


def failure(of: Callable[[], object]) -> SurroundingsError:
    """Repeat a statement until it fails."""

    def failed() -> SurroundingsError | None:
        try:
            of()
        except SurroundingsError as error:
            return error
        pause()
        return None

    found = eventually(failed, "an error")
    assert found is not None
    return found


@pytest.mark.usefixtures("_checked_soon")
def test_statements_without_wait_raise_an_error_and_nothing_is_sent(
    kafka: str, unique: str
) -> None:
    client, dialog = Client(LostCluster(kafka, Topics(unique))), somewhere()
    first = failure(lambda: client.send(dialog, b"x"))
    assert "statements are " + LOST.format(kafka) in first.message
    assert first.remedy.startswith("Create a new client")
    for later in (
        lambda: client.send(dialog, b"x"),
        lambda: client.end(dialog),
        lambda: client.begin(*AT, *SERVICES, wait=False),
        client.flush,
        client.close,
    ):
        with pytest.raises(SurroundingsError) as again:
            later()
        assert again.value.message == first.message
    assert len(client._producer) == 0


@pytest.mark.usefixtures("_checked_soon")
def test_a_flush_ends_with_the_reason(kafka: str, unique: str) -> None:
    client = Client(LostCluster(kafka, Topics(unique)))
    client.send(somewhere(), b"x")
    with pytest.raises(SurroundingsError, match="^1 statement is " + LOST.format(kafka)):
        client.flush(DEADLINE)


@pytest.mark.usefixtures("_checked_soon")
def test_log_lines_of_the_client_are_no_statements(kafka: str, unique: str) -> None:
    client = Client(LostCluster(kafka, Topics(unique)))
    client.send(somewhere(), b"x")
    eventually(lambda: len(client._producer) > 2 or pause(), "two log lines that nobody has read")
    client._look()
    with pytest.raises(SurroundingsError, match="^1 statement is " + LOST.format(kafka)):
        client.flush(DEADLINE)


@pytest.mark.usefixtures("_checked_soon")
def test_a_search_that_ends_after_another_one_keeps_the_count(kafka: str, unique: str) -> None:
    client = Client(LostCluster(kafka, Topics(unique)))
    client.send(somewhere(), b"x")
    client._look()
    client._look()
    with pytest.raises(SurroundingsError, match="^1 statement is " + LOST.format(kafka)):
        client.flush(DEADLINE)


@pytest.mark.usefixtures("_checked_soon")
def test_a_statement_that_waits_ends_with_the_reason(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers", start=False) as system:
        client = Client(LostCluster(kafka, system.cluster.topics), timeout=DEADLINE)
        with pytest.raises(SurroundingsError, match="^1 statement is " + LOST.format(kafka)):
            client.begin(*AT, *SERVICES)


@pytest.mark.usefixtures("_checked_soon")
def test_statements_wait_for_a_kafka_that_is_away(
    unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost_brokers, "_TIMEOUT", 0.01)
    checks = list[int]()

    class Away(Cluster):
        def admin(self) -> Any:
            checks.append(1)
            return super().admin()

    client, dialog = Client(Away("127.0.0.1:1", Topics(unique))), somewhere()
    eventually(lambda: client.send(dialog, b"x") or len(checks) > 2 or pause(), "checks")
    client.send(dialog, b"x")


def test_statements_continue_on_a_client_that_is_well(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that always has statements in flight is checked from time to time."""
    monkeypatch.setattr(lost_brokers, "_PATIENCE", 0.0)
    checks, are_lost = list[bool](), lost_brokers.LostBrokers.are_lost

    def noted(self: lost_brokers.LostBrokers, *clients: Any) -> bool:
        checks.append(are_lost(self, *clients))
        return checks[-1]

    monkeypatch.setattr(lost_brokers.LostBrokers, "are_lost", noted)
    with running(kafka, unique, "two_brokers", start=False) as system, system.client() as client:
        dialog = somewhere()
        eventually(lambda: client.send(dialog, b"x") or bool(checks), "a check")
    assert not any(checks)


def test_results_are_read_by_another_consumer_if_none_arrives(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "_SILENT", 0.5)
    with running(kafka, unique, "two_brokers") as system:
        hooked, consumers = HookedCluster(kafka, system.cluster.topics), list[Any]()

        def poll(method: Any, seconds: float) -> Any:
            if isinstance(method.__self__, Producer):
                return method(seconds)
            if method.__self__ not in consumers:
                consumers.append(method.__self__)
            return None if method.__self__ is consumers[0] and not pause() else method(seconds)

        hooked.hooks["poll"] = poll
        with Client(hooked, timeout=DEADLINE) as client:
            client.begin(*AT, *SERVICES)
        assert len(consumers) > 1
