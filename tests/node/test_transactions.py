"""The overlay: nothing changes before the commit, everything after it, timers included."""

from __future__ import annotations

import gc
import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from streams.errors import EventKind
from streams.node import Endpoint, UnreadableError, catalog_of
from streams.protocol import Command, CommandKind, DialogKey, Limits, Machine, Message, State

from .evidence import shows
from .harness import conversation, topology
from .places import D1, INITIATOR, PAIR, TARGET, A, B, pair, talking
from .test_retention import lose


@shows("D7.1")
def test_nothing_changes_before_the_commit() -> None:
    """Inputs are applied to an overlay; the state changes when the commit has succeeded."""
    net = talking(b"one")
    node = net["ServerA"]
    before = node.dialog(D1, initiator=True).copy()
    tx = node.endpoint.begin(node, net.now)
    net.send(A, D1, b"two")
    node._apply(tx)
    tx.close()
    assert len(tx.frames) == 1
    assert node.dialog(D1, initiator=True) == before
    node.endpoint.merge(tx, 7)
    assert node.dialog(D1, initiator=True).send_sequence == 2
    assert node.dialog(D1, initiator=True).last_copy == 7


class Watched(dict[DialogKey, Machine]):
    """Machines; counts how often somebody goes through all of them."""

    walks = looks = 0

    def __contains__(self, key: object) -> bool:
        self.looks += 1
        return super().__contains__(key)

    def values(self) -> Any:
        self.walks += 1
        return super().values()

    def items(self) -> Any:
        self.walks += 1
        return super().items()


def test_a_transaction_of_many_groups_does_not_look_through_its_dialogs_for_each() -> None:
    net = pair()
    node = net["ServerA"]
    for number in range(50):
        net.begin(A, conversation(number), group=uuid.UUID(int=number))
    tx = node.endpoint.begin(node, net.now)
    tx.machines = watched = Watched()
    node._apply(tx)
    assert (len(watched), watched.walks) == (50, 1)


def test_members_that_have_left_a_group_are_not_looked_through_for_each_statement() -> None:
    """Each BEGIN asks for the service of its group, also if it is refused afterwards."""
    net = pair()
    node, group, other = net["ServerA"], uuid.UUID(int=1), uuid.UUID(int=2)
    for number in range(101):
        net.begin(A, conversation(number), group=group)
    net.settle()
    for number in range(100):
        net.command(A, CommandKind.MOVE, conversation(number), group=other)
        net.begin(A, conversation(200 + number), group=group, contract="Nothing")
    tx = node.endpoint.begin(node, net.now)
    tx.machines = watched = Watched()
    node._apply(tx)
    assert len(watched) == 100
    assert watched.looks < 1_000
    assert tx.service_of("DatabaseA", group) == "InitiatorService"
    tx.close()


@shows("D7.1")
def test_an_aborted_transaction_leaves_nothing_behind() -> None:
    """The overlay is dropped, the same inputs are read again, and nothing happens twice."""
    net = pair()
    net.begin(A, D1)
    net.send(A, D1, b"one", b"two")
    net["ServerA"].aborts = 2
    net["ServerB"].aborts = 2
    net.settle()
    assert net["ServerB"].bodies(TARGET) == [b"one", b"two"]
    assert net["ServerB"].errors(EventKind.MESSAGE_UNDELIVERABLE) == []
    assert len(net["ServerA"].out.entries) == 2


@shows("D7.2")
def test_an_aborted_transaction_arms_its_timers_anew() -> None:
    """A retry that an abort took back is due again at once."""
    net = pair()
    net.cut.add(("ServerA", "ServerB"))
    net.begin(A, D1)
    net.send(A, D1, b"one")
    net.run(3.9)
    node = net["ServerA"]
    due = node.endpoint.next_due
    assert due is not None
    node.aborts = 1
    net.now = due
    assert node.transact()
    assert node.dialog(D1, initiator=True).attempt == 0
    assert node.endpoint.next_due == due
    net.cut.clear()
    net.settle()
    assert net["ServerB"].bodies(TARGET) == [b"one"]


def test_one_transaction_sends_one_acknowledgement_per_dialog() -> None:
    """Acknowledgements are coalesced: one stands for all that a transaction has stored."""
    net = pair()
    for n in (1, 2):
        net.begin(A, conversation(n))
        net.send(A, conversation(n), *[b"x"] * 5)
    net.settle("ServerA")
    net.settle("ServerB")
    assert len(net["ServerB"].out.entries) == 2


