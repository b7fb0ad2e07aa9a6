"""BEGIN, SEND and END as statements: what is refused, with which number, and who hears of it."""

from __future__ import annotations

import uuid

import pytest

from streams.errors import EventKind
from streams.protocol import Command, CommandKind, State
from streams.wire import records as wire

from .evidence import shows
from .harness import Net, conversation
from .places import D1, INITIATOR, TARGET, A, B, pair, talking

FOR_EVER = 2_147_483_647


def refusals(net: Net, instance: str = "ServerA") -> list[int]:
    """Return the numbers of the commands that an instance has refused."""
    return [n for n in net[instance].errors(EventKind.CONVERSATION) if n]


# --- BEGIN ---------------------------------------------------------------------------------------


@shows("D6.1")
def test_begin_has_no_network_activity() -> None:
    """BEGIN DIALOG makes an endpoint in STARTED_OUTBOUND, and nothing leaves."""
    net = pair()
    net.begin(A, D1)
    net.settle()
    dialog = net["ServerA"].dialog(D1, initiator=True)
    assert dialog.state is State.SO
    assert dialog.expires_at == net.now + FOR_EVER * 1000
    assert net["ServerA"].out.entries == []
    assert refusals(net) == []


@shows("D6.1")
@pytest.mark.parametrize(
    ("number", "at", "said"),
    [
        (8442, "ServerA/Quiet", {}),
        (8442, "ServerA/Nowhere", {}),
        (8423, A, {"service": "Nobody"}),
        (8421, A, {"to": ""}),
        (8412, A, {"to": "x" * 257}),
        (8413, A, {"to_broker": "b" * 129}),
        (8425, A, {"contract": "Nothing"}),
        (8411, A, {"lifetime": 0}),
        (8411, A, {"lifetime": -1}),
        (8411, A, {"lifetime": FOR_EVER + 1}),
    ],
)
def test_begin_is_refused(number: int, at: str, said: dict[str, object]) -> None:
    """A statement that cannot be has its number, an event, and makes no endpoint."""
    net = pair()
    net.begin(at, D1, **said)  # type: ignore[arg-type]
    net.settle()
    assert refusals(net) == [number]
    assert not net["ServerA"].endpoint.dialogs


@pytest.mark.parametrize("lifetime", [1, FOR_EVER])
def test_the_shortest_and_the_longest_lifetime(lifetime: int) -> None:
    """LIFETIME is 1 to 2 147 483 647 seconds."""
    net = pair()
    net.begin(A, D1, lifetime=lifetime)
    net.settle()
    assert net["ServerA"].dialog(D1, initiator=True).expires_at == net.now + lifetime * 1000


@shows("D6.2")
def test_an_id_that_is_known_is_rejected_while_the_dialog_lives() -> None:
    """BEGIN with an id known to the database is rejected: nothing of the first one changes."""
    net = talking(b"one")
    net.begin(A, D1, to="Other")
    net.settle()
    assert refusals(net) == [2601]
    assert net["ServerA"].dialog(D1, initiator=True).far_service == "TargetService"


@shows("D6.2")
def test_an_id_that_is_known_is_rejected_when_the_dialog_is_closed() -> None:
    """A replayed BEGIN cannot open a closed conversation again."""
    net = talking(b"one")
    net.end(A, D1, cleanup=True)
    net.begin(A, D1)
    net.settle()
    assert refusals(net) == [2601]
    assert net["ServerA"].dialog(D1, initiator=True).state is State.CD


@shows("D6.2")
def test_an_id_that_is_known_as_a_target_is_rejected() -> None:
    """The id belongs to a conversation whose target endpoint is in this database."""
    net = talking(b"one")
    net.begin(B, D1, service="TargetService", to="InitiatorService")
    net.settle()
    assert refusals(net, "ServerB") == [2601]
    assert net["ServerB"].dialog(D1, initiator=False).state is State.CO


def test_a_conversation_group_may_be_given() -> None:
    """The caller may supply a group; otherwise the conversation has one of its own."""
    net, group = pair(), uuid.UUID(int=99)
    net.begin(A, D1, group=group)
    net.begin(A, conversation(2))
    net.begin(A, conversation(3))
    net.settle()
    groups = [net["ServerA"].dialog(conversation(n), initiator=True).group for n in (1, 2, 3)]
    assert groups[0] == group
    assert len(set(groups)) == 3


def test_both_sides_have_handles_of_their_own() -> None:
    """Initiator and target have different handles and groups for one conversation id."""
    net = talking(b"one")
    near = net["ServerA"].dialog(D1, initiator=True)
    far = net["ServerB"].dialog(D1, initiator=False)
    assert near.handle != far.handle
    assert near.group != far.group


# --- SEND ----------------------------------------------------------------------------------------


@shows("D6.3")
@pytest.mark.parametrize(
    ("number", "message_type"),
    [(8428, "Nothing"), (8431, "DEFAULT"), (8432, "Reply")],
)
def test_send_is_refused(number: int, message_type: str) -> None:
    """The type does not exist (8428), is not in the contract (8431), or is the target's (8432)."""
    net = pair()
    net.begin(A, D1, contract="Orders")
    net.send(A, D1, b"x", type=message_type)
    net.settle()
    assert refusals(net) == [number]
    assert net["ServerA"].out.entries == []


