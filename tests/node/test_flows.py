"""A backlog drains in transactions of a bounded size, and in turns (kafka_mapping.md, 4 to 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import pytest

from streams.node import PROBES, Transaction
from streams.node.endpoint.dialogs import Destination, Kept
from streams.node.endpoint.flows import AT_ONCE, FIRST, Flows, destination
from streams.node.endpoint.oldest import Oldest
from streams.node.endpoint.turns import take_turns
from streams.protocol import Dialog, DialogKey, Limits

from .harness import Net, Node, conversation, topology
from .places import PAIR, TARGET, A

SMALL = Limits(window=4, wider=1)
Frames = list[tuple[int, int]]
"""Conversation and sequence of the messages that a transaction has transmitted."""


def sending(dialogs: int, messages: int, **given: object) -> Net:
    """Return two instances, and dialogs on which messages were sent by turns."""
    net = Net(topology(PAIR), given.pop("limits", SMALL), **given)
    for number in range(dialogs):
        net.begin(A, conversation(number))
    for message in range(messages):
        for number in range(dialogs):
            net.send(A, conversation(number), b"%d/%d" % (number, message))
    return net


def take_a_turn_each(net: Net) -> None:
    """Let each instance forward what it has, and commit one transaction."""
    for name in ("ServerA", "ServerB"):
        net[name].forward()
        net[name].transact()


@pytest.fixture
def transmitted(monkeypatch: pytest.MonkeyPatch) -> list[Frames]:
    """Return what each transaction of ServerA transmits from now on."""
    found: list[Frames] = []
    close = Transaction.close

    def watched(tx: Transaction) -> None:
        close(tx)
        if tx.endpoint.instance == "ServerA":
            frames = (f for f in tx.frames if f.header is not None)
            found.append([(f.conversation.int, f.header.sequence) for f in frames])

    monkeypatch.setattr(Transaction, "close", watched)
    return found


def delivered(net: Net) -> dict[int, list[int]]:
    """Return the numbers of the messages in the target's queue, by conversation, in order."""
    found: dict[int, list[int]] = {}
    for body in net["ServerB"].bodies(TARGET):
        dialog, message = map(int, body.split(b"/"))
        found.setdefault(dialog, []).append(message)
    return found


def test_an_opened_window_transmits_within_the_transactions_limit(
    transmitted: list[Frames],
) -> None:
    net = sending(6, 20)
    net.settle("ServerA")  # accepted; each window is full
    net.most = 5
    del transmitted[:]
    net.settle()
    assert delivered(net) == {number: list(range(20)) for number in range(6)}
    assert max(map(len, transmitted)) == 5


@pytest.mark.parametrize(("dialogs", "most"), [(1, 12), (3, 4)])
def test_few_dialogs_share_what_is_free_of_their_flow(
    monkeypatch: pytest.MonkeyPatch, dialogs: int, most: int
) -> None:
    """One alone has windows enough to fill it: else it would wait for every round trip."""
    in_flight: list[int] = []

    def watched(tx: Transaction) -> None:
        take_turns(tx)
        in_flight.extend(machine.dialog.in_flight for machine in tx.machines.values())

    net = sending(dialogs, 60, limits=Limits(window=2, wider=10), flight=12)
    net.settle("ServerA")
    monkeypatch.setattr("streams.node.endpoint.transaction.take_turns", watched)
    net.settle()
    assert delivered(net) == {number: list(range(60)) for number in range(dialogs)}
    assert most <= max(in_flight) <= 12


def test_the_last_few_messages_of_a_dialog_take_no_turn_of_their_own(
    transmitted: list[Frames],
) -> None:
    """Seven messages are planned at a turn here, and three more would cost another turn."""
    net = sending(9, 20, limits=Limits(window=10, wider=1))
    net.settle("ServerA")
    net.settle("ServerB")
    net["ServerA"].forward()
    net.most = 24
    del transmitted[:]
    net["ServerA"].transact()
    assert Counter(number for number, _ in transmitted[0]) == {0: 10, 1: 5}


