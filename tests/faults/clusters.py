"""The Kafka clusters of a run: one, or two that may be torn apart and joined again."""

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
"""Who lives in the far cluster where there are two; the gateways to it live in the near one."""
_NOWHERE = "127.0.0.1:1"
PARTNER = Ingress(
    "GatewayA",
    "partner",
    ("InitiatorService", "TargetService", "PartnerService"),
    ("DatabaseA", "DatabaseB", "Partner"),
)
"""Where there is one cluster a second may write to its gateway: only a hostile writer does it."""


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster and its share of the topology."""

    kafka: Brokers
    cluster: Cluster
    topology: Topology


@dataclass(frozen=True, slots=True)
class RunClusters:
    """All of them; everybody's topics have the same prefix."""

    all: Sequence[Site]

    @property
    def instances(self) -> list[str]:
        """Return the names of all instances."""
        return [name for site in self.all for name in site.topology.instances]

    def cluster_of(self, instance: str) -> Cluster:
        """Return the cluster in which an instance lives."""
        return next(s.cluster for s in self.all if instance in s.topology.instances)

    def part(self) -> None:
        """Let nothing pass between them: by its catalog each looks for the others in vain."""
        self._publish(_NOWHERE)

    def join(self) -> None:
        """Let them find each other again."""
        self._publish(None)

    def facts(self) -> Facts:
        """Return everything that the ledger needs, from all of them."""
        return joined([read_facts(site.cluster, site.topology) for site in self.all])

    def _publish(self, address: str | None) -> None:
        for site in self.all:
            deploy(site.cluster, at(site.topology, address))


def at(topology: Topology, address: str | None) -> Topology:
    """Return a share in which all clusters are at an address; with ``None`` where they are."""
    if address is None:
        return topology
    where = {"bootstrap.servers": address}
    clusters = {name: replace(c, properties=where) for name, c in topology.clusters.items()}
    return replace(topology, clusters=clusters)


def joined(facts: Sequence[Facts]) -> Facts:
    """Return the facts of several clusters as one account: their topics have different records."""
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
    """Run the brokers of one cluster, or of two, with topics and catalogs and without workers."""
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
    """Return two databases and two gateways between them, their dialogs in several partitions."""
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