@shows("D6.3")
def test_a_type_exists_if_only_a_contract_names_it() -> None:
    """YAML may leave it undeclared: it is not validated, and other contracts lack it (8431)."""
    net = pair()
    net.begin(A, D1, contract="Orders")
    net.begin(A, conversation(2))
    net.send(A, D1, b"x", type="Note")
    net.send(A, conversation(2), b"x", type="Note")
    net.settle()
    assert refusals(net) == [8431]
    assert net["ServerB"].bodies(TARGET) == [b"x"]


@shows("D6.5")
@pytest.mark.parametrize(
    ("code", "text", "numbers"),
    [
        (0, "no", [8419]),
        (-8462, "no", [8419]),
        (2**31, "no", [8402]),
        (1, None, [8422]),
        (2**31 - 1, "no", []),
    ],
)
def test_end_with_error_needs_an_int_above_zero(
    code: int, text: str | None, numbers: list[int]
) -> None:
    net = talking(b"one")
    end = Command(D1, uuid.uuid4(), CommandKind.END, "DatabaseA", error_code=code, error_text=text)
    tx = net["ServerA"].endpoint.begin(net["ServerA"], net.now)
    tx.command(99, end)
    assert [e["error"] for e in tx.events if e["error"]] == numbers


@shows("D6.3")
@pytest.mark.parametrize("message_type", ["Order", "Note"])
def test_send_by_the_initiator(message_type: str) -> None:
    """The initiator sends what the contract leaves to it, or to any side."""
    net = pair()
    net.begin(A, D1, contract="Orders")
    net.send(A, D1, b"x", type=message_type)
    net.settle()
    assert refusals(net) == []
    assert net["ServerB"].types(TARGET) == [message_type]


@shows("D6.3")
def test_send_by_the_target() -> None:
    """What only the initiator may send is 8434 at the target; its own types arrive."""
    net = pair()
    net.begin(A, D1, contract="Orders")
    net.send(A, D1, b"x", type="Order")
    net.settle()
    net.send(B, D1, b"y", type="Order", from_initiator=False)
    net.send(B, D1, b"z", type="Reply", from_initiator=False)
    net.settle()
    assert refusals(net, "ServerB") == [8434]
    assert net["ServerA"].bodies(INITIATOR) == [b"z"]


@shows("D6.3")
def test_a_null_body_is_refused_and_an_empty_one_is_not() -> None:
    """The body may be empty but not NULL (8433)."""
    net = pair()
    net.begin(A, D1)
    net.command(A, CommandKind.SEND, D1, body=None)
    net.send(A, D1, b"")
    net.settle()
    assert refusals(net) == [8433]
    assert net["ServerB"].bodies(TARGET) == [b""]


@pytest.mark.parametrize("statement", ["send", "end"])
def test_a_conversation_that_nobody_began(statement: str) -> None:
    """A handle that is unknown here is 8426."""
    net = pair()
    if statement == "send":
        net.send(A, D1, b"x")
    else:
        net.end(A, D1)
    net.settle()
    assert refusals(net) == [8426]


@shows("D4.1")
def test_statements_after_the_end() -> None:
    """SEND after END is 8429, a second END 8427."""
    net = talking(b"one")
    net.end(A, D1)
    net.send(A, D1, b"two")
    net.end(A, D1)
    net.settle()
    assert refusals(net) == [8429, 8427]
    assert net["ServerB"].types(TARGET) == ["DEFAULT", "EndDialog"]


# --- results and events --------------------------------------------------------------------------


@shows("D6.4")
def test_a_command_that_asks_has_its_result() -> None:
    """Accepted or refused, the one who asked gets an answer, and nobody else does."""
    net = pair()
    net.begin(A, D1, reply_to="me")
    net.send(A, D1, b"x")
    net.send(A, D1, b"y", type="Nothing", reply_to="me")
    net.settle()
    assert [(r.reply_to, r.number) for r in net["ServerA"].results] == [("me", 0), ("me", 8428)]


@shows("D6.4")
def test_a_rejected_command_is_an_event() -> None:
    """Whoever did not ask is found out all the same: the event carries command and number."""
    net = pair()
    net.send(A, D1, b"x")
    net.settle()
    (event,) = net["ServerA"].events
    (entry,) = net["ServerA"].cmd.entries
    sent = wire.read_command(entry.key, entry.value, entry.headers, entry.timestamp)
    assert event["message_id"] == str(sent.command_id)
    assert (event["error"], event["database"]) == (8426, "DatabaseA")
    assert "SEND" in event["detail"]


def test_one_bad_command_does_not_harm_its_neighbours() -> None:
    """Commands of one transaction are accepted and refused one by one."""
    net = pair()
    net.begin(A, D1)
    net.send(A, D1, b"1", b"2")
    net.send(A, D1, b"bad", type="Nothing")
    net.send(A, conversation(77), b"bad")
    net.send(A, D1, b"3")
    net.settle()
    assert net["ServerB"].bodies(TARGET) == [b"1", b"2", b"3"]


def test_a_dialog_that_is_moved_to_and_fro_is_noted_once_in_each_group() -> None:
    """A transaction may have thousands of such statements."""
    net = pair()
    net.begin(A, D1)
    net.settle()
    groups = [uuid.UUID(int=91), uuid.UUID(int=92)]
    for number in range(100):
        net.command(A, CommandKind.MOVE, D1, group=groups[number % 2])
    node = net["ServerA"]
    tx = node.endpoint.begin(node, net.now)
    node._apply(tx)
    assert tx.service_of("DatabaseA", groups[0]) is None
    assert tx.service_of("DatabaseA", groups[1]) == "InitiatorService"
    assert tx._by_group is not None
    assert sum(map(len, tx._by_group.values())) <= 3
    tx.close()
