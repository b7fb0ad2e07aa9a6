"""Find partitions of which Kafka's client (librdkafka) returns nothing, although there are records.

If a record contains a wrong length, the client assumes that the record's batch is cut off at the
end of the response. It fetches the batch again and again, without an error (decision 46).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from streams.kafka.stalled_fetch import Place
from streams.kafka.stored_batches import Fetched, StoredBatches, UnknownError, readable

_EVERY = 0.5
"""Seconds between checks. A partition is found in the third or fourth of them."""
_FETCH = 16 << 10


class SilentPartitions:
    """Compare where a client has stopped with the stored batches; ``clock`` is in seconds.

    Call :meth:`find` only when the client has returned all the records that it has fetched. If it
    has stopped before the end of the log, there may be no committed records there. So the stored
    batches are requested, but the response is not awaited.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._look_at = clock, 0.0
        self._behind: dict[Place, int] = {}
        """Where the client had stopped before the end of the log at the last check."""
        self._empty: dict[Place, int] = {}
        """Offsets before which there is no committed record that was not read."""
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
            start = max(offset, self._empty.get(place, 0))
            if end(place) <= start:
                continue
            self._behind[place] = offset
            if before.get(place) != offset:
                continue
            response = asked.get(place) or stored.ask(place, start, _FETCH)
            if not response.done():
                self._responses[place] = response
            elif self._has_records(place, start, response):
                found.append(place)
        return found

    def _has_records(self, place: Place, start: int, response: Future[Fetched]) -> bool:
        try:
            fetched = response.result()
        except UnknownError:
            return False
        found = next((one for one in readable(fetched) if one.offsets.stop > start), None)
        if found is not None:
            return not found.is_compressed
        if fetched.batches:
            self._empty[place] = fetched.batches[-1].offsets.stop
        return False
