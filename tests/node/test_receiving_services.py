"""What a receiving service is shown: types, sides, bodies, a queue that is off, priorities."""

from __future__ import annotations

import gc
import tracemalloc
import uuid

import pytest

from streams.errors import EventKind
from streams.node import CatalogView, MessageType, catalog_of
from streams.node.endpoint import validation
from streams.node.endpoint.validation import is_valid
from streams.protocol import CommandKind, Limits, State
from streams.topology import Validation

from .evidence import shows
from .harness import Net, conversation, topology
from .places import D1, INITIATOR, TARGET, A, B, pair, talking
from .test_commands import refusals

ALTER = "ALTER SERVICE TargetService (DROP CONTRACT Orders)"
WHEN = (
    '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">'
    '<xs:element name="when" type="xs:dateTime"/></xs:schema>'
)
SEQUENCE = (
    '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a"><xs:complexType>'
    '<xs:sequence><xs:element name="b"/></xs:sequence></xs:complexType></xs:element></xs:schema>'
)
OPEN = '<xs:element name="a"><xs:complexType><xs:sequence>'
CLOSE = "</xs:sequence></xs:complexType></xs:element>"
DEEP = WHEN.replace("</xs:schema>", f"{OPEN * 200}{CLOSE * 200}</xs:schema>")
MANY_ATTRIBUTES = b" ".join(b"a%d=''" % n for n in range(20_000))
SCHEMA = """
<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:order">
  <xsd:element name="order" type="xsd:int"/>
</xsd:schema>
"""
SECOND = '<schema xmlns="http://www.w3.org/2001/XMLSchema"><element name="note"/></schema>'

FUSSY = """
instances:
  ServerA:
    databases:
      DatabaseA:
        broker_id: A
        message_types: {Order: {}, Strange: {}, Reply: {}}
        contracts:
          Orders: {Order: initiator, Reply: initiator, Strange: initiator, Elsewhere: initiator,
                   Hello: initiator}
        services: {InitiatorService: {queue: InitiatorQueue, contracts: []}}
        routes:
          - {name: Target, service_name: TargetService, address: 'tcp://ServerB:4022'}
  ServerB:
    databases:
      DatabaseB:
        broker_id: B
        message_types:
          Order: {validation: well_formed_xml}
          Reply: {}
          Elsewhere: {}
          Hello: {validation: empty}
        contracts: {Orders: {Order: initiator, Reply: target, Hello: initiator}}
        services: {TargetService: {queue: TargetQueue, contracts: [Orders]}}
        priorities:
          - {name: all, level: 2}
          - {name: service, local_service_name: TargetService, level: 7}
          - name: pair
            local_service_name: TargetService
            remote_service_name: InitiatorService
            level: 9
        routes:
          - {name: Initiator, service_name: InitiatorService, address: 'tcp://ServerA:4022'}
"""


def fussy() -> Net:
    """Return a pair whose target knows less than its initiator."""
    return Net(topology(FUSSY))


# --- types, sides, bodies ------------------------------------------------------------------------


@shows("D8.1", "U-39", "-8428", "-8430", "-8457", "-8498", "-9615", "-9616")
@pytest.mark.parametrize(
    ("kind", "body", "number", "code", "own"),
    [
        ("Strange", b"", 11225, 8428, 8428),
        ("Elsewhere", b"", 11226, 8498, 8498),
        ("Reply", b"", 11227, 8457, 8457),
        ("Order", b"<a>", 9704, 9615, 9616),
        ("Hello", b"x", 8430, 8430, 8430),
    ],
)
def test_what_a_target_refuses(kind: str, body: bytes, number: int, code: int, own: int) -> None:
    """Event 160 with the reason, acknowledged; both sides are in ERROR with the Error's number."""
    net = fussy()
    net.begin(A, D1, contract="Orders")
    net.send(A, D1, body, type=kind)
    net.settle()
    assert net["ServerB"].errors(EventKind.MESSAGE_UNDELIVERABLE) == [number]
    for instance, queue, expected in (("ServerA", INITIATOR, code), ("ServerB", TARGET, own)):
        dialog = net[instance].dialog(D1, initiator=queue is INITIATOR)
        assert dialog.state is State.ER
        (error,) = net[instance].bodies(queue)
        assert b"<Code>-%d</Code>" % expected in error
    assert net["ServerA"].dialog(D1, initiator=True).all_acknowledged


