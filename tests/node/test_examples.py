"""The worked examples, end to end: every instance with its forwarder and its endpoint worker."""

from __future__ import annotations

import uuid
from collections import Counter

import pytest

from streams.errors import EventKind
from streams.node import TooMuchError
from streams.protocol import CommandKind, Limits, State
from streams.routing import pick_broker
from streams.topology import Transport

from .evidence import shows
from .harness import Net, conversation, shipped, topology
from .places import D1, INITIATOR, TARGET, A, B, pair, talking

DIALOGS = [uuid.UUID(int=n * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128) for n in range(1, 101)]


def undeliverable(net: Net, instance: str) -> list[int]:
    """Return the error numbers of the events 160 of an instance."""
    return net[instance].errors(EventKind.MESSAGE_UNDELIVERABLE)


# --- load balancing ------------------------------------------------------------------------------


@shows("EX-24")
def test_ex_24_load_balancing() -> None:
    """An even split; each dialog sticks; replies return; the chosen id is the one locked."""
    net = Net(shipped("load_balanced"))
    for dialog in DIALOGS:
        net.begin(A, dialog)
        net.send(A, dialog, b"1", b"2")
    net.settle()
    for dialog in DIALOGS:
        net.send(A, dialog, b"3")
    net.settle()
    homes: Counter[str] = Counter()
    for dialog in DIALOGS:
        chosen = "BC"[pick_broker(2, dialog)]
        homes[chosen] += 1
        locked = net["ServerA"].dialog(dialog, initiator=True)
        assert (locked.far_broker, locked.acknowledged) == (f"Database{chosen}", (3, 0))
        net.send(f"Server{chosen}/Database{chosen}", dialog, b"reply", from_initiator=False)
    net.settle()
    assert min(homes.values()) > 35
    assert net["ServerA"].bodies(INITIATOR) == [b"reply"] * 100
    for name, count in homes.items():
        got = net[f"Server{name}"].queues[f"Database{name}/TargetQueue"]
        assert len(got) == 3 * count
        assert {m.header.sequence for m in got} == {0, 1, 2}


@shows("EX-25")
def test_ex_25_a_broker_id_prevents_load_balancing() -> None:
    """Dialogs begun with a broker id all go there."""
    net = Net(shipped("load_balanced"))
    for dialog in DIALOGS[:20]:
        net.begin(A, dialog, to_broker="DatabaseB")
        net.send(A, dialog, b"x")
    net.settle()
    assert len(net["ServerB"].bodies(TARGET)) == 20
    assert net["ServerC"].queues == {}


# --- high availability ---------------------------------------------------------------------------


@shows("EX-29")
def test_ex_29_one_gateway_stops() -> None:
    """With a gateway down traffic flows by the other one, in both directions."""
    net = Net(shipped("high_availability"))
    net.begin(A, D1)
    net.send(A, D1, b"1")
    net.settle()
    assert [n for n, _ in net["ServerB"].queues[TARGET][0].journey.path][1] == "GatewayA"
    net.stopped.add("GatewayA")
    net.silent.add("GatewayA")
    net.send(A, D1, b"2")
    net.settle()
    net.send(B, D1, b"reply", from_initiator=False)
    net.settle()
    assert net["ServerB"].bodies(TARGET) == [b"1", b"2"]
    assert net["ServerA"].bodies(INITIATOR) == [b"reply"]
    assert [n for n, _ in net["ServerB"].queues[TARGET][1].journey.path][1] == "GatewayB"


@shows("EX-29", "U-19", "D2.5")
def test_ex_29_a_gateway_that_loses_everything_is_given_up_for_the_other() -> None:
    """A retry starts from the next address; what got through is preferred from then on."""
    net = Net(shipped("high_availability"))
    net.cut |= {("ServerA", "GatewayA"), ("ServerB", "GatewayA")}
    net.begin(A, D1)
    net.send(A, D1, b"1")
    net.run(30)
    assert net["ServerB"].bodies(TARGET) == [b"1"]
    before = len(net["ServerA"].out.entries)
    net.send(A, D1, b"2")
    net.settle()
    assert net["ServerB"].bodies(TARGET) == [b"1", b"2"]
    assert len(net["ServerA"].out.entries) == before + 1
    assert net["ServerA"].dialog(D1, initiator=True).first_hop == 1


