"""Read a system's status from Kafka: the catalog, the workers' lag, and blocking records."""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.kafka import Cluster, Hung, KafkaException, find_hung, read_catalog, read_lags
from streams.kafka.listing import topic_names
from streams.live.admin.unreadable import UnreadableStatement, find_held_back
from streams.topology import Topology, pair_names


@dataclass(frozen=True, slots=True)
class CatalogStatus:
    """The cluster's catalog."""

    version: int
    instances: tuple[str, ...]
    error: str


@dataclass(frozen=True, slots=True)
class Lag:
    """The number of records that a worker has not processed yet."""

    instance: str
    role: str
    topic: str
    records: int


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """The status read from a cluster.

    ``catalog`` is None if Kafka does not respond, or if a transaction hangs on the catalog's topic.
    ``topology`` is the topology in the catalog; ``failure`` is the reason why Kafka does not
    respond.
    """

    catalog: CatalogStatus | None = None
    topology: Topology = field(default_factory=Topology)
    lags: tuple[Lag, ...] = ()
    hung: tuple[Hung, ...] = ()
    held_back: tuple[UnreadableStatement, ...] = ()
    failure: str = ""


def ask_cluster(cluster: Cluster, timeout: float) -> ClusterStatus:
    """Read the status of a cluster; ``timeout``: seconds for its first response."""
    try:
        cluster.admin().list_topics(timeout=timeout)
    except KafkaException as error:
        return ClusterStatus(failure=str(cluster.unreachable(error, timeout)))
    names = [name for name in topic_names(cluster) if name.startswith(cluster.topics.prefix)]
    hung = find_hung(cluster, names)
    if any(each.topic == cluster.topics.catalog for each in hung):
        return ClusterStatus(hung=hung)
    state = read_catalog(cluster)
    topology = state.topology or Topology()
    known = CatalogStatus(state.version, tuple(topology.instances), state.error)
    lags = _lags(cluster, topology)
    waiting = {lag.instance for lag in lags if lag.topic == "cmd" and lag.records}
    held_back = find_held_back(cluster, sorted(waiting))
    return ClusterStatus(known, topology, lags, hung, held_back)


def _lags(cluster: Cluster, topology: Topology) -> tuple[Lag, ...]:
    topics, reads = cluster.topics, dict[tuple[str, str], dict[str, list[str]]]()
    for name in (*topology.instances, *sorted(pair_names(topology))):
        inputs = {"cmd": [topics.cmd(name)], "in": [topics.inbox(name)], "ack": [topics.ack(name)]}
        reads[name, "endpoint"] = inputs
        reads[name, "forwarder"] = {"out": [topics.out(name)]}
        if name in topology.instances:  # frames for a pair are written to a partner's topic
            reads[name, "forwarder"]["txq"] = [topics.txq(name)]
    for each in topology.ingress:
        entrance = topics.ingress(each.gateway, each.cluster)
        reads[each.gateway, "forwarder"].setdefault("ingress", []).append(entrance)
    groups = {place: f"{topics.prefix}{place[1]}.{place[0]}" for place in reads}
    found = read_lags(
        cluster, {groups[p]: [t for named in of.values() for t in named] for p, of in reads.items()}
    )
    return tuple(
        Lag(instance, role, kind, sum(found.get((groups[instance, role], t), 0) for t in named))
        for (instance, role), of in reads.items()
        for kind, named in of.items()
    )
