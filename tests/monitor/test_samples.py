"""Looks at a cluster become samples that hold for as long as nothing changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from streams.kafka import CatalogState, Cluster, Message
from streams.monitor import look
from streams.monitor.liveness import Liveness
from streams.monitor.look import Eye, Seen
from streams.monitor.sampler import KEPT, Sampler
from streams.node import LEFT, MOST_NAMES, forward_size
from streams.node.liveness.slot_owners import keeps_none
from streams.resources import topologies_dir
from streams.store import (
    DialogSide,
    HeartbeatSample,
    LagSample,
    QueueSample,
    Row,
    Situation,
    Store,
    database,
)
from streams.store.sampled import samples_in
from streams.topology import load
from streams.wire import encode_presence
from tests.store.build_state import TROUBLE, dialog

NOW = 1_700_000_000_000
SEEN = Seen(
    homes=("A", "B"),
    lags={("A", "endpoint", "cmd"): 3},
    held={"A": (2, 512)},
    heartbeats={"A": (True, NOW - 100), "B": (False, NOW - 9_000)},
    links=(("A", "B"),),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        yield store


@pytest.fixture
def sampler(store: Store) -> Sampler:
    return Sampler(store, Eye(Cluster("nobody:1")))


def test_what_does_not_change_stays_one_sample(store: Store, sampler: Sampler) -> None:
    for seconds in range(0, 20, 5):
        at = NOW + seconds * 1_000
        sampler.write(replace(SEEN, heartbeats={"A": (True, at)}), at)
    situation = Situation(store)
    assert situation.lags() == (LagSample("A", "endpoint", "cmd", NOW, NOW + 15_000, 3),)
    assert situation.heartbeats() == (HeartbeatSample("A", NOW, NOW + 15_000, True, NOW + 15_000),)
    assert situation.looked_at() == NOW + 15_000
    assert len(samples_in(store, LagSample, 0, NOW * 2)) == 1


def test_what_changes_begins_another_one(store: Store, sampler: Sampler) -> None:
    for seconds, lag in ((0, 3), (5, 4), (10, 4), (15, 3)):
        sampler.write(replace(SEEN, lags={("A", "endpoint", "cmd"): lag}), NOW + seconds * 1_000)
    rows = samples_in(store, LagSample, NOW, NOW + 60_000)
    spells = [((row.at - NOW) // 1_000, (row.until - NOW) // 1_000, row.records) for row in rows]
    assert spells == [(0, 0, 3), (5, 10, 4), (15, 15, 3)]
    assert [row.records for row in Situation(store).lags(NOW + 12_000)] == [4]


def test_a_sampler_that_fails_says_so(sampler: Sampler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the error is: the monitor raises it, and does not go on without samples."""

    def look(now: int) -> Seen:
        raise OverflowError(f"{now} is too large")

    monkeypatch.setattr(sampler._eye, "look", look)
    sampler.start()
    sampler.stop()
    assert isinstance(sampler.failure, OverflowError)


