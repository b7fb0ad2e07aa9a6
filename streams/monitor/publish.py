"""Write the store's rows to the topic ``metric`` as well."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator

from streams.errors import SurroundingsError
from streams.kafka import Cluster, KafkaError, KafkaException, Message
from streams.store import DialogGone, DialogSide, Row, Store, as_columns
from streams.wire.metric import encode_metric

log = logging.getLogger("hopline.monitor")

_Record = tuple[str, bytes]
_STATE = (DialogSide, DialogGone)
"""Kinds of rows that need no copy, because the state topics already contain each record."""


class Publisher:
    """Write a batch to ``metric``, then to the store.

    Because of this order, every row in the store is also in the topic, unless it is too large for a
    record. A repeated batch is written to the topic again, which is harmless, because only the last
    row of each key is used.
    """

    def __init__(self, store: Store, cluster: Cluster, *, wait: float = 30.0) -> None:
        """``wait`` is the maximum number of seconds for Kafka to confirm a batch."""
        self._store, self._wait = store, wait
        self._topic = cluster.topics.metric
        self._producer = cluster.producer()
        self._warned: set[str] = set()

    def write(self, query: str, run: str, batch_id: int, rows: Iterable[Row]) -> bool:
        """Write a batch; return False if it was already in the store. Raises SurroundingsError."""
        found = tuple(rows)
        self._publish(query, batch_id, found)
        return self._store.write(query, run, batch_id, found)

    def _publish(self, query: str, batch_id: int, rows: Iterable[Row]) -> None:
        # A refused batch may also contain small records, so each of its records is sent again.
        for record in self._send(_records(query, batch_id, rows)):
            if self._send([record]):
                self._warn(record)

    def _send(self, records: Iterable[_Record]) -> list[_Record]:
        """Write records; return those that are too large. Raises SurroundingsError."""
        failures: list[str] = []
        refused: list[_Record] = []

        def done(error: KafkaError | None, message: Message) -> None:
            if error is None:
                return
            if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
                refused.append(((message.key() or b"").decode(), message.value() or b""))
            else:
                failures.append(error.str())

        for key, value in records:
            try:
                self._produce(key, value, done)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                    raise
                refused.append((key, value))
            self._producer.poll(0)
        left = self._producer.flush(self._wait)
        if failures or left:
            why = failures[0] if failures else f"not confirmed in {self._wait:g} s"
            raise SurroundingsError(f"Kafka does not accept metrics in {self._topic}: {why}.")
        return refused

    def _produce(self, key: str, value: bytes, done: Callable[..., None]) -> None:
        """Produce a record; wait for space, because all queries share the client's queue."""
        until = time.monotonic() + self._wait
        while True:
            try:
                self._producer.produce(self._topic, key=key, value=value, on_delivery=done)
                return
            except BufferError:
                self._producer.poll(0.1)
                if time.monotonic() > until:
                    raise SurroundingsError(
                        f"Kafka does not accept metrics in {self._topic}: the client's queue has "
                        f"been full for {self._wait:g} s."
                    ) from None

    def _warn(self, record: _Record) -> None:
        """Log a row that is only in the store, once per table."""
        table, size = record[0].partition("/")[0], len(record[1])
        if table not in self._warned:
            self._warned.add(table)
            log.warning(
                "%s: Kafka does not accept a row of %s with %d bytes. Such rows are only in the "
                "store.",
                self._topic,
                table,
                size,
            )


def _records(query: str, batch_id: int, rows: Iterable[Row]) -> Iterator[_Record]:
    for row in rows:
        if not isinstance(row, _STATE):
            table, key, values = as_columns(row)
            yield f"{table}/{key}", encode_metric(table, key, query, batch_id, values)
