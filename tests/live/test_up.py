"""``hopline up``, ``status`` and ``down``: a system in processes of its own, and nobody else's."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from streams.client import Client
from streams.embedded.probe import ask
from streams.kafka import Cluster
from streams.kafka.catalog import VERSION_KEY
from streams.live import UpFolder, find_status
from streams.live.local import readiness
from streams.live.local.folder import System, WorkerProcess
from streams.resources import topologies_dir
from streams.wire import Topics, encode_catalog_object
from tests.command import invoke
from tests.live.shown import gone, status
from tests.running import DEADLINE, eventually


def healthy() -> dict[str, Any] | None:
    shown = status()
    return shown if shown["health"] == "running" else None


def test_a_system_is_started_used_started_again_and_stopped(here: Path) -> None:
    started = invoke("up", "two_brokers", "--port", "0")
    assert started.exit_code == 0, started.stderr
    assert "ready after" in started.stdout
    shown = eventually(healthy, "it runs")
    assert f"Other commands need: --bootstrap {shown['bootstrap']} --prefix ssb." in started.stdout
    assert shown["broker"]["condition"] == "running"
    assert [(w["role"], w["ready"]) for w in shown["workers"]] == [
        ("forwarder", ["ServerA", "ServerB"]),
        ("endpoint", ["ServerA", "ServerB"]),
    ]
    with Client(Cluster(shown["bootstrap"]), timeout=DEADLINE) as client:
        client.begin("ServerA", "DatabaseA", "InitiatorService", "TargetService", wait=True)

    again = invoke("up", "two_brokers", "--port", "0")
    assert (again.exit_code, "was already running" in again.stdout) == (0, True)
    assert {w["pid"] for w in status()["workers"]} == {w["pid"] for w in shown["workers"]}
    beginning = f"running: two_brokers at {shown['bootstrap']}, prefix ssb."

    def running_text() -> str:
        text = invoke("status").stdout
        return text if text.startswith(beginning) else ""

    text = eventually(running_text, beginning)
    assert "2 of 2 ready" in text
    assert max(map(len, text.replace(str(here), "").splitlines())) <= 100

    ended = invoke("down", "--format", "json")
    assert json.loads(ended.stdout) == {"workers": True, "broker": True}
    assert all(gone(w["pid"]) for w in shown["workers"])
    assert gone(shown["broker"]["pid"])
    assert invoke("down").stdout == f"No process of {here / '.hopline' / 'up'} is running.\n"


@pytest.mark.long
def test_what_ends_is_started_again_and_what_is_left_behind_is_ended(
    here: Path, kafka: str, unique: str
) -> None:
    """On a Kafka of somebody else, which `down` leaves alone."""
    there = ("--bootstrap", kafka, "--prefix", unique)
    started = invoke("up", "two_brokers", *there)
    assert started.exit_code == 0, started.stderr
    first = status()
    assert first["broker"] is None
    forwarder, endpoint = (w["pid"] for w in first["workers"])
    os.kill(forwarder, signal.SIGKILL)
    eventually(lambda: status()["workers"][0]["restarts"], "a second start")
    shown = eventually(healthy, "every worker is ready again")
    assert shown["workers"][0]["pid"] != forwarder
    assert shown["workers"][1]["pid"] == endpoint

    os.kill(shown["keeper"]["pid"], signal.SIGKILL)
    assert gone(shown["keeper"]["pid"])
    left = invoke("status")
    assert left.exit_code == 1
    assert left.stdout.startswith("broken: two_brokers")
    assert "\n  supervisor gone, process " in left.stdout
    assert json.loads(invoke("down", "--format", "json").stdout) == {
        "workers": True,
        "broker": False,
    }
    assert all(gone(w["pid"]) for w in shown["workers"])
    assert ask(int(kafka.rpartition(":")[2])) is not None


@pytest.mark.long
def test_another_topology_is_applied_and_gets_workers_that_serve_it(
    here: Path, kafka: str, unique: str
) -> None:
    there = ("--bootstrap", kafka, "--prefix", unique)
    invoke("up", "two_brokers", *there)
    before = {w["pid"] for w in status()["workers"]}
    folder = here / "more"
    shutil.copytree(topologies_dir() / "two_brokers", folder)
    text = (folder / "topology.yaml").read_text(encoding="utf-8")
    more = text.replace("instances:\n", "instances:\n  ServerC: {databases: {DatabaseC: {}}}\n")
    (folder / "topology.yaml").write_text(more, encoding="utf-8")
    done = invoke("up", "more", *there)
    assert done.exit_code == 0, done.stderr
    shown = status()
    assert shown["workers"][0]["ready"] == ["ServerA", "ServerB", "ServerC"]
    assert not before & {w["pid"] for w in shown["workers"]}
    assert shown["catalog"] == {"version": 2, "instances": 3, "error": None}

    less = invoke("up", "two_brokers", *there)
    assert (
        "The catalog has other instances, which are also served: ServerC (to remove them: "
        "hopline apply --prune)." in less.stdout
    )
    assert {w["pid"] for w in status()["workers"]} == {w["pid"] for w in shown["workers"]}

    other = invoke("up", "two_brokers", "--bootstrap", kafka, "--prefix", f"{unique}x.")
    assert other.exit_code == 2
    assert f"is already running at {kafka} with prefix {unique}." in other.stderr


@pytest.mark.long
def test_workers_of_an_older_version_are_shown_and_replaced(
    here: Path, kafka: str, unique: str
) -> None:
    """They serve nothing over HTTP, and their record has no port."""
    there = ("--bootstrap", kafka, "--prefix", unique)
    invoke("up", "two_brokers", *there)
    before = {w["pid"] for w in status()["workers"]}
    folder = UpFolder(here / ".hopline" / "up")
    rows = json.loads(folder.workers_file.read_text())["workers"]
    old = [{**{k: v for k, v in row.items() if k != "port"}, "log_from": 0} for row in rows]
    folder.workers_file.write_text(json.dumps({"workers": old}))
    found = invoke("status")
    assert (found.exit_code, found.stdout.partition(":")[0]) == (1, "starting")
    assert found.stdout.count("not answering\n") == 2
    remedy = "\n             started by an older version: run `hopline up TOPOLOGY` again\n"
    assert found.stdout.count(remedy) == 2
    assert [(w["port"], w["answers"]) for w in status()["workers"]] == [(None, False)] * 2

    again = invoke("up", "two_brokers", *there)
    assert (again.exit_code, "ready after" in again.stdout) == (0, True), again.stderr
    shown = status()
    assert shown["health"] == "running"
    assert not before & {w["pid"] for w in shown["workers"]}
    assert all(map(gone, before))


def test_lag_is_what_no_worker_has_passed(here: Path, kafka: str, unique: str) -> None:
    """The workers are none of `up`: two records of an application stand unread."""
    invoke("apply", "two_brokers", "--bootstrap", kafka, "--prefix", unique)
    folder = UpFolder(here / "by_hand")
    folder.path.mkdir()
    instances = ("ServerA", "ServerB")
    folder.record_system(System(1, kafka, unique, "two_brokers", instances, False, 0.0))
    with Client(Cluster(kafka, Topics(unique))) as client:
        for _ in range(2):
            client.begin("ServerA", "DatabaseA", "InitiatorService", "TargetService", wait=False)
    found = find_status(folder, 10)
    assert [(g.instance, g.topic, g.records) for g in found.lags if g.records] == [
        ("ServerA", "cmd", 2)
    ]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("up", "nowhere"), 2, "no folder or shipped topology 'nowhere'"),
        (("up", "broken"), 2, "SERVICE_NAME"),
        (("status",), 1, "stopped: `hopline up TOPOLOGY` starts a system in"),
        (("down",), 0, "No process of"),
        (("up", "two_brokers", "--bootstrap", "127.0.0.1:1", "--timeout", "1"), 3, "(gave up"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(
    here: Path, args: tuple[str, ...], code: int, message: str
) -> None:
    broken = here / "broken"
    broken.mkdir()
    text = "CREATE ROUTE R WITH SERVICE_NAME = '', ADDRESS = 'LOCAL'"
    (broken / "a.sql").write_text(f"CREATE DATABASE D\nGO\nUSE D\nGO\n{text}\n")
    result = invoke(*args)
    assert (result.exit_code, message in result.stdout + result.stderr) == (code, True), (
        result.stderr
    )


def test_a_file_of_another_program_and_a_process_id_used_again_say_nothing(tmp_path: Path) -> None:
    folder = UpFolder(tmp_path)
    folder.system_file.write_text("[]")
    folder.workers_file.write_text('{"workers": [{"pid": 1}]}')
    assert (folder.system(), folder.workers()) == (None, ())
    system = System(os.getpid(), "k:1", "ssb.", "t", (), False, 0.0)
    assert not folder.keeps(system)
    assert not folder.works(system, WorkerProcess("endpoint", os.getpid(), 0.0))


@pytest.mark.long
def test_a_worker_that_is_alive_but_no_longer_ready_is_not_counted(
    here: Path, kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its log says for ever that it was ready once."""
    invoke("up", "two_brokers", "--bootstrap", kafka, "--prefix", unique)
    [forwarder, endpoint] = status()["workers"]
    assert forwarder["port"] != endpoint["port"]

    def one_answers() -> Result | None:
        shown = invoke("status")
        return shown if shown.stdout.count("2 of 2 ready") == 1 else None

    os.kill(endpoint["pid"], signal.SIGSTOP)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(readiness, "ANSWER_WITHIN", 1.0)
            found = eventually(one_answers, "the forwarder answers, the endpoint does not")
    finally:
        os.kill(endpoint["pid"], signal.SIGCONT)
    assert (found.exit_code, found.stdout.partition(":")[0]) == (1, "starting")
    assert "Z, not answering\n" in found.stdout
    assert f"no answer on port {endpoint['port']}; its log is " in found.stdout
    eventually(healthy, "it answers again")

    bad = encode_catalog_object(9, json.dumps({"number": 9, "hash": "no"}))
    producer = Cluster(kafka, Topics(unique)).producer()
    producer.produce(Topics(unique).catalog, key=VERSION_KEY, value=bad)
    producer.flush(DEADLINE)

    def refuses() -> dict[str, Any] | None:
        shown = status()
        return shown if all(w["missing"] for w in shown["workers"]) else None

    shown = eventually(refuses, "each says why it is not ready")
    for worker in shown["workers"]:
        assert (worker["alive"], worker["answers"], worker["ready"]) == (True, True, [])
        assert worker["missing"][0].startswith("The newest version of the catalog cannot be used")
    assert shown["health"] == "starting"
    found = invoke("status")
    assert found.exit_code == 1 and found.stdout.count("0 of 2 ready") == 2
    assert "\n             The newest version of the catalog cannot be used" in found.stdout