def test_a_target_that_is_touched_for_years_arms_few_timers() -> None:
    """What a dialog has outdated does not pile up until its lifetime ends."""
    net = pair()
    net.begin(A, D1)
    for _ in range(400):
        net.send(A, D1, b"x")
        net.settle()
        net.now += 10
    for name in ("ServerA", "ServerB"):
        assert len(net[name].endpoint._timers) < 100
    net.cut.add(("ServerA", "ServerB"))
    net.send(A, D1, b"y")
    net.run(1)
    net.cut.clear()
    net.run(10)
    assert net["ServerB"].bodies(TARGET)[-1] == b"y"


def test_a_busy_dialog_loses_nobody_elses_timers() -> None:
    """Whatever is thrown away of what a busy dialog has outdated, everybody's own time comes."""
    net, idle = pair(), [conversation(n) for n in range(2, 22)]
    for n, dialog in enumerate(idle):
        net.begin(A, dialog, lifetime=80 - n)
    net.begin(A, D1)
    for _ in range(400):
        net.send(A, D1, b"x")
        net.settle()
        net.now += 10
    net.run(80)
    assert net["ServerA"].types(INITIATOR) == ["Error"] * 20
    order = [m.conversation for m in net["ServerA"].queues[INITIATOR]]
    assert order == idle[::-1]


def test_timers_that_are_due_together_are_all_served() -> None:
    """One transaction takes every timer that is due."""
    net = pair()
    net.cut.add(("ServerA", "ServerB"))
    for n in range(1, 4):
        net.begin(A, conversation(n))
        net.send(A, conversation(n), b"%d" % n)
    net.settle()
    assert len(net["ServerA"].out.entries) == 3
    net.now += 4_000
    net.settle()
    assert len(net["ServerA"].out.entries) == 6


def test_no_timers_before_the_backlog_is_applied() -> None:
    """An acknowledgement that waits must not be answered with a retry."""
    net = pair()
    net.begin(A, D1)
    net.send(A, D1, b"one")
    net.settle("ServerA")
    net.settle("ServerB")
    node = net["ServerA"]
    net.now += 100_000
    tx = node.endpoint.begin(node, net.now, timers=False)
    node.forward()
    node._apply(tx)
    tx.close()
    assert tx.frames == []
    node.endpoint.merge(tx, -1)
    assert node.dialog(D1, initiator=True).acknowledged == (1, 0)


# --- restart -------------------------------------------------------------------------------------


@shows("D7.3")
def test_a_restart_in_the_middle_of_everything() -> None:
    """What the state records hold is all that is needed: exactly once, in order."""
    net = pair(Limits(window=8))
    net.begin(A, D1)
    net.send(A, D1, *[b"%d" % n for n in range(100)])
    for step in range(60):
        net["ServerA"].transact()
        net["ServerA"].forward()
        if step % 7 == 3:
            net["ServerA"].restart_endpoint()
        net["ServerB"].forward()
        if step % 5 == 2:
            net["ServerB"].restart_endpoint()
        net["ServerB"].transact()
        net["ServerB"].forward()
    net.run(200)
    assert net["ServerB"].bodies(TARGET) == [b"%d" % n for n in range(100)]
    restored = net["ServerA"].dialog(D1, initiator=True)
    assert (restored.acknowledged, restored.chunks) == ((100, 0), {})


@shows("D2.3")
def test_after_a_restart_nothing_is_retried_before_the_forwarder_is_at_the_end() -> None:
    """After a restart the previous copy may be anywhere up to the end of ``out``."""
    net = pair()
    net.begin(A, D1)
    net.send(A, D1, b"one")
    node = net["ServerA"]
    node.transact()
    node.restart_endpoint()
    net.now += 100_000
    assert node.transact()
    assert len(node.out.entries) == 1
    node.forward()
    net.now += 1_000
    net.cut.add(("ServerA", "ServerB"))
    assert node.transact()
    assert len(node.out.entries) == 2


def test_closed_endpoints_are_forgotten_in_the_state_too() -> None:
    """Half an hour after the end nothing is left of a conversation that both sides have ended."""
    net = talking(b"one")
    net.end(A, D1)
    net.settle()
    net.end(B, D1, from_initiator=False)
    net.settle()
    for name, side in (("ServerA", True), ("ServerB", False)):
        assert net[name].dialog(D1, initiator=side).state is State.CD
    net.run(1_801)
    for node in net.nodes.values():
        assert not node.endpoint.dialogs
        assert not node.state


# --- the catalog changes -------------------------------------------------------------------------


