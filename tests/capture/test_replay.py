"""The loop that sends, on a clock that only moves when somebody waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from streams.capture import Record, TimestampType
from streams.capture.record import Header
from streams.capture.replay import Clock, Progress, Replayed, replay
from streams.capture.schedule import Due
from streams.errors import SurroundingsError


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
    """A destination that remembers; ``reject`` names values that it refuses when it is polled."""

    def __init__(self, time: Time, reject: frozenset[bytes] = frozenset()) -> None:
        self.time = time
        self.reject = reject
        self.sent: list[tuple[float, bytes | None]] = []
        self.pending: list[Callable[[], None]] = []
        self.unconfirmed = 0
        self.full_after: int | None = None

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: tuple[Header, ...],
        on_error: Callable[[str], None],
    ) -> None:
        if self.full_after is not None and len(self.sent) >= self.full_after:
            raise SurroundingsError("Kafka takes no more.")
        self.sent.append((self.time.now - 100.0, value))
        if value in self.reject:
            self.pending.append(lambda: on_error("too large"))

    def poll(self) -> None:
        while self.pending:
            self.pending.pop()()

    def flush(self) -> int:
        self.poll()
        return self.unconfirmed


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


def test_what_is_late_is_sent_at_once_and_told() -> None:
    time = Time()

    def dues() -> Iterator[Due]:
        yield due(0, 0)
        time.now += 5
        yield due(1, 1)

    outcome = replay(dues(), Memory(time), time.clock)
    assert time.pauses == []
    assert outcome.behind == 4


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


def test_what_is_not_confirmed_is_no_success() -> None:
    time = Time()
    sink = Memory(time)
    sink.unconfirmed = 2
    outcome = replay([due(0, n) for n in range(3)], sink, time.clock)
    assert (outcome.delivered, outcome.unconfirmed, outcome.good) == (1, 2, False)


def test_a_stop_ends_with_what_was_sent() -> None:
    time = Time()
    sink = Memory(time)
    outcome = replay(
        [due(n, n) for n in range(100)], sink, time.clock, stopped=lambda: time.now >= 103.5
    )
    assert outcome.stopped
    assert (outcome.sent, len(sink.sent)) == (4, 4)
    assert time.now < 103.7


def test_a_broken_destination_ends_with_what_was_sent() -> None:
    time = Time()
    sink = Memory(time)
    sink.full_after = 3
    outcome = replay([due(0, n) for n in range(10)], sink, time.clock)
    assert outcome.broken == "Kafka takes no more."
    assert (outcome.sent, outcome.good) == (3, False)


def test_progress_is_told_about_once_a_second_and_at_the_end() -> None:
    time = Time()
    told: list[Progress] = []
    outcome: Replayed = replay(
        [due(n / 10, n, b"%d" % (n % 3)) for n in range(51)],
        Memory(time),
        time.clock,
        report=told.append,
    )
    assert 5 <= len(told) <= 7
    assert told[-1].sent == outcome.sent == 51
    assert told[-1].dialogs == outcome.dialogs == 3
    assert 9 <= told[1].rate <= 11
