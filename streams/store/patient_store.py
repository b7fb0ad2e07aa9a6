"""The monitor's store: its calls are repeated while the database is unavailable."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, wraps
from threading import Event
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from streams.store.database import UnavailableError
from streams.store.rows import Row
from streams.store.store import Store

P = ParamSpec("P")
T = TypeVar("T")

_FIRST_S, _LONGEST_S = 1.0, 30.0


def _repeated(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[PatientStore, P], T]:
    """Return a method that repeats a call of the store while the database is unavailable."""

    @wraps(method)
    def repeated(self: PatientStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._patiently(partial(method, self, *args, **kwargs))

    return repeated


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

    add_late = _repeated(Store.add_late)
    roll = _repeated(Store.roll)
    note_acknowledged = _repeated(Store.note_acknowledged)
    prune = _repeated(Store.prune)
    reach = _repeated(Store.reach)
    ask = _repeated(Store.ask)

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
