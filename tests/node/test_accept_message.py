"""Which endpoint takes a frame: found, created or refused; and in which database."""

from __future__ import annotations

import uuid

import pytest

from streams.errors import EventKind
from streams.node import Transaction
from streams.protocol import (
    DEFAULT,
    Ack,
    Acknowledgement,
    Flag,
    Header,
    Journey,
    Message,
    Parties,
    State,
)
from streams.routing import order_databases
from streams.wire import records as wire

from .evidence import shows
from .harness import START, Net, conversation, topology
from .places import D1, INITIATOR, TARGET, A, B, pair, talking

SEVERAL = """
instances:
  One:
    databases:
      Home:
        broker_id: H
        services: {Starter: {queue: Q}, Svc: {queue: Q}}
      Second: {broker_id: S, services: {Svc: {queue: Q}}}
      Third: {broker_id: T, services: {Svc: {queue: Q}}}
      Quiet: {broker_id: Q, broker: disabled, services: {Svc: {queue: Q}}}
"""
FROM_A = Parties("TargetService", None, "InitiatorService", "A", DEFAULT, True)


def arriving(
    sequence: int = 0,
    *,
    parties: Parties = FROM_A,
    dialog: uuid.UUID = D1,
    flags: Flag = Flag.NONE,
    expires: int = START + 3_600_000,
    attempt: int = 0,
    first_hop: int = 0,
    inside: bool = False,
) -> Message:
    """Return a message frame as it stands in ``in``."""
    header = Header(uuid.UUID(int=9), DEFAULT, sequence, START, expires, flags)
    journey = Journey(16, START + 60_000, attempt, START, first_hop)
    return Message(dialog, parties, header, journey, b"%d" % sequence, inside)


def reads(net: Net, instance: str, *frames: Message | Acknowledgement) -> Transaction:
    """Let an instance's endpoint worker read frames, in one committed transaction."""
    node = net[instance]
    tx = node.endpoint.begin(node, net.now)
    for frame in frames:
        if isinstance(frame, Acknowledgement):
            tx.acknowledgement(frame)
            continue
        key, value, headers = wire.message_record(
            frame.conversation, frame.parties, frame.header, frame.journey, frame.body
        )
        tx.message(node.inbox.append(key, value, headers, net.now), frame)
    node.inbox.position = len(node.inbox.entries)
    tx.close()
    node.endpoint.merge(tx, node._write(tx))
    return tx


def errors(tx: Transaction) -> list[int]:
    """Return the error numbers of what was undeliverable."""
    return [e["error"] for e in tx.events if e["event"] == EventKind.MESSAGE_UNDELIVERABLE]


def broker_errors(tx: Transaction) -> list[bytes]:
    """Return the bodies of the broker Errors that were sent."""
    return [f.body for f in tx.frames if f.header is not None and not f.header.sequenced]


# --- creation ------------------------------------------------------------------------------------


@shows("D1.5")
def test_the_first_message_creates_the_target_endpoint() -> None:
    """It belongs to the initiator's broker id, lives as long, and converses at once."""
    net = pair()
    tx = reads(net, "ServerB", arriving())
    dialog = net["ServerB"].dialog(D1, initiator=False)
    assert (dialog.state, dialog.far_broker, dialog.locked) == (State.CO, "A", True)
    assert dialog.expires_at == START + 3_600_000
    assert [m.body for m in tx.queued] == [b"0"]
    (ack,) = tx.frames
    assert ack.ack == Ack(1, 0, sent_at=START)
    assert (ack.parties.to_broker, ack.parties.from_broker) == ("A", "B")


@shows("D1.5", "D4.2")
def test_a_message_that_is_not_the_first_creates_it_too() -> None:
    """The first one may come later: STARTED_INBOUND until it does."""
    net = pair()
    tx = reads(net, "ServerB", arriving(1))
    assert net["ServerB"].dialog(D1, initiator=False).state is State.SI
    assert tx.queued == []
    tx = reads(net, "ServerB", arriving(0))
    assert [m.body for m in tx.queued] == [b"0", b"1"]


