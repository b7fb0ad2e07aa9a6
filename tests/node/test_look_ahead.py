"""Messages of new dialogs are applied before a backlog of `in`: once, and in order."""

from __future__ import annotations

import random
import uuid
from typing import cast

import pytest

from streams.kafka import Cluster
from streams.protocol import Flag, Limits, State, Status
from streams.wire.records import Headers, read_ack
from streams.workers.endpoint.look_ahead import Early, LookAhead

from .harness import START, Net, Node, conversation
from .places import D1, A, B, pair
from .test_accept_message import FROM_A, arriving, reads

BRIEF = Limits(time_to_live=2_000, retries=(400, 800, 1_000), recheck=100)
"""A key is kept for three seconds after the initiator has sent *closed*."""
STEPS, SEEDS = 120, 20


class Ahead(LookAhead):
    """Reads from the end of `in`, without Kafka."""

    def __init__(self, end: int) -> None:
        super().__init__(cast(Cluster, None), "in", 0)
        self.place = end

    @property
    def reads(self) -> bool:
        """Return that records are read ahead."""
        return True


class Worker:
    """ServerB's endpoint worker, which applies `in` a few records at a time, and reads ahead."""

    def __init__(self, node: Node, *, guarded: bool = True) -> None:
        self.node, self.guarded = node, guarded
        self.restart()

    def restart(self) -> None:
        """Begin again with the committed state; what was applied early is not part of it."""
        self.node.restart_endpoint()
        self.ahead = Ahead(len(self.node.inbox.entries))
        self.mark = len(self.node.inbox.entries), self.node.net.now
        if self.guarded:
            self.node.endpoint.applied_until = 0

    def turn(self, most: int, aborts: bool = False) -> None:
        """Run a transaction over up to ``most`` records of `in`."""
        node, inbox, now = self.node, self.node.inbox, self.node.net.now
        endpoint, early = node.endpoint, Early()
        positions = node.cmd.position, inbox.position, node.ack.position
        endpoint.advance(now)
        endpoint.left_out = node.out.position
        tx = endpoint.begin(node, now)
        place, end = self.ahead.place, len(inbox.entries)
        for offset in range(max(place, inbox.position), end):
            frame = node._message(inbox.entries[offset])
            if self.ahead.is_wanted(tx, early, offset, frame):
                tx.message(offset, frame)
                early.add(offset, frame)
        for position, entry in node.cmd.unread():
            tx.command(position, node._command(entry))
        for offset in range(inbox.position, min(end, inbox.position + most)):
            inbox.position = offset + 1
            if offset in early.applied or self.ahead.has(offset):
                early.skipped.add(offset)
            else:
                tx.message(offset, node._message(inbox.entries[offset]))
        for _, entry in node.ack.unread():
            read = read_ack(entry.key, entry.value, entry.headers)
            tx.status(read) if isinstance(read, Status) else tx.acknowledgement(read)
        tx.close()
        if aborts:
            endpoint.abandon(tx)
            node.cmd.position, inbox.position, node.ack.position = positions
            return
        endpoint.merge(tx, node._write(tx))
        self.ahead.merge(early)
        self.ahead.place = end
        if inbox.position >= self.mark[0] and self.guarded:
            endpoint.applied_until = max(endpoint.applied_until, self.mark[1])
            self.mark = len(inbox.entries), now


def history(seed: int) -> tuple[Net, dict[uuid.UUID, list[bytes]]]:
    """Let dialogs begin, send and end while copies are repeated; return all that was sent."""
    net, chance = pair(BRIEF), random.Random(seed)
    node, other = net["ServerB"], net["ServerA"]
    worker, sent = Worker(node), dict[uuid.UUID, list[bytes]]()
    ended = set[uuid.UUID]()
    for _ in range(STEPS):
        open_ = [dialog for dialog in sent if dialog not in ended]
        choice = chance.random()
        if choice < 0.08:
            dialog = net.begin(A, conversation(len(sent) + 1))
            sent[dialog] = [b"first"]
            net.send(A, dialog, b"first")
        elif choice < 0.3 and open_:
            dialog = chance.choice(open_)
            sent[dialog].append(b"%d" % len(sent[dialog]))
            net.send(A, dialog, sent[dialog][-1])
        elif choice < 0.4 and open_:
            ended.add(dialog := chance.choice(open_))
            net.end(A, dialog)
        elif choice < 0.5 and node.inbox.entries:
            entry = chance.choice(node.inbox.entries)  # a forwarder repeats a copy in time
            if node._message(entry).journey.expires_at > net.now:
                node.inbox.append(entry.key, entry.value, entry.headers, net.now)
        elif choice < 0.53:
            worker.restart()
        elif choice < 0.8:
            net.now += chance.choice((10, 100, 800))
        for dialog in ended:
            mine = node.endpoint.dialogs.get(("DatabaseB", dialog, False))
            if mine is not None and mine.state is State.DI and chance.random() < 0.5:
                net.end(B, dialog, from_initiator=False)
        for step in (other.transact, other.forward, node.forward):
            if chance.random() < 0.7:
                step()
        worker.turn(chance.choice((0, 0, 0, 0, 0, 4)), aborts=chance.random() < 0.1)
    while node.inbox.position < len(node.inbox.entries):
        worker.turn(9)
    net.run(30)
    return net, sent


