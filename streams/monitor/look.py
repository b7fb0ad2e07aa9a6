"""Sample values that are not in records: workers' positions, buffered copies, heartbeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice

from streams.kafka import (
    OFFSET_BEGINNING,
    CatalogState,
    CheckedConsumer,
    Cluster,
    ConsumerHealth,
    Fetcher,
    GoneError,
    Hung,
    HungTransactions,
    KafkaError,
    KafkaException,
    Message,
    Notes,
    TopicPartition,
    next_of,
    read_begins,
    read_ends,
    read_notes_of,
    specs_of,
    watermarks,
)
from streams.kafka.hung import PATIENCE as HUNG
from streams.monitor.liveness import Liveness
from streams.node import forward_size
from streams.topology import Topology, next_instances, pair_names
from streams.wire import MalformedError, Topics
from streams.wire.heartbeats import HeartbeatReader
from streams.wire.spans import spans_in

PATIENCE = 10.0
"""Seconds to wait for Kafka to return a topic's end."""
_READ = ("event", "queue", "out", "dialog")
MOST_SIZED = 50_000
"""Number of a partition's buffered copies whose bodies are read; others count as the mean size.

The default buffer of a forwarder (10 MB) has room for 40,000 copies.
"""

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of one sample, by instance (or pair).

    ``lags``: records by (instance, role, kind of topic); ``held``: copies and bytes of bodies;
    ``heartbeats``: whether an instance is up, and its last heartbeat; ``links``: the instances to
    which an instance's routes lead. ``hung``: hung transactions in the topics that the monitor
    reads. ``ends``: the ends of the partitions of these topics and of the workers' inputs.
    """

    homes: tuple[str, ...]
    lags: Mapping[tuple[str, str, str], int]
    held: Mapping[str, tuple[int, int]]
    heartbeats: Mapping[str, tuple[bool, int]]
    links: tuple[tuple[str, str], ...]
    hung: tuple[Hung, ...] = ()
    ends: Mapping[Place, int] = field(default_factory=dict)


class Eye:
    """Sample a cluster, read-only. Not thread-safe."""

    def __init__(
        self, cluster: Cluster, patience: float = PATIENCE, hung_after: float = HUNG
    ) -> None:
        self._cluster, self._patience = cluster, patience
        self._catalog = CatalogState()
        self._liveness, self._heartbeats = Liveness(self._has), HeartbeatReader()
        self._hung = HungTransactions(cluster, hung_after)
        self._consumer: CheckedConsumer | None = None
        self._health: ConsumerHealth  # of the consumer
        self._sizes: dict[Place, dict[int, int]] = {}
        self._at: dict[str, int] = {}

    def look(self, now: int) -> Seen | None:
        """Take a sample; return None if there is no catalog. ``now`` is in epoch milliseconds.

        Raises KafkaException or SurroundingsError if Kafka does not respond.
        """
        if not self._catch_up() or self._catalog.topology is None:
            return None
        topology = self._catalog.topology
        pairs = sorted(pair_names(topology))
        homes = (*sorted(topology.instances), *pairs)
        topics = {
            (home, role): _inputs(self._cluster.topics, topology, home, role)
            for home in homes
            for role in ("endpoint", "forwarder")
        }
        notes = self._notes(topics)
        names = [name for kinds in topics.values() for name in kinds]
        read = [s.name for s in specs_of(topology, self._cluster.topics) if s.kind in _READ]
        ends = read_ends(self._cluster, sorted({*names, *read}))
        begins = read_begins(self._cluster, names)
        logs = {p: range(first, ends[p]) for p, first in begins.items() if p in ends}
        heartbeats = {name: (up, at) for name, up, at in self._liveness.judge(now)}
        return Seen(
            homes,
            self._lags(topics, notes, logs),
            self._held(homes, notes, logs),
            {name: heartbeats[name] for name in topology.instances if name in heartbeats},
            tuple(
                (instance.name, other)
                for instance in topology.instances.values()
                for other in next_instances(topology, instance)
            ),
            self._hung.look(read),
            ends,
        )

    def close(self) -> None:
        """Close the clients; the next sample creates new clients."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    # --- catalog and heartbeats ---------------------------------------------------------------

    def _catch_up(self) -> bool:
        """Read new records of ``catalog`` and ``presence``; return False if a topic is missing."""
        topics = (self._cluster.topics.catalog, self._cluster.topics.presence)
        if self._consumer is None and not self._exist(topics):
            return False
        self._read_to_ends(topics)
        if self._catalog.is_doubtful:
            before = self._catalog
            self.close()
            self._read_to_ends(topics)
            before.replace(self._catalog)
            self._catalog = before
        return True

    def _read_to_ends(self, topics: tuple[str, ...]) -> None:
        consumer = self._consumer = self._consumer or self._follow(topics)
        for topic in topics:
            for _ in range(2):
                _, end = watermarks(consumer, topic, 0, timeout=self._patience)
                while self._at.get(topic, 0) < end:
                    self._take(next_of(consumer, topic, 0, self._health))
                # Compaction may have replaced records before the end by later ones, of which only
                # the first was read: an instance would look as if it had stopped.
                if self._at.get(topic, 0) <= end:
                    break

    def _exist(self, topics: tuple[str, ...]) -> bool:
        found = self._cluster.admin().list_topics(timeout=self._patience).topics
        return all(topic in found for topic in topics)

    def _take(self, message: Message) -> None:
        error, topic, offset = message.error(), message.topic() or "", message.offset() or 0
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            raise KafkaException(error)
        if error is None:
            self._read(message)
        self._at[topic] = offset if error is not None else offset + 1

    def _follow(self, topics: tuple[str, ...]) -> CheckedConsumer:
        self._health = ConsumerHealth(self._cluster)
        consumer = self._cluster.consumer(
            f"{self._cluster.topics.prefix}monitor",
            auto_offset_reset="earliest",
            enable_partition_eof=True,
            stats=self._health.report,
        )
        try:
            for topic in topics:
                watermarks(consumer, topic, 0, timeout=self._patience)
        except KafkaException:
            consumer.close()
            raise
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING) for topic in topics])
        self._catalog, self._at = CatalogState(), {}
        return consumer

    def _read(self, message: Message) -> None:
        if message.topic() == self._cluster.topics.catalog:
            self._catalog.read(message)
            return
        with suppress(MalformedError):  # any client may write to this topic
            beat = self._heartbeats.read(message.key(), message.value())
            if beat.instance.encode() == message.key():
                self._liveness.seen(beat.instance, message.timestamp()[1], beat.number, beat.period)

    def _has(self, instance: str) -> bool:
        """Return whether the catalog contains an instance."""
        topology = self._catalog.topology
        return topology is not None and instance in topology.instances

    # --- positions -------------------------------------------------------------------------------

    def _notes(self, topics: Mapping[tuple[str, str], Mapping[str, str]]) -> dict[str, Notes]:
        groups = {self._group(home, role): home for home, role in topics}
        return read_notes_of(self._cluster, groups)

    def _group(self, home: str, role: str) -> str:
        return f"{self._cluster.topics.prefix}{role}.{home}"

    def _lags(
        self,
        topics: Mapping[tuple[str, str], Mapping[str, str]],
        notes: Mapping[str, Notes],
        logs: Mapping[Place, range],
    ) -> dict[tuple[str, str, str], int]:
        readers = {
            name: (home, role, kind)
            for (home, role), kinds in topics.items()
            for name, kind in kinds.items()
        }
        lags: dict[tuple[str, str, str], int] = {}
        for place, log in logs.items():
            home, role, kind = readers[place[0]]
            passed, _ = notes[self._group(home, role)].get(place, (-1, ""))
            lag = max(0, log.stop - max(passed, log.start))
            lags[home, role, kind] = lags.get((home, role, kind), 0) + lag
        return lags

    # --- held copies -----------------------------------------------------------------------------

    def _held(
        self, homes: Sequence[str], notes: Mapping[str, Notes], logs: Mapping[Place, range]
    ) -> dict[str, tuple[int, int]]:
        """Return the number and bytes of the buffered copies, by home, if logs still have them."""
        held: dict[str, tuple[int, int]] = {}
        for home in homes:
            copies = size = 0
            for place, (_, note) in notes[self._group(home, "forwarder")].items():
                log = logs.get(place, range(0))
                spans = [
                    range(max(span.start, log.start), min(span.stop, log.stop))
                    for span in spans_in(note)
                ]
                sized = list(islice(chain.from_iterable(spans), MOST_SIZED))
                count = sum(map(len, spans))
                copies += count
                size += self._bytes(place, sized) * count // max(1, len(sized))
            held[home] = copies, size
        return held

    def _bytes(self, place: Place, positions: Sequence[int]) -> int:
        """Return the number of bytes of these bodies that count towards MESSAGE_FORWARD_SIZE."""
        sizes = self._sizes.pop(place, {})
        known = {offset: sizes[offset] for offset in positions if offset in sizes}
        unknown = [offset for offset in positions if offset not in sizes]
        if unknown:
            bodies = Fetcher(self._cluster, *place, cache_bytes=0)
            try:
                for offset in unknown:
                    with suppress(GoneError):
                        known[offset] = forward_size(len(bodies.fetch(offset)))
            finally:
                bodies.close()
        if known:
            self._sizes[place] = known
        return sum(known.values())


def _inputs(topics: Topics, topology: Topology, home: str, role: str) -> dict[str, str]:
    """Return the topics that a role of an instance or a pair reads, each with its kind."""
    if role == "endpoint":
        return {topics.cmd(home): "cmd", topics.inbox(home): "in", topics.ack(home): "ack"}
    if home not in topology.instances:  # messages for a pair arrive at one of the partners
        return {topics.out(home): "out"}
    entrances = (each.cluster for each in topology.ingress if each.gateway == home)
    return {
        topics.out(home): "out",
        topics.txq(home): "txq",
        **{topics.ingress(home, other): "ingress" for other in entrances},
    }
