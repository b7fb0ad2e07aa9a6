"""The loop that sends, on a clock that only moves when somebody waits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from streams.capture import Record, TimestampType
from streams.capture.job import RejectedItem
from streams.capture.replay import Clock, Progress, Replayed
from streams.capture.replay import replay as loop
from streams.capture.schedule import Due
from streams.errors import SurroundingsError
from streams.kafka import AbortedError, FencedError, Outgoing


class Time:
    def __init__(self) -> None:
        self.now = 100.0
        self.pauses: list[float] = []

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now, lambda: int(self.now * 1000), self.pause)


class Memory:
    """A destination that remembers; ``reject`` names values that it refuses."""

    def __init__(self, time: Time, reject: frozenset[bytes] = frozenset()) -> None:
        self.time = time
        self.reject = reject
        self.sent: list[tuple[float, bytes | None]] = []
        self.broken: SurroundingsError | None = None
        self.full_after = 0

    def commit(self, records: Sequence[Outgoing]) -> list[RejectedItem]:
        if self.broken is not None and len(self.sent) >= self.full_after:
            raise self.broken
        self.sent += [(self.time.now - 100.0, record.value) for record in records]
        wrong = (n for n, record in enumerate(records) if record.value in self.reject)
        return [RejectedItem(n, "too large") for n in wrong]


def issue(due: Due, now: int) -> Outgoing:
    return Outgoing(due.record.topic, due.record.key, due.record.value, [("at", b"%d" % now)])


def replay(dues: Iterable[Due], sink: Memory, clock: Clock, **more: Any) -> Replayed:
    return loop(dues, sink, clock, restate=issue, **more)


def due(at: float | None, n: int, key: bytes | None = b"k") -> Due:
    record = Record("t", 0, n, 0, TimestampType.CREATE_TIME, key, (), b"%d" % n)
    return Due(at, n + 1, record)


def test_records_go_when_they_are_due() -> None:
    time = Time()
    sink = Memory(time)
    outcome = replay([due(0, 0), due(0.25, 1), due(0.25, 2), due(3, 3)], sink, time.clock)
    assert [(round(at, 6), value) for at, value in sink.sent] == [
        (0, b"0"),
        (0.25, b"1"),
        (0.25, b"2"),
        (3, b"3"),
    ]
    assert max(time.pauses) <= 0.1, "so that a signal is seen soon"
    assert (outcome.sent, outcome.delivered, outcome.good) == (4, 4, True)
    assert round(outcome.seconds, 6) == 3


def test_at_once_never_waits() -> None:
    time = Time()

    def dues() -> Iterator[Due]:
        for n in range(100):
            time.now += 1
            yield due(None, n)

    outcome = replay(dues(), Memory(time), time.clock)
    assert time.pauses == []
    assert (outcome.sent, outcome.behind) == (100, 0)


def test_late_commands_are_sent_at_once_and_reported() -> None:
    time = Time()

    def dues() -> Iterator[Due]:
        yield due(0, 0)
        time.now += 5
        yield due(1, 1)

    outcome = replay(dues(), Memory(time), time.clock)
    assert time.pauses == []
    assert (outcome.behind, outcome.late) == (4, 1)


def test_what_is_taken_up_begins_now_and_hurries_nowhere() -> None:
    time = Time()
    outcome = replay([due(500, 0), due(500.5, 1)], Memory(time), time.clock)
    assert (outcome.behind, round(outcome.seconds, 6)) == (0, 0.5)


def test_batches_are_bounded() -> None:
    time = Time()
    sizes: list[int] = []

    class Counting(Memory):
        def commit(self, records: Sequence[Outgoing]) -> list[RejectedItem]:
            sizes.append(len(records))
            return super().commit(records)

    replay([due(None, n) for n in range(2_500)], Counting(time), time.clock)
    assert sizes == [1_000, 1_000, 500]


def test_every_rejected_record_is_counted_and_the_first_are_named() -> None:
    time = Time()
    sink = Memory(time, frozenset(b"%d" % n for n in range(50)))
    outcome = replay([due(0, n, None if n else b"\xff") for n in range(60)], sink, time.clock)
    assert (outcome.sent, outcome.failed, outcome.delivered) == (60, 50, 10)
    assert not outcome.good
    assert len(outcome.rejections) == 20
    named = {one.number: one for one in outcome.rejections}
    assert all(one.reason == "too large" for one in named.values())


def test_a_rejection_names_the_record() -> None:
    time = Time()
    sink = Memory(time, frozenset([b"1"]))
    outcome = replay([due(0, 0), due(0, 1, b"\xffid")], sink, time.clock)
    (one,) = outcome.rejections
    assert (one.number, one.topic, one.conversation) == (2, "t", "\\xffid")


def test_a_stop_ends_with_what_was_sent() -> None:
    time = Time()
    sink = Memory(time)
    outcome = replay(
        [due(n, n) for n in range(100)], sink, time.clock, stopped=lambda: time.now >= 103.5
    )
    assert outcome.stopped
    assert (outcome.sent, len(sink.sent)) == (4, 4)
    assert time.now < 103.7


@pytest.mark.parametrize(
    "error, sent, unconfirmed",
    [
        (SurroundingsError("Kafka takes no more."), 4, 1),
        (AbortedError("Kafka takes no more.", ""), 3, 0),
        (FencedError("Kafka takes no more."), 3, 0),
    ],
)
def test_a_broken_destination_ends_with_what_was_sent(
    error: SurroundingsError, sent: int, unconfirmed: int
) -> None:
    """What was aborted has not happened; of anything else nobody knows."""
    time = Time()
    sink = Memory(time)
    sink.broken, sink.full_after = error, 3
    outcome = replay([due(n, n) for n in range(10)], sink, time.clock)
    assert outcome.broken is not None and outcome.broken.startswith("Kafka takes no more.")
    assert (outcome.sent, outcome.unconfirmed, outcome.good) == (sent, unconfirmed, False)
    assert outcome.delivered == 3


def test_progress_is_reported_about_once_a_second_and_at_the_end() -> None:
    time = Time()
    reports: list[Progress] = []
    outcome: Replayed = replay(
        [due(n / 10, n, b"%d" % (n % 3)) for n in range(51)],
        Memory(time),
        time.clock,
        report=reports.append,
    )
    assert 5 <= len(reports) <= 7
    assert reports[-1].sent == outcome.sent == 51
    assert reports[-1].dialogs == outcome.dialogs == 3
    assert 9 <= reports[1].rate <= 11
