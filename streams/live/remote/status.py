"""The status of a system on any number of machines: live workers, partitions without workers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from streams.kafka import Cluster, Hung
from streams.kafka.listing import topic_names
from streams.kafka.members import Assigned, read_assigned
from streams.live.admin.unreadable import UnreadableStatement
from streams.live.cluster_status import CatalogStatus, ClusterStatus, Lag, ask_cluster
from streams.live.health import Health
from streams.live.remote.heartbeats import LastHeartbeat, read_heartbeats
from streams.live.remote.workers import ENDPOINT, FORWARDER, RemoteWorker, workers_of
from streams.topology import Topology, homes_of
from streams.topology.pairs import hosts_of


@dataclass(frozen=True, slots=True)
class Unserved:
    """Partitions of an instance or pair that no worker of a role serves.

    ``settled``: no rebalance is in progress.
    """

    home: str
    role: str
    partitions: tuple[int, ...]
    settled: bool


@dataclass(frozen=True, slots=True)
class RemoteStatus:
    """The status of a cluster; ``catalog`` is None if it cannot be read.

    ``failure`` is the reason why the cluster does not respond.
    """

    health: Health
    bootstrap: str
    prefix: str
    workers: tuple[RemoteWorker, ...] = ()
    unserved: tuple[Unserved, ...] = ()
    catalog: CatalogStatus | None = None
    lags: tuple[Lag, ...] = ()
    hung: tuple[Hung, ...] = ()
    held_back: tuple[UnreadableStatement, ...] = ()
    failure: str = ""

    def is_ready(self, worker: RemoteWorker) -> bool:
        """Return whether a worker is alive and its role serves all partitions of its instance."""
        waiting = ((each.home, each.role) for each in self.unserved)
        return worker.alive and (worker.instance, worker.role) not in waiting


def find_remote_status(
    cluster: Cluster,
    timeout: float,
    heartbeats: Callable[[Cluster, Collection[str]], Sequence[LastHeartbeat]] = read_heartbeats,
) -> RemoteStatus:
    """Return the status of a cluster; ``timeout``: seconds for its first response."""
    asked = ask_cluster(cluster, timeout)
    found = RemoteStatus(
        Health.BROKEN,
        cluster.bootstrap,
        cluster.topics.prefix,
        catalog=asked.catalog,
        lags=asked.lags,
        hung=asked.hung,
        held_back=asked.held_back,
        failure=asked.failure,
    )
    if asked.catalog is None or not asked.catalog.instances:
        return found
    instances = asked.catalog.instances
    workers = tuple(workers_of(heartbeats(cluster, instances), instances))
    unserved = tuple(_unserved(cluster, asked.topology, workers))
    health = _health(asked, workers, unserved)
    return replace(found, health=health, workers=workers, unserved=unserved)


def _health(
    asked: ClusterStatus, workers: Sequence[RemoteWorker], unserved: Sequence[Unserved]
) -> Health:
    if asked.hung or asked.held_back or (asked.catalog is not None and asked.catalog.error):
        return Health.BROKEN
    if not unserved:
        return Health.RUNNING
    if not any(worker.alive for worker in workers):
        return Health.STOPPED
    return Health.BROKEN if any(each.settled for each in unserved) else Health.STARTING


def _unserved(
    cluster: Cluster, topology: Topology, workers: Sequence[RemoteWorker]
) -> Iterator[Unserved]:
    """Yield the partitions without a worker: Kafka has not assigned them, or no worker is alive."""
    topics, counts = cluster.topics, topic_names(cluster)
    alive = {(worker.instance, worker.role) for worker in workers if worker.alive}
    inputs = {FORWARDER: topics.out, ENDPOINT: topics.cmd}
    groups = read_assigned(cluster, [f"{topics.prefix}{role}." for role in inputs])
    for home in homes_of(topology):
        hosts = hosts_of(topology, home)
        for role, input_of in inputs.items():
            topic = input_of(home)
            places = [(topic, n) for n in range(counts.get(topic, 0))]
            found = _of_home(groups, f"{topics.prefix}{role}.{home}")
            lives = any((host, role) in alive for host in hosts)
            has = {place for each in found for place in each.places} if lives else set()
            missing = tuple(n for place, n in places if (place, n) not in has)
            if missing:
                yield Unserved(home, role, missing, not lives or all(g.settled for g in found))


def _of_home(groups: Mapping[str, Assigned], name: str) -> list[Assigned]:
    """Return the groups of a home; a pair's forwarders have one group for each failover."""
    return [g for group, g in groups.items() if group == name or _is_epoch(group, name)]


def _is_epoch(group: str, name: str) -> bool:
    epoch = group.removeprefix(f"{name}.")
    return epoch != group and epoch.isdigit()
