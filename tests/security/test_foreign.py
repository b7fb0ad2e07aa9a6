"""Two trust domains: a forwarder of the other one writes to the gateway, and does nothing else."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from streams.client import Client, Receiver
from streams.kafka import deploy
from streams.resources import topologies_dir
from streams.settings import ADDRESS, NOTHING, credentials_of, variable_of
from streams.topology import Topology, load, share_of
from streams.wire.acl import Operation, Role, roles_of
from streams.workers import ROLES, Plan, Process
from tests.running import DEADLINE, WorkerThread, eventually
from tests.security.secured import Secured

NAMES = {"buyer": "seller", "seller": "buyer"}
"""Each cluster, and the one that its gateway writes into."""


@pytest.fixture
def whole(secured: Secured) -> Topology:
    """Return the shipped topology, with both clusters on one broker under names of their own."""
    shipped = load(topologies_dir() / "two_clusters", time.time())
    clusters = {
        name: replace(
            cluster,
            properties={"bootstrap.servers": secured.sasl},
            prefix=f"t{uuid.uuid4().hex[:12]}.",
        )
        for name, cluster in shipped.clusters.items()
    }
    return replace(shipped, clusters=clusters)


def prefix_of(whole: Topology, name: str) -> str:
    prefix = whole.clusters[name].prefix
    assert prefix is not None
    return prefix


def invited(secured: Secured, whole: Topology, name: str) -> Role:
    """Return who comes to a cluster from the other one; there is a user then, and topics."""
    share, cluster = share_of(whole, name), secured.admin(prefix_of(whole, name))
    deploy(cluster, share)
    [guest] = (r for r in roles_of(share, cluster.topics) if r.kind == "foreign")
    secured.add_users([guest.name])
    secured.grant([guest])
    return guest


@contextmanager
def working(secured: Secured, whole: Topology, name: str) -> Iterator[None]:
    """Run a cluster's workers."""
    share, other = share_of(whole, name), NAMES[name]
    cluster = secured.admin(prefix_of(whole, name))
    mine = {ADDRESS: secured.sasl, **secured.properties(f"foreign.{name}")}
    variables = {variable_of(other, key): value for key, value in mine.items()}
    process = Process(
        cluster,
        Plan(ROLES, tuple(share.instances)),
        timeout=DEADLINE,
        credentials=credentials_of(NOTHING, variables),
    )
    worker = WorkerThread(process)
    try:
        yield
    finally:
        worker.stop()


def test_dialogs_cross_with_one_topic_to_write_and_no_message_to_read(
    secured: Secured, whole: Topology
) -> None:
    seller, buyer = (invited(secured, whole, name) for name in ("buyer", "seller"))
    with working(secured, whole, "buyer"), working(secured, whole, "seller"):
        buys = secured.admin(prefix_of(whole, "buyer"))
        sells = secured.admin(prefix_of(whole, "seller"))
        with Client(buys, timeout=DEADLINE) as client:
            dialog = client.begin("ServerA", "DatabaseA", "OrderService", "SupplierService")
            client.send(dialog, b"order")
            with Receiver(sells, "ServerB", "DatabaseB", "SupplierQueue", "readers") as receiver:
                [order] = eventually(lambda: receiver.receive(1.0), "the order arrives")
            with Client(sells, timeout=DEADLINE) as supplier:
                supplier.send(order.conversation, b"goods", wait=True)
            with Receiver(buys, "ServerA", "DatabaseA", "OrderQueue", "readers") as receiver:
                [goods] = eventually(lambda: receiver.receive(1.0), "the goods arrive")
        assert (order.body, goods.body) == (b"order", b"goods")
    for guest, at in ((buyer, "seller"), (seller, "buyer")):
        prefix = prefix_of(whole, at)
        assert secured.refused(guest.name, prefix) == set()
        assert secured.unused(guest) == set()
        asked = secured.asked(guest.name)
        wrote = {name for ok, _, name, what in asked if ok and what is Operation.WRITE}
        assert {name for name in wrote if name.startswith(prefix)} == {guest.grants[0].name}
