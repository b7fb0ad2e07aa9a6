"""Detect a client that has lost all brokers, although Kafka is available.

A cluster that has just become available again may report an empty list of brokers. Kafka's client
(librdkafka 2.13 to 2.16, issue 5301) then drops all brokers, including the bootstrap servers,
regardless of ``metadata.recovery.strategy``, and hangs without an error. Only a new client can
continue.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from confluent_kafka import KafkaException

from streams.errors import SurroundingsError
from streams.kafka.cluster import Cluster

_PATIENCE = 15.0
"""Seconds without a response after which clients are checked."""
_TIMEOUT = 5.0


class Asking(Protocol):
    """A client: consumer, producer or admin."""

    def list_topics(self, *args: Any, **kwargs: Any) -> Any:
        """Return the metadata of a ``topic``, or of all topics; ``timeout`` is in seconds."""


class LostBrokers:
    """Check clients that have had no response from Kafka for a while; ``clock`` is in seconds.

    The check requests the metadata of one ``topic``, if given, and otherwise of all topics. For a
    consumer that accepts only small responses, a topic must be given.
    """

    def __init__(
        self,
        cluster: Cluster,
        clock: Callable[[], float] = time.monotonic,
        topic: str | None = None,
    ) -> None:
        self._cluster, self._clock = cluster, clock
        self._about: dict[str, Any] = {} if topic is None else {"topic": topic}
        self._look_at: float | None = None

    def look(self, is_well: bool, *clients: Asking) -> None:
        """Raise SurroundingsError if :meth:`finds` is true, for clients that cannot be replaced."""
        if self.finds(is_well, *clients):
            raise SurroundingsError(
                f"Kafka at {self._cluster.bootstrap} is up, but this process's client has lost "
                "all brokers (librdkafka issue 5301).",
                "Restart this process; a new client can connect.",
            )

    def finds(self, is_well: bool, *clients: Asking) -> bool:
        """Return whether a client has lost all brokers while a new client gets a response.

        The check occasionally takes a few seconds; it is skipped if ``is_well`` is set.
        """
        return self.is_due(is_well) and self.are_lost(*clients)

    def is_due(self, is_well: bool) -> bool:
        """Return whether the clients need a check, because they have had no response for long."""
        if is_well:
            self._look_at = None
            return False
        now, look_at = self._clock(), self._look_at
        if look_at is not None and now < look_at:
            return False
        self._look_at = now + _PATIENCE
        return look_at is not None

    def are_lost(self, *clients: Asking) -> bool:
        """Check the clients; this takes a few seconds if one of them gets no response.

        The clients are checked again after a new client got a response, because Kafka may have
        become available in the meantime.
        """
        return (
            not self._are_answered(clients)
            and _is_answered(self._cluster.admin())
            and not self._are_answered(clients)
        )

    def _are_answered(self, clients: Iterable[Asking]) -> bool:
        return all(_is_answered(client, **self._about) for client in clients)


def _is_answered(client: Asking, **about: Any) -> bool:
    try:
        return bool(client.list_topics(**about, timeout=_TIMEOUT).brokers)
    except KafkaException:
        return False