def test_planning_reads_no_dialogs_that_do_not_transmit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands have a turn, and a transaction takes messages of a few hundred."""
    net = sending(40, 20)
    net.settle("ServerA")
    net.settle("ServerB")
    node = net["ServerA"]
    node.forward()
    net.most = 8
    node.transact()  # acknowledgements open all windows
    read: list[DialogKey] = []
    unpack = node.endpoint.dialogs._read

    def watched(kept: Kept) -> Dialog:
        read.append(kept.key)
        return unpack(kept)

    monkeypatch.setattr(node.endpoint.dialogs, "_read", watched)
    node.endpoint.left_out = node.out.position
    tx = node.endpoint.begin(node, net.now, most=8)
    tx.close()
    assert len(tx.turns.room) == 8 and len(tx.frames) == 8
    assert set(read) == set(tx.machines) and len(tx.machines) == 4


def test_dialogs_with_room_transmit_by_turns(transmitted: list[Frames]) -> None:
    """No dialog transmits a second window before each has transmitted its first."""
    net = sending(6, 20)
    net.settle("ServerA")
    net.most = 4
    del transmitted[:]
    net.settle()
    firsts = [number for frames in transmitted for number, sequence in frames if sequence == 4]
    order = [number for frames in transmitted for number, _ in frames]
    before = Counter(order[: order.index(firsts[-1]) + 1])
    assert len(firsts) == 6 and max(before.values()) <= 8


def test_a_wide_window_does_not_keep_its_turn() -> None:
    """Who has room left after its turn is the last one now: else few would go far ahead."""
    net = sending(6, 60, limits=Limits(window=2, wider=10))
    net.most, node = 4, net["ServerA"]
    apart = []
    while sum(map(len, delivered(net).values())) < 360:
        take_a_turn_each(net)
        sent = [dialog.transmitted[0] for dialog in node.endpoint.dialogs.values()]
        apart.append(max(sent) - min(sent))
        net.now += 1
    assert max(apart) <= 8


def skewed(text: str, places: int) -> tuple[Net, Node, dict[int, int]]:
    """Return a backlog of 60 dialogs: each n-th message is of the n-th; and how many each has."""
    net = Net(topology(text), Limits(window=4, wider=4))
    sent = dict.fromkeys(range(1, 61), 0)
    for number in sent:
        net.begin(A, conversation(number))
    for place in range(places):
        for number in (n for n in sent if place % n == 0):
            net.send(A, conversation(number), b"%d/%d" % (number, sent[number]))
            sent[number] += 1
    return net, net["ServerA"], sent


def test_what_waits_far_apart_for_one_service_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What there is to read is shared by the services, however old the messages of each are."""
    monkeypatch.setattr("streams.node.endpoint.turns.GAP", 20)
    monkeypatch.setattr("streams.node.endpoint.turns.WORTH", 1)
    monkeypatch.setattr("streams.node.endpoint.turns.FREE", 40)
    routes = "        routes:\n          - {name: Target,"
    text = PAIR.replace(
        "          Fussy:", "          Other: {queue: TargetQueue}\n          Fussy:"
    )
    other = "          - {name: Other, service_name: Other, address: 'tcp://ServerB:4022'}\n"
    text = text.replace(routes, routes.replace("          - {", f"{other}          - {{"), 1)
    net, node, sent = skewed(text, 500)
    net.begin(A, conversation(99), to="Other")
    for message in range(40):
        net.send(A, conversation(99), b"99/%d" % message)
    node.transact()
    net.most = 40
    while len(delivered(net).get(99, ())) < 40:
        take_a_turn_each(net)
        net.now += 1
    assert sum(map(len, delivered(net).values())) < sum(sent.values()) / 2


