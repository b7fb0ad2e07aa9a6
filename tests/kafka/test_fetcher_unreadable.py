"""Batches that Kafka's client does not read, or reads wrongly, between two bodies (decision 46)."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from streams.kafka import Cluster, Fetcher, GoneError, Message, NotNowError, SearchTime, fetcher
from streams.kafka.stored_batches import StoredBatches, UnknownError
from streams.wire import Topics
from tests.kafka.raw_batch import FAR, UNCOMPRESSED, append, batch, disguised, record
from tests.kafka.test_checked_consumer import good, topic_of
from tests.running import DEADLINE
from tests.workers.rig import HookedCluster

SILENT = batch(record(0, length=500))
"""The client waits for the rest of the record, and reports nothing."""


@dataclass
class Counts:
    """What a fetcher's consumer does: the offsets to which it goes, and waits without a record.

    If there are ``silent`` offsets, the consumer waits in vain only there: all other records are
    awaited, however slow Kafka is.
    """

    silent: frozenset[int] = frozenset()
    seeks: list[int] = field(default_factory=list)
    blocked: int = 0
    next: int = 0

    def assign(self, method: Any, places: Any) -> Any:
        [place] = places
        self.seeks.append(place.offset)
        self.next = place.offset
        return method(places)

    def poll(self, method: Any, timeout: float) -> Any:
        comes = bool(self.silent) and self.next not in self.silent
        found = method(DEADLINE if comes else timeout)
        self.blocked += found is None and timeout == fetcher._BLOCKED
        self._follow([] if found is None else [found])
        return found

    def consume(self, method: Any, *limits: float) -> Any:
        found = method(*limits)
        self._follow(found)
        return found

    def _follow(self, found: list[Message]) -> None:
        if found:
            self.next = (found[-1].offset() or 0) + 1


def fetcher_of(
    kafka: str, prefix: str, *batches: bytes, cache_bytes: int = 1
) -> tuple[Fetcher, Counts]:
    _, topic = topic_of(kafka, prefix)
    for one in batches:
        append(kafka, topic, one)
    counts = Counts(frozenset(n for n, one in enumerate(batches) if one == SILENT))
    hooks = {"assign": counts.assign, "poll": counts.poll, "consume": counts.consume}
    return Fetcher(HookedCluster(kafka, Topics(prefix), hooks=hooks), topic, 0, cache_bytes), counts


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the fetcher's clock, by which it judges whether Kafka is slow."""
    monkeypatch.setattr(fetcher, "time", SimpleNamespace(monotonic=lambda: 0.0))


def values(bodies: Fetcher, *offsets: int) -> list[bytes | str | None]:
    return [bodies.fetch(offset).value() for offset in offsets]


