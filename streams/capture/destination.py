"""A Kafka cluster as the destination of a replay."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from streams.capture.record import Header
from streams.errors import SurroundingsError
from streams.kafka import Cluster, KafkaError, KafkaException, Message

__all__ = ["KafkaSink", "demand_topics"]

_SLICE = 0.2  # seconds in the client library at a time, so that a signal is served


def demand_topics(cluster: Cluster, topics: Iterable[str], timeout: float) -> None:
    """Raise SurroundingsError unless all topics exist; nothing is created by asking."""
    try:
        existing = cluster.admin().list_topics(timeout=timeout).topics
    except KafkaException as error:
        raise SurroundingsError(
            f"Kafka at {cluster.bootstrap} does not say which topics it has: {error.args[0]}.",
            "Try again; if it stays, look at the broker's log.",
        ) from error
    missing = [topic for topic in topics if topic not in existing]
    if missing:
        others = f" ({len(missing) - 1} more like it)" if len(missing) > 1 else ""
        raise SurroundingsError(
            f"Topic {missing[0]} does not exist at {cluster.bootstrap}{others}.",
            "Run 'hopline apply TOPOLOGY' to create it, or name its prefix with --prefix.",
        )


class KafkaSink:
    """Send records and tell of those that were not stored.

    A record that is not confirmed within ``timeout`` seconds has failed; from then on nothing more
    is taken, because the cluster is gone.
    """

    def __init__(self, cluster: Cluster, timeout: float) -> None:
        self._bootstrap, self._timeout = cluster.bootstrap, timeout
        self._producer = cluster.producer(delivery_timeout_ms=max(int(timeout * 1000), 1000))
        self._gone = False

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: tuple[Header, ...],
        on_error: Callable[[str], None],
    ) -> None:
        """Hand over one record; raises SurroundingsError where the cluster is gone."""

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                self._note(error)
                on_error(error.str())

        deadline = time.monotonic() + self._timeout
        while True:
            self._demand_cluster(deadline)
            try:
                self._producer.produce(
                    topic, value=value, key=key, headers=list(headers), on_delivery=delivered
                )
            except BufferError:  # the local queue is full: let some of it out
                self._producer.poll(_SLICE)
                continue
            except KafkaException as error:  # refused before it left, such as one too large
                self._note(error.args[0])
                on_error(error.args[0].str())
            self._producer.poll(0)
            return

    def poll(self) -> None:
        """Serve what has been reported so far."""
        self._producer.poll(0)

    def flush(self) -> int:
        """Wait until every record is confirmed or has failed; returns how many are neither."""
        deadline = time.monotonic() + self._timeout + 1
        while (left := self._producer.flush(_SLICE)) and time.monotonic() < deadline:
            pass
        return left

    def _note(self, error: KafkaError) -> None:
        if error.fatal() or error.code() == KafkaError._MSG_TIMED_OUT:
            self._gone = True

    def _demand_cluster(self, deadline: float) -> None:
        if self._gone or time.monotonic() > deadline:
            raise SurroundingsError(
                f"Kafka at {self._bootstrap} takes no more records "
                f"(gave up after {self._timeout:.0f} s).",
                "Look at the broker, then replay to a cluster that has none of these dialogs.",
            )
