"""Records that a consumer does not return if its fetch begins at their offsets.

A record may contain a length that is 2^32 too high. Kafka's client (librdkafka) can read this
record but cannot skip it, so it returns nothing if a fetch begins at a later record of the same
batch (decision 47). To get such a later record, a consumer must read forward from before the batch.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import TypeVar

from streams.kafka.cluster import Cluster
from streams.kafka.silent_search import SilentSearch
from streams.kafka.stalled_fetch import Place

_BEFORE = (0, 1, 32, 1_000, 30_000, 100_000)
"""How many offsets before the record to start reading forward, for each attempt. A batch of 1 MB
has at most 90,000 records. The first attempt covers the case that Kafka was only slow."""
_MOST = 1_000
"""Maximum number of records that are remembered."""
T = TypeVar("T")


class Detours:
    """Where to start reading forward to records of a partition that cannot be fetched directly."""

    def __init__(self, cluster: Cluster, place: Place) -> None:
        self._cluster, self._place = cluster, place
        self._begins: OrderedDict[int, int] = OrderedDict()
        self._unreadable: OrderedDict[int, None] = OrderedDict()

    def __contains__(self, position: int) -> bool:
        """Return whether a fetch at the offset of a record is known to return nothing."""
        return position in self._begins or position in self._unreadable

    def begins(self, position: int, low: int) -> Iterator[int]:
        """Yield the offsets from which to read forward, in a log that begins at ``low``."""
        if position in self._begins:
            yield max(low, self._begins[position])
        yield from dict.fromkeys(max(low, position - count) for count in _BEFORE)

    def note(self, position: int, begin: int) -> None:
        """Remember the offset from which a record was read."""
        if begin < position:
            _remember(self._begins, position, begin)

    def is_unreadable(self, position: int) -> bool:
        """Return whether Kafka responds but a new client cannot read a record; takes up to 10 s.

        The result is cached if it is true. A record may be counted as lost only after this check.
        Only the writer of the batch is affected, because other batches can be read from their own
        offsets.
        """
        search = SilentSearch(self._cluster, self._place, position, exact=True, most=1)
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
