"""Records that a consumer does not return if its fetch begins at their offsets.

A record may state a length that is 2^32 too high. Kafka's client (librdkafka) reads this record,
but does not skip it, so it returns nothing if a fetch begins at a later record of the same batch
(decision 47). Then a consumer must read forward from before the batch.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import TypeVar

from streams.kafka.cluster import Cluster
from streams.kafka.silent_search import SilentSearch
from streams.kafka.stalled_fetch import Place

_BEFORE = (0, 1, 32, 1_000, 30_000, 100_000)
"""Numbers of offsets before the record from which to read forward. A batch of 1 MB has at most
90,000 records. The first attempt is for a Kafka that was slow."""
_MOST = 1_000
"""Maximum number of records that are remembered."""
T = TypeVar("T")


class Detours:
    """From where to read forward to records of one partition that cannot be fetched directly."""

    def __init__(self, cluster: Cluster, place: Place) -> None:
        self._cluster, self._place = cluster, place
        self._begins: OrderedDict[int, int] = OrderedDict()
        self._unreadable: OrderedDict[int, None] = OrderedDict()

    def __contains__(self, position: int) -> bool:
        """Return whether a record is known not to be returned at its offset."""
        return position in self._begins or position in self._unreadable

    def begins(self, position: int, low: int) -> Iterator[int]:
        """Yield the offsets from which to try, in a log that begins at ``low``."""
        if position in self._begins:
            yield max(low, self._begins[position])
        yield from dict.fromkeys(max(low, position - count) for count in _BEFORE)

    def note(self, position: int, begin: int) -> None:
        """Remember from where a record was read."""
        if begin < position:
            _remember(self._begins, position, begin)

    def is_unreadable(self, position: int) -> bool:
        """Return whether Kafka responds, but a new client cannot read a record; takes up to 10 s.

        The answer is remembered if it is true. Only this conclusion may count a record as lost: all
        records of a batch have the same writer, and other batches can be read from their own
        offsets.
        """
        search = SilentSearch(self._cluster, self._place, position, 1)
        search.wait()
        if search.found > position:
            _remember(self._unreadable, position, None)
        return search.found > position

    def knows_unreadable(self, position: int) -> bool:
        """Return whether :meth:`is_unreadable` was true for a record."""
        return position in self._unreadable


def _remember(positions: OrderedDict[int, T], position: int, value: T) -> None:
    positions[position] = value
    positions.move_to_end(position)
    if len(positions) > _MOST:
        positions.popitem(last=False)
