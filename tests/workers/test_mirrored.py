"""Mirrored partners on Kafka (reference 2.4): who gets the messages, and that nobody else does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from streams.client import Conversation
from streams.kafka import headers_of, read_all
from streams.live.admin.failover import move_role
from streams.protocol import Claim, Limits
from streams.resources import topologies_dir
from streams.topology import Topology, load
from streams.topology.yaml_file import read_document
from streams.wire import claims_in, decode_presence
from streams.wire.records import read_queued
from streams.workers import ForwarderWorker
from streams.workers.control import Control
from tests.command import rows
from tests.node.evidence import shows
from tests.running import DEADLINE, System, WorkerThread, eventually, running
from tests.workers.rig import pause

AT_A = ("ServerA", "DatabaseA", "InitiatorService", "OrderParts")
PAIR = ("Orders", "Orders")
QUICK = Limits(retries=(200, 400, 800, 1_000), recheck=100)
NOT_READY = 9794
OPERATIONAL, ALONE, NOT_OPERATIONAL = 1, 2, 3


def mirrored(*, broker: bool = True) -> Topology:
    """Return the shipped topology; without broker ids in its mirrored route it is C-06's."""
    path = topologies_dir() / "mirrored"
    if broker:
        return load(path, time.time())
    text = (path / "topology.yaml").read_text().replace("broker_instance: Orders,", "")
    return Topology(read_document(text, "topology.yaml", time.time()).instances)


@pytest.fixture
def system(kafka: str, unique: str) -> Iterator[System]:
    """Return the system with the sender running; the partners are the test's."""
    with running(kafka, unique, mirrored(), limits=QUICK, start=False) as made:
        made.start("ServerA")
        yield made


def begin_and_send(system: System, *bodies: bytes, on: Conversation | None = None) -> Conversation:
    with system.client() as client:
        dialog = on or client.begin(*AT_A)
        for body in bodies:
            client.send(dialog, body, wait=True)
    return dialog


def arrived(system: System, count: int) -> list[bytes]:
    """Return what is in the pair's queue, when it is so much."""
    topic = system.cluster.topics.queue(*PAIR, "OrderQueue")
    system.records(topic, count=count)
    return [m.body for m in _received(system, topic)]


def _received(system: System, topic: str) -> list[Any]:
    return [read_queued(m.value(), headers_of(m)) for m in read_all(system.cluster, topic)]


def handed_to(system: System, partner: str) -> list[Any]:
    """Return the copies of messages that came to a partner."""
    return [r for r in system.snapshot(system.cluster.topics.txq(partner)) if r.get("message")]


def state(system: System, subclass: int) -> dict[str, Any]:
    """Wait until a forwarder tells of its mirrored route that it is so."""
    return system.events(144, lambda e: e["subclass"] == subclass)[0]


def lose(system: System, partner: WorkerThread) -> None:
    """Let a partner leave without a word."""
    system.workers.remove(partner)
    partner.stop()


def status(system: System) -> set[str]:
    return {str(r["transmission_status"]) for r in rows(system, "sys.transmission_queue")}


@pytest.mark.long
@shows("EX-07", "P1", "P6")
@pytest.mark.parametrize("broker", [True, False])
def test_both_are_asked_and_the_principal_alone_gets_the_messages(
    kafka: str, unique: str, broker: bool
) -> None:
    """What they say once a second is the answer; the route may name no broker id (C-06)."""
    with running(kafka, unique, mirrored(broker=broker), limits=QUICK) as system:
        dialog = begin_and_send(system, b"one", b"two")
        assert arrived(system, 2) == [b"one", b"two"]
        assert handed_to(system, "Partner2") == []
        reported = state(system, OPERATIONAL)
        assert (reported["instance"], reported["to_service"]) == ("ServerA", "OrderParts")
        with system.client() as client:
            there = Conversation(*PAIR, dialog.id, is_initiator=False)
            client.send(there, b"answer", wait=True)
        [answer] = system.received(*AT_A[:2], "InitiatorQueue", 1)
        assert answer.body == b"answer"


def test_who_still_reads_the_catalog_claims_nothing_by_what_it_said_before(
    kafka: str, unique: str
) -> None:
    """Partner1 was the principal by a former version, which it reads on its way to the last one."""
    with running(kafka, unique, mirrored(), start=False) as system:
        assert not move_role(system.cluster, "Orders", "Partner2", timeout=0).claimed
        control = Control(system.cluster, ("Partner1",), timeout=DEADLINE)
        control.start()
        try:
            eventually(lambda: claimed(system) or pause(), "it says its roles")
        finally:
            control.stop()
        assert not any(claim.principal for claim in claimed(system))


