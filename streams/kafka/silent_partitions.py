"""Find partitions of which Kafka's client (librdkafka) returns nothing, although there are records.

If a record contains a wrong length, the client assumes that the record's batch is cut off at the
end of the response. It fetches the batch again and again, without an error (decision 46).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from streams.kafka.batch_headers import Fetched, readable
from streams.kafka.stalled_fetch import Place
from streams.kafka.stored_batches import StoredBatches, UnknownError
from streams.kafka.stored_records import StoredBatch

_EVERY = 0.5
"""Seconds between checks. A partition is found in the third or fourth of them."""
_FETCH = 16 << 10


class SilentPartitions:
    """Compare where a client has stopped with the stored batches; ``clock`` is in seconds.

    Call :meth:`find` only when the client has returned all the records that it has fetched. If it
    has stopped before the end of the log, there may be no committed records there, or other
    partitions may be fetched first. So the stored batches are requested, but the response is not
    awaited. A partition is found if the client cannot read the first batch with records.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._look_at = clock, 0.0
        self._behind: dict[Place, int] = {}
        """Where the client had stopped before the end of the log at the last check."""
        self._empty: dict[Place, range] = {}
        """Offsets from the next one on that have no committed records."""
        self._responses: dict[Place, Future[Fetched]] = {}

    @property
    def is_due(self) -> bool:
        """Return whether it is time for a check."""
        return self._clock() >= self._look_at

    def find(
        self, nexts: Mapping[Place, int], end: Callable[[Place], int], stored: StoredBatches
    ) -> list[Place]:
        """Return partitions that have records from their ``nexts`` on; ``end`` returns log ends."""
        self._look_at = self._clock() + _EVERY
        before, self._behind = self._behind, {}
        asked, self._responses = self._responses, {}
        found = list[Place]()
        for place, offset in nexts.items():
            empty = self._empty.get(place, range(0))
            start = empty.stop if offset in empty else offset
            if end(place) <= start:
                continue
            self._behind[place] = offset
            if before.get(place) != offset:
                continue
            response = asked.get(place) or stored.ask(place, start, _FETCH)
            if not response.done():
                self._responses[place] = response
            elif self._is_unreadable(place, range(offset, start), response):
                found.append(place)
        return found

    def _is_unreadable(self, place: Place, empty: range, response: Future[Fetched]) -> bool:
        try:
            fetched = response.result()
        except UnknownError:
            return False
        batches = readable(fetched)
        found = next((one for one in batches if one.offsets.stop > empty.stop), None)
        if found is None:
            if fetched.batches:
                self._empty[place] = range(empty.start, fetched.batches[-1].offsets.stop)
            return False
        if found.stored.stop > len(fetched.data):  # only the first batch is never cut off
            self._empty[place] = range(empty.start, found.offsets.start)
            return False
        batch = StoredBatch(place, fetched.data[found.stored])
        return found.can_be_read and not batch.is_readable
