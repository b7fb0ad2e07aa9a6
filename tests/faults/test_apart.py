"""Two clusters apart for longer than a copy lives: drops are reported, nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from streams.client import Client, Conversation
from streams.errors import EventKind, Number
from streams.protocol import Limits
from tests.endpoints import read_dialogs
from tests.faults.clusters import RunClusters, run_clusters
from tests.faults.load import Load
from tests.faults.observe import Observer
from tests.faults.processes import Supervisor, supervised
from tests.faults.run import QUEUES, application
from tests.faults.verdict import judge
from tests.running import DEADLINE, System, eventually
from tests.workers.rig import pause

LIMITS = Limits(retries=(400, 800, 1_600), time_to_live=3_000, recheck=100)
LOAD = Load(160, 20.0, dialogs=8, length=10)
LIFETIME = 2
"""Lifetime in seconds of a dialog that is begun while the clusters are disconnected."""


@contextmanager
def workers(where: RunClusters) -> Iterator[list[System]]:
    """Run all workers of both clusters; copies live for three seconds."""
    systems = [System(site.cluster, site.topology, LIMITS) for site in where.all]
    for system in systems:
        system.start()
    yield systems
    for system in systems:
        system.stop()


def begin_in_vain(where: RunClusters) -> Conversation:
    """Begin a dialog whose lifetime is over before any of its messages can cross."""
    with Client(where.cluster_of("ServerA"), timeout=DEADLINE) as client:
        dialog = client.begin(
            "ServerA", "DatabaseA", "InitiatorService", "TargetService", lifetime=LIFETIME
        )
        client.send(dialog, b"too late", wait=True)
    return dialog


def is_over(where: RunClusters) -> bool:
    """Return whether both sides of every dialog are closed."""
    found = [d for i in ("ServerA", "ServerB") for _, d in read_dialogs(where.cluster_of(i), i)]
    return all(dialog.state.name == "CD" for dialog in found) or pause()


def converse(where: RunClusters, children: Supervisor) -> None:
    """Start both applications."""
    children.start("target", *application(where.cluster_of("ServerB"), "target"))
    load = (LOAD.messages, LOAD.rate, LOAD.dialogs, LOAD.length)
    children.start("source", *application(where.cluster_of("ServerA"), "source", *load))


@pytest.mark.long
def test_nothing_is_lost_between_clusters_that_were_apart_for_longer_than_a_copy_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only messages of a dialog that has expired are discarded, and both sides are notified."""
    monkeypatch.setattr("streams.workers.control.heartbeat_schedule.HEARTBEAT", 0.2)
    monkeypatch.setattr("streams.node.liveness.far_presence.SILENCE", 2.0)
    with ExitStack() as stack:
        where = stack.enter_context(run_clusters(tmp_path, 1, two=True))
        near, _ = stack.enter_context(workers(where))
        watched = [
            (where.cluster_of(i), [where.all[0].cluster.topics.queue(i, *queue)])
            for i, *queue in QUEUES
        ]
        observer = stack.enter_context(Observer(watched))
        children = stack.enter_context(supervised(tmp_path))
        converse(where, children)
        eventually(lambda: observer.seen > LOAD.messages // 8 or pause(), "they converse")

        where.part()
        vain = begin_in_vain(where)
        near.events(
            EventKind.FORWARDED_MESSAGE_DROPPED,
            lambda reported: reported["error"] == Number.NOT_DELIVERABLE_IN_TIME,
        )
        where.join()

        wanted = LOAD.messages + len(list(LOAD.answers()))
        eventually(lambda: observer.seen >= wanted or pause(), "everything arrives")
        eventually(lambda: is_over(where), "every dialog ends")
        facts = where.facts()
    said = [
        (m.sender.is_initiator, m.digest)
        for m in facts.accepted
        if m.sender.conversation != vain.id
    ]
    assert judge(LOAD, facts.balance(), said, facts.sides).faults == {"discarded": 1}
    assert len(facts.accepted) - len(said) == 1
    assert vain.id in facts.expired
    assert facts.drops[Number.NOT_DELIVERABLE_IN_TIME] > 0