def delivered(net: Net) -> dict[uuid.UUID, list[bytes]]:
    found: dict[uuid.UUID, list[bytes]] = {}
    for message in net["ServerB"].queues.get("DatabaseB/TargetQueue", ()):
        if message.header.type == "DEFAULT":
            found.setdefault(message.conversation, []).append(message.body)
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_everything_is_delivered_once_and_in_order(seed: int) -> None:
    net, sent = history(seed)
    assert delivered(net) == sent


@pytest.mark.parametrize("guarded", [True, False])
def test_a_key_outlives_the_backlog_that_its_dialog_has_overtaken(guarded: bool) -> None:
    """Rule 11. Without it, the first copy of the dialog would deliver its message again."""
    net = pair(BRIEF)
    node, other = net["ServerB"], net["ServerA"]
    worker = Worker(node, guarded=guarded)
    net.begin(A, D1)
    net.send(A, D1, b"first")

    def work(most: int = 0) -> None:
        for _ in range(4):
            for step in (other.transact, other.forward, node.forward):
                step()
            worker.turn(most)

    work()
    node.inbox.append(*repeated(node), net.now)  # the first copy waits, and this one overtakes it
    worker.ahead.place = 1
    work()
    assert delivered(net) == {D1: [b"first"]} and node.inbox.position == 0
    net.end(A, D1)
    work()
    net.end(B, D1, from_initiator=False)
    for _ in range(20):
        net.now += 1_000
        work()
    assert len(node.endpoint.dialogs) == guarded
    work(most=1)
    assert delivered(net) == {D1: [b"first"] * (1 if guarded else 2)}


def repeated(node: Node) -> tuple[bytes, bytes | None, Headers]:
    """Return the record of the first copy in `in`, as a forwarder writes it again."""
    entry = node.inbox.entries[0]
    return entry.key, entry.value, entry.headers


def test_only_the_next_message_of_a_dialog_is_early() -> None:
    net = pair()
    tx = net["ServerB"].endpoint.begin(net["ServerB"], START)
    other, reply = conversation(2), FROM_A._replace(from_initiator=False)
    assert tx.is_next(arriving(0))
    assert not tx.is_next(arriving(1))
    assert not tx.is_next(arriving(0, parties=reply)), "no initiator is created"
    assert not tx.is_next(arriving(0, parties=FROM_A._replace(to_service="Unknown")))
    assert not tx.machines
    tx.message(0, arriving(0))
    tx.message(1, arriving(2))
    assert [tx.is_next(arriving(number)) for number in range(4)] == [False, True, False, False]
    assert tx.is_next(arriving(0, dialog=other))


def test_a_record_is_early_if_its_stream_began_early() -> None:
    """Otherwise the state of each old dialog would be read for each of its records."""
    net = pair()
    reads(net, "ServerB", arriving(0))
    node, ahead, early = net["ServerB"], Ahead(0), Early()
    tx = node.endpoint.begin(node, START)
    other = conversation(2)
    assert not ahead.is_wanted(tx, early, 7, arriving(1))
    assert not ahead.is_wanted(tx, early, 8, arriving(0, dialog=other, flags=Flag.UNSEQUENCED))
    assert not ahead.is_wanted(tx, early, 9, arriving(0, dialog=other, attempt=1)), "a retry"
    assert ahead.is_wanted(tx, early, 9, arriving(0, dialog=other))
    tx.message(9, arriving(0, dialog=other))
    early.add(9, arriving(0, dialog=other))
    assert ahead.is_wanted(tx, early, 10, arriving(1, dialog=other))
    assert not ahead.is_wanted(tx, early, 11, arriving(2, dialog=other))
    ahead.merge(early)
    assert ahead.has(9) and not ahead.has(10)
    assert ahead.is_wanted(tx, Early(), 10, arriving(1, dialog=other))
    assert not ahead.is_wanted(tx, Early(), 9, arriving(1, dialog=other)), "it was applied"
    early.skipped.add(9)
    ahead.merge(early)
    assert not ahead.has(9)
