"""The topics of a forwarder: additional inputs, and the topic for a copy."""

from __future__ import annotations

from streams.node import CatalogView, Place, home_of
from streams.wire import Topics


class TopicNames:
    """The topics of an instance's forwarder; ``writers`` maps inputs to their writers.

    A writer is another cluster. It is kept after its removal from the catalog, because its records
    may still be read.
    """

    def __init__(self, topics: Topics, instance: str) -> None:
        self._topics, self._instance = topics, instance
        self._names: dict[tuple[Place, str], str] = {}
        self.writers: dict[str | None, str] = {}

    def ingress(self, catalog: CatalogView) -> list[str]:
        """Return the topics to which other clusters of the catalog write, one for each cluster."""
        clusters, name = catalog.ingress.get(self._instance, ()), self._topics.ingress
        found = {name(self._instance, cluster): cluster for cluster in clusters}
        self.writers.update(found)
        return sorted(found)

    def target(
        self, catalog: CatalogView, place: Place, instance: str, database: str | None = None
    ) -> str:
        """Return the topic for a place at an instance, or for a mirrored database there."""
        home = home_of(catalog, instance, database)
        name = self._names.get((place, home))
        if name is None:
            topics = self._topics
            make = {Place.TXQ: topics.txq, Place.IN: topics.inbox, Place.ACK: topics.ack}[place]
            name = self._names[place, home] = make(home)
        return name
