"""Mirrored pairs: after whom topics are named, and what cannot be one pair."""

from __future__ import annotations

import pytest

from streams.errors import UsageError
from streams.kafka import specs_of
from streams.topology import Topology, failover, home_of, hosts_of, pairs_of, principal_of
from streams.topology.yaml_file import read_document
from streams.wire import Topics

GROUP = """
instances:
  One: &one
    partitions: 3
    cluster: main
    databases:
      Orders: {mirror: {pair: Group, role: principal}, broker_id: O, services: [Parts]}
      Stock: {mirror: {pair: Group, role: principal}, broker_id: S, services: {S: {queue: Q}}}
      Alone: {broker_id: A, services: [Other]}
  Two:
    partitions: 3
    cluster: main
    databases:
      Orders: {mirror: {pair: Group, role: mirror}, broker_id: O, services: [Parts]}
      Stock: {mirror: {pair: Group, role: mirror}, broker_id: S, services: {S: {queue: Q}}}
clusters: {main: {}, other: {}}
"""


def topology(old: str = "", new: str = "") -> Topology:
    text = GROUP.replace(old, new) if old else GROUP
    return Topology(read_document(text, "topology.yaml", 0).instances)


def test_topics_of_mirrored_databases_are_the_pairs() -> None:
    """One set for all databases of a group, whoever is the principal; no ``txq``."""
    names = {spec.name for spec in specs_of(topology(), Topics("t."))}
    kinds = ("cmd", "out", "in", "ack", "dialog", "result")
    assert {f"t.{kind}.Group" for kind in kinds} <= names
    assert "t.txq.Group" not in names
    queues = {name for name in names if name.startswith("t.queue.")}
    assert queues == {
        "t.queue.Group.Orders.PartsQueue",
        "t.queue.Group.Stock.Q",
        "t.queue.One.Alone.OtherQueue",
    }
    after = specs_of(failover(topology(), "Group", "Two"), Topics("t."))
    assert {spec.name for spec in after} == names


def test_the_pair_stands_for_its_partners() -> None:
    """Applications address the pair; the principal is the first of its hosts."""
    before = topology()
    one = before.instances["One"].databases
    assert home_of("One", one["Orders"]) == "Group"
    assert home_of("One", one["Alone"]) == "One"
    assert hosts_of(before, "Group") == ("One", "Two")
    after = failover(before, "Group", "Two")
    assert hosts_of(after, "Group") == ("Two", "One")
    assert hosts_of(after, "One") == ("One",)
    assert hosts_of(after, "Nobody") == ()
    found = principal_of(after, "GROUP")
    assert found is not None and found.name == "Two"
    assert pairs_of(after)["Group"].epoch == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pair: Group", "pair: Two", "has the name of an instance"),
        ("  Two:\n    partitions: 3", "  Two:\n    partitions: 2", "differ in their cluster"),
        ("cluster: main\n    databases:\n      Orders: {mirror: {pair: Group, role: m",
         "cluster: other\n    databases:\n      Orders: {mirror: {pair: Group, role: m",
         "differ in their cluster"),
        ("broker_id: S, services: {S: {queue: Q}}}\n      Alone",
         "broker_id: S, services: {S: {queue: Q}}, queues: {Q: {partitions: 4}}}\n      Alone",
         "Stock/Q of the pair Group has 4 partitions at One and 1 at Two"),
    ],
)  # fmt: skip
def test_what_cannot_share_topics_is_refused(old: str, new: str, message: str) -> None:
    """A name that two would have, and topics that could not be one's."""
    with pytest.raises(UsageError, match=message):
        specs_of(topology(old, new), Topics())
