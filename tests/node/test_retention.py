"""Trimming: nothing goes that committed state needs, and what nobody needs does go (rule 5)."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.node import Moves, RetentionFloor, TrimPoint, catalog_of
from streams.node.endpoint.retention import POSITIONS
from streams.protocol import Limits

from .harness import Entry, Net, Node, conversation, topology
from .places import D1, TARGET, A, B, pair, talking

SMALL = Limits(window=4, wider=1, fragment=4, body=64)


def trim_point_of(node: Node) -> TrimPoint:
    """Return what a round says of a node as it is committed."""
    node.endpoint.retention.begin(
        TrimPoint(node.cmd.position, node.inbox.position, node.ack.position)
    )
    while (found := node.endpoint.trim_point()) is None:
        pass
    return found


def needed(node: Node) -> tuple[set[int], set[int]]:
    """Return every position in the state of every dialog, found the slow way."""
    commands: set[int] = set()
    frames: set[int] = set()
    for dialog in map(node.endpoint.dialogs.look, list(node.endpoint.dialogs)):
        assert dialog is not None
        for sequence in range(dialog.acknowledged[0], dialog.send_sequence):
            commands.add(dialog.stored(sequence)[0])
        frames |= {position for position, _ in dialog.held.values()} | set(dialog.partial)
        frames |= {position for number, position in dialog.parked if number >= 0}
    return commands, frames


def demand(node: Node) -> TrimPoint:
    """Demand that what a round says is right, and return it."""
    trim_point, (commands, frames) = trim_point_of(node), needed(node)
    assert trim_point.cmd == min(commands | {node.cmd.position})
    assert trim_point.inbox == min(frames | {node.inbox.position})
    assert trim_point.ack == node.ack.position
    return trim_point


def test_what_is_acknowledged_is_needed_no_more() -> None:
    net = talking(b"one", b"two")
    assert demand(net["ServerA"]) == (3, 0, 1)
    assert demand(net["ServerB"]) == (0, 2, 0)


def test_what_nobody_has_acknowledged_is_needed() -> None:
    """The first dialog's message waits; that a second one is done lets nothing behind it go."""
    net = pair()
    net.cut.add(("ServerA", "ServerB"))
    net.begin(A, D1)
    net.send(A, D1, b"one")
    net.settle()
    net.cut.clear()
    net.begin(A, conversation(2))
    net.send(A, conversation(2), b"two")
    net.settle()
    assert demand(net["ServerA"]).cmd == 1
    net.run(5)
    assert demand(net["ServerA"]).cmd == 4


def test_what_waits_for_a_queue_that_is_off_is_needed() -> None:
    net = pair()
    net.sql(B, f"ALTER QUEUE {TARGET.partition('/')[2]} WITH STATUS = OFF")
    net.begin(A, D1)
    net.send(A, D1, b"one", b"two")
    net.settle()
    assert demand(net["ServerB"]).inbox == 0
    net.sql(B, f"ALTER QUEUE {TARGET.partition('/')[2]} WITH STATUS = ON")
    net.run(2)
    assert net["ServerB"].bodies(TARGET) == [b"one", b"two"]
    assert demand(net["ServerB"]).inbox == net["ServerB"].inbox.position


def test_what_arrived_out_of_order_is_needed() -> None:
    net = pair()
    net.begin(A, D1)
    lose(net, D1)
    net.send(A, D1, b"two")
    net.settle()
    assert net["ServerB"].inbox.position == 1
    assert demand(net["ServerB"]).inbox == 0
    net.run(5)
    assert net["ServerB"].bodies(TARGET) == [b"lost", b"two"]
    assert demand(net["ServerB"]).inbox == net["ServerB"].inbox.position


def test_the_fragments_of_what_is_not_complete_are_needed() -> None:
    net = pair(SMALL)
    net.begin(A, D1)
    net.send(A, D1, b"in several fragments")
    net.settle("ServerA")
    net.settle("ServerB")
    assert net["ServerB"].inbox.position == 4
    assert demand(net["ServerB"]).inbox == 0
    net.settle()
    assert demand(net["ServerB"]).inbox == 5


def test_a_dialog_that_is_forgotten_needs_nothing() -> None:
    net = pair()
    net.begin(A, D1)
    lose(net, D1)
    assert demand(net["ServerA"]).cmd == 1
    net.end(A, D1, cleanup=True)
    net.settle()
    assert demand(net["ServerA"]).cmd == net["ServerA"].cmd.position


