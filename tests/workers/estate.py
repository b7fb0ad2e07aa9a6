"""The shipped topology of two clusters on two brokers, for tests that break what is between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from streams.client import Client, Conversation
from streams.embedded import Broker
from streams.errors import EventKind, Number
from streams.kafka import read_catalog, read_notes
from streams.live.admin.statements import live_topology
from streams.live.views.places import Asked, places_of
from streams.live.views.table import VIEWS
from streams.protocol import Limits
from streams.resources import topologies_dir
from streams.topology import Topology, load, share_of
from streams.workers import ForwarderWorker
from tests.killable import RESTARTS_SOON
from tests.ports import reserved
from tests.running import System, running
from tests.workers.wrong_clock import start_ahead

LIMITS = Limits(retries=(400, 800, 1_600), time_to_live=3_000, recheck=100)
SUPPLIER = ("ServerB", "DatabaseB", "SupplierQueue")
AUDIT = ("ServerC", "DatabaseC", "AuditQueue")


@dataclass
class Estate:
    """The shipped topology on two brokers: the session's, and one that may be killed."""

    buyer: System
    seller: System
    broker: Broker

    def begin(self, client: Client, to: str) -> Conversation:
        """Begin a dialog at ServerA."""
        return client.begin("ServerA", "DatabaseA", "OrderService", to)

    def view(self, name: str, at: str) -> list[dict[str, Any]]:
        """Return the rows of a system view in the buyer's cluster."""
        cluster = self.buyer.cluster
        topology = live_topology(read_catalog(cluster))
        asked = Asked(cluster, topology, places_of(topology, at), time.time_ns() // 1_000_000)
        return list(VIEWS[name].rows(asked))

    def forwarded(self) -> list[dict[str, Any]]:
        """Return what GatewayA has not passed, or holds."""
        return self.view("sys.dm_broker_forwarded_messages", "GatewayA")

    def dropped(self, number: Number) -> dict[str, Any]:
        """Wait until GatewayA has told that it dropped a copy for a reason."""
        [reported] = self.buyer.events(
            EventKind.FORWARDED_MESSAGE_DROPPED,
            lambda reported: (reported["instance"], reported["error"]) == ("GatewayA", number),
        )
        return reported

    def noted(self) -> bool:
        """Tell whether GatewayA has passed what it holds."""
        topics = self.buyer.cluster.topics
        group, txq = f"{topics.prefix}forwarder.GatewayA", topics.txq("GatewayA")
        _, note = read_notes(self.buyer.cluster, group, [txq])[txq, 0]
        return note != ""

    def gateway(self) -> ForwarderWorker:
        """Return the forwarder of GatewayA."""
        [found] = (
            worker
            for worker in self.buyer.workers[0].process.workers
            if isinstance(worker, ForwarderWorker) and worker.instance == "GatewayA"
        )
        return found


def at(topology: Topology, **addresses: str) -> Topology:
    """Return the topology with the addresses that its clusters really have."""
    clusters = {
        name: replace(topology.clusters[name], properties={"bootstrap.servers": address})
        for name, address in addresses.items()
    }
    return replace(topology, clusters=clusters)


@contextmanager
def estate(
    kafka: str,
    unique: str,
    data: Path,
    *,
    limits: Limits = LIMITS,
    ahead: float = 0.0,
    change: Callable[[Topology], Topology] = lambda topology: topology,
) -> Iterator[Estate]:
    """Run both clusters' workers; the seller's broker has a clock that is ahead by seconds.

    ``change`` is what the topology has that the shipped one has not.
    """
    with ExitStack() as stack:
        [port] = stack.enter_context(reserved(1))  # the broker gets the same one when it restarts
        broker = Broker(data, port=port, beside=RESTARTS_SOON)
        stack.callback(broker.stop)
        start_ahead(broker, ahead)
        shipped = change(load(topologies_dir() / "two_clusters", time.time()))
        whole = at(shipped, buyer=kafka, seller=broker.bootstrap)
        buyer, seller = (
            stack.enter_context(running(where, unique, share_of(whole, name), limits=limits))
            for name, where in (("buyer", kafka), ("seller", broker.bootstrap))
        )
        yield Estate(buyer, seller, broker)


def bodies(system: System, queue: tuple[str, str, str], count: int) -> list[bytes]:
    """Receive so many messages of a queue."""
    return [m.body for m in system.received(*queue, count)]