@shows("U-14")
def test_a_catalog_change_wakes_waiting_dialogs_within_a_second() -> None:
    """Dialogs that could not be routed try again at once, spread over a second."""
    net = pair()
    net.sql(A, "DROP ROUTE Target")
    for n in range(1, 30):
        net.begin(A, conversation(n * 37))
        net.send(A, conversation(n * 37), b"x")
    net.run(20)
    assert net["ServerB"].bodies(TARGET) == []
    net.sql(A, "CREATE ROUTE T WITH SERVICE_NAME = 'TargetService', ADDRESS = 'tcp://ServerB:4022'")
    net.settle()
    assert len(net["ServerB"].bodies(TARGET)) < 29
    net.run(1)
    assert len(net["ServerB"].bodies(TARGET)) == 29
    net.sql(A, "DROP ROUTE T")
    assert not net["ServerA"].endpoint.has_probes  # nobody waits any more


def test_the_order_of_probes_does_not_depend_on_chance() -> None:
    """The same inputs make the same records, in the same order."""

    def story() -> list[bytes]:
        net = pair()
        net.sql(A, "DROP ROUTE Target")
        for n in range(1, 30):
            net.begin(A, conversation(n * 1_000_000))
            net.send(A, conversation(n * 1_000_000), b"x")
        net.settle()
        net.sql(A, "CREATE ROUTE T WITH SERVICE_NAME = 'TargetService', ADDRESS = 'LOCAL'")
        net.run(2)
        return [entry.key for entry in net["ServerA"].out.entries]

    assert story() == story()
    waiting = Endpoint("ServerA", catalog_of(topology(PAIR), 1))._waiting
    assert not isinstance(waiting, set)  # a set's order depends on the hash seed of the process


@shows("D7.4")
def test_a_dialog_whose_broker_id_has_changed_is_dead() -> None:
    """NEW_BROKER: commands are refused, frames undeliverable, and no retry goes on for ever."""
    net = talking(b"one")
    net.cut.add(("ServerA", "ServerB"))
    net.send(A, D1, b"two")
    net.settle()
    net.change_database(A, broker_id="renewed")
    net.cut.clear()
    net.run(300)
    assert net["ServerB"].bodies(TARGET) == [b"one"]
    assert len(net["ServerA"].out.entries) == 2
    assert net["ServerA"].dialog(D1, initiator=True).state is State.CD
    net.send(A, D1, b"three")
    net.send(B, D1, b"four", from_initiator=False)
    net.settle()
    assert net["ServerA"].errors(EventKind.CONVERSATION)[-1] == 8429
    assert net["ServerA"].bodies(INITIATOR) == []


@shows("D7.4")
def test_messages_for_a_dead_target_are_undeliverable() -> None:
    """The target's database has another broker id: 28017, or 28016 where none was named."""
    net = pair()
    net.begin(A, D1)
    net.send(A, D1, b"one")
    net.settle("ServerA")
    net.settle("ServerB")  # stored, but the initiator does not know yet
    net.change_database(B, broker_id="renewed")
    net.send(A, D1, b"two")
    net.settle("ServerA")
    assert net["ServerB"].bodies(TARGET) == [b"one"]
    net.settle("ServerB")
    assert net["ServerB"].bodies(TARGET)[0] == b"one"
    assert b"two" not in net["ServerB"].bodies(TARGET)
    assert net["ServerB"].errors(EventKind.MESSAGE_UNDELIVERABLE)[-1] in (28016, 28017)


def test_a_transaction_leaves_no_cycle_behind() -> None:
    """What is let go is gone: looking for cycles was half of a worker's time."""
    net = talking(b"one")
    net.send(A, D1, b"two", b"three")
    gc.collect()
    gc.disable()
    try:
        net.settle()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = {type(found).__name__ for found in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left & {"Transaction", "Machine", "Dialog", "OutFrame", "QueueMessage"}
    assert net["ServerB"].bodies(TARGET) == [b"one", b"two", b"three"]


class LostBodies:
    """Bodies that can no longer be read."""

    def commands(self, wanted: Mapping[int, uuid.UUID]) -> Mapping[int, Command]:
        raise UnreadableError("they are lost", set(wanted), set(wanted.values()))

    def messages(self, wanted: Mapping[int, uuid.UUID]) -> Mapping[int, Message]:
        raise AssertionError("no frame is stored")


def test_all_dialogs_that_need_a_lost_body_are_named() -> None:
    """One SEND on several conversations is stored once; each dialog would fail by itself."""
    net = pair()
    others = tuple(conversation(number) for number in range(2, 6))
    for dialog in (D1, *others):
        net.begin(A, dialog)
    lose(net, D1, also=others)
    net.now += 60_000
    node = net["ServerA"]
    node.endpoint.advance(net.now)
    node.endpoint.left_out = node.out.position
    tx = node.endpoint.begin(LostBodies(), net.now)
    with pytest.raises(UnreadableError, match="they are lost") as caught:
        tx.close()
    assert caught.value.conversations == {D1, *others}