def test_a_locked_store_is_reported_once_and_gets_the_next_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An outage of the store does not end the monitor."""
    monkeypatch.setattr(database, "_BUSY_S", 0)
    said = list[str]()
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        sampler = Sampler(store, Eye(Cluster("nobody:1")), say=said.append)
        monkeypatch.setattr(sampler._eye, "look", lambda now: SEEN)
        other = sqlite3.connect(str(tmp_path / "monitor.sqlite"), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        sampler.try_to_look()
        sampler.try_to_look()
        assert samples_in(store, LagSample, 0, 1 << 62) == ()
        other.execute("ROLLBACK")
        other.close()
        sampler.try_to_look()
        assert len(samples_in(store, LagSample, 0, 1 << 62)) == 1
    [line] = said
    assert line.startswith("sampling failed: The store") and "locked" in line


def test_a_sampler_that_begins_anew_leaves_a_gap(store: Store, sampler: Sampler) -> None:
    sampler.write(SEEN, NOW)
    Sampler(store, Eye(Cluster("nobody:1"))).write(SEEN, NOW + 3_600_000)
    rows = samples_in(store, LagSample, 0, NOW * 2)
    assert [(row.at, row.until) for row in rows] == [(t, t) for t in (NOW, NOW + 3_600_000)]
    assert Situation(store).lags(NOW + 1_800_000) == ()


def test_samples_are_kept_for_a_day(store: Store, sampler: Sampler) -> None:
    sampler.write(replace(SEEN, lags={("A", "endpoint", "cmd"): 9}), NOW)
    sampler.write(SEEN, NOW + 5_000)
    sampler.write(SEEN, NOW + KEPT + 1)
    rows = samples_in(store, LagSample, 0, NOW * 2)
    assert [(row.at, row.records) for row in rows] == [(NOW + 5_000, 3)]


def test_what_is_forgotten_is_kept_for_a_day(store: Store, sampler: Sampler) -> None:
    long_ago = NOW - KEPT - 1
    rows: list[Row] = [
        dialog(1, begun_at=long_ago, progress_at=long_ago),
        dialog(2, state="CD", ended_at=long_ago, gone_at=long_ago),
        dialog(3, state="CD", ended_at=long_ago, gone_at=NOW),
        replace(TROUBLE, last_at=long_ago),
        replace(TROUBLE, error=1, last_at=NOW),
    ]
    store.write("dialogs", "run", 0, rows)
    sampler.write(SEEN, NOW)
    assert {row.conversation for row in store.read(DialogSide)} == {
        dialog(1).conversation,
        dialog(3).conversation,
    }
    assert [row.error for row in Situation(store).troubles()] == [1]


def test_a_transmission_queue_is_what_the_dialogs_say(store: Store, sampler: Sampler) -> None:
    rows = [
        dialog(1, instance="A", depth=3, status=9753, waiting_since=NOW - 70_000),
        dialog(2, instance="A", depth=2, waiting_since=NOW - 10),
        dialog(3, instance="A", depth=0, parked=4, waiting_since=None),
        dialog(4, instance="A", depth=0, waiting_since=None),
    ]
    store.write("dialogs", "run", 0, rows)
    store.reach({"dialogs": NOW})
    sampler.write(SEEN, NOW)
    of_a, of_b = Situation(store).queues()
    assert (of_a.messages, of_a.dialogs, of_a.parked) == (5, 3, 4)
    assert of_a.oldest_at == NOW - 70_000
    assert of_a.statuses == ((0, 2), (9753, 3))
    assert (of_b.instance, of_b.messages, of_b.oldest_at, of_b.statuses) == ("B", 0, None, ())


def test_a_transmission_queue_is_sampled_at_the_time_to_which_dialogs_were_read(
    store: Store, sampler: Sampler
) -> None:
    """The sampler's clock went on, so old sums looked like those of the present."""
    sampler.write(SEEN, NOW)
    assert samples_in(store, QueueSample, 0, NOW * 2) == (), "no dialog has been read"
    for batch, (reached, depth) in enumerate(((0, 3), (0, 4), (7_000, 4), (9_000, 5))):
        store.write("dialogs", "run", batch, [dialog(1, instance="A", depth=depth, position=batch)])
        store.reach({"dialogs": NOW + reached})
        sampler.write(SEEN, NOW + 5_000 * batch + 60_000)
    rows = samples_in(store, QueueSample, 0, NOW * 2, "A")
    spells = [(row.at - NOW, row.until - NOW, row.messages) for row in rows]
    assert spells == [(0, 7_000, 4), (9_000, 9_000, 5)]


def _judged(heartbeats: Liveness, now: int) -> dict[str, bool]:
    return {name: up for name, up, _ in heartbeats.judge(now)}


def test_who_was_silent_for_five_seconds_is_down() -> None:
    heartbeats = Liveness(keeps_none)
    heartbeats.seen("A", NOW, 1)
    heartbeats.seen("B", NOW - 4_999, 1)
    assert _judged(heartbeats, NOW) == {"A": True, "B": True}
    heartbeats.seen("A", NOW + 1, 2)
    assert _judged(heartbeats, NOW + 1) == {"A": True, "B": False}


def test_kafkas_clock_counts_and_not_the_readers() -> None:
    heartbeats = Liveness(keeps_none)
    ahead = NOW + 3_600_000
    heartbeats.seen("A", NOW, 1)
    assert _judged(heartbeats, NOW - 60_000) == {"A": True}
    for second in range(1, 4):
        heartbeats.seen("A", NOW + second * 1_000, 1 + second)
        assert _judged(heartbeats, ahead + second * 1_000) == {"A": True}