@shows("D8.1", "U-39", "-8437")
def test_a_target_may_not_send_the_initiators_types() -> None:
    """11228 and -8437: the initiator's contract says who may send what."""
    net = fussy()
    net.begin(A, D1, contract="Orders")
    net.send(A, D1, b"<a/>", type="Order")
    net.settle()
    net.send(B, D1, b"", type="Reply", from_initiator=False)
    net.settle()
    assert net["ServerA"].errors(EventKind.MESSAGE_UNDELIVERABLE) == [11228]
    assert b"<Code>-8437</Code>" in net["ServerB"].bodies(TARGET)[-1]


@shows("D6.3")
def test_a_sender_validates_by_its_own_type() -> None:
    """The two sides may validate differently: 8430 where one's own type does not allow it."""
    net = fussy()
    net.begin(B, D1, service="TargetService", to="InitiatorService", contract="Orders")
    net.send(B, D1, b"no XML", type="Order")
    net.settle()
    assert refusals(net, "ServerB") == [8430]


@shows("D6.3", "U-24")
def test_a_body_above_the_limit() -> None:
    """8459, and nothing leaves."""
    net = pair(Limits(body=10))
    net.begin(A, D1)
    net.send(A, D1, b"x" * 11, b"y" * 10)
    net.settle()
    assert refusals(net) == [8459]
    assert net["ServerB"].bodies(TARGET) == [b"y" * 10]


@shows("U-24", "-8459")
def test_a_target_refuses_what_no_sender_may_send() -> None:
    """Several fragments may have more together: who passes the message on could not."""
    net = pair(Limits(body=70_000, fragment=65_536))
    net.begin(A, D1)
    net["ServerA"].transact()
    net["ServerA"].endpoint.limits = Limits()
    net.send(A, D1, b"x" * 70_001)
    net.settle()
    assert net["ServerB"].errors(EventKind.MESSAGE_UNDELIVERABLE) == [8459]
    (error,) = net["ServerA"].bodies(INITIATOR)
    assert b"<Code>-8459</Code>" in error
    assert net["ServerA"].dialog(D1, initiator=True).all_acknowledged
    assert net["ServerB"].types(TARGET) == ["Error"]


@shows("D8.1")
@pytest.mark.parametrize(
    ("validation", "schema", "body", "fine"),
    [
        (Validation.NONE, None, b"\x00", True),
        (Validation.EMPTY, None, b"", True),
        (Validation.EMPTY, None, b"x", False),
        (Validation.WELL_FORMED_XML, None, b"<a/>", True),
        (Validation.VALID_XML, SCHEMA, b'<order xmlns="urn:order">1</order>', True),
        (Validation.VALID_XML, SCHEMA, b'<order xmlns="urn:order">one</order>', False),
        # Bytes without "<" at their start are no path of a file.
        (
            Validation.VALID_XML,
            SCHEMA,
            '<order xmlns="urn:order">1</order>'.encode("utf-16-be"),
            True,
        ),
        (Validation.VALID_XML, SCHEMA, b"<order>1</order>", False),
        (Validation.VALID_XML, SCHEMA, b"<a", False),
        (Validation.VALID_XML, "<?xml version='1.0'?>" + SCHEMA + SECOND, b"<note/>", True),
        (Validation.VALID_XML, "no schema", b"<a/>", False),
        (Validation.VALID_XML, DEEP, b"<when>2026-11-26T09:00:00</when>", False),
        (Validation.VALID_XML, None, b"<a/>", False),
        (Validation.VALID_XML, WHEN, b"<when>2026-11-26T09:00:00</when>", True),
        (Validation.VALID_XML, WHEN, b"<when>%d-11-26T09:00:00</when>" % 10**30, False),
        (Validation.VALID_XML, WHEN, b"<when " + MANY_ATTRIBUTES + b"/>", False),
    ],
)
def test_validation(validation: Validation, schema: str | None, body: bytes, fine: bool) -> None:
    """NONE, EMPTY, WELL_FORMED_XML, and VALID_XML by its schema collection."""
    assert is_valid(MessageType(validation, schema), body) is fine


# --- a queue that is off -------------------------------------------------------------------------


