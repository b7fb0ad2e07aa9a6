"""`hopline status --bootstrap`: the workers of any system, by heartbeats and groups of a Kafka."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streams.kafka import Cluster, create
from streams.live import Health
from streams.live.remote import LastHeartbeat, RemoteWorker, find_remote_status, workers_of
from streams.live.remote.heartbeats import read_heartbeats
from streams.node import LEFT, MOST_NAMES
from streams.wire import Topics, encode_presence
from streams.wire.specs import TopicSpec
from tests.command import hopline
from tests.running import DEADLINE, System, eventually, running


def status(system: System) -> tuple[int, dict[str, Any]]:
    code, out, err = hopline("status", "--format", "json", *system.options)
    assert not err
    found: dict[str, Any] = json.loads(out)
    return code, found


def until(system: System, health: Health, unserved: int = 0) -> dict[str, Any]:
    """Return the status once the system is so; on a loaded machine a heartbeat may be late."""

    def probe() -> Any:
        code, found = status(system)
        assert code == (found["health"] != Health.RUNNING.value)
        is_so = found["health"] == health.value and len(found["unserved"]) == unserved
        are_ready = health is Health.STOPPED or all(w["ready"] for w in found["workers"])
        return found if is_so and are_ready else None

    shown: dict[str, Any] = eventually(probe, f"{health.value}, {unserved} unserved")
    return shown


def text_of(system: System, beginning: str, code: int) -> str:
    """Return the text of the status once it has this beginning, with this exit code."""

    def probe() -> str:
        exits, text, _ = hopline("status", *system.options)
        return text if exits == code and text.startswith(beginning) else ""

    return eventually(probe, beginning)


@pytest.mark.long
def test_a_system_that_nobody_started_here(kafka: str, unique: str) -> None:
    """Each worker has a row; when they have gone, every partition waits."""
    with running(kafka, unique, "two_brokers") as system:
        shown = until(system, Health.RUNNING)
        rows = [(w["instance"], w["role"], w["slot"], w["ready"]) for w in shown["workers"]]
        assert rows == [
            (instance, role, slot, True)
            for instance in ("ServerA", "ServerB")
            for role, slot in (("endpoint", "0"), ("forwarder", None))
        ]
        assert all(0 <= w["age"] < 5 and w["alive"] for w in shown["workers"])
        assert (shown["unserved"], shown["catalog"]["instances"]) == ([], 2)
        text = text_of(system, f"running: {kafka}, prefix {unique}\n", 0)
        assert "  endpoint   ServerA, slot 0, ready, heartbeat " in text
        system.stop()
        shown = until(system, Health.STOPPED, unserved=4)
        waits = [(each["instance"], each["role"], each["partitions"]) for each in shown["unserved"]]
        assert waits == [
            (instance, role, [0])
            for instance in ("ServerA", "ServerB")
            for role in ("forwarder", "endpoint")
        ]
        text = text_of(system, "stopped", 1)
        assert "  no worker  endpoint of ServerB, partition 0" in text
        assert "no heartbeat for " in text, "a forwarder says nothing when it leaves"


@pytest.mark.long
def test_a_role_without_workers_is_broken(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers", roles=("forwarder",)) as system:
        shown = until(system, Health.BROKEN, unserved=2)
        assert {each["role"] for each in shown["unserved"]} == {"endpoint"}
        assert [w["ready"] for w in shown["workers"]] == [True, True]


@pytest.mark.long
def test_a_pair_is_served_by_either_partner(kafka: str, unique: str) -> None:
    with running(kafka, unique, "mirrored") as system:
        shown = until(system, Health.RUNNING)
        assert {w["instance"] for w in shown["workers"]} == {"ServerA", "Partner1", "Partner2"}


@pytest.mark.long
def test_without_heartbeats_ages_are_by_the_clock_of_who_asks(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers") as system:
        until(system, Health.RUNNING)
        system.stop()
        [*beats] = read_heartbeats(system.cluster, kafka_now=lambda: 10**10)
        assert beats and all(beat.age > 10**9 for beat in beats)
        found = find_remote_status(system.cluster, 30, lambda *_: beats)
        assert found.health is Health.STOPPED


def test_kafka_that_does_not_answer_is_broken() -> None:
    where = ("--bootstrap", "127.0.0.1:1", "--timeout", "0.5")
    code, out, _ = hopline("status", *where, "--format", "json")
    shown = json.loads(out)
    assert (code, shown["health"], shown["workers"]) == (1, "broken", [])
    assert "127.0.0.1:1" in shown["error"] and "Traceback" not in out
    code, out, _ = hopline("status", *where)
    assert code == 1 and "  kafka      " in out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--bootstrap", "127.0.0.1:1", "--data", "x"), "name different systems"),
        (("--prefix", "t."), "Add --bootstrap"),
        (("--bootstrap", "127.0.0.1:1", "--kafka", "no.such=1"), "no.such"),
    ],
)
def test_wrong_use(words: tuple[str, ...], why: str) -> None:
    code, out, err = hopline("status", *words)
    assert (code, out) == (2, "") and why in err


def test_a_cluster_in_the_settings_does_not_hide_the_system_of_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOPLINE_BOOTSTRAP", "127.0.0.1:1")
    code, out, _ = hopline("status", "--data", tmp_path)
    assert code == 1 and out.startswith("stopped: `hopline up TOPOLOGY`")


def beat(name: str, replica: str = "p", age: float = 1.0, **fields: Any) -> LastHeartbeat:
    return LastHeartbeat(name, replica, age, fields.get("period", 1.0), fields.get("left", False))


@pytest.mark.parametrize(
    ("beats", "rows"),
    [
        ([beat("A")], [("forwarder", None, "p", True)]),
        ([beat("A", age=4.9)], [("forwarder", None, "p", True)]),
        ([beat("A", age=5.1)], [("forwarder", None, "p", False)]),
        ([beat("A", age=5.1, period=2)], [("forwarder", None, "p", True)]),
        ([beat("A/endpoint/0", age=2.9)], [("endpoint", "0", "p", True)]),
        ([beat("A/endpoint/0", age=3.1)], [("endpoint", "0", "p", False)]),
        ([beat("A/endpoint/0", left=True)], []),
        ([beat("A"), beat("A/forwarder/x/y")], [("forwarder", "x/y", "p", True)]),
        ([beat("A/forwarder/b", age=99)], [("forwarder", "b", "p", False)]),
        # Two at work, of which one has a slot; another was replaced.
        (
            [beat("A"), beat("A", "q"), beat("A/forwarder/b", "q"), beat("A", "r", 60)],
            [("forwarder", None, "p", True), ("forwarder", "b", "q", True)],
        ),
        ([beat("A", "q", 60), beat("A", "r", 50)], [("forwarder", None, "r", False)]),
        # A standby, and the one that works.
        (
            [beat("A/standby/0"), beat("A/standby/0", "q"), beat("A/endpoint/0", "q")],
            [("endpoint", "0", "q", True), ("standby", "0", "p", True)],
        ),
        ([beat("B"), beat("B/endpoint/0"), beat("A/agents/x"), beat("")], []),
    ],
)
def test_from_heartbeats_to_workers(beats: list[LastHeartbeat], rows: list[Any]) -> None:
    found = workers_of(beats, ["A"])
    assert [(w.role, w.slot, w.replica, w.alive) for w in found] == rows
    assert all(isinstance(w, RemoteWorker) and w.instance == "A" for w in found)


def test_invented_names_and_processes_are_bounded(kafka: str, unique: str) -> None:
    """The last heartbeat of an instance stays, even if it is the oldest of all."""
    cluster = Cluster(kafka, Topics(unique))
    create(cluster, [TopicSpec(cluster.topics.presence, "presence", 1, {})])
    producer = cluster.producer()

    def write(name: str, replica: str, key: str | None = None) -> None:
        value = encode_presence(name, replica, LEFT, 0)
        producer.produce(cluster.topics.presence, value, (key or name).encode())

    write("A", "first")
    write("A", "last")
    for number in range(MOST_NAMES):
        write("B", str(number))
        write(f"Invented{number}", "r")
        producer.poll(0)
    write("A", "odd", "B")
    producer.flush(DEADLINE)
    found = {(beat.name, beat.replica) for beat in read_heartbeats(cluster, ("A", "B"))}
    assert len(found) <= MOST_NAMES + 2
    last = {("A", "last"), ("B", str(number)), (f"Invented{number}", "r")}
    assert last <= found
    assert not found & {("A", "first"), ("A", "odd"), ("B", "0"), ("Invented0", "r")}
