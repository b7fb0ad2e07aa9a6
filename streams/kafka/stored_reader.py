"""Read single records of a partition from their stored batches."""

from __future__ import annotations

from contextlib import suppress

from confluent_kafka import Message

from streams.kafka.cluster import Cluster
from streams.kafka.stalled_fetch import Place
from streams.kafka.stored_batches import StoredBatches, UnknownError
from streams.kafka.stored_records import StoredBatch


class StoredReader:
    """Reads records that Kafka's client cannot read (decision 47), and keeps the last batch.

    ``bytes_read`` counts the bytes of the batches that were read.
    """

    def __init__(self, cluster: Cluster, place: Place) -> None:
        self.bytes_read = 0
        self._cluster, self._place = cluster, place
        self._stored: StoredBatches | None = None
        self._batch: StoredBatch | None = None

    def read(self, offset: int) -> Message | None:
        """Return a record; ``None`` if its batch is compressed, or if Kafka does not respond."""
        if self._batch is None or offset not in self._batch.offsets:
            self._batch = self._fetch(offset)
            if self._batch is None or offset not in self._batch.offsets:
                return None
            self.bytes_read += self._batch.size
        with suppress(IndexError):  # no broker stores such a batch
            return self._batch.record(offset)
        return None

    def _fetch(self, offset: int) -> StoredBatch | None:
        self._stored = self._stored or self._cluster.stored_batches()
        if self._stored is None:
            return None
        try:
            return self._stored.batch_at(self._place, offset)
        except UnknownError:
            return None

    def close(self) -> None:
        """Close the connections, and forget the batch."""
        if self._stored is not None:
            self._stored.close()
        self._stored = self._batch = None
