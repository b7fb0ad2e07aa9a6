"""Take samples every few seconds without Spark, in a thread of the driver."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace

from streams.errors import SurroundingsError
from streams.kafka import Hung, KafkaException
from streams.monitor.look import Eye, Seen
from streams.store import (
    BufferedSample,
    HeartbeatSample,
    LagSample,
    LinkSample,
    QueueSample,
    Sample,
    Situation,
    Store,
    Waiting,
)
from streams.store.database import UnavailableError

EVERY = 5.0
"""Seconds between samples."""
KEPT = 86_400_000
"""Milliseconds for which samples are kept."""

_LAST_S = 15.0
_CHANGES = ("until", "seen_at")
"""The columns that may change while a sample stays valid: its end, and the last heartbeat."""


class Sampler:
    """Sample a cluster periodically. ``failure`` is the error after which no sample is taken.

    ``ends`` are the last known ends of the partitions that the monitor reads.
    If Kafka or the store does not respond, no sample is written, and the age of the last samples
    grows.
    """

    def __init__(
        self,
        store: Store,
        eye: Eye,
        *,
        every: float = EVERY,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.failure: Exception | None = None
        self.ends: Mapping[tuple[str, int], int] = {}
        self._store, self._eye, self._every, self._say = store, eye, every, say
        self._holding: dict[tuple[object, ...], Sample] = {}
        self._reported = ""
        self._hung: tuple[Hung, ...] = ()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        """Start sampling."""
        self._thread.start()

    def stop(self) -> None:
        """Take the last sample, and stop."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_LAST_S)

    def look(self) -> None:
        """Take one sample, and write it."""
        now = _now()
        seen = self._eye.look(now)
        if seen is not None:
            self.write(seen, now)

    def _run(self) -> None:
        try:
            while True:
                last = self._stop.is_set()
                self.try_to_look()
                if last:
                    return
                self._stop.wait(self._every)
        except Exception as error:  # otherwise the monitor would continue without samples
            self.failure = error
        finally:
            self._eye.close()

    def try_to_look(self) -> None:
        """Take one sample; if Kafka or the store does not respond, report this once."""
        now = _now()
        try:
            seen = self._eye.look(now)
        except KafkaException as error:
            self._missed(str(error.args[0]))
            return
        except SurroundingsError as error:
            self._missed(error.message)
            return
        if seen is not None:
            self.ends = seen.ends
            self._report_hung(seen.hung)
            try:
                self.write(seen, now)
            except UnavailableError as error:
                self._report(error.message)
                return
        self._reported = ""

    def _report_hung(self, hung: tuple[Hung, ...]) -> None:
        """Report each hung transaction once, with its effect and remedy."""
        for each in hung:
            if each not in self._hung:
                self._say(f"{each} {each.remedy}")
        self._hung = hung

    def write(self, seen: Seen, now: int) -> None:
        """Write a sample, and the sums of dialogs."""
        situation = Situation(self._store)
        read_to = situation.freshness(now).until("dialogs")  # first: the sums are at least as new
        waiting = situation.waiting()
        rows = [self._held_on(row) for row in samples_of(seen, waiting, now, read_to)]
        self._store.sample(rows, oldest=now - KEPT)
        self._holding = {subject_of(row): row for row in rows}

    def _missed(self, why: str) -> None:
        # The next sample uses a new client, because this client may be stuck
        # (streams/kafka/lost_brokers.py).
        self._eye.close()
        self._report(why)

    def _report(self, why: str) -> None:
        if why != self._reported:
            self._say(f"sampling failed: {why}")
        self._reported = why

    def _held_on(self, row: Sample) -> Sample:
        """Return the last sample, extended in time, if it has ``row``'s values; else ``row``."""
        last = self._holding.get(subject_of(row))
        if last is None:
            return row
        changes = {n: getattr(row, n) for n in _CHANGES if hasattr(row, n)}
        same = replace(last, **changes)
        return same if replace(row, at=last.at) == same else row


def samples_of(
    seen: Seen, waiting: Mapping[str, Iterable[Waiting]], now: int, read_to: int | None
) -> Iterator[Sample]:
    """Yield the sampled values as rows that begin now, and the sums of waiting dialogs.

    The sums are those of the time up to which dialogs have been read, not of the present; until all
    dialogs have been read once, they are unknown.
    """
    if read_to is not None:
        for home in sorted({*seen.homes, *waiting}):
            yield _queue(home, tuple(waiting.get(home, ())), read_to)
    for (home, role, topic), records in seen.lags.items():
        yield LagSample(home, role, topic, now, now, records)
    for home, (copies, size) in seen.held.items():
        yield BufferedSample(home, now, now, copies, size)
    for instance, (up, at) in seen.heartbeats.items():
        yield HeartbeatSample(instance, now, now, up, at)
    for instance, other in seen.links:
        yield LinkSample(instance, other, now, now)


def subject_of(row: Sample) -> tuple[object, ...]:
    """Return the subject of a sample; two samples of the same subject show a change."""
    names = ("instance", "role", "topic", "other")
    own = {field.name for field in fields(row)}
    return type(row), *(getattr(row, name) for name in names if name in own)


def _now() -> int:
    return time.time_ns() // 1_000_000


def _queue(home: str, waiting: tuple[Waiting, ...], at: int) -> QueueSample:
    oldest = [w.oldest_at for w in waiting if w.oldest_at is not None]
    return QueueSample(
        home,
        at,
        at,
        messages=sum(w.messages for w in waiting),
        dialogs=sum(w.dialogs for w in waiting),
        parked=sum(w.parked for w in waiting),
        oldest_at=min(oldest, default=None),
        statuses=tuple(sorted((w.status, w.messages) for w in waiting if w.messages)),
    )
