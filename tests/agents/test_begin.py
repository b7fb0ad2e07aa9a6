"""An agent whose offsets Kafka has forgotten does not answer again what it has answered."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from streams.agents import HoplineApp, driver
from streams.client import PositionLostError
from streams.client.readings import Readings
from streams.kafka import KafkaError, KafkaException, read_notes, topic_id, trim
from tests.agents.rig import (
    AT_B,
    ORDERS,
    ROOT,
    AppThread,
    answering,
    answers,
    application,
    order,
    serving,
    shop,
    worker,
)
from tests.forgetting import forget
from tests.running import DEADLINE, System, eventually, running
from tests.workers.rig import pause


@pytest.fixture
def system(kafka: str, unique: str, tmp_path: Path) -> Iterator[System]:
    with running(kafka, unique, shop(tmp_path)) as made:
        yield made


def refusal(app: HoplineApp) -> PositionLostError:
    """Return what an application ends with as soon as it has its partitions."""
    thread = AppThread(app)
    thread.join()
    assert isinstance(thread.failure, PositionLostError), thread.failure
    return thread.failure


def served(system: System, *bodies: bytes, already: int = 0, **options: Any) -> list[bytes]:
    """Let an application answer orders and stop; returns what its handler saw."""
    seen: list[bytes] = []
    with system.client() as client, serving(answering(application(system, **options), seen)):
        order(client, *bodies)
        answers(system, already + len(bodies))
    return seen


def test_an_agent_that_cannot_read_its_offsets_ends(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise aiokafka would log the error, and the agent would wait for good without a word."""

    def fail(*_: Any) -> NoReturn:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    monkeypatch.setattr(driver, "read_notes", fail)
    thread = AppThread(answering(application(system)))
    thread.join()
    assert isinstance(thread.failure, KafkaException), thread.failure


@pytest.mark.long
def test_forgotten_offsets_are_refused_and_no_handler_runs_again(system: System) -> None:
    assert served(system, b"one", b"two") == [b"one", b"two"]
    group, seen = f"{system.cluster.topics.prefix}orders", list[bytes]()
    forget(system.cluster, group)
    for _ in range(2):
        refused = refusal(answering(application(system), seen))
        assert group in refused.message and "has received from this queue" in refused.message
    assert seen == []


@pytest.mark.long
def test_it_begins_where_it_is_told(system: System) -> None:
    served(system, b"one", b"two")
    forget(system.cluster, f"{system.cluster.topics.prefix}orders")
    assert served(system, b"three", already=2, begin="end") == [b"three"]
    assert served(system, b"four", already=3) == [b"four"], "and goes on from there"


@pytest.mark.long
def test_an_offset_is_where_it_begins(system: System) -> None:
    served(system, b"one", b"two", b"three")
    forget(system.cluster, f"{system.cluster.topics.prefix}orders")
    topic = system.cluster.topics.queue(*AT_B, "OrderQueue")
    last = max(record["offset"] for record in system.snapshot(topic))
    assert served(system, b"four", already=3, begin=last) == [b"three", b"four"]


@pytest.mark.long
def test_the_first_agent_of_a_queue_with_waiting_messages_needs_no_option(system: System) -> None:
    with system.client() as client:
        order(client, b"waiting")
        system.records(system.cluster.topics.queue(*AT_B, "OrderQueue"))
    assert served(system, b"next", already=1) == [b"waiting", b"next"]


def test_where_it_begins_is_committed_before_anything_is_received(system: System) -> None:
    """So that a crash before its first commit is no lost position."""
    topic, group = system.cluster.topics.queue(*AT_B, "OrderQueue"), "orders"
    name = f"{system.cluster.topics.prefix}{group}"
    with serving(answering(application(system))):
        eventually(lambda: read_notes(system.cluster, name, [topic]) or pause(), "an offset")
    assert read_notes(system.cluster, name, [topic])[topic, 0] == (
        0,
        f"{topic_id(system.cluster, topic)} r0",
    )


@pytest.mark.long
def test_the_command_refuses_and_takes_the_option(system: System, tmp_path: Path) -> None:
    topics, what = system.cluster.topics, ("--service", "data-dependent-routing", "--name", ORDERS)
    group, queue = topics.name("routing", *AT_B, ORDERS), topics.queue(*AT_B, "OrderQueue")
    Readings(system.cluster, AT_B[0], queue, group).note({0: 0})
    command = (sys.executable, "-m", "streams", "worker", "agents", "--all", *system.options, *what)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE)
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    assert "has received from this queue" in done.stderr and "--begin 0:0" in done.stderr
    with worker(system, tmp_path, *what, "--begin", "end"):
        eventually(
            lambda: read_notes(system.cluster, group, [queue]) or pause(), "it has an offset"
        )


@pytest.mark.long
def test_a_queue_trimmed_behind_another_group_is_not_skipped_in_silence(system: System) -> None:
    served(system, b"one")
    topic = system.cluster.topics.queue(*AT_B, "OrderQueue")
    with system.client() as client:
        order(client, b"two", b"three")
        found = system.records(topic, count=3)
    trim(system.cluster, {(topic, 0): found[-1]["offset"]})
    said = refusal(answering(application(system))).message
    assert "were trimmed after other groups had received them" in said
