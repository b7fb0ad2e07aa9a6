"""Do again what applications did: the thin loop that sends a plan and says how it went.

Time, the pause and the destination are arguments. The loop decides nothing: what goes when is in
:mod:`streams.capture.schedule`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from streams.capture.record import Header
from streams.capture.schedule import Due, stamped
from streams.errors import SurroundingsError

__all__ = ["Clock", "Progress", "Rejection", "Replayed", "Sink", "replay"]

_SLICE = 0.1  # seconds: the longest pause, so that a signal and a failed delivery are seen soon
_PROGRESS_EVERY = 1.0
_LISTED = 20  # rejections that are described; all are counted


class Sink(Protocol):
    """Where records go. Failed deliveries are told to ``on_error`` from within any call here."""

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: tuple[Header, ...],
        on_error: Callable[[str], None],
    ) -> None:
        """Hand over one record; raises SurroundingsError where nothing is taken any more."""

    def poll(self) -> None:
        """Serve the reports of deliveries that have arrived; does not wait."""

    def flush(self) -> int:
        """Wait for all deliveries, but not for ever; returns how many stay unconfirmed."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as the loop needs it: seconds that only grow, epoch milliseconds, a pause."""

    monotonic: Callable[[], float]
    epoch: Callable[[], int]
    pause: Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a replay is; ``rate`` in records per second since the last report."""

    sent: int
    dialogs: int
    failed: int
    rate: float


@dataclass(frozen=True, slots=True)
class Rejection:
    """A record that the broker did not take; ``number`` is its place in the file, from 1."""

    number: int
    topic: str
    conversation: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """How a replay went: ``sent`` = delivered + ``failed`` + ``unconfirmed``.

    ``behind`` is by how many seconds the latest record missed its time (0 without times);
    ``rejections`` describes the first failures; ``broken`` says why the destination took no more.
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

    @property
    def delivered(self) -> int:
        """Return how many records the broker has confirmed."""
        return self.sent - self.failed - self.unconfirmed

    @property
    def good(self) -> bool:
        """Tell whether every record that was sent has arrived."""
        return not (self.failed or self.unconfirmed or self.broken)


@dataclass(slots=True)
class _Tally:
    started: float
    reported_at: float
    sent: int = 0
    reported: int = 0
    failed: int = 0
    behind: float = 0.0
    dialogs: set[bytes | None] = field(default_factory=set)
    rejections: list[Rejection] = field(default_factory=list)

    def reject(self, due: Due, reason: str) -> None:
        self.failed += 1
        if len(self.rejections) < _LISTED:
            key = due.record.key
            text = None if key is None else key.decode("utf-8", "backslashreplace")
            self.rejections.append(Rejection(due.number, due.record.topic, text, reason))

    def sending(self, due: Due, now: float) -> None:
        self.sent += 1
        self.dialogs.add(due.record.key)
        if due.at is not None:
            self.behind = max(self.behind, now - self.started - due.at)

    def progress(self, now: float) -> Progress:
        rate = (self.sent - self.reported) / max(now - self.reported_at, 1e-9)
        self.reported, self.reported_at = self.sent, now
        return Progress(self.sent, len(self.dialogs), self.failed, rate)


def replay(
    dues: Iterable[Due],
    sink: Sink,
    clock: Clock,
    *,
    stopped: Callable[[], bool] = lambda: False,
    report: Callable[[Progress], None] = lambda _: None,
) -> Replayed:
    """Send what is due when it is due, until the end or until ``stopped``; wait for deliveries."""
    now = clock.monotonic()
    tally = _Tally(now, now)
    broken = None
    try:
        for due in dues:
            if not _wait(due, sink, clock, tally, stopped, report):
                break
            _send(due, sink, clock, tally)
    except SurroundingsError as error:
        broken = str(error)
    unconfirmed = sink.flush()
    now = clock.monotonic()
    report(tally.progress(now))
    return Replayed(
        tally.sent,
        tally.failed,
        unconfirmed,
        len(tally.dialogs),
        now - tally.started,
        tally.behind,
        stopped(),
        tuple(tally.rejections),
        broken,
    )


def _wait(
    due: Due,
    sink: Sink,
    clock: Clock,
    tally: _Tally,
    stopped: Callable[[], bool],
    report: Callable[[Progress], None],
) -> bool:
    """Pause until the record is due; returns false where the replay is to stop."""
    while not stopped():
        now = clock.monotonic()
        if now - tally.reported_at >= _PROGRESS_EVERY:
            report(tally.progress(now))
        left = 0.0 if due.at is None else tally.started + due.at - now
        if left <= 0:
            return True
        sink.poll()
        clock.pause(min(left, _SLICE))
    return False


def _send(due: Due, sink: Sink, clock: Clock, tally: _Tally) -> None:
    record, now = due.record, clock.monotonic()
    sink.produce(
        record.topic,
        record.key,
        record.value,
        stamped(record.headers, clock.epoch()),
        lambda reason: tally.reject(due, reason),
    )
    tally.sending(due, now)