@shows("D8.2", "U-31", "EX-55")
def test_ex_55_queue_off_at_the_target() -> None:
    """Accepted and parked at the target, acknowledged, shown when the queue is on again."""
    net = pair()
    net.sql(B, "ALTER QUEUE TargetQueue WITH STATUS = OFF")
    net.begin(A, D1)
    net.send(A, D1, b"1", b"2")
    net.settle()
    assert net["ServerB"].bodies(TARGET) == []
    assert net["ServerA"].dialog(D1, initiator=True).all_acknowledged
    net["ServerB"].restart_endpoint()
    net.sql(B, "ALTER QUEUE TargetQueue WITH STATUS = ON")
    net.settle()
    assert net["ServerB"].bodies(TARGET) == [b"1", b"2"]


@shows("D8.2")
def test_a_queue_that_came_on_while_the_worker_was_down() -> None:
    """Who starts looks at what waits: nobody will tell it again that the queue is on."""
    net = pair()
    net.sql(B, "ALTER QUEUE TargetQueue WITH STATUS = OFF")
    net.begin(A, D1)
    net.send(A, D1, b"1", b"2")
    net.settle()
    net.sql(B, "ALTER QUEUE TargetQueue WITH STATUS = ON")
    net["ServerB"].restart_endpoint()
    net.settle()
    assert net["ServerB"].bodies(TARGET) == [b"1", b"2"]


@shows("D8.2")
def test_more_than_can_be_parked_stays_with_the_sender() -> None:
    """The sender's window closes; when the queue is on everything comes, once and in order."""
    net = pair(Limits(window=4))
    net.sql(B, "ALTER QUEUE TargetQueue WITH STATUS = OFF")
    net.begin(A, D1)
    net.send(A, D1, *[b"%d" % n for n in range(20)])
    net.run(300)  # the next retry is up to a minute away by now
    assert len(net["ServerB"].dialog(D1, initiator=False).parked) == 4
    assert 11219 in net["ServerB"].errors(EventKind.MESSAGE_UNDELIVERABLE)
    net.sql(B, "ALTER QUEUE TargetQueue WITH STATUS = ON")
    net.run(1)
    assert net["ServerB"].bodies(TARGET) == [b"%d" % n for n in range(20)]


def test_equal_bodies_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One SEND on 280 conversations made a target check the same document 280 times."""
    checked = list[bytes]()

    def fits(_schema: str, body: bytes) -> bool:
        checked.append(body)
        return body == b"<a/>"

    monkeypatch.setattr(validation, "_verdicts", {})
    monkeypatch.setattr(validation, "_fits", fits)
    kinds = [MessageType(Validation.VALID_XML, schema) for schema in ("one", "two")]
    found = [is_valid(kind, body) for kind in kinds for body in (b"<a/>", b"<b/>", b"<a/>")]
    assert found == [True, False, True] * 2
    assert checked == [b"<a/>", b"<b/>"] * 2


def test_schemas_are_kept_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results go with them, because their keys contain the text of the schema."""
    schemas = [f"{SECOND}<!--{n}-->" for n in range(3)]
    monkeypatch.setattr(validation, "_schemas", {})
    monkeypatch.setattr(validation, "_verdicts", {})
    monkeypatch.setattr(validation, "_MOST_TEXT", len(schemas[0]) * 2)
    for schema, kept in zip(schemas, (schemas[:1], schemas[:2], schemas[2:]), strict=True):
        assert is_valid(MessageType(Validation.VALID_XML, schema), b"<note/>")
        assert list(validation._schemas) == kept
        assert [text for text, _ in validation._verdicts] == kept


def test_names_of_a_body_are_not_kept() -> None:
    """The library has a cache of its own: 40 bodies of 2,000 names each took 26 MB, for good."""
    kind = MessageType(Validation.VALID_XML, SEQUENCE)

    def check(number: int) -> None:
        names = "".join(f"<{'n' * 100}{number}-{n}/>" for n in range(2_000))
        assert not is_valid(kind, f"<a>{names}</a>".encode())

    check(0)
    tracemalloc.start()
    try:
        check(1)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 200_000
    finally:
        tracemalloc.stop()


# --- fragments -----------------------------------------------------------------------------------


