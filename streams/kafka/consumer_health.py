"""Check whether a consumer still works: whether it reaches brokers and fetches records."""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress

from confluent_kafka import KafkaException, TopicPartition

from streams.errors import SurroundingsError
from streams.kafka.checked_consumer import CheckedConsumer
from streams.kafka.cluster import Cluster
from streams.kafka.lost_brokers import Asking, LostBrokers
from streams.kafka.silent_search import SilentSearch
from streams.kafka.stalled_fetch import Place, StalledFetch
from streams.kafka.statistics import ReadStatistics

log = logging.getLogger("hopline.kafka")


class ConsumerHealth:
    """Monitor a consumer created with ``stats=health.report``; pass its reports to ``also`` too.

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
        self._search: SilentSearch | None = None
        self._next: int | None = None
        self.report = self._stalled.report

    def look(
        self,
        is_well: bool,
        consumer: CheckedConsumer,
        *others: Asking,
        paused: Collection[Place] = (),
    ) -> None:
        """Raise SurroundingsError if this client or one of ``others`` has stopped working.

        ``is_well`` and ``others`` are as in :class:`LostBrokers`, ``paused`` is as in
        :class:`StalledFetch`.
        """
        self._lost_brokers.look(is_well, consumer, *others)
        stalled = self._find_stalled(consumer, paused)
        if stalled is not None:
            raise SurroundingsError(
                f"{_text(stalled)} has records that this process's client no longer fetches "
                "(librdkafka issue 4492).",
                "Restart this process; a new client continues.",
            )

    def finds(self, is_well: bool, consumer: CheckedConsumer) -> bool:
        """Return whether the consumer has stopped working, for callers that can replace it."""
        if self._lost_brokers.finds(is_well, consumer):
            return True
        stalled = self._find_stalled(consumer)
        if stalled is not None:
            log.warning("%s is no longer fetched; a new client continues", _text(stalled))
        return stalled is not None

    def _find_stalled(
        self, consumer: CheckedConsumer, paused: Collection[Place] = ()
    ) -> Place | None:
        """Return a partition that only a new client can read.

        If a new client cannot read a stalled partition either, the partition contains unreadable
        records, and the consumer continues after them. If a new client can read it, the partition
        may just be slow, because one response has no room for all partitions of a broker. In that
        case the client has buffered records, and the partition is checked again later.
        """
        if self._search is None:
            stalled = self._stalled.find(consumer, {*paused, *consumer.as_stored})
            if stalled is None or self._cluster.foreign:
                return stalled
            start = self._stalled.offset_of(stalled)
            self._search = SilentSearch(self._cluster, stalled, start)
            self._next = consumer.next_offset(stalled)
        if not self._search.ended:
            return None
        search, self._search = self._search, None
        if consumer.next_offset(search.place) != self._next:
            return None  # it now reads other records, for example after an abort
        if search.found == search.start:
            return search.place if self._stalled.is_drained else None
        start = search.start if self._next is None else self._next
        if search.can_be_read and consumer.read_as_stored(search.place, start):
            return None
        with suppress(KafkaException):  # if the partition was revoked, its next owner searches
            consumer.seek(TopicPartition(*search.place, search.found))
            log.warning(
                "%s: skipped records %d to %d, which this client cannot read",
                _text(search.place), search.start, search.found - 1,
            )  # fmt: skip
        return None


def _text(place: Place) -> str:
    topic, partition = place
    return f"{topic}/{partition}"
