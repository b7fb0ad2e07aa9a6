"""Design, several clusters: a gateway may replace the path by its own name."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import pytest

from streams.node import QueueMessage, catalog_of
from streams.resources import topologies_dir
from streams.simulator import Simulation, parse_scenario
from streams.simulator.codec import JOURNEY
from streams.topology import Topology, flatten, share_of, unflatten
from tests.topology.build import hidden

from .harness import Net, shipped
from .places import D1

HERE, THERE = "ServerA/DatabaseA", "ServerB/DatabaseB"
THE_WAY = ["ServerA", "GatewayA", "GatewayB", "ServerB"]


def paths(topology: Topology) -> tuple[list[str], list[str]]:
    """Return the instances that a message tells of, and those that its answer tells of."""
    net = Net(topology)
    net.begin(HERE, D1, service="OrderService", to="SupplierService")
    net.send(HERE, D1, b"order")
    net.settle()
    net.send(THERE, D1, b"answer", from_initiator=False)
    net.settle()
    [order] = net["ServerB"].queues["DatabaseB/SupplierQueue"]
    [answer] = net["ServerA"].queues["DatabaseA/OrderQueue"]
    return named(order), named(answer)


def named(message: QueueMessage) -> list[str]:
    """Return the instances on the way; the last entry is the database that took the message."""
    return [name for name, _ in message.journey.path[:-1]]


def test_nobody_hides_anything_unless_told_to() -> None:
    assert paths(shipped("two_clusters")) == (THE_WAY, THE_WAY[::-1])


@pytest.mark.parametrize(
    ("gateway", "there", "back"),
    [("GatewayA", THE_WAY[1:], THE_WAY[::-1]), ("GatewayB", THE_WAY, THE_WAY[2::-1])],
)
def test_what_leaves_its_cluster_tells_of_the_gateway_alone(
    gateway: str, there: list[str], back: list[str]
) -> None:
    """What comes in from the other cluster keeps its path: one's own side may know."""
    assert paths(hidden(shipped("two_clusters"), gateway)) == (there, back)


def test_within_a_cluster_nothing_is_hidden() -> None:
    """All of them hide, ServerA and ServerB too; of these nothing leaves for another cluster."""
    both = hidden(shipped("two_clusters"))
    assert paths(both) == (THE_WAY[1:], THE_WAY[2::-1])
    one = {name: replace(i, cluster=None) for name, i in both.instances.items()}
    assert paths(replace(both, instances=one)) == (THE_WAY, THE_WAY[::-1])


def test_the_simulator_hides_as_the_wire_does() -> None:
    """In place there, in a list here: what arrives at ServerB is the same."""
    steps = """
        topology: two_clusters
        until: 60s
        steps:
          - {at: 0s, begin: {dialog: d, from: ServerA/DatabaseA/OrderService, to: SupplierService}}
          - {at: 0s, send: {dialog: d, body: order}}
    """
    topology, scenario = parse_scenario(dedent(steps), topologies_dir() / "test.yaml")
    run = Simulation(hidden(topology), scenario)
    assert run.play() is None
    [order] = run.instances["ServerB"].own.topics.inbox
    assert [name for name, _ in JOURNEY.loads(order.hop).path] == THE_WAY[1:]


def test_a_gateway_knows_by_its_share_from_whom_it_hides() -> None:
    """The catalog of its cluster has the setting, and the other one's instances as neighbours."""
    share = share_of(hidden(shipped("two_clusters"), "GatewayA"), "buyer")
    assert unflatten(flatten(share)) == replace(share, expect=())
    assert catalog_of(share, 1).hides == {"GatewayA": frozenset({"GatewayB"})}
    whole = catalog_of(hidden(shipped("two_clusters"), "GatewayA"), 1)
    assert whole.hides == {"GatewayA": frozenset({"GatewayB", "ServerB"})}