@shows("D2.7")
def test_the_way_there_and_the_way_back_are_broken_in_different_places() -> None:
    """What arrives by one gateway is acknowledged by the other, though both have the same turn."""
    net = Net(shipped("high_availability"))
    net.cut |= {("ServerA", "GatewayB"), ("ServerB", "GatewayA")}
    net.begin(A, D1)
    net.send(A, D1, b"1")
    net.run(30)
    assert net["ServerA"].dialog(D1, initiator=True).acknowledged == (1, 0)
    assert net["ServerB"].bodies(TARGET) == [b"1"]


@shows("EX-30")
def test_ex_30_the_same_message_by_both_gateways() -> None:
    """One is enqueued, the other is a duplicate and acknowledged again (event 160, 11218)."""
    net = Net(shipped("high_availability"))
    net.change_transport("ServerA", Transport.ALL)
    net.begin(A, D1)
    net.send(A, D1, b"1")
    net.settle()
    assert net["ServerB"].bodies(TARGET) == [b"1"]
    assert undeliverable(net, "ServerB") == [11218]
    assert net["ServerA"].dialog(D1, initiator=True).acknowledged == (1, 0)


# --- several targets -----------------------------------------------------------------------------


def several_targets() -> Net:
    """Return EX-33: both addresses get the first message, and ServerB is the quicker one."""
    net = Net(shipped("several_targets"))
    net.begin(A, D1)
    net.send(A, D1, b"1")
    net.settle("ServerA")
    net.settle("ServerB")
    net.settle("ServerC")
    return net


@shows("EX-33")
def test_ex_33_two_target_endpoints() -> None:
    """Endpoints in both databases with one conversation id; both acknowledge with their own id."""
    net = several_targets()
    for name in "BC":
        node = net[f"Server{name}"]
        assert node.dialog(D1, initiator=False).state is State.CO
        assert node.bodies(f"Database{name}/TargetQueue") == [b"1"]
    assert len(net["ServerA"].txq.entries) == 2


@shows("EX-34", "D3.2", "-8495")
def test_ex_34_the_second_acknowledgement_is_rejected() -> None:
    """B is locked; C gets the error (8495), and its endpoint goes to ERROR."""
    net = several_targets()
    net.settle()
    assert net["ServerA"].dialog(D1, initiator=True).far_broker == "DatabaseB"
    assert undeliverable(net, "ServerA") == [11224]
    assert net["ServerC"].dialog(D1, initiator=False).state is State.ER
    assert net["ServerC"].types("DatabaseC/TargetQueue") == ["DEFAULT", "Error"]
    assert b"<Code>-8495</Code>" in net["ServerC"].bodies("DatabaseC/TargetQueue")[1]
    assert net["ServerB"].dialog(D1, initiator=False).state is State.CO


@shows("EX-35")
def test_ex_35_the_second_message() -> None:
    """It carries the locked id: ServerC drops its copy, ServerB gets it once."""
    net = several_targets()
    net.settle()
    net.send(A, D1, b"2")
    net.run(100)
    assert net["ServerB"].bodies(TARGET) == [b"1", b"2"]
    assert net["ServerC"].bodies("DatabaseC/TargetQueue")[0] == b"1"
    assert len(net["ServerC"].bodies("DatabaseC/TargetQueue")) == 2
    assert undeliverable(net, "ServerC") == [28017]
    assert net["ServerA"].dialog(D1, initiator=True).acknowledged == (2, 0)


