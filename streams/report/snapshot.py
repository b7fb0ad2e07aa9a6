"""Determine the offsets to read in a cluster, so that all records for the comparison are included.

End offsets are fetched in the order in which :mod:`streams.report.read` reads: state, queues,
commands, events. A reader that reads up to these ends, in any order, finds all messages that a
state has settled. Reading stops at the last stable offset, and waits for an open transaction. A
transaction that stays open on `event` must not block the whole account, so only the events before
it are read, and the transaction is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streams.kafka import (
    Cluster,
    Hung,
    Offsets,
    await_committed,
    find_open,
    read_begins,
    read_ends,
    read_highs,
)
from streams.report.read import counts_of
from streams.report.sites import Sites, queues
from streams.topology import Topology, homes_of

Range = tuple[int, int]
"""The first offset and the end (exclusive)."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The ranges to read, by topic and partition, and the owners of the topics.

    ``hung``: open transactions on `event`, which is read only up to these transactions.
    """

    sites: Sites
    ranges: Mapping[tuple[str, int], Range]
    hung: tuple[Hung, ...] = ()

    @property
    def records(self) -> int:
        """Return the number of offsets to read, which is an upper limit for the records."""
        return sum(end - begin for begin, end in self.ranges.values())

    def of(self, beginning: str) -> Mapping[tuple[str, int], Range]:
        """Return the ranges of the topics with this name prefix."""
        return {where: r for where, r in self.ranges.items() if where[0].startswith(beginning)}


def take_snapshots(
    parts: Sequence[tuple[Cluster, Topology]], timeout: float = 60.0
) -> list[Snapshot]:
    """Return the current offset ranges of clusters that share dialogs.

    The end offsets of the topics with the state of dialogs are read first.

    Raises SurroundingsError if a transaction stays open for ``timeout`` seconds in a topic other
    than `event`.
    """
    ends = [_state_ends(*part) for part in parts]
    for kind in (_queues, _commands, _events):
        for (cluster, topology), found in zip(parts, ends, strict=True):
            found |= read_highs(cluster, kind(cluster, topology))
    return [_snapshot(*part, found, timeout) for part, found in zip(parts, ends, strict=True)]


def _state_ends(cluster: Cluster, topology: Topology) -> Offsets:
    return read_ends(cluster, [cluster.topics.dialog(home) for home in homes_of(topology)])


def _queues(cluster: Cluster, topology: Topology) -> list[str]:
    return [cluster.topics.queue(*queue) for queue in queues(topology)]


def _commands(cluster: Cluster, topology: Topology) -> list[str]:
    return [cluster.topics.cmd(home) for home in homes_of(topology)]


def _events(cluster: Cluster, _: Topology) -> list[str]:
    return [cluster.topics.event]


def _snapshot(cluster: Cluster, topology: Topology, ends: Offsets, timeout: float) -> Snapshot:
    events = {where: end for where, end in ends.items() if where[0] == cluster.topics.event}
    others = {where: end for where, end in ends.items() if where not in events}
    await_committed(cluster, others, timeout)
    hung = find_open(cluster, events, timeout)
    readable = ends | {(h.topic, h.partition): h.offset for h in hung}
    begins = read_begins(cluster, _topics(ends))
    ranges = {where: (begins.get(where, 0), end) for where, end in readable.items()}
    sites = Sites.of(topology, cluster.topics.prefix, counts_of(cluster, topology))
    return Snapshot(sites, {where: (b, e) for where, (b, e) in ranges.items() if b < e}, hung)


def _topics(places: Offsets) -> Sequence[str]:
    return list(dict.fromkeys(topic for topic, _ in places))