@pytest.mark.usefixtures("still")
def test_an_unreadable_batch_between_two_bodies_is_passed_over_without_waiting_again(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each retry reads the bodies again."""
    monkeypatch.setattr(fetcher, "_BLOCKED", 0.4321)
    monkeypatch.setattr(fetcher, "_SUSPECTED", 0)
    log = [good(b"0"), SILENT, good(b"2"), good(b"3"), SILENT, SILENT, good(b"6")]
    bodies, counts = fetcher_of(kafka, unique, *log)
    assert values(bodies, 0, 2, 3, 6) == [b"0", b"2", b"3", b"6"]
    assert (counts.blocked, counts.seeks) == (2, [0, 2, 6])
    for _ in range(2):
        counts.seeks.clear()
        assert values(bodies, 0, 2, 3, 6) == [b"0", b"2", b"3", b"6"]
        assert (counts.blocked, counts.seeks) == (2, [0, 2, 6])
    bodies.close()
    assert values(bodies, 0, 3, 6) == [b"0", b"3", b"6"]
    assert counts.blocked == 2, "a new consumer does not wait again"
    bodies.close()


@pytest.mark.usefixtures("still")
def test_only_the_latest_unreadable_batches_are_remembered(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetcher, "_BLOCKED", 0.4321)
    monkeypatch.setattr(fetcher, "_SUSPECTED", 0)
    monkeypatch.setattr(fetcher, "_REMEMBERED", 1)
    bodies, counts = fetcher_of(kafka, unique, good(b"0"), SILENT, good(b"2"), SILENT, good(b"4"))
    for waits in (2, 3, 4):
        assert values(bodies, 0, 2, 4) == [b"0", b"2", b"4"]
        assert counts.blocked == waits, "the higher offset is still known"
    bodies.close()


@pytest.mark.usefixtures("still")
def test_after_an_unreadable_batch_others_are_suspected(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With such a batch between each two bodies, each body would take the whole wait."""
    monkeypatch.setattr(fetcher, "_BLOCKED", 0.4321)
    monkeypatch.setattr(fetcher, "_SUSPECTED", 3)
    log = [good(b"0"), *[SILENT, good(b"body")] * 5, *[good(b"other"), good(b"body")] * 3]
    bodies, counts = fetcher_of(kafka, unique, *log)
    values(bodies, *range(0, 11, 2))
    assert (counts.blocked, counts.seeks) == (2, [0, 2, 4, 6, 8, 10])
    counts.seeks.clear()
    assert values(bodies, *range(11, 17)) == [b"other", b"body"] * 3
    assert not counts.seeks, "there is no gap between these bodies"
    values(bodies, *range(10, 17, 2))
    assert counts.seeks == [10, 12, 14, 16], "three gaps are suspected, after the way back"
    counts.seeks.clear()
    values(bodies, *range(10, 17, 2))
    assert (counts.blocked, counts.seeks) == (2, [10]), "then the fetcher reads forward"
    bodies.close()


class Slow:
    """A clock on which each fetch takes a second."""

    now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


def test_if_kafka_is_slow_no_unreadable_batch_is_suspected(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each seek fetches again what the client has read ahead, which makes Kafka even slower."""
    monkeypatch.setattr(fetcher, "_BLOCKED", 0.4321)
    monkeypatch.setattr(fetcher, "time", Slow())
    log = [good(b"0"), SILENT, good(b"2"), good(b"other"), good(b"4")]
    bodies, counts = fetcher_of(kafka, unique, *log)
    assert values(bodies, 0, 2, 4) == [b"0", b"2", b"4"]
    assert (counts.blocked, counts.seeks) == (1, [0, 2]), "it reads forward to the last body"
    values(bodies, 0, 2)
    assert counts.blocked == 2, "the offset is not remembered"
    bodies.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "_BLOCKED", 0.4321)
    monkeypatch.setattr(fetcher, "_THERE", 0.4321)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "bad",
    [
        batch(record(0, length=500), record(1, value=b"body"), record(2, value=b"body")),
        # For Kafka, the length is right, because it reads only 32 bits. The client can read it,
        # and the bodies behind it, but only in one pass.
        batch(record(0, longer=FAR), record(1, value=b"body"), record(2, value=b"body")),
    ],
)
def test_a_body_that_cannot_be_read_from_its_offset_counts_as_deleted(
    kafka: str, unique: str, bad: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only Kafka's responses show this; its writer has written the whole batch."""
    waits, next_of = list[bool](), Fetcher._next_of

    def noted(self: Fetcher, is_there: bool) -> Any:
        waits.append(bool(self._expected))
        return next_of(self, is_there)

    monkeypatch.setattr(Fetcher, "_next_of", noted)
    bodies, _ = fetcher_of(kafka, unique, good(b"first"), bad, bad, good(b"last"))
    for offset in (2, 3, 5, 6):
        with pytest.raises(GoneError, match=f"/0@{offset} is in an unreadable batch"):
            bodies.fetch(offset)
    assert waits == [False, True], "once for each batch, and less after the first"
    bodies.close()
    for offset in (2, 3, 5, 6):
        with pytest.raises(GoneError, match=f"/0@{offset} is in an unreadable batch"):
            bodies.fetch(offset)
    assert len(waits) == 2, "they are remembered"
    assert bodies.is_unreadable(2) and not bodies.is_unreadable(7)
    assert values(bodies, 0, 7) == [b"first", b"last"]
    bodies.close()


@pytest.mark.usefixtures("impatient")
def test_bodies_behind_a_wrong_length_are_read_as_the_broker_reads_them(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One wait shows that the client cannot read; the following batches take none."""
    waits, next_of = list[bool](), Fetcher._next_of

    def noted(self: Fetcher, is_there: bool) -> Any:
        waits.append(is_there)
        return next_of(self, is_there)

    monkeypatch.setattr(Fetcher, "_next_of", noted)
    _, topic = topic_of(kafka, unique, UNCOMPRESSED)
    bad = [
        batch(
            record(0, longer=FAR),
            record(1, value=b"%d" % n, headers=[(b"a", b"b")]),
            codec=UNCOMPRESSED,
        )
        for n in range(20)
    ]
    for one in (*bad, good(b"last", UNCOMPRESSED)):
        append(kafka, topic, one)
    bodies = Fetcher(Cluster(kafka, Topics(unique)), topic, 0)
    found = [bodies.fetch(2 * n + 1) for n in range(20)]
    assert [one.value() for one in found] == [b"%d" % n for n in range(20)]
    assert {(one.key(), *one.headers()) for one in found} == {(b"k", ("a", b"b"))}
    assert waits == [True]
    assert values(bodies, 0, 40) == [b"v", b"last"]
    bodies.close()


@pytest.mark.usefixtures("impatient")
def test_a_large_batch_is_not_read_again_for_each_body(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache has room for 20 of its records."""
    _, topic = topic_of(kafka, unique, UNCOMPRESSED)
    bad = (record(0, longer=FAR), *(record(n, value=b"%d" % n) for n in range(1, 200)))
    append(kafka, topic, batch(*bad, codec=UNCOMPRESSED))
    bodies = Fetcher(Cluster(kafka, Topics(unique)), topic, 0, 20 * 1_100)
    assert values(bodies, 1) == [b"1"]
    read, by = list[int](), bodies._stored._fetch
    monkeypatch.setattr(bodies._stored, "_fetch", lambda at: read.append(1) or by(at))
    assert values(bodies, *range(2, 50)) == [b"%d" % n for n in range(2, 50)]
    assert read == []
    bodies.close()


@pytest.mark.usefixtures("impatient")
def test_after_an_unreadable_batch_few_stored_batches_are_requested(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are compressed, so the client must read them."""
    monkeypatch.setattr(fetcher, "_SUSPECTED", 3)
    silent = batch(record(0, longer=FAR), record(1))
    bodies, _ = fetcher_of(kafka, unique, silent, *(good(b"%d" % n) for n in range(2, 20)))
    with pytest.raises(GoneError):
        bodies.fetch(1)
    read, by = list[int](), bodies._read_stored
    monkeypatch.setattr(bodies, "_read_stored", lambda at: read.append(at) or by(at))
    assert values(bodies, *range(2, 20)) == [b"%d" % n for n in range(2, 20)]
    assert len(read) <= 3
    bodies.close()


@pytest.mark.usefixtures("impatient")
def test_a_body_is_gone_although_headers_cannot_be_requested(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: StoredBatches, place: Any, start: int, size: int) -> Any:
        raise UnknownError(start)

    monkeypatch.setattr(StoredBatches, "_fetch", fails)
    bodies, _ = fetcher_of(kafka, unique, batch(record(0, longer=FAR), record(1)))
    with pytest.raises(GoneError, match="/0@1 is in an unreadable batch"):
        bodies.fetch(1)
    bodies.close()


@pytest.mark.usefixtures("impatient")
def test_after_some_bodies_the_client_reads_again(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetcher, "_SUSPECTED", 2)
    _, topic = topic_of(kafka, unique, UNCOMPRESSED)
    bad = batch(record(0, longer=FAR), record(1, value=b"1"), codec=UNCOMPRESSED)
    for one in (bad, *(good(b"%d" % n, UNCOMPRESSED) for n in range(2, 7))):
        append(kafka, topic, one)
    bodies = Fetcher(Cluster(kafka, Topics(unique)), topic, 0)
    read, by = list[bool](), bodies._read_stored
    monkeypatch.setattr(bodies, "_read_stored", lambda at: read.append(True) or by(at))
    for offset in range(1, 7):
        assert bodies.fetch(offset, directly=True).value() == b"%d" % offset
    assert len(read) == 3
    bodies.close()


@pytest.mark.usefixtures("impatient")
def test_a_search_begins_only_if_there_is_time(kafka: str, unique: str) -> None:
    """Without time, the fetcher waits once for the record, and then not at all."""
    bad = batch(record(0, length=500), record(1, value=b"body"))
    bodies, counts = fetcher_of(kafka, unique, bad, good(b"last"))
    clock = [0.0]
    bodies._searches = SearchTime(lambda: clock[0])
    bodies._searches.spend(1)
    for _ in range(2):
        with pytest.raises(NotNowError, match="/0@1 is not read now"):
            bodies.fetch(1)
        assert counts.seeks == [1]
    clock[0] += 10
    with pytest.raises(GoneError, match="/0@1 is in an unreadable batch"):
        bodies.fetch(1)
    with pytest.raises(NotNowError, match="/0@0 is not read now"):
        bodies.fetch(0)  # the wait for the record and the search were spent
    assert values(bodies, 2) == [b"last"]
    bodies.close()


@pytest.mark.usefixtures("impatient")
def test_only_the_latest_unreadable_records_are_remembered(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetcher, "_UNREADABLE", 2)
    bad = batch(*(record(n, length=500) for n in range(3)))
    bodies, _ = fetcher_of(kafka, unique, bad)
    for offset in range(3):
        with pytest.raises(GoneError):
            bodies.fetch(offset)
    assert [bodies.is_unreadable(offset) for offset in range(3)] == [False, True, True]
    bodies.close()


def slow_fetcher(kafka: str, prefix: str, topic: str, silent: int) -> Fetcher:
    """Return a fetcher whose first polls return nothing."""
    left = [silent]

    def poll(method: Any, timeout: float) -> Any:
        left[0] -= 1
        return method(timeout) if left[0] < 0 else None

    return Fetcher(HookedCluster(kafka, Topics(prefix), hooks={"poll": poll}), topic, 0, 1)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("silent", [1, 20])
def test_a_body_is_not_deleted_because_kafka_is_slow(kafka: str, unique: str, silent: int) -> None:
    _, topic = topic_of(kafka, unique)
    for value in (b"0", b"1"):
        append(kafka, topic, good(value))
    bodies = slow_fetcher(kafka, unique, topic, silent)
    assert values(bodies, 1, 1) == [b"1", b"1"]
    assert not bodies.is_unreadable(1)
    bodies.close()


@pytest.mark.parametrize("cached", [False, True])
def test_a_record_that_states_the_offset_of_another_one_is_not_fetched_directly(
    kafka: str, unique: str, cached: bool
) -> None:
    lie = batch(*disguised(3, b"lie"))
    log = [good(b"0"), lie, good(b"3"), good(b"honest"), good(b"5")]
    bodies, counts = fetcher_of(kafka, unique, *log, cache_bytes=1 << 20)
    wanted = (0, 4) if not cached else (0, 3, 4)
    assert values(bodies, *wanted)[-1] == b"lie", "the client cannot know better"
    assert bodies.fetch(4, directly=True).value() == b"honest"
    count = len(counts.seeks)
    assert values(bodies, 4, 4) == [b"honest"] * 2
    assert len(counts.seeks) == count, "it is cached"
    bodies.close()


def test_the_cache_counts_a_record_that_is_fetched_directly_only_once(
    kafka: str, unique: str
) -> None:
    bodies, _ = fetcher_of(kafka, unique, good(b"0"), cache_bytes=1 << 20)
    values(bodies, 0)
    size = bodies._cache.size
    for _ in range(3):
        bodies.fetch(0, directly=True)
    assert bodies._cache.size == size > 0
    bodies.close()