@shows("EX-35")
def test_ex_35_no_progress_until_the_right_address_is_tried() -> None:
    """With one address at a time the dialog waits until it is the locked one's turn."""
    net = several_targets()
    net.settle()
    net.change_transport("ServerA", Transport.FAILOVER)
    net["ServerA"].dialog(D1, initiator=True).first_hop = 1
    net.send(A, D1, b"2")
    net.settle()
    assert net["ServerB"].bodies(TARGET) == [b"1"]
    assert undeliverable(net, "ServerC") == [28017]
    net.run(4)
    assert net["ServerB"].bodies(TARGET) == [b"1", b"2"]
    assert net["ServerA"].dialog(D1, initiator=True).first_hop == 0


# --- loops and forwarders ------------------------------------------------------------------------


@shows("EX-45", "U-34")
def test_ex_45_a_routing_loop() -> None:
    """16 forwards with hops 15 to 0, then the drop (11285); each retry repeats it; no answer."""
    net = Net(shipped("routing_loop"))
    net.begin(A, D1, to="Svc")
    net.send(A, D1, b"x")
    net.settle()
    met = [e.journey for name in ("F1", "F2") for e in net[name].txq.entries]
    assert sorted(j.hops_remaining for j in met) == list(range(17))
    dropped = [e["error"] for name in ("F1", "F2") for e in net[name].events if e["event"] == 140]
    assert dropped == [11285]
    assert net["ServerA"].dialog(D1, initiator=True).acknowledged == (0, 0)
    net.run(13)
    dropped = [e["error"] for name in ("F1", "F2") for e in net[name].events]
    assert dropped == [11285] * 3
    assert net["ServerA"].ack.entries == []


@shows("EX-46")
def test_ex_46_held_for_its_time_to_live() -> None:
    """Held while the next hop is silent, dropped after 60 s (11290); retries take its place."""
    net = Net(shipped("forwarding_chain"))
    net.silent.add("SQL3")
    net.begin(
        A.replace("ServerA", "SQL1"), D1, service="//sqltalk/sendTweetService",
        to="//sqltalk/rcvTweetService",
    )  # fmt: skip
    net.send("SQL1/DatabaseA", D1, b"x")
    net.run(59)
    assert 11290 not in [e["error"] for e in net["SQL2"].events]
    net.run(2)
    assert [e["error"] for e in net["SQL2"].events if e["event"] == 140][-1] == 11290
    net.silent.clear()
    net.run(70)
    assert net["SQL3"].bodies("DatabaseB/rcvTweetQueue") == [b"x"]


@shows("EX-48")
@pytest.mark.parametrize("crashes", [1, 3])
def test_ex_48_a_forwarder_crashes(crashes: int) -> None:
    """What it held is gone; the sender retries, and the target gets each message exactly once."""
    net = Net(shipped("forwarding_chain"))
    home = "SQL1/DatabaseA"
    net.begin(home, D1, service="//sqltalk/sendTweetService", to="//sqltalk/rcvTweetService")
    net.silent.add("SQL3")
    net.send(home, D1, *[b"%d" % n for n in range(20)])
    for _ in range(crashes):
        net.run(70)
        assert len(net["SQL2"].holding) > 0
        net["SQL2"].restart_forwarder()
    net.silent.clear()
    net.run(300)
    assert net["SQL3"].bodies("DatabaseB/rcvTweetQueue") == [b"%d" % n for n in range(20)]
    assert net["SQL1"].dialog(D1, initiator=True).acknowledged == (20, 0)


@shows("EX-65", "F3")
def test_ex_65_a_chain() -> None:
    """SQL1 to SQL2 to SQL3 and back; SQL2 passes both directions on and has no endpoint."""
    net = Net(shipped("forwarding_chain"))
    home = "SQL1/DatabaseA"
    net.begin(home, D1, service="//sqltalk/sendTweetService", to="//sqltalk/rcvTweetService")
    net.send(home, D1, b"x")
    net.settle()
    (message,) = net["SQL3"].queues["DatabaseB/rcvTweetQueue"]
    assert [name for name, _ in message.journey.path][:3] == ["SQL1", "SQL2", "SQL3"]
    assert message.journey.hops_remaining == 15
    assert net["SQL1"].dialog(D1, initiator=True).acknowledged == (1, 0)
    assert not net["SQL2"].endpoint.dialogs
    assert len(net["SQL2"].txq.entries) == 2


