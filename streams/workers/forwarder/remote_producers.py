"""A forwarder's ways into other Kafka clusters, one for each that it has copies for.

Nothing is written into a cluster before it was heard: what lives there says what it can read, and
by what clock. What it cannot read is not written at all.
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
class Crossed:
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
        self._unread: list[tuple[Crossed, str]] = []
        self._all: list[RemoteProducer[Crossed]] = []

    def limit(self, size: int) -> None:
        """Bound what is under way into each cluster: MESSAGE_FORWARD_SIZE, in bytes."""
        self._limit = size
        for producer in self._all:
            producer.limit = size

    def take(self, crossed: Crossed, headers: Headers, timestamp: int) -> bool:
        """Hand a copy over, by the clock there; tells whether there is a way for it, and room."""
        producer, known = self._to(crossed.instance), self._remote.announced(crossed.instance)
        if producer is None or known is None:
            return False
        strange = unannounced(headers, crossed.message.value(), known)
        if strange is not None:
            self._unread.append((crossed, f"The cluster there has not announced {strange}."))
            return True
        message, ahead = crossed.message, self._remote.ahead(crossed.instance)
        return producer.take(
            crossed,
            len(message),
            self.topic(crossed.instance),
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

    def come_back(self) -> Iterator[tuple[Crossed, str | None]]:
        """Yield what did not arrive; with the reason where it never will."""
        unread, self._unread = self._unread, []
        yield from unread
        for producer in self._all.copy():
            for crossed, error in producer.come_back():
                yield crossed, None if is_passing(error) else error.str()
            if not len(producer) and not self._remote.knows(producer.cluster):
                # Else its client would look for the old address for ever.
                self._all.remove(producer)

    @property
    def are_used(self) -> bool:
        """Tell whether anything is under way, or may come back."""
        return bool(self._unread or self._all)

    def under_way(self) -> Iterator[Message]:
        """Yield what the copies under way are from."""
        for producer in self._all:
            for crossed in producer.under_way():
                yield crossed.message

    def settle(self) -> None:
        """Wait until nothing is under way."""
        for producer in self._all:
            producer.settle()

    def _to(self, neighbour: str) -> RemoteProducer[Crossed] | None:
        cluster = self._remote.cluster_of(neighbour)
        if cluster is None:
            return None
        found = next((c for c in self._all if c.cluster is cluster), None)
        if found is None:
            found = RemoteProducer(cluster, self._limit)
            self._all.append(found)
        return found
