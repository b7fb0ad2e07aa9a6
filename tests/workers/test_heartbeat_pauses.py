"""Many heartbeats are read with pauses between two fetches, which nothing else has to wait for."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from streams.kafka import Cluster, Message, deploy
from streams.node import KafkaClock, SlotState
from streams.protocol import Claim
from streams.wire import encode_presence
from streams.workers import Control
from streams.workers.control.catalog_follower import CatalogFollower
from streams.workers.control.heartbeats import Heartbeats
from tests.running import DEADLINE, System, running
from tests.workers.rig import eventually, pair, pause

NOW = 1_790_000_000_000
MANY = 100
HOUR = 3600.0


@dataclass(frozen=True)
class NotedCluster(Cluster):
    """A cluster that notes how long the fetches of its consumers may take."""

    waits: list[int] = field(default_factory=list)

    def consumer(self, group: str, **config: Any) -> Any:
        """Build a consumer, and note what it is configured with."""
        self.waits.append(config.get("fetch_wait_max_ms", 50))
        return Cluster.consumer(self, group, **config)


@pytest.fixture
def system(kafka: str, unique: str, tmp_path: Path) -> Iterator[System]:
    """Return two instances in which nothing runs yet."""
    with running(kafka, unique, pair(tmp_path), start=False) as made:
        yield made


@pytest.fixture
def control(system: System) -> Iterator[Control]:
    """Return what follows the catalog and heartbeats, and gives some in the name of A."""
    cluster = NotedCluster(system.cluster.bootstrap, system.cluster.topics)
    made = Control(cluster, ("A",), timeout=DEADLINE)
    made.start()
    yield made
    made.stop()


def heartbeat(name: str, count: int) -> Message:
    """Return a heartbeat as a consumer returns it."""
    value = encode_presence(name, "r", count, NOW + count)
    return Message(key=name.encode(), value=value, timestamp=(2, NOW + count))


def reader(rate: int, seconds: int, start: float = 100.0) -> Heartbeats:
    """Return one that has read so many heartbeats a second, and all that was there before."""
    heartbeats = Heartbeats("Me", "me", KafkaClock())
    for count in range(1_000):
        heartbeats.read(heartbeat("Before", count), start)
    heartbeats.pause(start, 1.0)
    for second in range(1, seconds + 1):
        for number in range(rate):
            heartbeats.read(heartbeat(f"Name{number}", second), start + second)
        heartbeats.pause(start + second, 1.0)
    return heartbeats


def test_few_heartbeats_are_read_without_pauses() -> None:
    assert reader(20, 30).pause(131.0, 1.0) == 0


def test_what_was_there_before_is_no_rate() -> None:
    assert not reader(1, 1).are_many


@pytest.mark.parametrize(("period", "longest"), [(1.0, 0.4), (2.0, 0.8), (5.0, 2.0), (60.0, 2.0)])
def test_a_pause_is_the_longer_the_rarer_heartbeats_are(period: float, longest: float) -> None:
    """200 names write 200 heartbeats a second, and so do 1,000; the latter may be read later."""
    assert reader(200, 40).pause(140.5, period) == pytest.approx(longest, rel=0.01)


def test_a_rate_that_swings_a_little_changes_nothing() -> None:
    """Whoever pauses goes on to do so until there are half as many: it takes another client."""
    heartbeats = reader(30, 30)
    assert heartbeats.are_many
    for second in range(131, 160):
        for number in range(15):
            heartbeats.read(heartbeat(f"Name{number}", second), float(second))
        assert heartbeats.pause(float(second), 1.0) > 0
    for second in range(160, 200):
        heartbeats.pause(float(second), 1.0)
    assert not heartbeats.are_many


# --- names that nobody has asked about ------------------------------------------------------------


def read_by_turns(heartbeats: Heartbeats, moments: Iterable[float], *names: str) -> None:
    """Read a heartbeat of each of these names at each of these seconds, and that all is read."""
    for at in moments:
        for name in names:
            heartbeats.read(heartbeat(name, int(at)), at)
        heartbeats.end_read(at)


def both(own: str, *asked: str) -> tuple[Heartbeats, Heartbeats]:
    """Return two that read the same; one is asked about these names only when it has read."""
    late, early = (Heartbeats(own, "me", KafkaClock()) for _ in range(2))
    for name in asked:
        early.follow(name)
    return late, early


def test_who_is_asked_about_late_was_heard_when_it_was_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name's silence counts from its last heartbeat, not from when somebody asked about it."""
    for last, is_reachable in ((103, True), (102, False)):
        late, early = both("Me", "You", "They")
        for heartbeats in (late, early):
            read_by_turns(heartbeats, range(100, last + 1), "Me", "You", "They")
            read_by_turns(heartbeats, range(last + 1, 108), "Me", "They")
            monkeypatch.setattr(time, "monotonic", lambda: 107.5)
            assert heartbeats.reachable("You") is is_reachable
            assert heartbeats.reachable("They")
            read_by_turns(heartbeats, range(108, 111), "Me", "You")
            monkeypatch.setattr(time, "monotonic", lambda: 110.5)
            assert heartbeats.reachable("You")
            read_by_turns(heartbeats, range(111, 114), "Me", "You")
            monkeypatch.setattr(time, "monotonic", lambda: 113.5)
            assert not heartbeats.reachable("They")


