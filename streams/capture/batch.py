"""Records in bulk, by column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from streams.capture.record import Counts, Header, Record

_fields = attrgetter(
    "topic", "partition", "offset", "timestamp", "timestamp_type", "key", "headers", "value"
)


class Batch(NamedTuple):
    """Columns of equal length, in the order of the fields of ``CapturedRecord``.

    ``types`` are Kafka's numbers of timestamp types: -1 none, 0 CreateTime, 1 LogAppendTime.
    """

    topics: Sequence[str]
    partitions: Sequence[int]
    offsets: Sequence[int]
    timestamps: Sequence[int]
    types: Sequence[int]
    keys: Sequence[bytes | None]
    headers: Sequence[Sequence[Header]]
    values: Sequence[bytes | None]

    @property
    def counts(self) -> Counts:
        """Return the counts of the records."""
        timed = self.timestamps
        if min(timed, default=0) < 0:
            timed = [at for at in timed if at >= 0]
        return Counts(
            len(self.topics),
            sum(map(len, filter(None, self.values))),
            min(timed, default=-1),
            max(timed, default=-1),
        )

    @property
    def ends(self) -> dict[tuple[str, int], int]:
        """Return the next offset, by topic and partition."""
        places = zip(self.topics, self.partitions, strict=True)
        return {place: last + 1 for place, last in zip(places, self.offsets, strict=True)}


def batch_of(records: Iterable[Record]) -> Batch:
    """Return records as columns; requires at least one record."""
    return Batch(*zip(*map(_fields, records), strict=True))