@shows("D1.8")
@pytest.mark.parametrize(
    ("changes", "number"),
    [
        ({"from_service": ""}, 11201),
        ({"from_service": "s" * 257}, 11202),
        ({"from_broker": ""}, 11203),
        ({"from_broker": "b" * 129}, 11204),
        ({"to_service": ""}, 11205),
        ({"to_service": "\N{GRINNING FACE}" * 129}, 11206),  # two UTF-16 units each
        ({"contract": ""}, 11207),
        ({"contract": "c" * 257}, 11208),
    ],
)
def test_names_of_the_header(changes: dict[str, str], number: int) -> None:
    """A name that is missing or too long: undeliverable, not acknowledged, not answered."""
    tx = reads(pair(), "ServerB", arriving(parties=FROM_A._replace(**changes)))  # type: ignore[arg-type]
    assert errors(tx) == [number]
    assert (tx.frames, tx.queued, tx.machines) == ([], [], {})


@shows("U-30", "-8462")
def test_an_unknown_dialog_and_too_high_a_number() -> None:
    """A dialog that is unknown, and a message that cannot be its beginning: 11213 and -8462."""
    net = pair()
    tx = reads(net, "ServerB", arriving(64, attempt=2))
    assert errors(tx) == [11213]
    assert b"<Code>-8462</Code>" in broker_errors(tx)[0]
    assert tx.frames[0].journey.attempt == 2
    assert not net["ServerB"].endpoint.dialogs


@shows("U-30")
def test_a_reply_to_an_unknown_dialog() -> None:
    """A message of the target's side for a dialog that nobody began here: 11209 and -8462."""
    net = pair()
    reply = Parties("InitiatorService", "A", "TargetService", "B", DEFAULT, False)
    tx = reads(net, "ServerA", arriving(0, parties=reply))
    assert errors(tx) == [11209]
    assert b"<Code>-8462</Code>" in broker_errors(tx)[0]


@shows("D3.3")
def test_a_broker_error_for_an_unknown_dialog_is_not_answered() -> None:
    """A broker Error is never answered, or two brokers would answer each other for ever."""
    for parties in (FROM_A, Parties("TargetService", "B", "X", "A", DEFAULT, False)):
        net = pair()
        tx = reads(net, "ServerB", arriving(parties=parties, flags=Flag.ERROR | Flag.UNSEQUENCED))
        assert len(errors(tx)) == 1
        assert tx.frames == []


@shows("D1.6")
@pytest.mark.parametrize("flags", [Flag.END, Flag.ERROR | Flag.SKIPS])
def test_no_dialog_begins_with_its_end(flags: Flag) -> None:
    """Neither "end" nor "error" on the first message of a dialog (11277): event 161."""
    net = pair()
    tx = reads(net, "ServerB", arriving(flags=flags))
    [told] = tx.events
    assert (told["event"], told["error"]) == (EventKind.CORRUPTED_MESSAGE, 11277)
    assert tx.frames == []
    assert not net["ServerB"].endpoint.dialogs


@shows("D5.3")
def test_no_dialog_begins_after_its_end_of_life() -> None:
    """A closed key is kept until the dialog's expiry; a copy that comes later creates nothing."""
    net = pair()
    tx = reads(net, "ServerB", arriving(expires=START))
    assert errors(tx) == [8489]
    assert (tx.frames, tx.queued) == ([], [])
    assert not net["ServerB"].endpoint.dialogs


# --- refusals ------------------------------------------------------------------------------------


@shows("EX-61", "U-39", "-8408", "-8425")
@pytest.mark.parametrize(("contract", "code"), [("DEFAULT", 8408), ("Missing", 8425)])
def test_the_contract_is_not_accepted(contract: str, code: int) -> None:
    """Acknowledged, so that it is not sent again; -8425 if the database lacks the contract."""
    net = pair()
    fussy = FROM_A._replace(to_service="Fussy", contract=contract)
    tx = reads(net, "ServerB", arriving(2, parties=fussy, attempt=1, first_hop=3))
    assert errors(tx) == [11214]
    assert [(e["database"], e["sequence"]) for e in tx.events] == [("DatabaseB", 2)]
    ack, error = tx.frames
    assert ack.ack == Ack(3, 2, 1, 3, START)
    assert b"<Code>-%d</Code>" % code in error.body
    assert error.journey.attempt == 1
    assert not net["ServerB"].endpoint.dialogs