@shows("D8.3", "U-23")
def test_a_large_message_in_fragments() -> None:
    """Whole at the other side, although links lose, the endpoint restarts and nothing is small."""
    net = pair(Limits(window=8, fragment=1_000))
    body = bytes(range(256)) * 100
    net.begin(A, D1)
    net.send(A, D1, body, b"small", body[:5_000])
    net["ServerA"].transact()
    net["ServerA"].forward()
    del net["ServerB"].txq.entries[2:6]
    net["ServerB"].forward()
    net["ServerB"].transact()
    net["ServerB"].restart_endpoint()
    net["ServerA"].restart_endpoint()
    net.run(60)
    assert net["ServerB"].bodies(TARGET) == [body, b"small", body[:5_000]]
    assert net["ServerA"].dialog(D1, initiator=True).all_acknowledged


# --- priorities ----------------------------------------------------------------------------------


@shows("D8.7")
def test_the_priority_of_an_endpoint() -> None:
    """Assigned once, by each side's own database: the best match wins."""
    net = fussy()
    net.begin(A, D1, contract="Orders")
    net.send(A, D1, b"<a/>", type="Order")
    net.settle()
    assert net["ServerA"].dialog(D1, initiator=True).priority == 5
    assert net["ServerB"].dialog(D1, initiator=False).priority == 9
    assert [m.priority for m in net["ServerB"].queues[TARGET]] == [9]


@shows("D8.7")
def test_the_order_of_matches() -> None:
    """CLR, CL-, C-R, C--, -LR, -L-, --R, ---; none of them: 5."""
    ranks = ["CLR", "CL-", "C-R", "C--", "-LR", "-L-", "--R", "---"]
    for first in range(len(ranks)):
        catalog = _prioritized(ranks[first:])
        assert catalog.priority("S", "D", "C", "L", "R") == 10 - first
    assert _prioritized([]).priority("S", "D", "C", "L", "R") == 5
    assert _prioritized(ranks[:7]).priority("S", "D", "x", "y", "z") == 5


def _prioritized(ranks: list[str]) -> CatalogView:
    rules = []
    order = ["CLR", "CL-", "C-R", "C--", "-LR", "-L-", "--R", "---"]
    for rank in ranks:
        names = zip(("contract", "local_service_name", "remote_service_name"), rank, strict=True)
        stated = ", ".join(f"{name}: {letter}" for name, letter in names if letter != "-")
        level = 10 - order.index(rank)
        rules.append(f"{{name: p{level}, level: {level}{', ' if stated else ''}{stated}}}")
    text = f"priorities: [{', '.join(reversed(rules))}]"
    return catalog_of(topology(f"instances: {{S: {{databases: {{D: {{{text}}}}}}}}}"), 1)


# --- what a database is told about all its conversations -----------------------------------------


@shows("D8.5", "-9719", "-9720")
def test_error_broker_conversations() -> None:
    """-9719 in the own queue, -9720 in the other side's; later conversations live."""
    net = pair()
    net.begin(A, D1)
    net.send(A, D1, b"1")
    net.settle()
    net.sql(B, "ALTER DATABASE DatabaseB SET ERROR_BROKER_CONVERSATIONS")
    net.run(2)
    assert b"<Code>-9719</Code>" in net["ServerB"].bodies(TARGET)[-1]
    assert b"<Code>-9720</Code>" in net["ServerA"].bodies(INITIATOR)[-1]
    net.begin(A, conversation(2))
    net.send(A, conversation(2), b"2")
    net.settle()
    assert net["ServerB"].bodies(TARGET)[-1] == b"2"


@shows("D8.5")
def test_error_broker_conversations_while_the_worker_was_down() -> None:
    """Who starts tells its conversations what the database was told meanwhile."""
    net = pair()
    net.begin(A, D1)
    net.send(A, D1, b"1")
    net.settle()
    net.sql(B, "ALTER DATABASE DatabaseB SET ERROR_BROKER_CONVERSATIONS")
    net["ServerB"].restart_endpoint()
    net.run(2)
    assert b"<Code>-9719</Code>" in net["ServerB"].bodies(TARGET)[-1]
    assert b"<Code>-9720</Code>" in net["ServerA"].bodies(INITIATOR)[-1]


@shows("D7.4")
def test_new_broker() -> None:
    """Every conversation is removed, without an EndDialog or Error on either side."""
    net = pair()
    net.begin(A, D1)
    net.send(A, D1, b"1")
    net.settle()
    net.sql(A, "ALTER DATABASE DatabaseA SET NEW_BROKER")
    net.run(2)
    assert net["ServerA"].dialog(D1, initiator=True).state is State.CD
    assert net["ServerA"].bodies(INITIATOR) == []
    ended = [(e["subclass"], e["error"]) for e in net["ServerA"].events if e["event"] == 124]
    assert (5, 9686) in ended
    assert net["ServerB"].dialog(D1, initiator=False).state is State.CO
    assert net["ServerB"].types(TARGET) == ["DEFAULT"]
    net.end(A, D1)
    net.settle()
    assert refusals(net)[-1:] == [8427]


