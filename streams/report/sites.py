"""The places of dialogs, from the owners of topics and the places of broker ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streams.routing import broker_key
from streams.topology import Topology, home_of, homes_of, queues_of
from streams.wire import Topics
from streams.wire.place import TopicPlace, place_of


@dataclass(frozen=True, slots=True)
class Sites:
    """The places (instances and databases) of a topology, or those that topic names contain.

    ``topics``: the owners of topics by name; other topic names are parsed. ``brokers``: the place
    of each broker id. ``pairs``: the home of a mirrored database, by instance and database.
    ``partitions``: the number of partitions of a home's commands.
    """

    prefix: str
    topics: Mapping[str, TopicPlace] = field(default_factory=dict)
    brokers: Mapping[str, str] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], str] = field(default_factory=dict)
    partitions: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, topology: Topology, prefix: str, partitions: Mapping[str, int]) -> Sites:
        """Return the places of a topology."""
        names = Topics(prefix)
        topics = {names.event: TopicPlace("event")}
        for home in homes_of(topology):
            topics[names.cmd(home)] = TopicPlace("cmd", home)
            topics[names.dialog(home)] = TopicPlace("dialog", home)
        for queue in queues(topology):
            topics[names.queue(*queue)] = TopicPlace("queue", *queue)
        databases = [(n, d) for n, i in topology.instances.items() for d in i.databases.values()]
        brokers = {broker_key(d.broker_id): f"{home_of(n, d)}/{d.name}" for n, d in databases}
        pairs = {(n, d.name): d.mirror.pair for n, d in databases if d.mirror is not None}
        return cls(prefix, topics, brokers, pairs, partitions)

    def place_of(self, topic: str) -> TopicPlace | None:
        """Return the place in a topic's name, or ``None`` for foreign topics."""
        known = self.topics.get(topic)
        return known if known is not None else place_of(topic, Topics(self.prefix))

    def home(self, instance: str, database: str) -> str:
        """Return the home of a database as in its topic names."""
        return f"{self.pairs.get((instance, database), instance)}/{database}"

    def joined(self, other: Sites) -> Sites:
        """Return the union of both objects; all clusters of one audit have the same prefix."""
        return Sites(
            self.prefix,
            {**self.topics, **other.topics},
            {**self.brokers, **other.brokers},
            {**self.pairs, **other.pairs},
            {**self.partitions, **other.partitions},
        )


def queues(topology: Topology) -> list[tuple[str, str, str]]:
    """Return all queues (home, database, name); each queue of a mirrored pair is listed once."""
    found = (
        (home_of(name, d), d.name, queue.name)
        for name, instance in topology.instances.items()
        for d in instance.databases.values()
        for queue in queues_of(d)
    )
    return list(dict.fromkeys(found))
