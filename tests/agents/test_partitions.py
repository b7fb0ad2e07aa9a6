"""A queue with several partitions is shared by the processes of an application."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from pathlib import Path

import pytest

from streams.agents import Dialog, HoplineApp, Received
from streams.kafka import partitions_of, read_live
from streams.topology import load
from tests.agents.rig import (
    ACCEPTED,
    AT_B,
    ORDER,
    ORDERS,
    SHOP,
    STOCK,
    answers,
    application,
    order,
    serving,
)
from tests.running import System, eventually, running
from tests.workers.rig import pause

DECLARED = "        queues: {OrderQueue: {partitions: 4}}\n"
SHARED = SHOP.replace("        services:\n", f"{DECLARED}        services:\n")
CUSTOMERS = 24
Seen = dict[uuid.UUID, set[int]]
"""From which partitions of the queue the messages came that are a customer's business."""


def asking(system: System, seen: Seen) -> HoplineApp:
    """Let the stock be asked what an order is answered; a table leads back to the customer."""
    app = application(system)
    customers = app.Table("customers", default=str)

    @app.service(ORDERS)
    async def orders(dialog: Dialog, message: Received) -> None:
        if message.type == ORDER:
            seen[dialog.id].add(message.partition)
            stock = await dialog.begin(STOCK)
            await stock.send(message.body, type=ORDER)
            await dialog.commit()
            customers[str(stock.id)] = str(dialog.id)
        elif message.type == ACCEPTED:
            customer = dialog.on(uuid.UUID(customers[str(dialog.id)]), is_initiator=False)
            seen[customer.id].add(message.partition)
            await customer.send(message.body, type=ACCEPTED)

    return app


def stocking(system: System) -> HoplineApp:
    """Answer as the stock, whose queue has one partition."""
    app = application(system, "stock")

    @app.service(STOCK)
    async def stock(dialog: Dialog, message: Received) -> None:
        if message.type == ORDER:
            await dialog.send(message.body + b"!", type=ACCEPTED)

    return app


@pytest.mark.long
def test_processes_share_a_queue_by_conversation_group(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """Each has some partitions; a group, its related dialogs and their rows are in one of them."""
    (tmp_path / "topology.yaml").write_text(SHARED)
    with running(kafka, unique, load(tmp_path, time.time())) as system, system.client() as client:
        topic = system.cluster.topics.queue(*AT_B, "OrderQueue")
        assert partitions_of(system.cluster, topic) == [0, 1, 2, 3]
        one, two = defaultdict(set), defaultdict(set)
        apps = asking(system, one), asking(system, two)
        with serving(apps[0]), serving(apps[1]), serving(stocking(system)):
            eventually(
                lambda: sorted(len(_mine(app, topic)) for app in apps) == [2, 2] or pause(),
                "each has two partitions",
            )
            customers = [order(client, b"%d" % n).id for n in range(CUSTOMERS)]
            found = answers(system, CUSTOMERS)
        changelog = f"{apps[0].conf.id}-customers-changelog"
        assert partitions_of(system.cluster, changelog) == [0, 1, 2, 3]
        assert sorted(found) == sorted(f"{n}!" for n in range(CUSTOMERS))
        assert not one.keys() & two.keys() and {*one, *two} == {*customers}
        places = {**one, **two}
        assert {len(there) for there in places.values()} == {1}
        assert set.union(*one.values()).isdisjoint(set.union(*two.values()))
        for number in range(4):
            rows = read_live(system.cluster, changelog, number).values()
            here = {str(id) for id, there in places.items() if there == {number}}
            assert {row.decode().strip('"') for row in rows} == here


def _mine(app: HoplineApp, topic: str) -> list[object]:
    return [tp for tp in app.consumer.assignment() if tp.topic == topic]
