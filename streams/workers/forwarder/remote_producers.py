"""A forwarder's producers for other Kafka clusters, one for each that it has copies for.

Nothing is written into a cluster before its heartbeats say what can be read there, and by what
clock. What cannot be read there is not written at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streams.kafka import Headers, Message, is_passing
from streams.routing import Origin
from streams.wire import Topics
from streams.wire.evolution import unannounced
from streams.wire.shift import shifted
from streams.workers.control import RemoteClusters
from streams.workers.forwarder.remote_producer import RemoteProducer


@dataclass(slots=True, eq=False)
class RemoteCopy:
    """A copy on its way to a neighbour: the message that was read for it, and the neighbour."""

    message: Message
    origin: Origin
    instance: str


class RemoteProducers:
    """Made when they are needed, and anew where the catalog says that a cluster is elsewhere.

    ``home`` names the topics of one's own cluster.
    """

    def __init__(self, remote: RemoteClusters, home: Topics) -> None:
        self._remote, self._home = remote, home
        self._limit = 0
        self._unread: list[tuple[RemoteCopy, str]] = []
        self._all: list[RemoteProducer[RemoteCopy]] = []

    def limit(self, size: int) -> None:
        """Bound what is under way into each cluster: MESSAGE_FORWARD_SIZE, in bytes."""
        self._limit = size
        for producer in self._all:
            producer.limit = size

    def take(self, copy: RemoteCopy, headers: Headers, timestamp: int) -> bool:
        """Hand a copy over, by the clock there; tells whether there is a way for it, and room."""
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
            len(message),
            self.topic(copy.instance),
            message.key(),
            message.value(),
            shifted(headers, ahead),
            max(timestamp + ahead, 0),
        )

    def topic(self, neighbour: str) -> str:
        """Return the topic into which copies for a neighbour are written.

        It is the one that this cluster alone writes, if the forwarder there says that it reads it:
        one of an older version knows only ``txq``.
        """
        cluster, own = self._remote.cluster_of(neighbour), self._remote.admitted(neighbour)
        topics = self._home if cluster is None else cluster.topics
        return topics.txq(neighbour) if own is None else topics.ingress(neighbour, own)

    def come_back(self) -> Iterator[tuple[RemoteCopy, str | None]]:
        """Yield what did not arrive; with the reason where it never will."""
        unread, self._unread = self._unread, []
        yield from unread
        for producer in self._all.copy():
            for copy, error in producer.come_back():
                yield copy, None if is_passing(error) else error.str()
            if not len(producer) and not self._remote.knows(producer.cluster):
                # Else its client would look for the old address for ever.
                self._all.remove(producer)

    @property
    def are_used(self) -> bool:
        """Tell whether anything is under way, or may come back."""
        return bool(self._unread or self._all)

    def in_flight(self) -> Iterator[Message]:
        """Yield what the copies under way are from."""
        for producer in self._all:
            for copy in producer.in_flight():
                yield copy.message

    def settle(self) -> None:
        """Wait until nothing is under way."""
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