@shows("EX-61")
def test_the_initiator_hears_that_the_contract_is_not_accepted() -> None:
    """The Error is in its queue, and nothing is retried."""
    net = pair()
    net.sql(A, "CREATE ROUTE F WITH SERVICE_NAME = 'Fussy', ADDRESS = 'tcp://ServerB:4022'")
    net.begin(A, D1, to="Fussy")
    net.send(A, D1, b"x")
    net.settle()
    assert net["ServerA"].types(INITIATOR) == ["Error"]
    assert net["ServerA"].dialog(D1, initiator=True).state is State.ER
    net.run(100)
    assert len(net["ServerA"].out.entries) == 1


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (11222, {"to_service": "Fussy"}),
        (11223, {"contract": "Orders"}),
        (11210, {"to_service": "Nobody", "to_broker": None}),
        (28017, {"to_broker": "Elsewhere"}),
    ],
)
@shows("U-39")
def test_what_differs_from_the_endpoint(number: int, changes: dict[str, object]) -> None:
    """TO service, contract or broker id are not those of the endpoint: no acknowledgement."""
    net = pair()
    reads(net, "ServerB", arriving())
    dialog = conversation(2) if number == 11210 else D1
    tx = reads(net, "ServerB", arriving(1, parties=FROM_A._replace(**changes), dialog=dialog))  # type: ignore[arg-type]
    assert errors(tx) == [number]
    assert tx.frames == []


def test_what_differs_is_seen_beside_what_does_not() -> None:
    """Who takes a frame is decided once in a transaction for those that agree, for no others."""
    net = pair()
    other = FROM_A._replace(contract="Other")
    tx = reads(net, "ServerB", arriving(0), arriving(1, parties=other), arriving(1))
    assert errors(tx) == [11223]
    assert [m.body for m in tx.queued] == [b"0", b"1"]


@shows("D3.4")
def test_a_target_endpoint_belongs_to_its_initiator() -> None:
    """The same conversation id from another broker is undeliverable, and nothing is applied."""
    net = pair()
    reads(net, "ServerB", arriving())
    tx = reads(net, "ServerB", arriving(1, parties=FROM_A._replace(from_broker="Other")))
    assert errors(tx) == [11224]
    assert (tx.frames, tx.queued) == ([], [])


def test_a_service_that_was_dropped() -> None:
    """The key is there, its service is not: undeliverable, and the sender hears of it (U-32)."""
    net = talking(b"one")
    net.change_database(B, services={})
    net.settle()
    locked = FROM_A._replace(to_broker="B")
    tx = reads(net, "ServerB", arriving(1, parties=locked))
    assert errors(tx) == [11210]
    (frame,) = tx.frames
    assert b"<Code>-8470</Code>" in frame.body


@shows("D3.1")
def test_acknowledgements_for_nobody_mean_nothing() -> None:
    """An acknowledgement for an unknown target or an unknown broker id changes nothing."""
    net = pair()
    for parties in (FROM_A._replace(to_broker="B"), FROM_A._replace(to_broker="X"), FROM_A):
        tx = reads(net, "ServerB", Acknowledgement(D1, parties, Ack(1)))
        assert (tx.frames, tx.events, tx.machines) == ([], [], {})


@shows("D5.2")
def test_a_forgotten_initiator_is_closed() -> None:
    """A target that asks about it is told so: it may forget the dialog too."""
    net = pair()
    back = Parties("InitiatorService", "A", "TargetService", "B", DEFAULT, False)
    tx = reads(net, "ServerA", Acknowledgement(D1, back, Ack(1)))
    (frame,) = tx.frames
    assert frame.ack is not None
    assert frame.ack.closed
    assert (frame.parties.to_broker, frame.parties.from_initiator) == ("B", True)


@shows("U-02")
def test_broker_ids_are_compared_as_guids() -> None:
    """A dialog that was begun with another spelling of the target's GUID talks to it."""
    guid = "5fb8d92b-ed69-4c80-afbb-2aa6a7d3cb2d"
    net = pair()
    net.change_database(B, broker_id=guid)
    net.begin(A, D1, to_broker=guid.upper())
    net.send(A, D1, b"one", b"two")
    net.settle()
    net.send(B, D1, b"reply", from_initiator=False)
    net.settle()
    assert net["ServerB"].bodies(TARGET) == [b"one", b"two"]
    assert net["ServerA"].bodies(INITIATOR) == [b"reply"]
    assert net["ServerA"].dialog(D1, initiator=True).acknowledged == (2, 0)
    assert net["ServerA"].errors(EventKind.MESSAGE_UNDELIVERABLE) == []


# --- choosing the database -----------------------------------------------------------------------

