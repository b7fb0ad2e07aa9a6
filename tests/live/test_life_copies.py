"""Arrows from records that no quiet system writes: repeated, hidden, in a circle, not processed."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from streams.errors import Event, EventKind, Number
from streams.kafka import Message
from streams.live.life import Life, Step, build_life, draw_life
from streams.live.life.decide import Decider
from streams.live.life.records import Broken, BrokerEvent, Frame, Record, Sieve
from streams.node.events import event
from streams.protocol import Header, Journey, Parties
from streams.resources import topologies_dir
from streams.topology import Topology, load
from streams.wire import Topics, decode_event, encode_event
from tests.live.lives import arrows, step_text

DIALOG = uuid.UUID("6f1c2a04-0000-4000-8000-000000000001")
MESSAGE = uuid.UUID("6f1c2a04-0000-4000-8000-000000000002")
START = 1_700_000_000_000
PARTIES = Parties("TargetService", None, "InitiatorService", "DatabaseA", "DEFAULT", True)
COMBINED = load(topologies_dir() / "combined", 0.0)


def frame(kind: str, home: str, *path: tuple[str, int], attempt: int = 0) -> Frame:
    """Return a copy of message 0 in a topic; the path's times are counted from BEGUN."""
    visits = tuple((name, START + at) for name, at in path)
    to_broker = None if kind == "out" else "DatabaseB"
    return Frame(
        kind,
        home,
        PARTIES._replace(to_broker=to_broker),
        Header(MESSAGE, "DEFAULT", 0, START, START + 3_600_000),
        None,
        Journey(16 - len(path), START + 60_000, attempt, START, 0, visits),
        5,
        b"hello",
        f"ssb.{kind}.{home}/0@{len(path)}",
        ("DatabaseB", "TargetQueue") if kind == "queue" else None,
    )


def life_of(records: Sequence[Record], topology: Topology = COMBINED) -> Life:
    return build_life(DIALOG, records, topology)


def copies(life: Life) -> list[Step]:
    return [step for step in life.steps if step.sight.shape.is_copy]


A, G, B = ("ServerA", 1), ("GatewayA", 4), ("ServerB", 9)


def test_an_arrow_ends_when_its_receiver_took_it_up() -> None:
    records = [
        frame("out", "ServerA"),
        frame("txq", "GatewayA", A),
        frame("txq", "ServerB", A, G),
        frame("in", "ServerB", A, G, B),
        frame("queue", "ServerB", A, G, B, ("ServerB/DatabaseB", 12)),
    ]
    life = life_of(records)
    assert [(s.at - START, s.sight.arrived, s.sight.at) for s in copies(life)] == [
        (1, 4_000, 1_000),
        (4, 9_000, 4_000),
    ]
    assert life.messages[0].took == 12
    assert step_text(life.steps[0]) == "SEND 0", "the statement is told by the first copy"
    assert "not in the logs" in dict(life.steps[0].facts)["reported by"]


def test_a_copy_that_no_worker_has_read_is_marked() -> None:
    life = life_of([frame("out", "ServerA"), frame("txq", "GatewayA", A)])
    assert arrows(life) == [("ServerA", "GatewayA", "message 0, not processed")]
    assert not copies(life)[0].sight.is_lost, "it lies in the transmission queue there"
    assert life.messages[0].queued_at is None


def test_redelivery_by_a_forwarder_is_reported() -> None:
    records = [
        frame("out", "ServerA"),
        frame("txq", "GatewayA", A),
        frame("txq", "GatewayA", ("ServerA", 1)),
        frame("txq", "ServerB", A, G),
        frame("txq", "ServerB", A, ("GatewayA", 30)),
        frame("in", "ServerB", A, G, B),
    ]
    words = [text for _, _, text in arrows(life_of(records))]
    assert words == [
        "message 0",
        "message 0, repeated",
        "message 0",
        "message 0, repeated, not processed",
    ]


def test_a_gateway_that_hides_its_path_breaks_no_chain() -> None:
    records = [
        frame("out", "ServerA"),
        frame("txq", "GatewayA", A),
        frame("txq", "ServerB", G),
        frame("in", "ServerB", G, B),
    ]
    life = life_of(records)
    assert [(s.sight.ends, s.sight.arrived) for s in copies(life)] == [
        ((("ServerA",), ("GatewayA",)), 4_000),
        ((("GatewayA",), ("ServerB",)), 9_000),
    ]
    forwarded = copies(life)[1].decisions[0].answer
    assert forwarded.question.outside, "it came to the gateway from outside"


def test_what_goes_round_is_an_arrow_each_time() -> None:
    path = [A, ("GatewayA", 2), ("GatewayB", 3), ("GatewayA", 4), ("GatewayB", 5)]
    records = [frame("out", "ServerA")]
    for number in range(1, len(path)):
        records.append(frame("txq", path[number][0], *path[:number]))
    life = life_of(records)
    assert [s.sight.ends[1][0] for s in copies(life)] == [
        *("GatewayA", "GatewayB", "GatewayA", "GatewayB"),
    ]
    assert [s.sight.arrived for s in copies(life)[:3]] == [2_000, 3_000, 4_000]