# --- routes come and go --------------------------------------------------------------------------


@shows("EX-51", "R10")
def test_ex_51_drop_route_during_a_dialog() -> None:
    """Messages stay in the transmission queue until a new route exists."""
    net = talking(b"1")
    net.sql(A, "DROP ROUTE Target")
    net.send(A, D1, b"2", b"3")
    net.run(100)
    dialog = net["ServerA"].dialog(D1, initiator=True)
    assert dialog.status == 9796  # AutoCreatedLocal matches, and the service is not here
    assert (dialog.acknowledged, dialog.state) == ((1, 0), State.CO)
    assert net["ServerA"].errors(EventKind.MESSAGE_CLASSIFY)
    net.sql(A, "CREATE ROUTE T WITH SERVICE_NAME = 'TargetService', ADDRESS = 'tcp://ServerB:4022'")
    net.run(2)
    assert net["ServerB"].bodies(TARGET) == [b"1", b"2", b"3"]
    assert net["ServerA"].dialog(D1, initiator=True).status == 0


@shows("EX-51")
def test_ex_51_until_the_lifetime_ends() -> None:
    """No new route: at the end of the lifetime the Error (-8489) is in the initiator's queue."""
    net = pair()
    net.begin(A, D1, lifetime=60)
    net.send(A, D1, b"1")
    net.settle()
    net.sql(A, "DROP ROUTE Target")
    net.send(A, D1, b"2")
    net.run(61)
    assert net["ServerA"].types(INITIATOR) == ["Error"]
    assert b"<Code>-8489</Code>" in net["ServerA"].bodies(INITIATOR)[0]
    assert net["ServerB"].types(TARGET) == ["DEFAULT", "Error"]
    net.send(A, D1, b"3")
    net.settle()
    assert net["ServerA"].errors(EventKind.CONVERSATION)[-1] == 8429
    assert net["ServerA"].dialog(D1, initiator=True).state is State.ER


def test_a_missing_return_route() -> None:
    """The target has the message, the sender keeps retrying, the target reports duplicates."""
    net = pair()
    net.sql(B, "DROP ROUTE Initiator")
    net.begin(A, D1)
    net.send(A, D1, b"1")
    net.run(30)
    assert net["ServerB"].bodies(TARGET) == [b"1"]
    assert undeliverable(net, "ServerB") == [11218] * 3
    assert net["ServerA"].dialog(D1, initiator=True).acknowledged == (0, 0)
    back = "CREATE ROUTE I WITH SERVICE_NAME = 'InitiatorService', ADDRESS = 'tcp://ServerA:4022'"
    net.sql(B, back)
    net.run(64)
    assert net["ServerA"].dialog(D1, initiator=True).acknowledged == (1, 0)


# --- whole conversations -------------------------------------------------------------------------


@shows("D4.3", "D5.1")
def test_a_whole_conversation() -> None:
    """Request, reply, END by the target, END by the initiator; both are closed, nothing is due."""
    net = talking(b"request")
    net.send(B, D1, b"reply", from_initiator=False)
    net.end(B, D1, from_initiator=False)
    net.settle()
    assert net["ServerA"].types(INITIATOR) == ["DEFAULT", "EndDialog"]
    net.end(A, D1)
    net.settle()
    near = net["ServerA"].dialog(D1, initiator=True)
    far = net["ServerB"].dialog(D1, initiator=False)
    assert (near.state, far.state) == (State.CD, State.CD)
    assert far.peer_closed
    assert (near.retry_at, far.retry_at) == (None, None)


