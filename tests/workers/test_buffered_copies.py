"""When a forwarder decides on what it holds again: not with every turn, but when it matters."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, cast

import pytest

from streams.errors import Number
from streams.node import Record
from streams.node.forwarder.holding import LEAST
from streams.routing import Origin
from streams.wire.spans import spans_of
from streams.workers.forwarder import buffered_copies
from streams.workers.forwarder.buffered_copies import BufferedCopies, BufferedCopy
from tests.node.test_lane import MS

from .test_failing_records import BAD, GOOD, Remote, message, processor


class Hops:
    """Which next hops send heartbeats."""

    def __init__(self, *away: str) -> None:
        self.away = set(away)
        self.asked = 0

    def reachable(self, instance: str) -> bool:
        """Tell whether a hop does."""
        self.asked += 1
        return instance not in self.away


@dataclass(frozen=True)
class Stored:
    """Where a record was read, as Kafka's client has it."""

    at: int
    carries: tuple[tuple[str, bytes], ...] = ()

    def headers(self) -> list[tuple[str, bytes]]:
        return list(self.carries)

    def topic(self) -> str:
        return "txq.A"

    def partition(self) -> int:
        return self.at % 2

    def offset(self) -> int:
        return self.at // 2


def buffered(
    name: str,
    expires_at: int = 1_000,
    size: int = 10,
    offset: int = 0,
    refused_by: str | None = None,
) -> tuple[tuple[str], BufferedCopy]:
    record = Record(Origin.OUTSIDE, name.encode(), b"", b"", size, is_ack=False)
    return (name,), BufferedCopy(cast(Any, Stored(offset)), record, expires_at, refused_by)


@pytest.mark.parametrize(
    "headers", [(("sb-any", bytes(20_000)),), (("x" * 20_000, b""),), (("", b""),) * 200]
)
def test_headers_without_end_count_towards_the_memory(
    headers: tuple[tuple[str, bytes], ...],
) -> None:
    """Each copy would count as 256 bytes, however large its headers are."""
    waiting = BufferedCopies(Hops().reachable)
    waiting.limit(100 * LEAST)
    key, first = buffered("one")
    first.message = cast(Any, Stored(0, headers))
    assert waiting.add(key, first) is None
    assert waiting.size > 15_000
    key, second = buffered("two")
    second.message = cast(Any, Stored(1, headers))
    assert waiting.add(key, second) == Number.FORWARD_SIZE_EXCEEDED


def test_an_ordinary_envelope_counts_nothing() -> None:
    waiting = BufferedCopies(Hops().reachable)
    waiting.limit(100 * LEAST)
    key, one = buffered("one", size=1_000)
    route, hop, header = (("sb-route", bytes(300)), ("sb-hop", bytes(300)), ("sb-m", bytes(100)))
    one.message = cast(Any, Stored(0, (route, header, hop)))
    assert waiting.add(key, one) is None
    assert waiting.size == 1_000


def due(waiting: BufferedCopies, now: int = 0) -> list[str]:
    return [h.record.key.decode() for h in waiting.due(now)]


def holding(hops: Hops, *names: str) -> BufferedCopies:
    """Return what holds copies that found a hop away, after the first look at all of them."""
    waiting = BufferedCopies(hops.reachable)
    waiting.limit(100 * LEAST)
    assert due(waiting) == []
    for name in names:
        assert not waiting.reachable("B")
        assert waiting.add(*buffered(name)) is None
    return waiting


def test_what_waits_is_left_alone_while_its_hop_is_away() -> None:
    """Thousands may be held: nobody decides on each of them ten times a second."""
    hops = Hops("B")
    waiting = holding(hops, "one", "two")
    hops.asked = 0
    assert due(waiting) == []
    assert hops.asked == 1
    hops.away.clear()
    assert due(waiting) == ["one", "two"]
    assert (len(waiting), waiting.size, due(waiting)) == (0, 0, [])


def test_who_is_still_away_is_missed_again() -> None:
    hops = Hops("B", "C")
    waiting = holding(hops, "one")
    assert not waiting.reachable("C")
    assert waiting.add(*buffered("two")) is None
    hops.away.remove("B")
    assert due(waiting) == ["one", "two"]
    assert not waiting.reachable("C")  # as the decision on "two" finds
    assert waiting.add(*buffered("two")) is None
    assert due(waiting) == []
    hops.away.clear()
    assert due(waiting) == ["two"]


def test_each_is_due_when_its_time_is_over() -> None:
    waiting = holding(Hops("B"), "one")
    waiting.add(*buffered("short", expires_at=500))
    assert due(waiting, 499) == []
    assert due(waiting, 500) == ["short"]
    waiting.add(*buffered("late", expires_at=600))
    assert due(waiting, 999) == ["late"]
    assert due(waiting, 1_000) == ["one"]


def test_what_has_no_body_is_bounded_as_well() -> None:
    """EndDialogs and acknowledgements: their records take memory, although no byte of a body."""
    waiting = holding(Hops("B"))
    refused = [waiting.add(*buffered(str(n), size=n % 2)) for n in range(101)]
    assert refused == [None] * 100 + [Number.FORWARD_SIZE_EXCEEDED]
    assert waiting.size == 100 * LEAST


