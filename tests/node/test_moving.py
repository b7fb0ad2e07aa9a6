"""Bodies that pin too much are moved: few of them, where much could go (rule 5)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import pytest

from streams.node import Moves, TrimPoint, moves_of
from streams.node.endpoint import moving

from .harness import Net, Node, conversation
from .places import D1, TARGET, A, B, pair
from .test_retention import demand, lose

D2 = conversation(2)


def waiting(*, others: int) -> Net:
    """Return the pair with a message that waits, and so many of another dialog that do not."""
    net = pair()
    net.begin(A, D1)
    lose(net, D1)
    net.begin(A, D2)
    for _ in range(others):
        net.send(A, D2, b"x")
        net.settle()
    return net


def ends(node: Node) -> TrimPoint:
    """Return how far a node has read: all of that is old."""
    return TrimPoint(node.cmd.position, node.inbox.position, node.ack.position)


def found(node: Node, least: int = 20) -> Moves | None:
    """Return what is better moved at a node."""
    return moves_of(node.endpoint, demand(node), ends(node), least)


def test_one_body_that_pins_many_records_is_moved() -> None:
    node = waiting(others=30)["ServerA"]
    assert demand(node).cmd == 1
    moves = found(node)
    assert moves == Moves((("DatabaseA", D1, True),), {1: D1}, {})
    node.move(moves)
    assert demand(node).cmd == 33
    assert found(node) is None


def test_nothing_behind_a_lost_body_is_moved() -> None:
    """The log cannot be trimmed beyond it, so each move would only write copies."""
    net = waiting(others=30)
    lose(net, D2)
    other = conversation(3)
    net.begin(A, other)
    for _ in range(30):
        net.send(A, other, b"x")
        net.settle()
    lose(net, other)
    for _ in range(30):
        net.begin(A, uuid.uuid4())
    net.settle()
    node = net["ServerA"]
    both = found(node)
    assert both is not None and sorted(both.commands) == [1, 33, 65]

    def without(*lost: int) -> Moves | None:
        return moves_of(
            node.endpoint, demand(node), ends(node), 20, lambda which, at: not which and at in lost
        )

    assert without(1) is without(1, 33) is None
    before = without(33)
    assert before is not None and sorted(before.commands) == [1], "as far as the lost one"


def test_what_was_moved_is_sent_from_there_and_moved_again() -> None:
    """It is sent with the number, the time and the body that it had."""
    net = waiting(others=30)
    node = net["ServerA"]
    at = node.cmd.entries[1].timestamp
    move(node)
    net.now += 1_000
    for _ in range(30):
        net.send(A, D2, b"y")
        net.settle()
    move(node)
    assert node.dialog(D1, initiator=True).stored(0)[0] == len(node.cmd.entries) - 1
    node.restart_endpoint()
    net.run(5)
    assert net["ServerB"].bodies(TARGET).count(b"lost") == 1
    assert net["ServerB"].queues[TARGET][-1].header.enqueued_at == at
    assert demand(node).cmd == node.cmd.position


def test_frames_are_moved_wherever_they_wait() -> None:
    """One that came out of order, and one that waits for a queue that is off."""
    for off in (False, True):
        net = pair()
        net.begin(A, D1)
        if off:
            net.sql(B, "ALTER QUEUE TargetQueue WITH STATUS = OFF")
        else:
            lose(net, D1)
        net.send(A, D1, b"waits")
        net.settle()
        node = net["ServerB"]
        for _ in range(30):  # copies that came again: nobody needs them
            node.inbox.repeat(0)
        net.settle()
        assert found(node) == Moves((("DatabaseB", D1, False),), {}, {0: D1})
        move(node)
        assert demand(node).inbox == 31
        node.restart_endpoint()
        net.sql(B, "ALTER QUEUE TargetQueue WITH STATUS = ON")
        net.run(5)
        assert node.bodies(TARGET) == ([b"waits"] if off else [b"lost", b"waits"])


def test_nothing_is_moved_for_little_or_for_what_is_young() -> None:
    node = waiting(others=30)["ServerA"]
    trim_point = demand(node)
    assert found(node, least=1_000) is None
    assert moves_of(node.endpoint, trim_point, trim_point._replace(cmd=10), 20) is None
    assert moves_of(node.endpoint, trim_point, ends(node), 20) is not None


def test_many_bodies_are_not_moved() -> None:
    """To write all of it again would gain little."""
    net = pair()
    net.cut.add(("ServerA", "ServerB"))
    net.begin(A, D1)
    net.send(A, D1, *[b"x"] * 100)
    net.settle()
    assert found(net["ServerA"]) is None
    for number in range(2, 40):
        net.begin(A, conversation(number))
        net.send(A, conversation(number), b"x")
    net.settle()
    assert found(net["ServerA"]) is None


@pytest.mark.parametrize("limit", ["MOST_NEEDED", "MOST_EXAMINED"])
def test_what_is_collected_to_be_moved_is_limited(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A week of messages that nobody acknowledges would need gigabytes."""
    net = waiting(others=60)
    net.cut.add(("ServerA", "ServerB"))
    net.send(A, D1, b"waits", b"too")
    net.settle()
    node = net["ServerA"]
    assert found(node) is not None
    monkeypatch.setattr(moving, limit, 2)
    assert found(node) is None


def test_of_those_who_share_a_body_all_know_where_it_is() -> None:
    """SEND on several conversations is one record."""
    net = pair()
    net.cut.add(("ServerA", "ServerB"))
    for dialog in (D1, D2):
        net.begin(A, dialog)
    net.send(A, D1, b"both", also=(D2,))
    net.settle()
    net.cut.clear()
    net.begin(A, conversation(3))
    for _ in range(30):
        net.send(A, conversation(3), b"x")
        net.settle()
    node = net["ServerA"]
    moves = found(node)
    assert moves is not None
    assert (set(keys(moves.dialogs)), [*moves.commands]) == ({D1, D2}, [2])
    node.move(moves)
    assert demand(node).cmd == 34


def keys(dialogs: Sequence[tuple[object, object, object]]) -> list[object]:
    """Return the conversations of dialogs."""
    return [conversation for _, conversation, _ in dialogs]


def move(node: Node) -> None:
    """Move what is better moved."""
    moves = found(node)
    assert moves is not None
    node.move(moves)