@shows("D4.3", "U-47", "> 0")
@pytest.mark.parametrize("fails", [False, True])
def test_end_and_end_with_error(fails: bool) -> None:
    """END follows what is not acknowledged yet; END WITH ERROR takes its place."""
    net = talking(b"1")
    net.cut.add(("ServerA", "ServerB"))
    net.send(A, D1, b"2", b"3")
    net.settle()
    net.cut.clear()
    said = {"error_code": 7, "error_text": "no"} if fails else {}
    net.end(A, D1, **said)
    net.run(10)
    ways = {True: ["DEFAULT", "Error"], False: ["DEFAULT"] * 3 + ["EndDialog"]}
    assert net["ServerB"].types(TARGET) == ways[fails]
    assert net["ServerA"].dialog(D1, initiator=True).state is State.CD


@shows("D4.6")
def test_the_life_of_a_conversation_as_events() -> None:
    """Event 124: 11 BEGIN, 12 the target is created, 2 END, 3 END WITH ERROR, 13 CLEANUP."""
    net = talking(b"1")
    net.end(A, D1)
    net.settle()
    net.end(B, D1, from_initiator=False, cleanup=True)
    net.begin(A, conversation(2))
    net.send(A, conversation(2), b"1")
    net.end(A, conversation(2), error_code=1, error_text="")
    net.settle()

    def subclasses_at(instance: str) -> list[int]:
        events = net[instance].events
        return [e["subclass"] for e in events if e["event"] == EventKind.CONVERSATION]

    assert subclasses_at("ServerA") == [11, 2, 10, 11, 3, 10]
    assert subclasses_at("ServerB") == [12, 7, 13, 12, 8]


@shows("D5.3")
def test_a_replayed_first_message_finds_the_closed_key() -> None:
    """A copy that somebody replays after the end does not reopen the dialog."""
    net = talking(b"one")
    first = net["ServerB"].inbox.entries[0]
    net.end(B, D1, from_initiator=False)
    net.settle()
    net.end(A, D1)
    net.settle()
    net["ServerB"].inbox.entries.append(first)
    net.settle()
    assert net["ServerB"].types(TARGET) == ["DEFAULT"]
    assert net["ServerB"].dialog(D1, initiator=False).state is State.CD
    assert undeliverable(net, "ServerB")[-1] == 11218


def test_both_ends_in_one_instance() -> None:
    """Nothing leaves the instance: its own forwarder finds both sides LOCAL."""
    net = Net(shipped("local"))
    net.begin(A, D1)
    net.send(A, D1, b"x")
    net.settle()
    net.send("ServerA/DatabaseB", D1, b"y", from_initiator=False)
    net.settle()
    node = net["ServerA"]
    assert node.bodies(TARGET) == [b"x"]
    assert node.bodies(INITIATOR) == [b"y"]
    assert len(node.endpoint.dialogs) == 2
    assert node.txq.entries == []


def test_a_lossy_network() -> None:
    """Every link loses what it is given now and then: exactly once, in order, all the same."""
    net = Net(shipped("high_availability"), Limits(window=8))
    net.begin(A, D1)
    links = [("ServerA", "GatewayA"), ("GatewayB", "ServerB"), ("ServerB", "GatewayA")]
    for n in range(40):
        net.send(A, D1, b"%d" % n)
        net.cut = {links[n % 3]} if n % 2 else set()
        net.run(1)
    net.cut = set()
    net.run(300)
    assert net["ServerB"].bodies(TARGET) == [b"%d" % n for n in range(40)]