def lose(net: Net, dialog: uuid.UUID, also: tuple[uuid.UUID, ...] = ()) -> None:
    """Send a message whose copies are lost on their way."""
    net.cut.add(("ServerA", "ServerB"))
    net.send(A, dialog, b"lost", also=also)
    net["ServerA"].transact()
    net["ServerA"].forward()
    net.cut.clear()


def test_what_an_open_transaction_would_let_go_is_needed() -> None:
    """It may be aborted, and then it is sent again."""
    net = pair()
    net.stopped.add("ServerB")
    net.begin(A, D1)
    net.send(A, D1, b"one")
    net.settle()
    net.stopped.clear()
    net.settle("ServerB")
    net["ServerB"].forward()
    node = net["ServerA"]
    node.forward()
    before = demand(node)
    tx = node.endpoint.begin(node, net.now)
    node._apply(tx)
    tx.close()
    node.cmd.position, node.inbox.position, node.ack.position = 2, 0, 0
    assert tx.machines, "the acknowledgement was applied"
    assert demand(node) == before == (1, 0, 0)
    node.ack.position = 1
    node.endpoint.merge(tx, 0)
    assert demand(node) == (2, 0, 1)


def test_a_round_that_is_not_over_says_nothing_of_what_comes_meanwhile() -> None:
    """Some dialogs at a time are looked at; what came since the round began is above its answer."""
    net = pair()
    net.cut.add(("ServerA", "ServerB"))
    for number in range(1, 4):
        net.begin(A, conversation(number))
        net.send(A, conversation(number), b"x")
    net.settle()
    node = net["ServerA"]
    retention, look = node.endpoint.retention, node.endpoint._look
    retention.begin(TrimPoint(6, 0, 0))
    assert retention.go_on(look, 2) is None
    net.begin(A, conversation(4))
    net.send(A, conversation(4), b"x")
    net.settle()
    retention.begin(TrimPoint(8, 0, 0))  # one goes on
    assert retention.go_on(look, 2) == (1, 0, 0)
    assert RetentionFloor().go_on(look) is None


def test_a_key_that_begins_again_during_a_round_needs_nothing_old() -> None:
    """The dialog that the round knows is gone: its positions would stop trimming for ever."""
    net = pair()
    net.cut.add(("ServerA", "ServerB"))
    net.begin(A, conversation(1))
    net.send(A, conversation(1), b"x")
    net.settle()
    node = net["ServerA"]
    [key] = node.endpoint.dialogs
    dialog = node.endpoint.dialogs[key]
    node.endpoint.retention.begin(TrimPoint(9, 0, 0))
    node.endpoint.load(key, None)
    node.endpoint.restore(key, dialog)
    assert node.endpoint.trim_point() == (9, 0, 0)
    assert demand(node) == (1, 0, 0), "what is there now is needed"
    node.endpoint.load(key, None)
    assert demand(node)[0] > 1


def deep(count: int) -> Node:
    """Return a node with two dialogs: one whose messages all wait, and one with a single one."""
    net = pair()
    net.cut.add(("ServerA", "ServerB"))
    for number in (1, 2):
        net.begin(A, conversation(number))
    net.send(A, conversation(1), *[b"x"] * count)
    net.send(A, conversation(2), b"x")
    net.settle()
    return net["ServerA"]


def test_a_dialog_with_many_positions_is_looked_at_in_steps() -> None:
    """Otherwise all partitions of a worker would stand still for as long as it takes."""
    node = deep(5 * POSITIONS)
    retention, look = node.endpoint.retention, node.endpoint._look
    retention.begin(TrimPoint(9_999, 0, 0))
    steps = 1
    while (found := retention.go_on(look, 1)) is None:
        steps += 1
    assert found == (2, 0, 0)
    assert steps >= 7
    assert demand(node).cmd == 2


def test_a_dialog_that_goes_between_two_steps_needs_nothing() -> None:
    node = deep(5 * POSITIONS)
    retention, look = node.endpoint.retention, node.endpoint._look
    key = next(key for key in node.endpoint.dialogs if key[1] == conversation(1))
    retention.begin(TrimPoint(9_999, 0, 0))
    while retention._examined is None or retention._examined.key != key:
        assert retention.go_on(look, 1) is None
    node.endpoint.load(key, None)
    while (found := retention.go_on(look, 1)) is None:
        pass
    assert found.cmd > 2
    assert demand(node).cmd == found.cmd