def test_without_heartbeats_the_readers_clock_counts() -> None:
    heartbeats = Liveness(keeps_none)
    heartbeats.seen("A", NOW, 1)
    assert _judged(heartbeats, NOW + 20_000) == {"A": True}
    assert _judged(heartbeats, NOW + 24_000) == {"A": True}
    assert _judged(heartbeats, NOW + 25_000) == {"A": False}
    heartbeats.seen("A", NOW + 30_000, 9)
    assert _judged(heartbeats, NOW + 30_000) == {"A": True}


def test_an_instance_with_an_old_heartbeat_is_down_at_the_first_look() -> None:
    heartbeats = Liveness(keeps_none)
    heartbeats.seen("A", NOW, 1)
    assert _judged(heartbeats, NOW + 600_000) == {"A": False}


def test_an_instance_that_reports_its_shutdown_is_down_at_once() -> None:
    heartbeats = Liveness(keeps_none)
    heartbeats.seen("A", NOW, 1)
    heartbeats.seen("A", NOW + 1, LEFT)
    assert _judged(heartbeats, NOW + 1) == {"A": False}


def test_names_that_any_client_may_invent_are_bounded() -> None:
    """The instances of the catalog stay, however long they were silent."""
    heartbeats = Liveness({"A", "B"}.__contains__)
    heartbeats.seen("A", NOW, 1)
    for number in range(5 * MOST_NAMES):
        heartbeats.seen(f"Invented{number}", NOW + number, 1, 60.0)
    heartbeats.seen("B", NOW + 5 * MOST_NAMES, 1)
    judged = _judged(heartbeats, NOW)
    assert len(judged) <= MOST_NAMES + 1
    assert (judged["A"], judged["B"], judged[f"Invented{number}"]) == (False, True, True)


def test_many_instances_stay() -> None:
    heartbeats = Liveness(lambda name: name.startswith("Instance"))
    for number in range(2 * MOST_NAMES):
        heartbeats.seen(f"Instance{number}", NOW + number, 1)
        heartbeats.seen(f"Invented{number}", NOW + number, 1)
    judged = _judged(heartbeats, NOW)
    assert sum(name.startswith("Instance") for name in judged) == 2 * MOST_NAMES
    assert len(judged) <= 2.5 * MOST_NAMES


def watching() -> Eye:
    """Return an eye that has read a catalog with ServerA and ServerB."""
    eye = Eye(Cluster("nobody:1"))
    eye._catalog = CatalogState(topology=load(topologies_dir() / "two_brokers", 0.0))
    return eye


def read(eye: Eye, name: str, key: bytes | None, at: int = NOW) -> None:
    value = encode_presence(name, "r", 1, at)
    topic = eye._cluster.topics.presence
    eye._read(Message(topic=topic, key=key, value=value, timestamp=(2, at)))


def test_a_heartbeat_counts_only_under_its_own_key() -> None:
    eye = watching()
    for key in (b"ServerB", b"servera", b"", b"\xff", None):
        read(eye, "ServerA", key)
    assert _judged(eye._liveness, NOW) == {}
    read(eye, "ServerA", b"ServerA")
    assert _judged(eye._liveness, NOW) == {"ServerA": True}


def test_a_sample_keeps_the_instances_of_the_catalog() -> None:
    eye = watching()
    for number, name in enumerate(["ServerA", *map(str, range(2 * MOST_NAMES))]):
        read(eye, name, name.encode(), NOW + number)
    judged = _judged(eye._liveness, NOW)
    assert "ServerA" in judged and len(judged) <= MOST_NAMES + 1


class Bodies:
    """The bodies of a log, of 100 bytes each; counts those that are read."""

    read = 0

    def __init__(self, *_: object, **__: object) -> None: ...

    def fetch(self, _: int) -> bytes:
        Bodies.read += 1
        return bytes(100)

    def close(self) -> None: ...


def test_of_very_many_buffered_copies_some_bodies_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A forwarder's note of eight characters may state all offsets of a log."""
    monkeypatch.setattr(look, "Fetcher", Bodies)
    eye, place, count = Eye(Cluster("nobody:1")), ("ssb.out.A", 0), 3 * look.MOST_SIZED
    notes = {"ssb.forwarder.A": {place: (0, f"5-10 20-{2**62}")}}
    [(copies, size)] = eye._held(["A"], notes, {place: range(count)}).values()
    assert (copies, size) == (count - 14, (count - 14) * forward_size(100))
    assert Bodies.read == look.MOST_SIZED
