"""A transaction whose batches no client library would send, spoken by hand."""

from __future__ import annotations

import struct

from tests.kafka.raw_batch import LZ4, TRANSACTIONAL, append, batch, request, text
from tests.running import eventually
from tests.workers.rig import pause

_FIND_COORDINATOR, _INIT_PRODUCER_ID, _ADD_PARTITIONS_TO_TXN, _END_TXN = 10, 22, 24, 26
_NOT_NOW = 14, 15, 16, 51
"""The coordinator loads, is not known yet or is another one, or still ends a transaction."""


class RawTransactions:
    """A producer whose transactions contain raw batches in partition 0 of a topic."""

    def __init__(self, bootstrap: str, name: str, topic: str) -> None:
        self._bootstrap, self._name, self._topic = bootstrap, name, topic
        self._producer, self._sequence = (-1, -1), 0
        request(bootstrap, _FIND_COORDINATOR, 1, text(name) + b"\x01")  # creates its topic
        answer = self._ask(_INIT_PRODUCER_ID, struct.pack(">i", 15_000), error_at=4)
        self._producer = struct.unpack_from(">qh", answer, 6)

    def abort(self, *batches: tuple[bytes, ...], at: int | None = None, codec: int = LZ4) -> None:
        """Append batches, each of these records, in a transaction, and abort it."""
        producer, topic = struct.pack(">qh", *self._producer), text(self._topic)
        added = producer + struct.pack(">i", 1) + topic + struct.pack(">ii", 1, 0)
        self._ask(_ADD_PARTITIONS_TO_TXN, added, error_at=4 + 4 + len(topic) + 4 + 4)
        for records in batches:
            written_by = *self._producer, self._sequence
            one = batch(*records, codec=codec | TRANSACTIONAL, at=at, producer=written_by)
            append(self._bootstrap, self._topic, one, self._name)
            self._sequence += len(records)
        self._ask(_END_TXN, producer + struct.pack(">?", False), error_at=4)

    def _ask(self, key: int, body: bytes, error_at: int) -> bytes:
        def answered() -> bytes | None:
            answer = request(self._bootstrap, key, 0, text(self._name) + body)
            (error,) = struct.unpack_from(">h", answer, error_at)
            assert error in (0, *_NOT_NOW), f"Kafka answers {error}"
            return None if error or pause() else answer

        found = eventually(answered, "the coordinator of a transaction")
        assert found is not None
        return found