@shows("D4.5")
def test_a_target_that_sends_after_cleanup() -> None:
    """-8462: its conversation is in ERROR, and what it sent stays in its transmission queue."""
    net = pair()
    net.begin(A, D1)
    net.send(A, D1, b"1")
    net.settle()
    net.end(A, D1, cleanup=True)
    net.settle()
    net.send(B, D1, b"2", b"3", from_initiator=False)
    net.run(100)
    dialog = net["ServerB"].dialog(D1, initiator=False)
    assert (dialog.state, dialog.all_acknowledged, dialog.status) == (State.ER, False, 9784)
    assert net["ServerB"].types(TARGET) == ["DEFAULT", "Error"]
    assert b"<Code>-8462</Code>" in net["ServerB"].bodies(TARGET)[-1]
    net.end(B, D1, from_initiator=False)
    net.settle()
    assert net["ServerB"].dialog(D1, initiator=False).state is State.CD


@shows("D8.10", "-8468", "-8469", "-8487", "-9685")
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(
    ("at", "change", "own", "peer"),
    [
        (B, ALTER, 8468, 8469),
        (
            B,
            f"{ALTER}; ALTER SERVICE Fussy (DROP CONTRACT Orders); DROP CONTRACT Orders",
            9685,
            8487,
        ),
        (A, "DROP CONTRACT Orders", 9685, 8487),
    ],
)
def test_a_contract_is_dropped(at: str, change: str, own: int, peer: int, restarts: bool) -> None:
    """Both sides get an Error; other conversations, even of the same service, go on."""
    net, other = pair(), conversation(2)
    net.begin(A, D1, contract="Orders")
    net.send(A, D1, b"1", type="Order")
    net.begin(A, other)
    net.send(A, other, b"2")
    net.settle()
    net.sql(at, change)
    if restarts:
        net[at.split("/")[0]].restart_endpoint()
    net.run(2)
    codes = {A: peer, B: own} if at == B else {A: own, B: peer}
    for place, queue in ((A, INITIATOR), (B, TARGET)):
        node = net[place.split("/")[0]]
        assert node.dialog(D1, initiator=place is A).state is State.ER
        assert b"<Code>-%d</Code>" % codes[place] in node.bodies(queue)[-1]
        assert node.dialog(other, initiator=place is A).state is State.CO
    net.send(A, other, b"3")
    net.settle()
    assert net["ServerB"].bodies(TARGET)[-1] == b"3"


@shows("U-32", "-8470")
def test_a_service_that_was_dropped() -> None:
    """Its dialogs go with it, and their other sides hear of it: -8470. A routing miss: nothing."""
    net = pair()
    net.begin(A, D1)
    net.send(A, D1, b"1")
    net.settle()
    net.change_database(B, services={})
    net.run(2)
    net.begin(A, conversation(2))
    net.send(A, conversation(2), b"2")
    net.settle()
    assert net["ServerB"].dialog(D1, initiator=False).state is State.CD
    assert len(net["ServerA"].bodies(INITIATOR)) == 1
    assert b"<Code>-8470</Code>" in net["ServerA"].bodies(INITIATOR)[-1]


# --- statements ----------------------------------------------------------------------------------


@shows("D8.4")
def test_a_conversation_timer() -> None:
    """It survives a restart; the message is empty and nothing travels."""
    net = pair()
    net.begin(A, D1)
    net.command(A, CommandKind.TIMER, D1, timeout=30)
    net.settle()
    net["ServerA"].restart_endpoint()
    net.run(29)
    assert net["ServerA"].types(INITIATOR) == []
    net.run(1)
    assert net["ServerA"].types(INITIATOR) == ["DialogTimer"]
    assert net["ServerA"].out.entries == []


