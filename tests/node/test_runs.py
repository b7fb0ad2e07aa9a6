"""A frame that closes a gap delivers a limited run of what waits behind it; the rest follows."""

from __future__ import annotations

import pytest

from streams.node import Transaction
from streams.node.endpoint import validation
from streams.protocol import Limits

from .harness import Entry, Net, Node, conversation, topology
from .places import TARGET, A, B, pair
from .test_receiving_services import FUSSY

SMALL = Limits(window=16, wider=1, run=2)
MESSAGES = [b"<a>%d</a>" % number for number in range(9)]


def all_but_the_first(net: Net, dialogs: int, **given: str) -> list[Entry]:
    """Let what is sent by turns arrive, but the first message of each dialog; return these."""
    contract = {"contract": given["contract"]} if given else {}
    for number in range(dialogs):
        net.begin(A, conversation(number), **contract)  # type: ignore[arg-type]
    for body in MESSAGES:
        for number in range(dialogs):
            net.send(A, conversation(number), body, **({"type": given["type"]} if given else {}))
    net["ServerA"].transact()
    net["ServerA"].forward()
    arrived = net["ServerB"].txq.entries
    late = [entry for entry in arrived if MESSAGES[0] in (entry.value or b"")]
    arrived[:] = [entry for entry in arrived if entry not in late]
    net.settle("ServerB")
    assert net["ServerB"].bodies(TARGET) == []
    return late


def gaps_closed(net: Net, dialogs: int) -> Node:
    """Let the first messages arrive last; return the target after its next transaction."""
    late = all_but_the_first(net, dialogs)
    node = net["ServerB"]
    node.txq.entries.extend(late)
    node.forward()
    node.transact()
    return node


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many bytes each transaction of ServerB validates from now on."""
    found: list[int] = []
    close = Transaction.close

    def watched(tx: Transaction) -> None:
        close(tx)
        if tx.endpoint.instance == "ServerB":
            found.append(tx.any_body.checked)

    monkeypatch.setattr(Transaction, "close", watched)
    return found


@pytest.mark.parametrize("restart", [False, True])
def test_each_transaction_delivers_a_run_until_nothing_waits(restart: bool) -> None:
    net = pair(SMALL)
    late = all_but_the_first(net, 1)
    node, seen = net["ServerB"], []
    node.txq.entries.extend(late)
    node.forward()
    while node.transact():
        seen.append(len(node.bodies(TARGET)))
        if restart:
            node.restart_endpoint()
    assert seen == [2, 4, 6, 8, 9]
    net.settle()
    assert node.bodies(TARGET) == MESSAGES
    assert net["ServerA"].dialog(conversation(0), initiator=True).all_acknowledged


def test_a_run_needs_no_more_frames_than_it_delivers() -> None:
    net = pair(SMALL)
    late = all_but_the_first(net, 1)
    node = net["ServerB"]
    del node.reads[:]
    node.txq.entries.extend(late)
    net.settle("ServerB")
    assert [len(positions) for positions in node.reads] == [1, 2, 2, 2, 1]


def test_a_queue_that_is_off_ends_a_run_until_it_is_on() -> None:
    net = pair(Limits(window=16, wider=1, run=4))
    node = gaps_closed(net, 1)
    assert node.bodies(TARGET) == MESSAGES[:4]
    net.sql(B, "ALTER QUEUE TargetQueue WITH STATUS = OFF")
    net.settle()
    assert node.bodies(TARGET) == MESSAGES[:4]
    net.sql(B, "ALTER QUEUE TargetQueue WITH STATUS = ON")
    net.settle()
    assert node.bodies(TARGET) == MESSAGES


def test_a_transaction_validates_buffered_bodies_of_limited_size(
    checked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "_CHECKED_BYTES", 20)
    net = Net(topology(FUSSY), Limits(window=16, wider=1))
    late = all_but_the_first(net, 7, contract="Orders", type="Order")
    node = net["ServerB"]
    del checked[:]
    for entry in late:
        node.txq.entries.append(entry)
        node.forward()
        node.transact()
    net.settle("ServerB")
    assert sorted(node.bodies(TARGET)) == sorted(MESSAGES * 7)
    assert sum(checked) == 7 * len(MESSAGES) * len(MESSAGES[0])
    # the record that arrives and the one that exceeds the limit
    assert max(checked) <= 20 + 2 * len(MESSAGES[0])


def test_dialogs_that_go_on_leave_half_of_a_transaction_to_others() -> None:
    net = pair(Limits(window=16, wider=1, run=2))
    node = gaps_closed(net, 6)
    assert node.endpoint.has_probes
    tx = node.endpoint.begin(node, net.now, most=8)
    assert 0 < tx.planned <= 4 + 2
    assert not tx.is_full