def test_a_small_heartbeat_is_forgotten_when_a_large_one_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The large one of an instance was decoded at once, so the small one is older."""
    heartbeats, claims = Heartbeats("Me", "me", KafkaClock()), [Claim("x" * 100, True, 1)] * 9
    heartbeats.expect(["You"], 1)
    read_by_turns(heartbeats, range(100, 104), "Me", "You")
    value = encode_presence("You", "r", 1_000, NOW, claims)
    read_by_turns(heartbeats, range(104, 106), "Me")
    heartbeats.read(Message(key=b"You", value=value, timestamp=(2, NOW)), 105.1)
    read_by_turns(heartbeats, range(106, 110), "Me")
    monkeypatch.setattr(time, "monotonic", lambda: 109.5)
    assert heartbeats.reachable("You")


def test_a_slot_that_is_asked_about_late_is_taken_as_when_it_was_read() -> None:
    """A heartbeat that was there before the topic was read to its end proves nothing yet."""
    heartbeats = Heartbeats("Me", "me", KafkaClock())
    heartbeats.read(heartbeat("Slot/a", 1), 100.0)
    heartbeats.end_read(100.0)
    assert heartbeats.slot_owners("Slot/a").state("Slot/a") is SlotState.OPEN
    heartbeats.read(heartbeat("Slot/b", 2), 100.1)
    assert heartbeats.slot_owners("Slot/b").state("Slot/b") is SlotState.TAKEN
    heartbeats.read(heartbeat("Slot/a", 3), 100.2)
    assert heartbeats.slot_owners("Slot/a").state("Slot/a") is SlotState.TAKEN


def test_kafkas_clock_goes_on_with_names_that_nobody_has_asked_about() -> None:
    heartbeats = Heartbeats("Me", "me", KafkaClock())
    heartbeats.read(heartbeat("Slot/a", 1), 100.0)
    heartbeats.end_read(100.0)
    assert heartbeats.slot_owners("Slot/a").state("Slot/a") is SlotState.OPEN
    newest = heartbeat("Other", 4_000)
    heartbeats.read(newest, 104.0)
    heartbeats.time(newest, 104.0)
    assert heartbeats.slot_owners("Slot/a").state("Slot/a") is SlotState.FREE


def test_claims_are_known_of_a_name_that_is_asked_about_late() -> None:
    heartbeats, claims = Heartbeats("Me", "me", KafkaClock()), (Claim("DatabaseA", True, 3),)
    value = encode_presence("You", "r", 1, NOW, claims)
    heartbeats.read(Message(key=b"You", value=value, timestamp=(2, NOW)), 100.0)
    assert heartbeats.claims("They") is None
    assert heartbeats.claims("You") == claims


@pytest.mark.parametrize(("names", "period"), [(150, 1.0), (200, 1.0), (400, 2.0), (1_000, 5.0)])
def test_the_period_counts_names_that_nobody_has_asked_about(names: int, period: float) -> None:
    heartbeats = Heartbeats("Name0", "me", KafkaClock())
    heartbeats.expect((), names)
    read_by_turns(heartbeats, range(100, 102), *(f"Name{number}" for number in range(names)))
    assert {heartbeats.period for _ in range(25)} == {period}


def test_names_that_the_catalog_cannot_have_are_no_reason_to_write_less_often() -> None:
    """Whoever may write heartbeats may write 12,500 names; three instances have 48 at most."""
    heartbeats = Heartbeats("Name0", "me", KafkaClock())
    heartbeats.expect((), 3)
    read_by_turns(heartbeats, range(100, 102), *(f"Name{number}" for number in range(12_500)))
    assert {heartbeats.period for _ in range(25)} == {1.0}


def test_names_that_are_gone_are_no_reason_to_write_less_often() -> None:
    heartbeats = Heartbeats("Me", "me", KafkaClock())
    heartbeats.expect((), 500)
    read_by_turns(heartbeats, [100], "Me", *(f"Gone{number}" for number in range(500)))
    assert heartbeats.period == 3
    newest = heartbeat("Me", 20_000)
    heartbeats.read(newest, 120.0)
    assert [heartbeats.period for _ in range(10)][-1] == 1


# --- with Kafka -----------------------------------------------------------------------------------


@pytest.mark.long
def test_another_client_reads_on_where_the_first_one_was(
    system: System, control: Control, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No heartbeat is left out or read twice, and a new version of the catalog is followed."""
    offsets: list[int] = []
    catalog: list[int] = []
    read, read_catalog = Heartbeats.read, CatalogFollower.read

    def noted(self: Heartbeats, message: Message, now: float) -> float | None:
        if self is control._heartbeats:  # other tests' threads may take their time to end
            offsets.append(message.offset() or 0)
        return read(self, message, now)

    def noted_catalog(self: CatalogFollower, message: Message) -> bool:
        if self is control._catalog:
            catalog.append(message.offset() or 0)
        return read_catalog(self, message)

    monkeypatch.setattr(Heartbeats, "read", noted)
    monkeypatch.setattr(CatalogFollower, "read", noted_catalog)
    producer = system.cluster.producer(linger_ms=0)
    count = 0

    def write() -> bool:
        nonlocal count
        count += 1
        for number in range(MANY // 10):
            value = encode_presence(f"Other{number}", "r", count, NOW)
            producer.produce(system.cluster.topics.presence, key=f"Other{number}", value=value)
        producer.flush(DEADLINE)
        return pause()

    waits = control._cluster.waits  # type: ignore[attr-defined]
    eventually(lambda: 500 in waits or write(), "another client reads")
    before = control.version
    assert deploy(system.cluster, pair(tmp_path, route=""), prune=True).version > before
    eventually(lambda: control.version > before or write(), "the catalog is followed")
    seen = len(offsets)
    eventually(lambda: len(offsets) > seen + MANY or write(), "heartbeats are read")
    found = list(offsets)  # more are read meanwhile
    assert found == list(range(found[0], found[0] + len(found)))
    assert catalog[0] > 0, "what the first client had read is read again"


def test_who_waits_for_the_end_of_a_topic_ends_a_pause(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a failover nor a process that begins waits for a reader that lets records gather."""
    monkeypatch.setattr(Heartbeats, "period", HOUR)
    pauses: list[float] = []

    def long(*_: Any) -> float:
        pauses.append(HOUR)
        return HOUR

    monkeypatch.setattr(Heartbeats, "pause", long)
    eventually(lambda: (bool(pauses) and control._schedule.due_in(time.monotonic()) > DEADLINE)
               or pause(), "it pauses for an hour")  # fmt: skip
    for wait in (control.catch_up, control.catch_up_presence):
        before = len(pauses)
        wait(time.monotonic())
        eventually(lambda: len(pauses) > before or pause(), "it pauses again")  # noqa: B023
    control.add_heartbeat("A/endpoint/x")
    eventually(
        lambda: control._schedule.due_in(time.monotonic()) > DEADLINE or pause(), "it is given"
    )
    control.stop()
    control.thread.join(DEADLINE)
    assert not control.thread.is_alive()
