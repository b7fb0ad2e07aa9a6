"""SIGKILL of routers at random points: each dialog is routed once, answered once, and forgotten.

ROUTED is the number of dialogs (60), ROUTER_KILLS the number of kills (3).
"""

from __future__ import annotations

import os
import random
import uuid
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

import pytest

from streams.client import Receiver
from streams.kafka import read_live
from streams.protocol import DEFAULT
from tests.agents.rig import serving
from tests.agents.routers import CLIENT, NORTH, ROUTERS, SOUTH, Bench, partition
from tests.faults.processes import Child
from tests.faults.test_applications import kill_at
from tests.running import System, eventually, running
from tests.workers.rig import pause

ROUTED = int(os.environ.get("ROUTED", "60"))
KILLS = int(os.environ.get("ROUTER_KILLS", "3"))
AHEAD = 10
"""Number of dialogs that are open at a time."""


class Customer:
    """Begins dialogs of three messages, and ends each when it has all answers."""

    def __init__(self, bench: Bench, receiver: Receiver) -> None:
        self._bench, self._receiver = bench, receiver
        self.expected: dict[uuid.UUID, list[str]] = {}
        self.got: dict[uuid.UUID, list[str]] = defaultdict(list)

    def done(self) -> int:
        """Receive answers, continue, and return how many dialogs have all answers."""
        self._bench.system.check()
        for message in self._receiver.receive(0.02):
            assert message.type == DEFAULT, message.body
            dialog = message.conversation
            self.got[dialog.id].append(message.body.decode())
            if len(self.got[dialog.id]) == len(self.expected[dialog.id]):
                self._bench.client.end(dialog)
        self._receiver.commit()
        full = [id for id, answers in self.got.items() if len(answers) >= 3]
        while len(self.expected) < min(ROUTED, len(full) + AHEAD):
            self._begin(len(self.expected))
        return len(full)

    def _begin(self, number: int) -> None:
        first, region = ((NORTH, "North"), (SOUTH, "South"))[number % 2]
        bodies = (first, b"%d" % number, b"and %d" % number)
        answers = [f"from the {region}: {body.decode()}" for body in bodies]
        self.expected[self._bench.order(*bodies).id] = answers


def rows(system: System) -> int:
    """Return how many rows the routers' tables have."""
    names = (system.cluster.topics.name("routing", *place) for place in ROUTERS)
    tables = (f"{name}-resolved_conversations-changelog" for name in names)
    return sum(len(read_live(system.cluster, table, 0)) for table in tables)


@pytest.mark.long
@pytest.mark.timeout(3600 if ROUTED > 60 else 1200)
def test_routers_that_are_killed_route_everything_once(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """The routers' rows survive the kills and route the answers back; in the end no row is left."""
    with (
        running(kafka, unique, "data_dependent") as system,
        system.client() as client,
        Receiver(system.cluster, *CLIENT, "ClientQueue", f"{unique}customer") as receiver,
        ExitStack() as regions,
    ):
        bench = Bench(system, client, tmp_path)
        for name in ("North", "South"):
            regions.enter_context(serving(partition(bench, name)))
        command = ("streams", "worker", "agents", *system.options, "--all")
        log = tmp_path / "routers.log"
        routers = Child(log, *command, "--service", "data-dependent-routing")
        customer, chance = Customer(bench, receiver), random.Random(20261121)
        points = sorted(chance.sample(range(AHEAD, ROUTED - AHEAD), KILLS))
        try:
            marks = [(point, routers) for point in points]
            kill_at(marks, customer.done, ROUTED, [routers], 240 + ROUTED * 6)
            eventually(lambda: rows(system) == 0 or pause(), "no row is left")
            assert receiver.receive(1) == ()
        finally:
            routers.stop()
    assert dict(customer.got) == customer.expected
