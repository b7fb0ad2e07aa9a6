"""Copies that reach ``in`` after their time to live: the key of their dialog may be forgotten."""

from __future__ import annotations

import pytest

from streams.errors import EventKind, Number
from streams.protocol import DEFAULT, Flag, Limits, Message, Parties, State
from streams.routing import Origin

from .evidence import shows
from .harness import START, Net, conversation, record_of, topology
from .places import D1, TARGET, A, B, pair, talking
from .test_accept_message import FROM_A, arriving, errors, reads

LATE = START + 60_000
"""When the time to live of :func:`arriving` is over."""
LOCAL = """
instances:
  One:
    databases:
      Home:
        broker_id: H
        services: {InitiatorService: {queue: InitiatorQueue}, TargetService: {queue: TargetQueue}}
"""
HOME, QUEUE = "One/Home", "Home/TargetQueue"
TTL = 60


def local(limits: Limits | None = None) -> Net:
    """Return one instance whose services talk to each other."""
    return Net(topology(LOCAL), limits)


def appended(message: Message, at: int) -> Message:
    """Return a frame that Kafka appended to ``in`` at that time."""
    return message._replace(appended_at=at)


def finish(net: Net, initiator: str, target: str) -> None:
    """End a dialog on both sides, and let the target forget it."""
    net.end(initiator, D1)
    net.settle()
    net.end(target, D1, from_initiator=False)
    net.settle()
    assert {d.state for n in net.nodes.values() for d in n.endpoint.dialogs.values()} == {State.CD}
    net.run(TTL * 2)
    targets = [key for n in net.nodes.values() for key in n.endpoint.dialogs if not key[2]]
    assert targets == []


# --- the rule ------------------------------------------------------------------------------------


@shows("D5.4")
@pytest.mark.parametrize("sequence", [0, 1, 64])
@pytest.mark.parametrize("contract", [DEFAULT, "Strange"])
def test_a_late_copy_creates_no_endpoint_and_gets_no_answer(sequence: int, contract: str) -> None:
    """No acknowledgement, no Error: event 160 with 11291, whatever else is wrong with it."""
    net = pair()
    frame = arriving(sequence, parties=FROM_A._replace(contract=contract))
    tx = reads(net, "ServerB", appended(frame, LATE))
    assert errors(tx) == [Number.TIME_TO_LIVE_EXCEEDED]
    assert (tx.frames, tx.queued, tx.machines) == ([], [], {})
    [told] = tx.events
    assert (told["event"], told["subclass"], told["sequence"]) == (160, 1, sequence)


@shows("D5.4")
def test_a_copy_that_was_appended_in_time_creates_it_however_late_it_is_read() -> None:
    """A backlog of ``in`` may wait for a worker for days."""
    net = pair()
    net.now += 3_000_000
    tx = reads(net, "ServerB", appended(arriving(), LATE - 1))
    assert errors(tx) == []
    assert [m.body for m in tx.queued] == [b"0"]


@shows("D5.4")
def test_a_late_copy_reaches_an_endpoint_that_exists() -> None:
    """What is stored is acknowledged again, and what is expected is delivered."""
    net = talking(b"one")
    locked = FROM_A._replace(to_broker="B")
    tx = reads(net, "ServerB", *(appended(arriving(n, parties=locked), LATE) for n in (0, 1)))
    assert errors(tx) == [Number.DUPLICATE]
    assert [m.body for m in tx.queued] == [b"1"]
    [frame] = tx.frames
    assert frame.ack is not None and frame.ack.next_sequence == 2


@shows("D5.4")
def test_a_late_copy_for_an_initiator_that_is_forgotten_gets_no_answer() -> None:
    """In time it is answered with an Error; the mirror image of a target's key."""
    back = Parties("InitiatorService", "A", "TargetService", "B", DEFAULT, False)
    frame = arriving(parties=back)
    for at, number, answers in ((LATE - 1, 11209, 1), (LATE, 11291, 0)):
        tx = reads(pair(), "ServerA", appended(frame, at))
        assert (errors(tx), len(tx.frames)) == ([number], answers)


@shows("D5.4")
def test_a_late_broker_error_without_an_endpoint_means_nothing() -> None:
    tx = reads(pair(), "ServerB", appended(arriving(flags=Flag.ERROR | Flag.UNSEQUENCED), LATE))
    assert errors(tx) == [Number.TIME_TO_LIVE_EXCEEDED]
    assert tx.frames == []


# --- forwarders that wake up or begin anew -------------------------------------------------------