def claimed(system: System) -> list[Claim]:
    """Return what heartbeats have claimed so far."""
    signs = read_all(system.cluster, system.cluster.topics.presence)
    return [claim for sign in signs for claim in claims_in(decode_presence(sign.value()))]


@shows("EX-08", "EX-09", "P2", "P3", "P6")
def test_nobody_gets_anything_until_the_partner_claims_and_then_it_gets_everything(
    system: System,
) -> None:
    """The principal is silent, the partner lives and claims nothing; later it does."""
    first, _ = system.start("Partner1"), system.start("Partner2")
    dialog = begin_and_send(system, b"first")
    assert arrived(system, 1) == [b"first"]
    lose(system, first)
    waiting = [b"%d" % number for number in range(20)]
    begin_and_send(system, *waiting, on=dialog)
    system.events(141, lambda e: e["error"] == NOT_READY)
    state(system, NOT_OPERATIONAL)
    assert handed_to(system, "Partner2") == []
    assert arrived(system, 1) == [b"first"], "the messages wait where they are"
    eventually(lambda: any("9794" in said for said in status(system)) or pause(), "it is told")

    moved = move_role(system.cluster, "Orders", "Partner2", DEADLINE)
    assert (moved.before, moved.now, moved.epoch, moved.claimed) == (
        "Partner1",
        "Partner2",
        1,
        True,
    )
    assert arrived(system, 21) == [b"first", *waiting]
    assert handed_to(system, "Partner2"), "over the partner"
    state(system, ALONE)
    eventually(lambda: not status(system) or pause(), "all acknowledged")
    assert arrived(system, 21) == [b"first", *waiting], "nothing twice"


@pytest.mark.long
@shows("EX-09", "P3")
def test_the_principal_that_answers_again_gets_what_has_waited(system: System) -> None:
    """Nobody has claimed its role meanwhile."""
    first, _ = system.start("Partner1"), system.start("Partner2")
    dialog = begin_and_send(system, b"first")
    assert arrived(system, 1) == [b"first"]
    lose(system, first)
    begin_and_send(system, b"second", on=dialog)
    system.events(141, lambda e: e["error"] == NOT_READY)
    system.start("Partner1")
    assert arrived(system, 2) == [b"first", b"second"]
    assert handed_to(system, "Partner2") == []


@pytest.mark.long
@shows("EX-10", "P2")
def test_a_failover_between_partners_of_one_process_moves_the_traffic(system: System) -> None:
    """The principal steps back while everybody can be reached, and once more: dialogs go on."""
    system.start("Partner1", "Partner2")
    dialog = begin_and_send(system, b"0")
    assert arrived(system, 1) == [b"0"]
    for number, to in enumerate(("Partner2", "Partner1"), start=1):
        # else it would be sent again, to the new principal
        eventually(lambda: not status(system) or pause(), "all acknowledged")
        assert move_role(system.cluster, "Orders", to, DEADLINE).claimed
        eventually(lambda: sends_to(system) == to or pause(), f"ServerA knows {to}")  # noqa: B023
        begin_and_send(system, b"%d" % number, on=dialog)
        assert arrived(system, number + 1) == [b"%d" % n for n in range(number + 1)]
    over = {r["message"]["sequence"] for r in handed_to(system, "Partner2")}
    assert over == {1}, "what was sent while it was the principal"

    def row() -> tuple[object, object]:
        found = rows(system, "sys.conversation_endpoints")
        [there] = [r for r in found if r["instance"] != "ServerA"]
        return there["instance"], there["receive_sequence"]

    eventually(lambda: row() == ("Partner1", 3) or pause(), "the endpoint is at Partner1")


def sends_to(system: System) -> str | None:
    """Return the principal as ServerA's forwarder knows it, which hears of a role by itself."""
    [forwarder] = (w for w in system.workers[0].process.workers if isinstance(w, ForwarderWorker))
    assert forwarder._processor is not None
    principals = forwarder._processor._principals
    [(pair, route)] = principals._routes.items()
    if route.principal is None:
        return None
    return principals._instance_at(pair.addresses[route.principal])


@pytest.mark.long
def test_a_listener_leads_to_the_new_primary(kafka: str, unique: str) -> None:
    """The route has no mirror address, nobody is asked, and the sender's route is as it was."""
    with running(kafka, unique, "availability_group", limits=QUICK) as system:
        dialog = begin_and_send(system, b"one")
        group = ("OrdersGroup", "Orders", "OrderQueue")
        assert [m.body for m in system.received(*group, 1)] == [b"one"]
        assert move_role(system.cluster, "OrdersGroup", "Replica2", DEADLINE).claimed
        begin_and_send(system, b"two", on=dialog)
        assert [m.body for m in system.received(*group, 1)] == [b"two"]
        assert handed_to(system, "Replica2")
