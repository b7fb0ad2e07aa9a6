"""A broker's life: started, found by others, refused twice, stopped, killed, started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from streams.embedded import Broker, Condition, Running
from streams.embedded.probe import free_ports
from streams.embedded.process import command_line, wait_until
from streams.embedded.state import DataDir
from streams.errors import SurroundingsError, UsageError
from tests.killable import RESTARTS_SOON
from tests.ports import reserved
from tests.running import DEADLINE, eventually
from tests.workers.rig import pause

from .fakes import fake_java, no_java


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path / "data", beside=RESTARTS_SOON)
    yield broker
    broker.stop()


def topics(bootstrap: str) -> set[str]:
    return set(AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=DEADLINE).topics)


def create(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(DEADLINE)


def until_running(broker: Broker) -> None:
    """Wait until it answers: on a loaded machine that may take longer than the probe waits."""
    eventually(lambda: broker.condition() is Condition.RUNNING or pause(), "it runs")


@pytest.mark.long
def test_data_survive_a_stop_and_a_start_on_another_port(broker: Broker) -> None:
    first = broker.start()
    create(first.bootstrap, "kept")
    assert broker.stop()
    assert broker.condition() is Condition.STOPPED
    second = broker.start()
    assert second.port != first.port
    assert second.cluster == first.cluster
    assert "kept" in topics(second.bootstrap)


@pytest.mark.long
def test_a_killed_broker_is_noticed_and_can_be_started_again(broker: Broker) -> None:
    create(broker.start().bootstrap, "kept")
    broker.kill()
    assert broker.condition() is Condition.STALE
    assert "kept" in topics(broker.start().bootstrap)
    until_running(broker)


def test_another_process_finds_and_stops_it(broker: Broker) -> None:
    running = broker.start()
    assert "-XX:TieredStopAtLevel=1" in command_line(running.pid)  # it is not a lasting one
    other = Broker(broker.data.path)
    until_running(other)
    assert other.bootstrap == running.bootstrap
    with pytest.raises(UsageError, match=f"already running on .*, at {running.bootstrap} "):
        other.start()
    code = "import sys, pathlib, streams.embedded as e; e.Broker(pathlib.Path(sys.argv[1])).stop()"
    subprocess.run([sys.executable, "-c", code, str(broker.data.path)], check=True, cwd=os.getcwd())
    assert broker.condition() is Condition.STOPPED
    assert not broker.stop()


@pytest.mark.long
def test_it_lives_in_a_session_of_its_own(broker: Broker) -> None:
    assert os.getsid(broker.start().pid) != os.getsid(0)


def test_a_topic_that_nobody_created_does_not_appear(kafka: str, unique: str) -> None:
    AdminClient({"bootstrap.servers": kafka}).list_topics(f"{unique}ghost", timeout=DEADLINE)
    assert f"{unique}ghost" not in topics(kafka)


def test_a_taken_port_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(SurroundingsError, match=f"Port {port} on 127.0.0.1 is in use"):
            Broker(tmp_path / "data", port=port).start()
    assert not (tmp_path / "data").exists()


@pytest.mark.long
@pytest.mark.parametrize("is_given", [False, True], ids=["broker", "controller"])
def test_a_free_port_that_somebody_takes_first_is_not_the_last_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_given: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, reserved(1) as (mine,):
        taken = server.getsockname()[1]
        first = [*free_ports(1), taken] if is_given else [taken, *free_ports(1)]
        offered = [first, free_ports(2)]
        monkeypatch.setattr("streams.embedded.broker.free_ports", lambda _: offered.pop(0))
        with Broker(tmp_path, port=mine if is_given else 0) as broker:
            until_running(broker)
            assert not broker.bootstrap.endswith(f":{taken}")
            assert broker.bootstrap.endswith(f":{mine}") is is_given
        assert not offered


def test_a_state_file_of_a_process_that_is_another_program_is_stale(tmp_path: Path) -> None:
    data = DataDir(tmp_path)
    data.record(Running(os.getpid(), 9092, "cluster", 0.0))
    broker = Broker(tmp_path)
    assert broker.condition() is Condition.STALE
    assert not broker.stop()  # and we still live
    assert broker.condition() is Condition.STOPPED


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"pid": 1}', "\N{SNOWMAN}"])
def test_an_unreadable_state_file_is_stale(tmp_path: Path, content: str) -> None:
    DataDir(tmp_path).state_file.write_text(content, encoding="utf-8")
    assert Broker(tmp_path).condition() is Condition.STALE


def test_no_address_without_a_broker(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No broker is running on"):
        _ = Broker(tmp_path).bootstrap


def test_without_java_nothing_is_touched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_java(monkeypatch, tmp_path)
    with pytest.raises(SurroundingsError, match="Java was not found"):
        Broker(tmp_path / "data").start()
    assert not (tmp_path / "data").exists()


def test_a_failing_format_leaves_nothing_half_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_java(monkeypatch, tmp_path, 'openjdk version "17.0.1"')
    (tmp_path / "java").write_text(
        '#!/bin/sh\necho \'openjdk version "17.0.1"\' >&2\n[ "$1" = -version ]\n'
    )
    data = tmp_path / "data"
    with pytest.raises(SurroundingsError, match="Kafka could not format"):
        Broker(data).start()
    assert [path.name for path in data.iterdir()] == ["start.lock"]


def test_the_reason_of_a_failed_broker_start_is_reported(broker: Broker) -> None:
    broker.start()
    broker.stop()
    meta = broker.data.log_dir / "meta.properties"
    meta.write_text(meta.read_text().replace("node.id=1", "node.id=7"))
    with pytest.raises(
        SurroundingsError, match=r"stopped during startup: Stored node id 7"
    ) as caught:
        broker.start()
    assert str(broker.data.log_file) in caught.value.remedy
    assert broker.condition() is Condition.STOPPED


def test_two_brokers_cannot_share_a_folder(broker: Broker) -> None:
    running = broker.start()
    broker.data.forget()  # as if somebody had removed the state file
    with pytest.raises(SurroundingsError, match="Another Kafka uses"):
        Broker(broker.data.path).start()
    broker.data.record(running)
    until_running(broker)


def test_a_frozen_broker_is_not_starting(broker: Broker) -> None:
    """`hopline status` and `kafka status` called it so, for as long as it was frozen."""
    running = broker.start()
    os.kill(running.pid, signal.SIGSTOP)
    try:
        assert broker.condition() is Condition.SILENT
        assert Condition.SILENT.is_alive
        with starting_elsewhere(broker.data.path):
            assert broker.condition() is Condition.STARTING
        with pytest.raises(UsageError, match="already running"):
            Broker(broker.data.path).start()
    finally:
        os.kill(running.pid, signal.SIGCONT)
    until_running(broker)


def test_two_starts_at_the_same_moment_are_one(tmp_path: Path) -> None:
    with starting_elsewhere(tmp_path), pytest.raises(UsageError, match="is being started on"):
        Broker(tmp_path).start()


@contextmanager
def starting_elsewhere(folder: Path) -> Iterator[None]:
    """Let another process start a broker on a folder, which takes as long as the block."""
    code = (
        "import sys, pathlib, streams.embedded.state as s\n"
        "with s.DataDir(pathlib.Path(sys.argv[1])).starting():\n"
        "    print('starting', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"starting\n"
        yield
        other.communicate()


def test_it_is_stopped_at_the_end_of_the_block(tmp_path: Path) -> None:
    with Broker(tmp_path) as broker:
        pid = broker.data.recorded()
        assert pid is not None
    assert broker.condition() is Condition.STOPPED
    assert not broker.data.is_ours(pid.pid)


def test_a_condition_is_waited_for_until_the_deadline() -> None:
    answers = iter([False, False, True])
    assert wait_until(lambda: next(answers), 5)
    assert not wait_until(lambda: False, 0)
