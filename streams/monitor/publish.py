"""Write the store's rows to the topic ``metric`` as well."""

from __future__ import annotations

from collections.abc import Iterable

from streams.errors import SurroundingsError
from streams.kafka import Cluster, KafkaError, Message
from streams.store import DialogGone, DialogSide, Row, Store, as_columns
from streams.wire.metric import encode_metric

_STATE = (DialogSide, DialogGone)
"""Kinds of rows that need no copy, because the state topics already contain each record."""


class Publisher:
    """Write a batch to ``metric``, then to the store.

    Because of this order, every row in the store is also in the topic. A repeated batch is written
    to the topic again, which is harmless, because only the last row of each key is used.
    """

    def __init__(self, store: Store, cluster: Cluster, *, wait: float = 30.0) -> None:
        """``wait`` is the maximum number of seconds for Kafka to confirm a batch."""
        self._store, self._wait = store, wait
        self._topic = cluster.topics.metric
        self._producer = cluster.producer()

    def write(self, query: str, run: str, batch_id: int, rows: Iterable[Row]) -> bool:
        """Write a batch; return False if it was already in the store. Raises SurroundingsError."""
        found = tuple(rows)
        self._publish(query, batch_id, found)
        return self._store.write(query, run, batch_id, found)

    def _publish(self, query: str, batch_id: int, rows: Iterable[Row]) -> None:
        failures: list[str] = []

        def done(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failures.append(error.str())

        for row in rows:
            if isinstance(row, _STATE):
                continue
            table, key, values = as_columns(row)
            value = encode_metric(table, key, query, batch_id, values)
            self._producer.produce(self._topic, key=f"{table}/{key}", value=value, on_delivery=done)
            self._producer.poll(0)
        left = self._producer.flush(self._wait)
        if failures or left:
            why = failures[0] if failures else f"not confirmed in {self._wait:g} s"
            raise SurroundingsError(f"Kafka does not accept metrics in {self._topic}: {why}.")