@shows("D8.11")
@pytest.mark.parametrize("restarts", [False, True])
def test_a_service_with_another_queue(restarts: bool) -> None:
    """What was delivered stays in the old queue; what was parked, and what follows, is moved."""
    net, new = pair(), "DatabaseB/NewQueue"
    net.begin(A, D1)
    net.send(A, D1, b"1")
    net.settle()
    net.sql(B, "ALTER QUEUE TargetQueue WITH STATUS = OFF")
    net.send(A, D1, b"2")
    net.settle()
    net.sql(B, "CREATE QUEUE NewQueue; ALTER SERVICE TargetService ON QUEUE NewQueue;")
    if restarts:
        net["ServerB"].restart_endpoint()
    net.send(A, D1, b"3")
    net.settle()
    assert net["ServerB"].bodies(TARGET) == [b"1"]
    assert net["ServerB"].bodies(new) == [b"2", b"3"]


@shows("D8.8")
def test_related_conversations_share_a_group() -> None:
    """RELATED_CONVERSATION joins the group of a conversation that exists, also of this batch."""
    net, second = pair(), conversation(2)
    net.begin(A, D1)
    net.begin(A, second, related=D1)
    net.begin(A, conversation(3), related=conversation(4))
    net.settle()
    group = net["ServerA"].dialog(D1, initiator=True).group
    assert net["ServerA"].dialog(second, initiator=True).group == group
    assert refusals(net) == [8426]


@shows("D8.8")
def test_a_group_belongs_to_one_service() -> None:
    """9610 for BEGIN and 8439 for MOVE; MOVE to a group of the same service moves."""
    text = FUSSY.replace("InitiatorService: {", "Other: {queue: Q}, InitiatorService: {", 1)
    net, group = Net(topology(text)), uuid.UUID(int=7)
    net.begin(A, D1, group=group, contract="Orders")
    net.begin(A, conversation(2), service="Other", group=group, contract="Orders")
    net.begin(A, conversation(3), service="Other", contract="Orders")
    net.settle()
    net.command(A, CommandKind.MOVE, conversation(3), group=group)
    net.command(A, CommandKind.MOVE, D1, group=uuid.UUID(int=8))
    net.command(A, CommandKind.MOVE, conversation(3), group=uuid.UUID(int=8))
    net.command(A, CommandKind.MOVE, conversation(3), group=group)
    net.settle()
    assert refusals(net) == [9610, 8439, 8439]
    assert net["ServerA"].dialog(D1, initiator=True).group == uuid.UUID(int=8)
    assert net["ServerA"].dialog(conversation(3), initiator=True).group == group


@shows("Q8")
def test_what_arrives_after_a_move_is_in_the_other_group() -> None:
    """What is in the queue already is in its own: that record is keyed by it."""
    net, group = talking(b"one"), uuid.UUID(int=8)
    net.command(B, CommandKind.MOVE, D1, group=group, from_initiator=False)
    net.settle()
    net.send(A, D1, b"two")
    net.settle()
    first, second = net["ServerB"].queues[TARGET]
    assert first.group != second.group == group


@shows("D6.1")
def test_current_database() -> None:
    """'CURRENT DATABASE' stands for the database's own broker id."""
    net = pair()
    net.begin(A, D1, to_broker="CURRENT DATABASE")
    net.settle()
    assert net["ServerA"].dialog(D1, initiator=True).far_broker == "A"


@shows("D6.5")
@pytest.mark.parametrize(
    ("said", "number"),
    [
        ({"error_code": 0, "error_text": "no"}, 8419),
        ({"error_code": -1, "error_text": "no"}, 8419),
        ({"error_code": 1, "error_text": 13_200 * "&"}, 8459),
        ({"error_code": 1, "error_text": None}, 8422),
    ],
)
def test_codes_of_errors(said: dict[str, object], number: int) -> None:
    """An application's codes are above 0; a text is needed."""
    net = pair()
    net.begin(A, D1)
    net.send(A, D1, b"1")
    net.end(A, D1, **said)
    net.settle()
    assert refusals(net) == [number]
    assert net["ServerA"].dialog(D1, initiator=True).state is State.CO


@shows("EX-37")
def test_ex_37_a_queue_message_says_whether_its_side_is_the_locked_one() -> None:
    """The first message cannot know; what the initiator sends after its lock does."""
    net = pair()
    net.begin(A, D1)
    net.send(A, D1, b"1")
    net.settle()
    net.send(A, D1, b"2")
    net.settle()
    assert [m.parties.locked for m in net["ServerB"].queues[TARGET]] == [False, True]
