"""Message frames that are read again from `in`: together, and only those that are delivered."""

from __future__ import annotations

from collections.abc import Container

from streams.protocol import Limits

from .harness import Entry, Net, Node, conversation, topology
from .places import PAIR, A, B
from .test_flows import delivered

OFF = "ALTER QUEUE TargetQueue WITH STATUS = OFF"
ON = "ALTER QUEUE TargetQueue WITH STATUS = ON"


def sent(dialogs: int, messages: int, limits: Limits) -> Net:
    """Return two instances; all messages of all dialogs have reached ServerB, but not its `in`."""
    net = Net(topology(PAIR), limits)
    for number in range(dialogs):
        net.begin(A, conversation(number))
    for message in range(messages):
        for number in range(dialogs):
            net.send(A, conversation(number), b"%d/%d" % (number, message))
    while net["ServerA"].transact():
        pass
    net["ServerA"].forward()
    return net


def arrive(node: Node, numbers: Container[int]) -> list[list[int]]:
    """Apply the messages with these numbers in one transaction; return what it read again.

    The other messages go on waiting in `txq`. A message may arrive several times.
    """
    waiting = node.txq.entries[node.txq.position :]
    del node.txq.entries[node.txq.position :]
    node.txq.entries += [entry for entry in waiting if number_of(entry) in numbers]
    node.forward()
    node.txq.entries += waiting
    del node.reads[:]
    node.transact()
    return [numbers_at(node, positions) for positions in node.reads]


def number_of(entry: Entry) -> int:
    """Return the number of a message in its dialog."""
    assert entry.value is not None
    return int(entry.value.rsplit(b"/", 1)[1])


def numbers_at(node: Node, positions: list[int]) -> list[int]:
    """Return the numbers of the messages at positions of `in`."""
    return [number_of(node.inbox.entries[position]) for position in positions]


def test_frames_that_close_gaps_are_foreseen_together() -> None:
    net = sent(5, 4, Limits(window=4, wider=1))
    node = net["ServerB"]
    assert arrive(node, [1, 2, 3]) == []
    assert arrive(node, [0]) == [[1, 2, 3] * 5]
    assert delivered(net) == {number: [0, 1, 2, 3] for number in range(5)}


def test_a_copy_of_a_buffered_message_reads_no_frames() -> None:
    """Only the next transaction continues a run, and it reads what is next by then."""
    net = sent(1, 8, Limits(window=8, run=3))
    node = net["ServerB"]
    arrive(node, range(1, 8))
    assert arrive(node, [0]) == [[1, 2]]
    assert arrive(node, [7]) == [[3, 4, 5]]
    assert arrive(node, [7]) == [[6, 7]]
    assert arrive(node, [7]) == []


def parked() -> Net:
    """Return messages 0 to 3 parked, so that there is no room for 4, and 5 to 7 buffered."""
    net = sent(1, 12, Limits(window=4, wider=4, run=3))
    net.sql(B, OFF)
    node = net["ServerB"]
    arrive(node, range(4))
    node.forward()
    while net["ServerA"].forward() or net["ServerA"].transact():
        pass
    assert arrive(node, [5, 6, 7]) == []
    assert len(node.dialog(conversation(0), initiator=False).held) == 3
    return net


def test_a_message_that_is_refused_reads_no_frames() -> None:
    net = parked()
    assert arrive(net["ServerB"], [4]) == []
    assert net["ServerB"].dialog(conversation(0), initiator=False).received == (4, 0)


def test_frames_that_follow_parked_messages_are_foreseen_together() -> None:
    net = parked()
    net.sql(B, ON)
    assert arrive(net["ServerB"], [4]) == [[0, 1, 2, 3], [5, 6]]
    assert delivered(net) == {0: [0, 1, 2, 3, 4, 5, 6]}


def test_what_waited_for_a_queue_is_read_together_and_within_the_limit() -> None:
    net = sent(6, 4, Limits(window=4, wider=1))
    net.sql(B, OFF)
    net.settle()
    node = net["ServerB"]
    net.most = 8
    del node.reads[:]
    net.sql(B, ON)
    net.settle()
    assert [len(positions) for positions in node.reads] == [4] * 6
    assert delivered(net) == {number: [0, 1, 2, 3] for number in range(6)}


def test_a_message_waits_behind_parked_ones_until_their_dialog_s_turn() -> None:
    """The queue is on, but a transaction wakes only as many dialogs as fit into it."""
    net = sent(2, 3, Limits(window=4, wider=1))
    net.sql(B, OFF)
    node = net["ServerB"]
    arrive(node, [0, 1])
    net.sql(B, ON)
    net.most = 2
    arrive(node, [2])
    assert delivered(net) == {0: [0, 1, 2]}
    net.settle()
    assert delivered(net) == {0: [0, 1, 2], 1: [0, 1, 2]}
