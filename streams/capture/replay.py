"""Replay a plan: send it and report the result.

The load is open-loop: a late record is sent immediately, the following records are not postponed,
and the delay is reported. Clock, pause and destination are arguments. The loop itself makes no
decisions: :mod:`streams.capture.schedule` determines the times, :mod:`streams.capture.restate` the
content, and :mod:`streams.capture.job` commits exactly once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from streams.capture.job import RejectedItem
from streams.capture.schedule import Due
from streams.errors import SurroundingsError
from streams.kafka import AbortedError, FencedError, Outgoing

__all__ = ["LATE", "Clock", "Progress", "Rejection", "Replayed", "Sink", "replay"]

LATE = 0.1
"""Seconds after its due time at which a record counts as late."""
_SLICE = 0.1  # the longest pause in seconds, so that a signal is noticed soon
_PROGRESS_EVERY = 1.0
_LISTED = 20  # rejections that are described; all rejections are counted
_MOST, _MOST_BYTES = 1_000, 4 << 20  # per batch


class Sink(Protocol):
    """The destination of batches, in order: :class:`streams.capture.job.Job`."""

    def commit(self, records: Sequence[Outgoing]) -> list[RejectedItem]:
        """Produce all items, and return the items that Kafka permanently rejects.

        Raises SurroundingsError if the destination fails.
        """


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of the loop: monotonic seconds, epoch milliseconds, a pause."""

    monotonic: Callable[[], float]
    epoch: Callable[[], int]
    pause: Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a replay; ``rate`` in records per second since the last report.

    ``at`` is the due time of the latest record, in seconds after the start of the plan; None if
    records are sent without waiting.
    """

    sent: int
    dialogs: int
    failed: int
    rate: float
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Rejection:
    """A record that the broker rejected; ``number`` is its place in the file, from 1."""

    number: int
    topic: str
    conversation: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a replay; ``sent`` = delivered + ``failed`` + ``unconfirmed``.

    ``behind`` is the delay of the latest record in seconds (0 without times), ``late`` the number
    of records delayed by :data:`LATE` or more; ``rejections`` describes the first failures;
    ``broken`` explains why the destination failed.
    """

    sent: int
    failed: int
    unconfirmed: int
    dialogs: int
    seconds: float
    behind: float
    stopped: bool
    rejections: tuple[Rejection, ...]
    broken: str | None = None
    late: int = 0

    @property
    def delivered(self) -> int:
        """Return the number of records that the broker has confirmed."""
        return self.sent - self.failed - self.unconfirmed

    @property
    def good(self) -> bool:
        """Return whether every record that was sent has arrived."""
        return not (self.failed or self.unconfirmed or self.broken)


Restate = Callable[[Due, int], Outgoing]
"""Creates the record for a due item, at an instant in epoch milliseconds."""


@dataclass(slots=True)
class _Tally:
    started: float
    reported_at: float
    sent: int = 0
    reported: int = 0
    failed: int = 0
    unconfirmed: int = 0
    behind: float = 0.0
    late: int = 0
    at: float | None = None
    dialogs: set[tuple[int, bytes | None]] = field(default_factory=set)
    rejections: list[Rejection] = field(default_factory=list)

    def sending(self, batch: Sequence[Due], now: float) -> None:
        self.sent += len(batch)
        for due in batch:
            self.dialogs.add((due.loop, due.record.key))
            self.at = due.at
            if due.at is not None:
                behind = now - self.started - due.at
                self.behind = max(self.behind, behind)
                self.late += behind >= LATE

    def reject(self, due: Due, reason: str) -> None:
        self.failed += 1
        if len(self.rejections) < _LISTED:
            key = due.record.key
            text = None if key is None else key.decode("utf-8", "backslashreplace")
            self.rejections.append(Rejection(due.number, due.record.topic, text, reason))

    def progress(self, now: float) -> Progress:
        rate = (self.sent - self.reported) / max(now - self.reported_at, 1e-9)
        self.reported, self.reported_at = self.sent, now
        return Progress(self.sent, len(self.dialogs), self.failed, rate, self.at)


def replay(
    dues: Iterable[Due],
    sink: Sink,
    clock: Clock,
    *,
    restate: Restate,
    stopped: Callable[[], bool] = lambda: False,
    report: Callable[[Progress], None] = lambda _: None,
) -> Replayed:
    """Send each record when it is due, until the end or until ``stopped``.

    The clock starts with the first record, so a resumed job does not try to catch up after the
    interruption.
    """
    loop = _Loop(iter(dues), sink, clock, restate, stopped, report)
    broken = loop.run()
    now, tally = clock.monotonic(), loop.tally
    report(tally.progress(now))
    return Replayed(
        tally.sent,
        tally.failed,
        tally.unconfirmed,
        len(tally.dialogs),
        now - loop.started_at,
        tally.behind,
        stopped(),
        tuple(tally.rejections),
        broken,
        tally.late,
    )


class _Loop:
    def __init__(
        self,
        dues: Iterator[Due],
        sink: Sink,
        clock: Clock,
        restate: Restate,
        stopped: Callable[[], bool],
        report: Callable[[Progress], None],
    ) -> None:
        self._dues, self._sink, self._clock, self._restate = dues, sink, clock, restate
        self._stopped, self._report = stopped, report
        self.started_at = now = clock.monotonic()
        self.tally = _Tally(now, now)
        self._next = next(dues, None)
        if self._next is not None and self._next.at is not None:
            self.tally.started = now - self._next.at

    def run(self) -> str | None:
        """Send batch by batch; return why the destination failed, or None."""
        try:
            while self._wait():
                now = self._clock.monotonic()
                self._send(list(self._batch(now - self.tally.started)), now)
        except SurroundingsError as error:
            return str(error)
        return None

    def _wait(self) -> bool:
        """Pause until a record is due; return false if the replay is stopped."""
        tally, clock = self.tally, self._clock
        while self._next is not None and not self._stopped():
            now = clock.monotonic()
            if now - tally.reported_at >= _PROGRESS_EVERY:
                self._report(tally.progress(now))
            left = 0.0 if self._next.at is None else tally.started + self._next.at - now
            if left <= 0:
                return True
            clock.pause(min(left, _SLICE))
        return False

    def _batch(self, now: float) -> Iterator[Due]:
        """Yield the records due by ``now``: at least one, and at most one transaction."""
        size = 0
        for n in range(_MOST):
            due = self._next
            early = n > 0 and due is not None and due.at is not None and due.at > now
            if due is None or early or size > _MOST_BYTES:
                return
            size += len(due.record.value or b"")
            self._next = next(self._dues, None)
            yield due

    def _send(self, batch: Sequence[Due], now: float) -> None:
        epoch, tally = self._clock.epoch(), self.tally
        records = [self._restate(due, epoch) for due in batch]
        first = tally.sent
        tally.sending(batch, now)
        try:
            refused = self._sink.commit(records)
        except (AbortedError, FencedError):  # nothing was committed
            tally.sent = first
            raise
        except SurroundingsError:
            tally.unconfirmed = len(batch)
            raise
        for rejected in refused:
            tally.reject(batch[rejected.item], rejected.reason)