@pytest.mark.long
def test_a_transaction_reads_few_records_for_each_body(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some dialogs have a message in each few records, others in each hundred."""
    gap, worth, free = 20, 4, 100
    for name, number in (("GAP", gap), ("WORTH", worth), ("FREE", free)):
        monkeypatch.setattr(f"streams.node.endpoint.turns.{name}", number)
    net, node, sent = skewed(PAIR, 2_000)
    node.transact()
    net.most = 40
    del node.reads[:]
    total = sum(sent.values())
    while len(node.reads) < total // 10 and sum(map(len, delivered(net).values())) < total:
        take_a_turn_each(net)
        net.now += 1
    assert delivered(net) == {number: list(range(count)) for number, count in sent.items()}
    for positions in map(sorted, node.reads):
        cost = sum(min(at - before, gap) for before, at in pairwise(positions))
        assert cost <= free + worth * len(positions)


def drained(net: Net, total: int) -> Iterator[list[int]]:
    """Drain a backlog; yield the positions that each transaction of ServerA reads, in order."""
    node = net["ServerA"]
    while sum(map(len, delivered(net).values())) < total:
        del node.reads[:]
        take_a_turn_each(net)
        yield from map(sorted, filter(None, node.reads))
        net.now += 1


def test_interleaved_messages_of_many_dialogs_are_read_only_a_few_times() -> None:
    """A dialog transmits a few messages at a time: a whole window is spread over the log."""
    net = sending(100, 96, limits=Limits(window=32, wider=1))
    net.settle("ServerA")
    net.most = 100
    spans = [(p[-1] - p[0], len(p)) for p in drained(net, 9_600)]
    assert delivered(net) == {number: list(range(96)) for number in range(100)}
    assert sum(span for span, _ in spans) <= 8 * sum(count for _, count in spans)


def test_dialogs_beyond_the_length_of_a_gap_have_no_shorter_turns(
    monkeypatch: pytest.MonkeyPatch, transmitted: list[Frames]
) -> None:
    """A seek skips what lies between: else each dialog would transmit one message at a time."""
    monkeypatch.setattr("streams.node.endpoint.turns.GAP", 20)
    net = sending(400, 12, limits=Limits(window=4, wider=1))
    net.settle("ServerA")
    net.most = 40
    del transmitted[:]
    net.settle()
    sizes = [len(frames) / len(dict(frames)) for frames in transmitted if len(frames) == 40]
    assert len(sizes) > 50 and sum(sizes) / len(sizes) > 2


def test_messages_of_a_dialog_that_follow_each_other_are_read_together() -> None:
    """Else the bodies of a transaction would be spread over all bursts."""
    net = Net(topology(PAIR), Limits(window=32, wider=1))
    for number in range(20):
        net.begin(A, conversation(number))
    for number in range(20):
        for message in range(96):
            net.send(A, conversation(number), b"%d/%d" % (number, message))
    net.settle("ServerA")
    net.most = 64
    gaps = [at > before + 1 for read in drained(net, 1_920) for before, at in pairwise(read)]
    assert len(gaps) > 1_000 and sum(gaps) <= 50


def test_bodies_of_all_dialogs_are_read_together_in_one_pass() -> None:
    net = sending(10, 12)
    net.settle("ServerA")
    node = net["ServerA"]
    net.settle("ServerB")
    for name in ("ServerB", "ServerA", "ServerB"):
        net[name].forward()
    net["ServerB"].transact()
    net["ServerB"].forward()
    del node.reads[:]
    node.transact()  # acknowledgements open ten windows
    (positions,) = node.reads
    assert len(positions) == 40


def test_an_aborted_transaction_leaves_shared_chunks_as_they_were() -> None:
    net = sending(1, 3)
    node = net["ServerA"]
    node.transact()
    chunks = node.dialog(conversation(0), initiator=True).chunks
    before = {number: chunk.copy() for number, chunk in chunks.items()}
    net.send(A, conversation(0), b"0/3")
    node.aborts = 1
    node.transact()
    assert node.dialog(conversation(0), initiator=True).chunks == before
    net.settle()
    assert delivered(net) == {0: [0, 1, 2, 3]}


def test_what_waits_respects_the_flow_s_limit() -> None:
    """A dialog with nothing waiting transmits at once; what waits is bounded for all together."""
    net = sending(8, 20, flight=10)
    net.settle("ServerA")
    node = net["ServerA"]
    seen = []
    while sum(map(len, delivered(net).values())) < 160:
        net["ServerA"].forward()
        net["ServerB"].forward()
        net["ServerB"].transact()
        net["ServerB"].forward()
        net["ServerA"].forward()
        node.transact()
        dialogs = node.endpoint.dialogs.values()
        seen.append(sum(d.transmitted[0] - d.acknowledged[0] for d in dialogs))
        net.now += 1
    assert seen[0] <= 10 and max(seen) <= 10
    assert delivered(net) == {number: list(range(20)) for number in range(8)}


@pytest.mark.parametrize(("dialogs", "each"), [(8, 4), (1, 15)])
def test_in_a_full_flow_only_dialogs_with_few_messages_in_flight_transmit_at_once(
    dialogs: int, each: int
) -> None:
    """Else a thousand dialogs fill a window each, and every new one waits behind all of it."""
    net = sending(dialogs, 0, limits=Limits(window=20, wider=1), flight=10)
    node = net["ServerA"]
    node.transact()
    node.endpoint.flows.of(node.dialog(conversation(0), initiator=True)).added_at = net.now
    for message in range(20):
        for number in range(dialogs):
            net.send(A, conversation(number), b"%d/%d" % (number, message))
        node.transact()
    for number in range(dialogs):
        assert node.dialog(conversation(number), initiator=True).transmitted == (each, 0)

    net.begin(A, conversation(dialogs))
    net.send(A, conversation(dialogs), b"%d/0" % dialogs)
    node.transact()
    assert node.dialog(conversation(dialogs), initiator=True).transmitted == (1, 0)

    net.settle()
    whole = {number: list(range(20)) for number in range(dialogs)}
    assert delivered(net) == {**whole, dialogs: [0]}


def test_what_waits_does_not_starve_behind_what_is_transmitted_at_once() -> None:
    """However full the flow is, a dialog that waits transmits something every tenth of a second."""
    net = sending(1, 6, flight=8)
    node = net["ServerA"]
    node.transact()
    net.stopped.add("ServerB")
    dialog = node.dialog(conversation(0), initiator=True)
    assert dialog.transmitted == (4, 0)
    for number in range(1, 20):  # at once, beyond what the flow has room for
        net.begin(A, conversation(number))
        net.send(A, conversation(number), b"%d/0" % number)
    node.transact()
    net.stopped.clear()
    firsts = [e for e in node.out.entries if e.key == node.out.entries[0].key]
    node.out.entries[:] = firsts  # the others never arrive
    node.forward()
    net["ServerB"].transact()
    net["ServerB"].forward()
    net["ServerB"].transact()
    net["ServerB"].forward()
    node.forward()
    node.transact()
    net.now += 100
    node.transact()
    assert node.dialog(conversation(0), initiator=True).transmitted > (4, 0)


def to(service: str, broker: str = "") -> Destination:
    return service, broker, "DatabaseA", "InitiatorService"


def test_flows_have_turns_one_after_the_other() -> None:
    """A long backlog towards one service does not hold up another service."""
    flows = Flows(Limits(), limit=100)
    keys = [Kept(("DatabaseA", conversation(number), True)) for number in range(6)]
    for position, key in enumerate(keys):
        flows.towards(to("Long" if position < 5 else "Short")).waiting.put(key, position)
    flows._wanting |= flows._flows
    assert list(flows.turn(3, 0)) == [keys[0], keys[5], keys[1]]


def test_thousands_of_flows_have_their_turns_in_transactions_to_come() -> None:
    """Whoever begins dialogs may name any service and any broker id."""
    flows = Flows(Limits(), limit=100)
    keys = [Kept(("DatabaseA", conversation(number), True)) for number in range(3 * AT_ONCE)]
    for key in keys:
        flows.towards(to("Any", str(key.key[1]))).waiting.put(key, 0)
    flows._wanting |= flows._flows
    rounds = [list(flows.turn(1_000, 0)) for _ in range(3)]
    assert [len(found) for found in rounds] == [AT_ONCE] * 3
    assert [key for found in rounds for key in found] == keys


def test_flows_without_room_take_no_turns_from_those_behind_them() -> None:
    flows = Flows(Limits(), limit=1)
    keys = [Kept(("DatabaseA", conversation(number), True)) for number in range(AT_ONCE + 1)]
    for key in keys:
        flow = flows.towards(to("Any", str(key.key[1])))
        flow.waiting.put(key, 0)
        flow.in_flight = flow.added_at = int(key != keys[-1])
    flows._wanting |= flows._flows
    assert flows.has_turn(1)
    assert list(flows.turn(1_000, 1)) == [keys[-1]]


def test_a_broker_id_that_does_not_exist_holds_up_only_its_own_dialogs() -> None:
    """Its messages reach an instance that never acknowledges them: no flow but theirs stalls."""
    net = sending(0, 0)
    for number in range(1, 3 * PROBES):
        net.begin(A, conversation(number), to_broker="Nobody")
        net.send(A, conversation(number), b"%d/0" % number)
    net.run(5)
    for number in range(3 * PROBES, 6 * PROBES):
        net.begin(A, conversation(number), to_broker="Nobody")
        net.send(A, conversation(number), b"%d/0" % number)
    net.settle()
    net.begin(A, conversation(0), to_broker="B")
    net.send(A, conversation(0), b"0/0", b"0/1")
    net.settle()
    assert delivered(net) == {0: [0, 1]}


def test_a_service_without_a_return_route_holds_up_only_its_own_dialogs() -> None:
    """Its messages arrive at the same target, which cannot acknowledge them."""
    initiator = "          InitiatorService: {queue: InitiatorQueue, contracts: []}\n"
    unknown = "          Unknown: {queue: InitiatorQueue, contracts: []}\n"
    net = Net(topology(PAIR.replace(initiator, initiator + unknown)), SMALL)
    for numbers in (range(1, 3 * PROBES), range(3 * PROBES, 6 * PROBES)):
        for number in numbers:
            net.begin(A, conversation(number), service="Unknown")
            net.send(A, conversation(number), b"%d/0" % number)
        net.run(5)
    net.begin(A, conversation(0))
    net.send(A, conversation(0), b"0/0", b"0/1")
    net.settle()
    assert delivered(net)[0] == [0, 1]


def test_asking_about_a_dialog_begins_no_flow() -> None:
    """The dialog may be locked to a broker id before the commit; that flow would stay for ever."""
    flows, net = Flows(Limits(), limit=1), sending(1, 0)
    net.settle()
    assert flows.admits(net["ServerA"].dialog(conversation(0), initiator=True))
    assert flows._flows == {}


def test_a_dialog_goes_over_to_the_flow_of_the_broker_id_that_it_is_locked_to() -> None:
    net = sending(1, 6)
    cut(net)
    net.settle()
    flows = net["ServerA"].endpoint.flows
    before = flows.towards(to("TargetService"))
    assert before.in_flight == 4 and len(before.waiting) == 0
    net.cut.clear()
    net.run(30)
    assert delivered(net) == {0: list(range(6))}
    after = flows.towards(to("TargetService", "B"))
    assert (before.in_flight, len(before.waiting), before.lost) == (0, 0, {})
    assert (after.in_flight, len(after.waiting), after.lost) == (0, 0, {})
    assert not flows.waits and not before.stalled


def cut(net: Net) -> None:
    """Let every copy towards ServerB be lost."""
    net.cut.add(("ServerA", "ServerB"))


def test_while_nothing_gets_through_only_probes_are_in_flight() -> None:
    net = sending(1, 1)
    cut(net)
    net.run(5)  # the first retry: nothing was acknowledged since
    for number in range(1, 3 * PROBES):
        net.begin(A, conversation(number))
        net.send(A, conversation(number), b"%d/0" % number)
    net.settle()
    out = {entry.key for entry in net["ServerA"].out.entries}
    assert len(out) == 1 + PROBES


def test_dialogs_that_retry_do_not_fill_their_windows() -> None:
    """Or a hundred more messages leave in each transaction, because they are not counted."""
    net = sending(20, 30, limits=Limits(window=64, wider=1))
    net.run(1)
    cut(net)
    for number in range(20):
        net.send(A, conversation(number), b"%d/30" % number)
    net.run(15)  # each dialog has retried twice
    before = len(net["ServerA"].out.entries)
    for message in range(31, 60):
        for number in range(20):
            net.send(A, conversation(number), b"%d/%d" % (number, message))
        net["ServerA"].transact()
        net["ServerA"].forward()
    sent = Counter(entry.key for entry in net["ServerA"].out.entries[before:])
    assert set(sent.values()) == {PROBES // 20 - 1}, "besides the message that is retried"
    net.cut.clear()
    net.run(70)
    assert {n: len(numbers) for n, numbers in delivered(net).items()} == dict.fromkeys(
        range(20), 60
    )


def test_a_new_dialog_does_not_wait_behind_those_that_retry() -> None:
    """Its target may be another one, which is alive: not locked yet, they share a flow."""
    known = 2 * PROBES
    net = sending(known, 1)
    net.run(1)
    cut(net)
    for message in range(1, 4 * FIRST):
        for number in range(known):
            net.send(A, conversation(number), b"%d/%d" % (number, message))
    net.run(15)
    dialog = net["ServerA"].dialog(conversation(0), initiator=True)
    flow = net["ServerA"].endpoint.flows.of(dialog)
    assert flow.stalled and len(flow.lost) == known
    before = len(net["ServerA"].out.entries)
    net.begin(A, conversation(known), to_broker="B")
    net.send(A, conversation(known), b"%d/0" % known)
    net["ServerA"].transact()
    sent = {entry.key for entry in net["ServerA"].out.entries[before:]}
    assert sent == {str(conversation(known)).encode()}


@pytest.mark.parametrize("dialogs", [1, 60])
def test_what_is_sent_on_a_dialog_that_retries_finds_out_that_the_other_side_is_back(
    dialogs: int,
) -> None:
    """Its next retry is due after a minute."""
    net = sending(dialogs, 1)
    net.run(1)
    cut(net)
    for number in range(dialogs):
        net.send(A, conversation(number), b"%d/1" % number)
    net.run(65)
    net.cut.clear()
    net.send(A, conversation(0), b"0/2")
    net.run(2)
    assert delivered(net)[0] == [0, 1, 2]
    assert len(net["ServerB"].bodies(TARGET)) == 2 * dialogs + 1


def lose(net: Net) -> None:
    """Begin dialogs one after the other, so that their retries are due at different times."""
    for number in range(60):
        net.begin(A, conversation(number))
        net.send(A, conversation(number), b"%d/0" % number, b"%d/1" % number)
        net.run(1)
    net.run(200)


def first_second(net: Net) -> set[int]:
    """Return the dialogs of which something is delivered a second after the first delivery."""
    while not delivered(net):
        net.run(0.1)
    net.run(1)
    return set(delivered(net))


def test_the_first_acknowledgement_lets_everything_go_on() -> None:
    net = sending(0, 0)
    cut(net)
    lose(net)
    net.cut.clear()
    assert first_second(net) == set(range(60))


def test_so_it_does_where_the_next_hop_was_known_to_be_unreachable() -> None:
    """The forwarder has told the dialogs why: each has a status, and only probes."""
    net = sending(0, 0)
    net.silent.add("ServerB")
    lose(net)
    assert all(d.status for d in net["ServerA"].endpoint.dialogs.values())
    net.silent.clear()
    assert first_second(net) == set(range(60))


def test_a_worker_that_starts_finds_out_that_nothing_gets_through() -> None:
    net = sending(0, 0)
    cut(net)
    lose(net)
    net["ServerA"].restart_endpoint()
    net.cut.clear()
    assert first_second(net) == set(range(60))


@pytest.mark.parametrize("locked", [False, True])
def test_so_does_the_first_acknowledgement_of_a_copy_that_is_out_of_order(locked: bool) -> None:
    """After a long absence the oldest copies have expired, and only later ones arrive.

    The next retries are due after two minutes. The acknowledgement also locks new dialogs, which
    moves them to the flow of a broker id.
    """
    dialogs = range(60)
    net = sending(60 if locked else 0, 1, limits=Limits(window=64, wider=1))
    net.run(1)
    known = len(net["ServerB"].bodies(TARGET))
    cut(net)
    for number in dialogs:
        if not locked:
            net.begin(A, conversation(number))
        net.send(A, conversation(number), b"%d/1" % number)
    net.run(70)  # retried four times
    for number in dialogs:
        net.send(A, conversation(number), b"%d/2" % number)
    net["ServerA"].transact()
    net.cut.clear()
    net.run(2)
    assert len(net["ServerB"].bodies(TARGET)) == known + 120


def lost_dialog() -> Net:
    """Return two instances, and a dialog whose flow goes on after it was retried in vain."""
    net = sending(1, 2)
    net["ServerA"].transact()
    net["ServerA"].forward()
    del net["ServerB"].txq.entries[1:]  # its second message is lost,
    net.cut.add(("ServerB", "ServerA"))  # and so are acknowledgements
    net.run(30)
    net.cut.clear()
    dialog = net["ServerA"].dialog(conversation(0), initiator=True)
    flows = net["ServerA"].endpoint.flows
    flow = flows.of(dialog)
    assert flow.stalled and flow.lost
    flow.stalled = False  # another dialog was acknowledged
    flows._note_wanting(destination(dialog), flow)
    return net


def test_dialogs_retry_at_their_turn_only_after_the_stall() -> None:
    net = lost_dialog()
    flows = net["ServerA"].endpoint.flows
    assert flows.has_retry
    flow = flows.of(net["ServerA"].dialog(conversation(0), initiator=True))
    flow.stalled = True
    assert flow.lost and not flows.has_retry


def transmits(net: Net, *, applies: bool) -> int:
    """Return how many messages ServerA's next transaction transmits."""
    node = net["ServerA"]
    node.endpoint.left_out = node.out.position
    tx = node.endpoint.begin(node, net.now)
    if applies:
        node._apply(tx)
    tx.close()
    return sum(frame.header is not None for frame in tx.frames)


def test_a_dialog_that_is_due_and_has_its_turn_retries_once() -> None:
    net = lost_dialog()
    assert transmits(net, applies=False) == 1
    net["ServerA"].endpoint.abandon(net["ServerA"].endpoint.begin(net["ServerA"], net.now))
    net.now = net["ServerA"].dialog(conversation(0), initiator=True).retry_at or 0
    assert transmits(net, applies=False) == 1


def test_what_is_acknowledged_in_the_same_transaction_is_not_retried() -> None:
    """What was lost behind it is sent again, once."""
    net = lost_dialog()
    node, target = net["ServerA"], net["ServerB"]
    target.txq.position -= 1  # the last copy comes once more, and is acknowledged again
    target.forward()
    target.transact()
    target.forward()
    node.forward()
    assert transmits(net, applies=True) == 1


def test_a_full_flow_keeps_the_time_of_its_last_turn() -> None:
    """Else whoever sends all the time would put off its own turn for ever."""
    net = sending(1, 6, flight=8)
    node = net["ServerA"]
    node.transact()
    flow = node.endpoint.flows.of(node.dialog(conversation(0), initiator=True))
    flow.in_flight, flow.added_at = 100, net.now
    net.send(A, conversation(0), b"0/6")
    tx = node.endpoint.begin(node, net.now)
    node._apply(tx)
    tx.close()
    assert not tx.turns.added


@pytest.mark.parametrize("few", [0, 90])
def test_a_turn_takes_about_as_many_dialogs_as_it_yields(
    monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """However many dialogs wait in each of a hundred flows, of which some have only one."""
    flows, taken = Flows(Limits(), limit=10_000), 0
    first = Oldest.first

    def counted(oldest: Oldest[Kept], most: int) -> Iterator[Kept]:
        nonlocal taken
        found = list(first(oldest, most))
        taken += len(found)
        return iter(found)

    monkeypatch.setattr(Oldest, "first", counted)
    for number in range(AT_ONCE):
        waiting = flows.towards(to(f"Service{number}")).waiting
        for position in range(1 if number < few else 300):
            waiting.put(
                Kept(("DatabaseA", conversation(1_000 * number + position), True)), position
            )
    flows._wanting |= flows._flows
    assert len(list(flows.turn(1_000, 0))) == 1_000
    assert taken <= 1_000 + AT_ONCE
