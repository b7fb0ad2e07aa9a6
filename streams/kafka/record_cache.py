"""A cache of records by their offsets."""

from __future__ import annotations

from collections import OrderedDict

from confluent_kafka import Message

CACHE_BYTES = 48 << 20
"""The total size of the caches of all :class:`~streams.kafka.fetcher.Fetcher` of a worker."""
RECORD_BYTES = 1_024
"""The bytes of a record besides its key and value: headers, and Python's objects."""
_LARGE, _SHARE = 128 << 10, 16
"""A record that exceeds both this size and 1/16 of the cache does not evict other records."""


class RecordCache:
    """The latest records of a partition, with their sizes; ``limit`` is in bytes.

    The size of a record counts its key, value and headers, and :data:`RECORD_BYTES`. Large records
    use only free space.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._large = limit, max(_LARGE, limit // _SHARE)
        self._records: OrderedDict[int, tuple[Message, int]] = OrderedDict()
        self.size = 0

    def get(self, offset: int) -> tuple[Message, int] | None:
        """Return a record and its size."""
        return self._records.get(offset)

    def keep(self, message: Message, size: int) -> None:
        """Add a record, unless there is one with its offset."""
        offset = message.offset()
        assert offset is not None
        if offset in self._records:
            return
        self._records[offset] = message, size
        if size > self._large:
            self._records.move_to_end(offset, last=False)  # evicted before other records
        self.size += size + RECORD_BYTES
        while self.size > self._limit:
            _, (_, evicted) = self._records.popitem(last=False)
            self.size -= evicted + RECORD_BYTES

    def forget(self, offset: int) -> None:
        """Remove a record."""
        found = self._records.pop(offset, None)
        if found is not None:
            self.size -= found[1] + RECORD_BYTES
