"""A forwarder's producers for other Kafka clusters, created on demand.

The forwarder writes to a cluster only after heartbeats have shown its readable schemas and its
clock. It never writes records with schemas that the cluster cannot read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streams.kafka import Headers, Message, headers_of, is_passing
from streams.node import forward_size
from streams.routing import Origin
from streams.wire import Topics
from streams.wire.evolution import unannounced
from streams.wire.shift import shifted
from streams.workers.control import RemoteClusters
from streams.workers.forwarder.remote_producer import RemoteProducer


@dataclass(slots=True, eq=False)
class RemoteCopy:
    """A copy for a neighbour: the source message, and the neighbour."""

    message: Message
    origin: Origin
    instance: str


class RemoteProducers:
    """Producers that are created on demand, and recreated if a cluster's address changes.

    ``home`` names the topics of the local cluster.
    """

    def __init__(self, remote: RemoteClusters, home: Topics) -> None:
        self._remote, self._home = remote, home
        self._limit = 0
        self._unread: list[tuple[RemoteCopy, str]] = []
        self._all: list[RemoteProducer[RemoteCopy]] = []

    def limit(self, size: int) -> None:
        """Limit the bytes in flight into each cluster: MESSAGE_FORWARD_SIZE."""
        self._limit = size
        for producer in self._all:
            producer.limit = size

    def take(self, copy: RemoteCopy, headers: Headers, timestamp: int) -> bool:
        """Produce a copy, with times of the remote clock; return whether this was possible."""
        producer, known = self._to(copy.instance), self._remote.announced(copy.instance)
        if producer is None or known is None:
            return False
        strange = unannounced(headers, copy.message.value(), known)
        if strange is not None:
            self._unread.append((copy, f"The other cluster has not announced {strange}."))
            return True
        message, ahead = copy.message, self._remote.ahead(copy.instance)
        return producer.take(
            copy,
            forward_size(len(message), headers_of(message)),  # the source message is kept
            self.topic(copy.instance),
            message.key(),
            message.value(),
            shifted(headers, ahead),
            max(timestamp + ahead, 0),
        )

    def topic(self, neighbour: str) -> str:
        """Return the topic for copies to a neighbour.

        If the neighbour's forwarder reports that it reads the topic to which only this cluster
        writes, the result is this topic. An older version reads only ``txq``.
        """
        cluster, own = self._remote.cluster_of(neighbour), self._remote.admitted(neighbour)
        topics = self._home if cluster is None else cluster.topics
        return topics.txq(neighbour) if own is None else topics.ingress(neighbour, own)

    def come_back(self) -> Iterator[tuple[RemoteCopy, str | None]]:
        """Yield copies that were not delivered, with the reason if they can never be delivered."""
        unread, self._unread = self._unread, []
        yield from unread
        for producer in self._all.copy():
            for copy, error in producer.come_back():
                yield copy, None if is_passing(error) else error.str()
            if not len(producer) and not self._remote.knows(producer.cluster):
                # Otherwise the client would try the old address forever.
                self._all.remove(producer)
                producer.close()

    @property
    def are_used(self) -> bool:
        """Return whether any copy is in flight, or may be returned."""
        return bool(self._unread or self._all)

    def in_flight(self) -> Iterator[Message]:
        """Yield the sources of copies in flight."""
        for producer in self._all:
            for copy in producer.in_flight():
                yield copy.message

    def settle(self) -> None:
        """Wait until nothing is in flight."""
        for producer in self._all:
            producer.settle()

    def _to(self, neighbour: str) -> RemoteProducer[RemoteCopy] | None:
        cluster = self._remote.cluster_of(neighbour)
        if cluster is None:
            return None
        found = next((c for c in self._all if c.cluster is cluster), None)
        if found is None:
            found = RemoteProducer(cluster, self._limit)
            self._all.append(found)
        return found