def test_where_it_is_from_is_noted_and_written_anew_only_where_it_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The notes go with each commit, five times a second, and thousands may be held."""
    written: list[list[int]] = []
    monkeypatch.setattr(buffered_copies, "spans_of", lambda o: written.append([*o]) or spans_of(o))
    waiting = holding(Hops("B"))
    for n in range(6):
        waiting.add(*buffered(str(n), offset=n, expires_at=500 if n == 2 else 1_000))
    assert waiting.notes() == {("txq.A", 0): "0-2", ("txq.A", 1): "0-2"}
    assert waiting.notes() and len(written) == 2
    assert due(waiting, 500) == ["2"]
    assert waiting.notes() == {("txq.A", 0): "0 2", ("txq.A", 1): "0-2"}
    assert written[2:] == [[0, 2]]
    assert len(due(waiting, 1_000)) == 5
    assert set(waiting.notes().values()) == {""}


def test_one_turn_decides_at_most_a_thousand() -> None:
    """Otherwise 40,000 copies for one next hop would delay all records, each second."""
    hops = Hops("B", "C")
    waiting = BufferedCopies(hops.reachable)
    waiting.limit(3_000 * LEAST)
    assert not due(waiting)
    for n in range(2_500):
        assert not waiting.reachable("B")
        assert waiting.add(*buffered(str(n))) is None
    hops.away.remove("B")
    first = due(waiting)
    assert first == [str(n) for n in range(1_000)]
    assert (len(waiting), waiting.size) == (1_500, 1_500 * LEAST)
    assert not waiting.reachable("C")  # as the decision on "0" finds
    assert waiting.add(*buffered("0")) is None
    hops.away.remove("C")
    assert waiting.add(*buffered("1000")) == Number.ALREADY_FORWARDING
    assert due(waiting) == [str(n) for n in range(1_000, 2_000)]
    assert due(waiting) == [str(n) for n in range(2_000, 2_500)]
    assert due(waiting) == ["0"]
    assert (len(waiting), waiting.size, due(waiting)) == (0, 0, [])


def test_an_expired_copy_makes_room_for_a_retry_before_its_turn() -> None:
    """Or the retry would be dropped (11288), and the message missing until the next one."""
    waiting = holding(Hops("B"), "one", "two")
    (key, _), (other, retry) = buffered("two"), buffered("two", expires_at=2_000, offset=2)
    assert waiting.take_expired(key, 999) is None
    assert waiting.add(other, retry) == Number.ALREADY_FORWARDING
    gone = waiting.take_expired(key, 1_000)
    assert gone is not None and gone.expires_at == 1_000
    assert waiting.take_expired(key, 1_000) is None
    assert waiting.add(other, retry) is None
    assert due(waiting, 1_000) == ["one"]
    assert (len(waiting), waiting.size) == (1, LEAST)


def test_a_retry_is_buffered_in_place_of_an_expired_copy() -> None:
    """The expired copy of its message is reported (11290), and the retry is not (11288)."""
    made, output, copies = processor(Remote())
    made.pass_on([message(GOOD, 3, MS - 60_000), message(BAD, 4)])  # the clock of the test stands
    assert [event["error"] for event in output.events] == [11291]
    made.pass_on([message(GOOD, 5, MS - 59_999)])
    assert len(copies) == 2
    made._control.now = lambda: MS + 1  # type: ignore[method-assign]
    made.pass_on([message(GOOD, 6, MS + 1), message(BAD, 7, MS + 1)])
    assert [event["error"] for event in output.events[1:]] == [11290, 11288]
    assert copies.notes() == {("txq.GatewayA", 0): "4 6"}


def expiring(count: int) -> BufferedCopies:
    """Return what holds this number of copies, which expire together."""
    waiting = holding(Hops("B"))
    waiting.limit(3_000 * LEAST)
    assert due(waiting) == []
    for n in range(count):
        assert waiting.add(*buffered(str(n), expires_at=500)) is None
    return waiting


def test_a_copy_that_is_taken_while_it_is_due_is_not_decided_twice() -> None:
    waiting = expiring(1_002)
    assert len(due(waiting, 500)) == 1_000
    assert waiting.take_expired(("1000",), 500) is not None
    assert due(waiting, 500) == ["1001"]
    assert len(waiting) == 0


def test_copies_that_expire_together_are_decided_in_turns() -> None:
    waiting = expiring(1_001)
    assert waiting.add(*buffered("last", expires_at=600)) is None
    assert [len(due(waiting, now)) for now in (499, 500, 500, 500, 599)] == [0, 1_000, 1, 0, 0]
    assert due(waiting, 600) == ["last"]


def test_a_new_catalog_makes_all_of_it_due() -> None:
    waiting = holding(Hops("B"), "one")
    waiting.limit(50)
    assert due(waiting) == ["one"]


def test_a_hop_that_lives_and_takes_nothing_is_tried_again_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    waiting = BufferedCopies(Hops().reachable)
    assert due(waiting) == []
    waiting.limit(LEAST)
    assert due(waiting) == []
    assert waiting.add(*buffered("one", size=0, refused_by="B")) is None
    assert due(waiting) == []
    clock[0] += 1.0
    assert due(waiting) == ["one"]


def test_a_hop_that_takes_nothing_concerns_only_its_own_copies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise it would have the copies for all other hops decided again each second."""
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    hops = Hops("B", "C")
    waiting = holding(hops, "for B")
    for name, hop in (("C", "C"), ("D", "D"), ("D again", "D"), ("E", "E")):
        assert waiting.add(*buffered(f"for {name}", refused_by=hop)) is None
        clock[0] += 0.125
    assert due(waiting) == []
    clock[0] += 0.625  # C was refused more than a second ago, and sends no heartbeats now
    assert due(waiting) == []
    clock[0] += 0.125
    assert due(waiting) == ["for D", "for D again"]
    clock[0] += 0.125
    assert due(waiting) == ["for E"]
    assert due(waiting) == []
    hops.away.remove("C")
    assert due(waiting) == ["for C"]
    hops.away.remove("B")
    assert due(waiting) == ["for B"]
    assert (len(waiting), due(waiting)) == (0, [])
