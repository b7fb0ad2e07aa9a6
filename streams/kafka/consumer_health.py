"""Check whether a consumer still works: whether it reaches brokers and fetches records."""

from __future__ import annotations

import logging
from collections.abc import Collection

from confluent_kafka import Consumer

from streams.errors import SurroundingsError
from streams.kafka.cluster import Cluster
from streams.kafka.lost_brokers import Asking, LostBrokers
from streams.kafka.stalled_fetch import Place, StalledFetch
from streams.kafka.statistics import ReadStatistics

log = logging.getLogger("hopline.kafka")


class ConsumerHealth:
    """Monitor a consumer created with ``stats=health.report``; ``also`` gets the reports too.

    Only a new client can continue after a detected fault. ``topic`` is as in :class:`LostBrokers`.
    """

    def __init__(
        self,
        cluster: Cluster,
        also: ReadStatistics | None = None,
        topic: str | None = None,
    ) -> None:
        self._cluster = cluster
        self._lost_brokers, self._stalled = LostBrokers(cluster, topic=topic), StalledFetch(also)
        self.report = self._stalled.report

    def look(
        self,
        is_well: bool,
        consumer: Consumer,
        *others: Asking,
        paused: Collection[Place] = (),
    ) -> None:
        """Raise SurroundingsError if this client or one of ``others`` has stopped working.

        ``is_well`` and ``others`` are as in :class:`LostBrokers`, ``paused`` is as in
        :class:`StalledFetch`.
        """
        self._lost_brokers.look(is_well, consumer, *others)
        stalled = self._stalled.find(consumer, paused)
        if stalled is not None:
            raise SurroundingsError(
                f"{_text(stalled)} has records that this process's client no longer fetches "
                "(librdkafka issue 4492).",
                "Restart this process; a new client continues.",
            )

    def finds(self, is_well: bool, consumer: Consumer) -> bool:
        """Return whether the consumer has stopped working, for callers that can replace it."""
        if self._lost_brokers.finds(is_well, consumer):
            return True
        stalled = self._stalled.find(consumer)
        if stalled is not None:
            log.warning("%s is no longer fetched; a new client continues", _text(stalled))
        return stalled is not None


def _text(place: Place) -> str:
    topic, partition = place
    return f"{topic}/{partition}"
