"""The Kafka clusters of a run: one, or two that can be disconnected and reconnected."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from streams.embedded import Beside, Brokers
from streams.embedded.properties import NOTHING
from streams.kafka import Cluster, deploy
from streams.report import Facts, read_facts
from streams.resources import topologies_dir
from streams.topology import Cluster as Stated
from streams.topology import Ingress, Topology, load, share_of
from streams.wire import Topics

PARTITIONS = 2
NEAR, FAR = "near", "far"
ABROAD = "ServerB"
"""The instances in the far cluster if there are two; the gateways to it are in the near cluster."""
_NOWHERE = "127.0.0.1:1"
PARTNER = Ingress(
    "GatewayA",
    "partner",
    ("InitiatorService", "TargetService", "PartnerService"),
    ("DatabaseA", "DatabaseB", "Partner"),
)
"""A second cluster that may write to the gateway of a single one; only a hostile writer does so."""


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster and its share of the topology."""

    kafka: Brokers
    cluster: Cluster
    topology: Topology


@dataclass(frozen=True, slots=True)
class RunClusters:
    """All clusters of a run; their topics have the same prefix."""

    all: Sequence[Site]

    @property
    def instances(self) -> list[str]:
        """Return the names of all instances."""
        return [name for site in self.all for name in site.topology.instances]

    def cluster_of(self, instance: str) -> Cluster:
        """Return the cluster of an instance."""
        return next(s.cluster for s in self.all if instance in s.topology.instances)

    def part(self) -> None:
        """Disconnect the clusters: each gets a catalog with unreachable addresses of the others."""
        self._publish(_NOWHERE)

    def join(self) -> None:
        """Reconnect the clusters."""
        self._publish(None)

    def facts(self) -> Facts:
        """Return the input of the ledger from all clusters."""
        return joined([read_facts(site.cluster, site.topology) for site in self.all])

    def _publish(self, address: str | None) -> None:
        for site in self.all:
            deploy(site.cluster, at(site.topology, address))


def at(topology: Topology, address: str | None) -> Topology:
    """Return a share in which all clusters have one address; with ``None`` their real ones."""
    if address is None:
        return topology
    where = {"bootstrap.servers": address}
    clusters = {name: replace(c, properties=where) for name, c in topology.clusters.items()}
    return replace(topology, clusters=clusters)


def joined(facts: Sequence[Facts]) -> Facts:
    """Return the facts of several clusters, whose topics have different records, as one account."""
    whole = Facts()
    for each in facts:
        whole.accepted += each.accepted
        whole.delivered += each.delivered
        whole.sides += each.sides
        whole.end_kinds |= each.end_kinds
        whole.errors |= each.errors
        whole.end_dialogs |= each.end_dialogs
        whole.expired |= each.expired
        whole.ended |= each.ended
        whole.drops += each.drops
        whole.begins |= each.begins
    return whole


@contextmanager
def run_clusters(
    folder: Path, brokers: int, *, two: bool, beside: Beside = NOTHING
) -> Iterator[RunClusters]:
    """Run the brokers of one or two clusters, with topics and catalogs but without workers."""
    names = (NEAR, FAR) if two else ("",)
    topics = Topics(f"t{uuid.uuid4().hex[:8]}.")
    with ExitStack() as stack:
        kafkas = {
            n: stack.enter_context(Brokers(folder / f"kafka{n}", brokers, beside)) for n in names
        }
        topology = _topology({n: kafka.bootstrap for n, kafka in kafkas.items()} if two else {})
        made = [
            Site(kafka, Cluster(kafka.bootstrap, topics), share_of(topology, n) if n else topology)
            for n, kafka in kafkas.items()
        ]
        for site in made:
            deploy(site.cluster, site.topology)
        yield RunClusters(made)


def _topology(addresses: dict[str, str]) -> Topology:
    """Return two databases with two gateways between them, and dialogs in several partitions."""
    found = load(topologies_dir() / "high_availability", time.time())
    instances = {
        n: replace(i, partitions=PARTITIONS, cluster=_home(n) if addresses else None)
        for n, i in found.instances.items()
    }
    clusters = {n: Stated(n, {"bootstrap.servers": a}) for n, a in addresses.items()}
    ingress = () if addresses else (PARTNER,)
    return replace(found, instances=instances, clusters=clusters, ingress=ingress)


def _home(instance: str) -> str:
    return FAR if instance == ABROAD else NEAR