def test_present_routes_that_lead_elsewhere_are_reported() -> None:
    life = life_of([frame("out", "ServerA"), frame("txq", "GatewayX", A)])
    [decided] = copies(life)[0].decisions
    assert not decided.agrees
    assert decided.went_to == "GatewayX"


def test_a_copy_that_its_database_answers_with_an_error_is_where_it_should_be() -> None:
    """R7.4: the database with the broker id lacks the service, and gets the copy all the same."""
    parties = PARTIES._replace(to_service="Missing", to_broker="DatabaseB")
    decider = Decider(load(topologies_dir() / "two_brokers", 0.0), DIALOG)
    for went_to, agrees in (("ServerB", True), (None, False)):
        decided = decider.decide("ServerB", parties, START, inside=False, went_to=went_to)
        assert decided is not None and decided.agrees is agrees
        assert decided.answer.decision.error is Number.REMOTE_SERVICE_MISSING


def test_an_unreadable_record_is_a_step_and_a_strange_event_is_none() -> None:
    strange = {**decode_event(encode_event(dropped())), "event": 999}
    records = [
        Broken("ServerA", "the key is not a conversation id (11271)", START, "ssb.in.ServerA/0@1"),
        BrokerEvent(strange, "ssb.event/0@1"),
    ]
    assert [step_text(s) for s in life_of(records).steps] == [
        "MALFORMED: the key is not a conversation id (11271)"
    ]


def test_an_event_with_a_message_id_that_is_none_is_unreadable() -> None:
    """Whoever may write events may write any text; the steps of a dialog need an id."""
    odd = {**decode_event(encode_event(dropped())), "message_id": "x\x04y"}
    message = Message(
        topic="ssb.event", partition=0, offset=3, key=str(DIALOG).encode(), value=encode_event(odd),
        timestamp=(1, START),
    )  # type: ignore[call-arg]  # fmt: skip
    found = Sieve(DIALOG, Topics())(message)
    assert isinstance(found, Broken)
    assert found.where == "ssb.event/0@3"


def dropped() -> Event:
    header = Header(MESSAGE, "DEFAULT", 0, START, START + 3_600_000)
    return event(
        EventKind.FORWARDED_MESSAGE_DROPPED,
        at=START + 20,
        instance="GatewayA",
        conversation=DIALOG,
        error=Number.ROUTE_INVALID,
        parties=PARTIES._replace(to_broker="Nobody"),
        header=header,
        attempt=0,
    )


def test_a_drop_has_its_number_and_its_meaning() -> None:
    event = BrokerEvent(decode_event(encode_event(dropped())), "ssb.event/0@1")
    records = [frame("out", "ServerA"), frame("txq", "GatewayA", A), event]
    life = life_of(records)
    step = next(s for s in life.steps if s.number)
    assert step.number == Number.ROUTE_INVALID
    assert dict(step.facts)["number"] == "11294: the destination route is not valid"
    assert life.messages[0].refused == {Number.ROUTE_INVALID: 1}


def test_a_gateway_of_a_retry_stands_among_the_others() -> None:
    again = ("GatewayB", 14)
    records = [
        frame("out", "ServerA"),
        frame("txq", "GatewayA", A),
        frame("txq", "ServerB", A, G),
        frame("out", "ServerA", attempt=1),
        frame("txq", "GatewayB", ("ServerA", 11), attempt=1),
        frame("txq", "ServerB", ("ServerA", 11), again, attempt=1),
    ]
    names = [p.name for p in draw_life(life_of(records)).participants]
    assert names == ["InitiatorService", "ServerA", "GatewayA", "GatewayB", "ServerB"]


def test_the_size_of_a_message_is_counted_once() -> None:
    records = [
        frame("queue", "ServerB", A, G, B, ("ServerB/DatabaseB", 12)),
        frame("out", "ServerA"),
        frame("out", "ServerA", attempt=1),
    ]
    [message] = life_of(records).messages
    assert (message.size, message.attempts) == (5, 2)


def test_the_cause_of_a_duplicate_follows_from_the_paths() -> None:
    other = ("GatewayB", 4)
    header = Header(MESSAGE, "DEFAULT", 0, START, START + 3_600_000)
    twice = event(
        EventKind.MESSAGE_UNDELIVERABLE,
        at=START + 20,
        instance="ServerB",
        conversation=DIALOG,
        error=Number.DUPLICATE,
        parties=PARTIES,
        header=header,
        attempt=0,
    )
    repeated = BrokerEvent(decode_event(encode_event(twice)), "ssb.event/0@1")
    again = [frame("in", "ServerB", A, G, B), frame("in", "ServerB", A, G, ("ServerB", 11))]
    copies_by_path = [frame("in", "ServerB", A, G, B), frame("in", "ServerB", A, other, B)]
    assert "forwarded the first copy twice" in why(life_of([*again, repeated]))
    assert "several paths" in why(life_of([*copies_by_path, repeated]))


def why(life: Life) -> str:
    return next(dict(step.facts)["why"] for step in life.steps if step.number)