TO_SVC = Parties("Svc", None, "Starter", "H", DEFAULT, True)


def chosen(net: Net) -> list[str]:
    """Return the databases that have a target endpoint."""
    return sorted({key[0] for key in net["One"].endpoint.dialogs if not key[2]})


@shows("R7.2b", "U-13")
@pytest.mark.parametrize("dialog", [conversation(n) for n in range(12)])
def test_without_a_broker_id_the_hash_chooses(dialog: uuid.UUID) -> None:
    """All active databases with the service are candidates, in the order of the dialog's hash."""
    net = Net(topology(SEVERAL))
    elsewhere = TO_SVC._replace(from_broker="far")
    reads(net, "One", arriving(parties=elsewhere, dialog=dialog))
    assert chosen(net) == [order_databases(("Home", "Second", "Third"), dialog)[0]]


@shows("R7.2a")
@pytest.mark.parametrize("dialog", [conversation(n) for n in range(6)])
def test_what_was_begun_here_prefers_its_own_database(dialog: uuid.UUID) -> None:
    """First the database that contains the conversation."""
    net = Net(topology(SEVERAL))
    reads(net, "One", arriving(parties=TO_SVC, dialog=dialog, inside=True))
    assert chosen(net) == ["Home"]


@shows("R7.1")
def test_a_broker_id_says_which_database() -> None:
    """Whatever the hash would say, and wherever the dialog began."""
    net = Net(topology(SEVERAL))
    reads(net, "One", arriving(parties=TO_SVC._replace(to_broker="T"), inside=True))
    assert chosen(net) == ["Third"]


@shows("D1.7")
def test_an_endpoint_that_exists_comes_before_the_hash() -> None:
    """Once a database holds the dialog, another one never gets it: not by a new candidate."""
    net = Net(topology(SEVERAL))
    elsewhere, dialogs = TO_SVC._replace(from_broker="far"), [conversation(n) for n in range(40)]
    for dialog in dialogs:
        reads(net, "One", arriving(parties=elsewhere, dialog=dialog))
    before = set(net["One"].endpoint.dialogs)
    net.sql("One/Quiet", "ALTER DATABASE Quiet SET ENABLE_BROKER")
    candidates = net["One"].endpoint.here.hosting("Svc")
    firsts = {order_databases(candidates, dialog)[0] for dialog in dialogs}
    assert "Quiet" in firsts, "the hash alone would choose the new candidate"
    for dialog in dialogs:
        reads(net, "One", arriving(1, parties=elsewhere, dialog=dialog))
    assert set(net["One"].endpoint.dialogs) == before


def test_a_database_with_delivery_off_is_no_candidate() -> None:
    """With its own broker id it is not here (28017); without one others are found."""
    net = Net(topology(SEVERAL))
    tx = reads(net, "One", arriving(parties=TO_SVC._replace(to_broker="Q")))
    assert errors(tx) == [28017]
    for n in range(10):
        reads(net, "One", arriving(parties=TO_SVC, dialog=conversation(n)))
    assert "Quiet" not in chosen(net)


# --- what the application sees -------------------------------------------------------------------


def test_a_queued_message_says_where_it_is_from_and_which_way_it_took() -> None:
    """Its envelope is the conversation's, its path ends at the queue's own database."""
    net = talking(b"one")
    (message,) = net["ServerB"].queues[TARGET]
    parties = message.parties
    assert (parties.to_service, parties.from_broker) == ("TargetService", "A")
    assert (parties.from_service, parties.to_broker) == ("InitiatorService", "B")
    assert parties.from_initiator
    assert [name for name, _ in message.journey.path] == [
        "ServerA",
        "ServerB",
        "ServerB/DatabaseB",
    ]
    assert message.group == net["ServerB"].dialog(D1, initiator=False).group


def test_an_error_of_an_application_has_the_documented_body() -> None:
    """Root Error with Code and Description; what the application wrote is text, not XML."""
    net = talking(b"one")
    net.end(A, D1, error_code=7, error_text="a < b & c")
    net.settle()
    assert net["ServerB"].types(TARGET) == ["DEFAULT", "Error"]
    assert net["ServerB"].bodies(TARGET)[1] == (
        b'<Error xmlns="http://schemas.microsoft.com/SQL/ServiceBroker/Error"><Code>7</Code>'
        b"<Description>a &lt; b &amp; c</Description></Error>"
    )