GATES = """
instances:
  ServerA:
    databases:
      DatabaseA:
        broker_id: A
        services: {InitiatorService: {queue: InitiatorQueue}}
        routes:
          - {name: One, service_name: TargetService, address: 'tcp://Gate1:4022'}
          - {name: Two, service_name: TargetService, address: 'tcp://Gate2:4022'}
  Gate1: &gate
    endpoint: {forwarding: true}
    msdb:
      auto_created_local: false
      routes:
        - {name: a, service_name: TargetService, address: 'tcp://Nowhere:4022'}
        - {name: b, service_name: TargetService, address: 'tcp://ServerB:4022'}
        - {name: c, service_name: InitiatorService, address: 'tcp://Nowhere:4022'}
        - {name: d, service_name: InitiatorService, address: 'tcp://ServerA:4022'}
  Gate2: *gate
  Nowhere: {}
  ServerB:
    databases:
      DatabaseB:
        broker_id: B
        services: {TargetService: {queue: TargetQueue}}
        routes:
          - {name: One, service_name: InitiatorService, address: 'tcp://Gate1:4022'}
          - {name: Two, service_name: InitiatorService, address: 'tcp://Gate2:4022'}
"""


@shows("D2.7", "U-19")
@pytest.mark.parametrize("dead", ["Gate1", "Gate2"])
def test_every_way_over_gateways_with_two_addresses_has_its_turn(dead: str) -> None:
    """Half of the gateways loses everything, half of their addresses drops it: both ways are found.

    Were all instances to move in step with the attempt, one of the two would never be.
    """
    net = Net(topology(GATES))
    net.cut = {(dead, "ServerA"), (dead, "ServerB")}
    net.begin(A, D1)
    net.send(A, D1, b"1")
    net.run(700)
    assert net["ServerB"].bodies(TARGET) == [b"1"]
    assert net["ServerA"].dialog(D1, initiator=True).all_acknowledged


@shows("EX-66")
def test_ex_66_one_send_on_two_handles() -> None:
    """Atomic: each of two dialogs gets it once; where one handle is refused, none does."""
    net, second = pair(), conversation(2)
    net.begin(A, D1)
    net.begin(A, second, to="Fussy", contract="Orders")
    net.begin(A, conversation(3))
    net.send(A, D1, b"tweet", also=(conversation(3),))
    net.settle()
    rows = net["ServerB"].queues[TARGET]
    assert sorted((m.conversation.int, m.body) for m in rows) == [(1, b"tweet"), (3, b"tweet")]
    assert len({m.header.message_id for m in rows}) == 2
    for other in (second, conversation(9), D1):  # another contract, unknown, twice
        net.send(A, D1, b"no", also=(other,))
    net.end(A, conversation(3))
    net.send(A, D1, b"no", also=(conversation(3),))
    net.settle()
    assert net["ServerB"].bodies(TARGET).count(b"no") == 0
    refused = [n for n in net["ServerA"].errors(EventKind.CONVERSATION) if n]
    assert refused == [8431, 8426, 8426, 8429]
    assert net["ServerA"].dialog(D1, initiator=True).send_sequence == 1


def test_the_copies_of_one_send_on_many_handles_are_limited_together() -> None:
    """Else one record of 900 kB would become gigabytes of copies in one transaction (8459)."""
    net, others = pair(Limits(body=40, copies=100)), (conversation(2), conversation(3))
    for dialog in (D1, *others):
        net.begin(A, dialog)
    net.send(A, D1, b"-" * 34, also=others)
    net.send(A, D1, b"+" * 33, also=others)
    net.settle()
    assert net["ServerB"].bodies(TARGET) == [b"+" * 33] * 3
    assert [n for n in net["ServerA"].errors(EventKind.CONVERSATION) if n] == [8459]


def test_the_size_of_what_sends_on_many_handles_transmit_counts() -> None:
    """A copy counts once, but a hundred large ones would be megabytes."""
    net, other = pair(Limits(copies=50)), conversation(2)
    net.begin(A, D1)
    net.begin(A, other)
    net["ServerA"].transact()
    tx = net["ServerA"].endpoint.begin(net["ServerA"], net.now, most=100)
    net.send(A, D1, b"-" * 25, b"+" * 25, also=(other,))
    for (position, entry), is_full in zip(net["ServerA"].cmd.unread(), (False, True), strict=True):
        tx.command(position, net["ServerA"]._command(entry))
        assert tx.is_full is is_full


