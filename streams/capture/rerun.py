"""One replay as a whole: its options, as a reproducible plan."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from streams.capture.container import CaptureReader
from streams.capture.forecast import Naming
from streams.capture.manifest import digest
from streams.capture.record import Record
from streams.capture.restate import Restatement
from streams.capture.schedule import Contents, Due, demand_time, looped, plan
from streams.kafka import Outgoing
from streams.wire import MalformedError
from streams.wire.records import conversation_of

__all__ = ["Rerun"]


@dataclass(frozen=True, slots=True)
class Rerun:
    """The options of a replay (``found`` is the content of ``reader``): prefix, speed and names.

    ``speed`` and ``rate`` are as for :func:`streams.capture.schedule.plan`.
    """

    reader: CaptureReader
    found: Contents
    prefix: str
    speed: float | None
    rate: float | None
    naming: Naming

    @property
    def commands(self) -> int:
        """Return the number of records of the plan, all loops together."""
        return self.found.commands * self.naming.loops

    @property
    def seconds(self) -> float | None:
        """Return the duration, or None if no record waits for its time."""
        return None if self._lasts is None else self._lasts * self.naming.loops

    @property
    def _lasts(self) -> float | None:
        if self.rate is not None:
            return self.found.commands / self.rate
        return None if self.speed is None else self.found.seconds / self.speed

    def dues(self) -> Iterator[Due]:
        """Yield the plan; raise InputError for implausible times, UsageError for bad options."""
        self._made()  # errors are reported now, not later
        if self.speed is not None and self.rate is None:
            demand_time(self.found, self.speed, str(self.reader.path))
        return looped(self._made, self.naming.loops, self._lasts or 0.0)

    def _made(self) -> Iterator[Due]:
        return plan(
            self.reader,
            prefix=self.reader.metadata.prefix,
            to_prefix=self.prefix,
            first=self.found.first,
            speed=self.speed,
            rate=self.rate,
        )

    def records(self) -> Iterator[Record]:
        """Yield the records of one loop in send order, before they are restated."""
        return (due.record for due in self._made())

    def dialogs(self) -> Iterator[str]:
        """Yield the original id of each dialog with a readable key."""
        for key in {record.key for record in self.records()}:
            with suppress(MalformedError):
                yield str(conversation_of(key))

    def restate(self, due: Due, now: int) -> Outgoing:
        """Return the record to produce at ``now`` (epoch milliseconds)."""
        again = Restatement(self.naming.job, self.naming.new)
        return again.apply(due.record, due.loop, now)

    def digest(self) -> str:
        """Return a string that identifies this plan regardless of the speed."""
        files = [digest(file) for file in self.reader.files]
        in_time = self.speed is not None or self.rate is not None
        about = (*files, self.prefix, in_time, self.naming.new, self.naming.loops)
        return hashlib.sha256(repr(about).encode()).hexdigest()[:32]
