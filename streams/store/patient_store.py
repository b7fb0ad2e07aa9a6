"""The monitor's store: its calls are repeated while the database is unavailable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Event
from typing import Any, Self, TypeVar

import sqlalchemy as sa

from streams.store.database import UnavailableError
from streams.store.rows import LatencyStretch, LatencyWindow, Row
from streams.store.store import Store

T = TypeVar("T")

_FIRST_S, _LONGEST_S = 1.0, 30.0


class PatientStore(Store):
    """The store of the queries and of the main thread, which wait for the database.

    All repeated calls are idempotent: if a batch was committed although the connection was lost,
    its marker is found. ``outage`` is the last error while the database is unavailable, otherwise
    empty. If ``stop`` is set, a call fails instead of waiting.
    """

    outage = ""
    _stop: Event
    _say: Callable[[str], None]

    @classmethod
    def of(cls, store: Store, stop: Event, say: Callable[[str], None]) -> Self:
        """Return a store with the same connections; ``say`` is called once for each outage."""
        patient = cls(store._engine)
        patient._stop, patient._say = stop, say
        return patient

    def write(self, query: str, run: str, batch_id: int, rows: Iterable[Row]) -> bool:
        """Write a batch; see :meth:`Store.write`."""
        found = tuple(rows)  # an iterator would be empty at the second attempt
        return self._patiently(lambda: super(PatientStore, self).write(query, run, batch_id, found))

    def add_late(self, query: str, run: str, batch_id: int, rows: int) -> None:
        """Add late rows; see :meth:`Store.add_late`."""
        self._patiently(lambda: super(PatientStore, self).add_late(query, run, batch_id, rows))

    def roll(
        self,
        start: int,
        end: int,
        together: Callable[[Sequence[LatencyWindow]], Iterable[LatencyStretch]],
    ) -> None:
        """Merge windows; see :meth:`Store.roll`."""
        self._patiently(lambda: super(PatientStore, self).roll(start, end, together))

    def prune(self, before: int) -> int:
        """Delete old rows; see :meth:`Store.prune`."""
        return self._patiently(lambda: super(PatientStore, self).prune(before))

    def reach(self, instants: Mapping[str, int]) -> None:
        """Store how far the queries have read; see :meth:`Store.reach`."""
        self._patiently(lambda: super(PatientStore, self).reach(instants))

    def ask(self, statement: sa.Select[Any]) -> tuple[Mapping[str, Any], ...]:
        """Return the result of a statement; see :meth:`Store.ask`."""
        return self._patiently(lambda: super(PatientStore, self).ask(statement))

    def _patiently(self, call: Callable[[], T]) -> T:
        wait = _FIRST_S
        while True:
            try:
                result = call()
            except UnavailableError as error:
                if not self.outage:
                    self._say(f"{error.message} The monitor waits until it is available.")
                self.outage = error.message
                if self._stop.wait(wait):
                    raise
                wait = min(wait * 2, _LONGEST_S)
            else:
                if self.outage:
                    self.outage = ""
                    self._say(f"The store {self.address} is available again.")
                return result