def test_an_error_in_a_round_lets_nothing_go() -> None:
    node = deep(3)
    retention, look = node.endpoint.retention, node.endpoint._look
    retention.begin(TrimPoint(9_999, 0, 0))

    def fail(kept: object) -> NoReturn:
        raise MemoryError

    with pytest.raises(MemoryError):
        retention.go_on(fail)
    found = [retention.go_on(look) for _ in range(3)]
    assert [each for each in found if each is not None] == [(2, 0, 0)]


def test_only_queues_with_one_reading_group_may_shrink() -> None:
    """One that keeps what was received (RETENTION) must not."""
    queues = "{Read: {group: readers}, Kept: {group: readers, retention: on}, Anybodys: {}}"
    made = topology(f"instances: {{A: {{databases: {{D: {{queues: {queues}}}}}}}}}")
    assert catalog_of(made, 1).reading_groups == {("A", "D", "Read"): "readers"}


GONE = Entry(b"", None, [], 0)
"""What is left of a record that was trimmed: whoever reads it fails."""


def move(node: Node) -> None:
    """Copy every body that is needed."""
    commands, frames = needed(node)
    keys = tuple(k for k in node.endpoint.dialogs if node.endpoint.dialogs[k].needs_bodies)
    of = uuid.uuid4()  # only Kafka's reader needs to know whose bodies they are
    node.move(Moves(keys, dict.fromkeys(sorted(commands), of), dict.fromkeys(sorted(frames), of)))


OPERATIONS: dict[str, Callable[[Net, uuid.UUID], object]] = {
    "send": lambda net, d: net.send(A, d, b"short"),
    "send long": lambda net, d: net.send(A, d, b"in several fragments"),
    "answer": lambda net, d: net.send(B, d, b"answer", from_initiator=False),
    "end": lambda net, d: net.end(A, d),
    "end there": lambda net, d: net.end(B, d, from_initiator=False),
    "lose": lose,
    "settle": lambda net, d: net.settle(),
    "clean up": lambda net, d: net.end(A, d, cleanup=True),
    "cut": lambda net, d: net.cut.add(("ServerA", "ServerB")),
    "cut back": lambda net, d: net.cut.add(("ServerB", "ServerA")),
    "mend": lambda net, d: net.cut.clear(),
    "off": lambda net, d: net.sql(B, "ALTER QUEUE TargetQueue WITH STATUS = OFF"),
    "on": lambda net, d: net.sql(B, "ALTER QUEUE TargetQueue WITH STATUS = ON"),
    "abort": lambda net, d: setattr(net["ServerA"], "aborts", 2),
    "abort there": lambda net, d: setattr(net["ServerB"], "aborts", 2),
    "crash": lambda net, d: net["ServerA"].restart_endpoint(),
    "crash there": lambda net, d: net["ServerB"].restart_endpoint(),
    "work": lambda net, d: net["ServerA"].transact(),
    "work there": lambda net, d: net["ServerB"].transact(),
    "forward": lambda net, d: net["ServerA"].forward(),
    "forward there": lambda net, d: net["ServerB"].forward(),
    "move": lambda net, d: move(net["ServerA"]),
    "move there": lambda net, d: move(net["ServerB"]),
    "wait": lambda net, d: net.run(5),
}


@pytest.mark.long
@settings(max_examples=150, derandomize=True, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(1, 3)), min_size=10, max_size=40
    )
)
def test_no_position_of_committed_state_is_ever_let_go(done: list[tuple[str, int]]) -> None:
    """Whatever happens: what a round lets go is not in the state, then or at any time after."""
    net = pair(SMALL)
    for number in range(1, 4):
        net.begin(A, conversation(number))
    before = {name: TrimPoint(0, 0, 0) for name in net.nodes}
    for name, number in done:
        OPERATIONS[name](net, conversation(number))
        for place, node in net.nodes.items():
            trim_point = demand(node)
            assert all(now >= then for now, then in zip(trim_point, before[place], strict=True))
            before[place] = trim_point
            node.cmd.entries[: trim_point.cmd] = [GONE] * trim_point.cmd
            node.inbox.entries[: trim_point.inbox] = [GONE] * trim_point.inbox
    net.cut.clear()
    net.sql(B, "ALTER QUEUE TargetQueue WITH STATUS = ON")
    net.run(200)  # it is all tried again, and nobody reads what is gone