def test_a_refused_send_counts_the_dialogs_that_it_has_touched() -> None:
    """Their state is written all the same."""
    net, others = pair(), [conversation(n) for n in range(2, 6)]
    for dialog in (D1, *others):
        net.begin(A, dialog)
    net["ServerA"].transact()
    tx = net["ServerA"].endpoint.begin(net["ServerA"], net.now)
    net.send(A, D1, b"no", type="unknown", also=tuple(others))
    (position, entry), *_ = net["ServerA"].cmd.unread()
    assert not tx.command(position, net["ServerA"]._command(entry))
    assert tx.planned == 1 + len(others)


def test_conversations_of_other_statements_than_sends_do_not_count() -> None:
    """They are ignored."""
    net, others = pair(), tuple(conversation(n) for n in range(2, 6))
    net.begin(A, D1)
    net["ServerA"].transact()
    tx = net["ServerA"].endpoint.begin(net["ServerA"], net.now)
    net.command(A, CommandKind.TIMER, D1, timeout=5, also=others)
    (position, entry), *_ = net["ServerA"].cmd.unread()
    assert tx.command(position, net["ServerA"]._command(entry))
    assert tx.planned == 1


def test_copies_that_are_sent_again_are_limited_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body is read once for all dialogs, and is written once for each."""
    net, others = pair(), (conversation(2), conversation(3))
    net.cut.add(("ServerA", "ServerB"))
    for dialog in (D1, *others):
        net.begin(A, dialog)
    net.send(A, D1, b"-" * 30, also=others)
    node, most = net["ServerA"], "streams.node.endpoint.transaction._MOST_COPIED"
    node.transact()
    node.forward()
    monkeypatch.setattr(most, 60)
    net.now += net.limits.retries[0]
    node.transact()
    node.forward()
    monkeypatch.setattr(most, 59)
    net.now += net.limits.retries[1]
    with pytest.raises(TooMuchError, match="60 bytes of copies"):
        node.transact()


def test_what_one_send_on_many_handles_transmits_counts() -> None:
    """A transaction that has read it is full, and leaves the next one to another."""
    net, other = pair(Limits(fragment=10)), conversation(2)
    net.most = 4
    net.begin(A, D1)
    net.begin(A, other)
    net["ServerA"].transact()
    tx = net["ServerA"].endpoint.begin(net["ServerA"], net.now, most=net.most)
    net.send(A, D1, b"-" * 30, also=(other,))
    (position, entry), *_ = net["ServerA"].cmd.unread()
    tx.command(position, net["ServerA"]._command(entry))
    assert tx.is_full


def test_one_send_on_handles_of_which_one_is_unknown_touches_none_of_them() -> None:
    """Else a statement that is refused costs the state of each dialog that it names."""
    net, others = pair(), [conversation(n) for n in range(2, 6)]
    for dialog in (D1, *others):
        net.begin(A, dialog)
    net["ServerA"].transact()
    tx = net["ServerA"].endpoint.begin(net["ServerA"], net.now)
    net.send(A, D1, b"no", also=(*others, conversation(9)))
    (position, entry), *_ = net["ServerA"].cmd.unread()
    tx.command(position, net["ServerA"]._command(entry))
    assert [key[1] for key in tx.machines] == [D1]
    assert tx.planned == 1, "the copies that it does not send do not fill the transaction"


def test_one_send_names_a_thousand_handles_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id takes 16 bytes of the statement, and a dialog, a frame and state of the transaction."""
    monkeypatch.setattr("streams.node.endpoint.execute.MOST_CONVERSATIONS", 3)
    net, others = pair(), [conversation(n) for n in range(2, 5)]
    for dialog in (D1, *others):
        net.begin(A, dialog)
    net.send(A, D1, b"no", also=tuple(others))
    net.send(A, D1, b"yes", also=tuple(others[:2]))
    net.settle()
    assert net["ServerB"].bodies(TARGET) == [b"yes"] * 3
    assert [n for n in net["ServerA"].errors(EventKind.CONVERSATION) if n] == [8459]