@shows("D5.4")
@pytest.mark.parametrize("everywhere", ["One", "ServerA"])
def test_a_forwarder_that_stalled_before_its_write_delivers_nothing_twice(everywhere: str) -> None:
    """It decided in time; another replica did its work, the dialog is over, and then it writes."""
    net = local() if everywhere == "One" else pair()
    initiator, target, queue = (HOME, HOME, QUEUE) if everywhere == "One" else (A, B, TARGET)
    sender, receiver = (place.split("/")[0] for place in (initiator, target))
    net.begin(initiator, D1)
    net.send(initiator, D1, b"one", b"two")
    net[sender].transact()
    if sender != receiver:
        net[sender].forward()
    log = net[receiver].txq if sender != receiver else net[receiver].out
    origin = Origin.OUTSIDE if sender != receiver else Origin.INSIDE
    read = [(entry, record_of(entry, origin)) for entry in log.entries]
    stalled = [(e, r, net[receiver].forwarder.handle(r, net.now)) for e, r in read]
    assert len(stalled) == 2
    net.settle()
    finish(net, initiator, target)
    before = net[receiver].bodies(queue)
    for entry, record, outcome in stalled:
        for copy in outcome.copies:
            net.write(receiver, copy, entry, record)
    net.settle()
    assert net[receiver].bodies(queue) == before == [b"one", b"two", b""]
    assert net[receiver].errors(EventKind.MESSAGE_UNDELIVERABLE) == [11291, 11291]
    assert [key for key in net[receiver].endpoint.dialogs if not key[2]] == []


@shows("D5.4")
def test_a_forwarder_that_reads_its_log_again_delivers_nothing_twice() -> None:
    """Its committed offsets are gone, so it begins at the start of ``out``; dialogs are over."""
    net = local()
    net.begin(HOME, D1)
    net.send(HOME, D1, *(b"%d" % n for n in range(70)))  # more than a window
    net.settle()
    net.send(HOME, D1, b"reply", from_initiator=False)
    net.settle()
    finish(net, HOME, HOME)
    queues, dialogs_before = dict(net["One"].queues), set(net["One"].endpoint.dialogs)
    out = net["One"].out
    copies = sum(1 for e in out.entries if record_of(e, Origin.INSIDE).message is not None)
    known = len(net["One"].events)
    out.position = 0
    net.settle()
    assert net["One"].queues == queues
    assert set(net["One"].endpoint.dialogs) == dialogs_before
    told = [e["error"] for e in net["One"].events[known:]]
    # 71 messages and an EndDialog to the target, which is forgotten; 2 to the initiator, which is
    # not: what it has is acknowledged again.
    assert len(told) == copies
    assert set(told) == {Number.TIME_TO_LIVE_EXCEEDED, Number.DUPLICATE}
    net.run(3_600)
    assert net["One"].queues == queues


@shows("D5.4")
def test_a_backlog_that_outlived_its_time_drains_with_one_retry_of_each_dialog() -> None:
    """The forwarder was away: what it delivers first is late, and the dialogs send it again."""
    net = local()
    several = [conversation(n) for n in range(1, 6)]
    for dialog in several:
        net.begin(HOME, dialog)
        net.send(HOME, dialog, b"one", b"two", b"three")
    node = net["One"]
    for _ in range(10 * TTL):  # the endpoint worker goes on without a forwarder
        net.now += 1_000
        node.transact()
    assert node.queues == {}
    net.run(5)
    assert sorted(node.bodies(QUEUE)) == sorted([b"one", b"two", b"three"] * 5)
    refused = node.errors(EventKind.MESSAGE_UNDELIVERABLE)
    assert refused == [Number.TIME_TO_LIVE_EXCEEDED] * 15


# --- a key outlasts what is unread ---------------------------------------------------------------


def closed(net: Net) -> None:
    """Let the target of D1 be closed, told so, and due to be forgotten."""
    net.end(A, D1)
    net.settle()
    net.end(B, D1, from_initiator=False)
    net.settle()
    net.now += net.limits.late + 1


@shows("D5.5")
def test_no_key_is_forgotten_before_what_was_appended_until_then_is_applied() -> None:
    """The worker is behind: copies that were in time are still unread when the key is due."""
    net = talking(b"one")
    closed(net)
    node = net["ServerB"]
    behind = node.endpoint.applied_until = START + 1_000
    copy = arriving(parties=FROM_A._replace(to_broker="B"))
    for _ in range(2):
        tx = reads(net, "ServerB", appended(copy, behind))
        assert (errors(tx), tx.queued) == ([Number.DUPLICATE], [])
        assert node.dialog(D1, initiator=False).state is State.CD
    node.endpoint.applied_until = net.now
    net.settle()
    net.run(5)
    assert [key for key in node.endpoint.dialogs if not key[2]] == []
    assert node.bodies(TARGET) == [b"one", b""]


@shows("D5.5")
def test_a_key_that_must_wait_costs_no_transactions() -> None:
    """It is looked at again after a second, not in every turn; what else is due is done."""
    net = talking(b"one")
    closed(net)
    node = net["ServerB"]
    node.endpoint.applied_until = START
    assert node.endpoint.take_due(net.now) == []
    assert node.endpoint.next_due == net.now + net.limits.recheck
    key = next(key for key in node.endpoint.dialogs if not key[2])
    node.dialog(D1, initiator=False).retry_at = net.now
    node.endpoint.arm(key)
    assert node.endpoint.take_due(net.now) == [key]
