"""The life of a dialog, read from the topics of workers that run."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import pytest

from streams.diagram import Links, Shape, mermaid_text, svg_text
from streams.errors import EventKind, Number, SurroundingsError
from streams.kafka import Cluster
from streams.live.life import (
    Bounds,
    Life,
    Step,
    build_life,
    cut,
    draw_life,
    read_dialog,
    read_life,
)
from streams.live.life.read import _Search
from streams.live.life.records import Broken, BrokerEvent, Frame, Issued, Kept, Record
from streams.protocol import Limits, State
from streams.routing import Verdict
from streams.topology import Topology
from streams.wire import Topics, decode_event, encode_event
from streams.wire.state_keys import StateKey
from tests.live.lives import MIDDLE, PATIENT, arrows, chosen, lived, step_text
from tests.running import System, running, until_stable
from tests.workers.rig import QUICK

AT_A, AT_B = ("ServerA", "DatabaseA"), ("ServerB", "DatabaseB")
SERVICES = ("InitiatorService", "TargetService")
HOUR = 3_600_000
"""Milliseconds by which an application's clock is ahead: more than any delivery takes."""


# --- over gateways -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lived:
    system: System
    life: Life


@pytest.fixture(scope="module")
def combined(kafka: str) -> Iterator[Lived]:
    """Return a dialog that went over GatewayA or GatewayB, was answered, and ended by both."""
    prefix = f"t{uuid.uuid4().hex[:12]}."
    with running(kafka, prefix, "combined", limits=PATIENT) as system:
        conversation = chosen(system.topology, "DatabaseB")
        lived(system, conversation)
        system.stop()  # so that nothing is added, for example the last acknowledgement
        yield Lived(system, read_life(system.cluster, conversation))


@pytest.mark.long
def test_each_arrow_is_a_passage_between_two_instances(combined: Lived) -> None:
    there = [a for a in arrows(combined.life) if a[0] == "ServerA"]
    assert there
    assert {a[:2] for a in arrows(combined.life)} <= {
        *(("ServerA", g) for g in MIDDLE),
        *((g, "ServerB") for g in MIDDLE),
        *(("ServerB", g) for g in MIDDLE),
        *((g, "ServerA") for g in MIDDLE),
    }
    for step in combined.life.steps:
        if step.sight.shape.is_copy:
            assert step.sight.arrived is not None
            assert step.sight.arrived >= step.sight.at
    times = [step.at for step in combined.life.steps]
    assert times == sorted(times)
    assert combined.life.steps[0].sight.at == 0


def test_the_steps_are_in_order(combined: Lived) -> None:
    words = [step_text(step) for step in combined.life.steps]
    story = (
        "BEGIN DIALOG to TargetService",
        "SEND 0",
        "message 0",
        "message 0",
        "DatabaseB: CONVERSING",
        "message 0 into TargetQueue",
        "ack 0",
        "ack 0",
        "locked to DatabaseB",
        "SEND 0",
        "message 0 into InitiatorQueue",
        "END 1",
        "EndDialog 1 into TargetQueue",
        "DatabaseA: CLOSED",
        "END",
        "DatabaseB: CLOSED",
    )
    at = 0
    for words_of_step in story:
        found = next((n for n in range(at, len(words)) if words[n] == words_of_step), None)
        assert found is not None, f"{words_of_step!r} is not behind {words[:at]} in {words}"
        at = found + 1


def test_every_decision_has_its_rule_and_matches_the_catalog(combined: Lived) -> None:
    life = combined.life
    copies = [s for s in life.steps if s.sight.shape.is_copy]
    assert all(step.decisions for step in copies)
    for step in copies:
        assert all(d.agrees for d in step.decisions), step
        assert step.decisions[0].instance == step.sight.ends[0][0]
    first = next(s for s in copies if s.sight.verb == "message")
    assert first.decisions[0].answer.decision.verdict is Verdict.SEND
    assert first.decisions[0].rule.startswith("M3 TargetRoute")
    assert first.decisions[0].text.startswith("At ServerA, by the routes of DatabaseA, for Target")
    into = [s for s in copies if s.sight.ends[1] == ("ServerB",) and s.sight.verb == "message"]
    assert [d.answer.decision.verdict for d in into[0].decisions] == [
        Verdict.FORWARD,
        Verdict.DELIVER,
    ]
    back = [s for s in copies if s.sight.shape is Shape.ACK and s.sight.ends[0] == ("ServerB",)]
    assert {d.answer.decision.step for s in back for d in s.decisions} <= {"REPLY", "M1", "M2"}


def test_messages_are_accounted_for(combined: Lived) -> None:
    life = combined.life
    assert [(m.from_initiator, m.sequence) for m in life.messages] == [
        *((True, 0), (True, 1), (False, 0)),
    ]
    for message in life.messages:
        assert message.attempts == 1
        assert message.copies == 2, "one to the gateway, one from it"
        assert not message.refused
        assert message.queued_at is not None
        assert message.took is not None and message.took >= 0
    assert life.messages[0].place == "ServerB/DatabaseB"
    assert life.messages[0].size == len(b"<hello/>")
    assert life.messages[0].acknowledged_at is not None
    assert life.messages[0].acknowledged_at >= (life.messages[0].queued_at or 0)


def test_both_sides_and_who_they_are(combined: Lived) -> None:
    life = combined.life
    assert (life.from_service, life.to_service, life.contract) == (*SERVICES, "DEFAULT")
    assert [(e.instance, e.is_initiator) for e in life.endpoints] == [
        ("ServerA", True),
        ("ServerB", False),
    ]
    dialogs = [e.dialog for e in life.endpoints if e.dialog is not None]
    assert all(dialog.state is State.CD for dialog in dialogs)
    assert life.catalog_version == 1
    assert life.left_out == ()
    assert life.known


def test_its_diagram_shows_its_steps(combined: Lived) -> None:
    life = combined.life
    diagram = draw_life(life, fold=False)
    assert [key for row in diagram.rows for key in row.keys] == list(range(len(life.steps)))
    names = [p.name for p in diagram.participants]
    assert names[:2] == ["InitiatorService", "ServerA"]
    assert names[-2:] == ["ServerB", "TargetService"]
    assert "(M3 TargetRoute" in mermaid_text(draw_life(life, rules=True))
    assert len(draw_life(life).rows) <= len(diagram.rows)
    picture = svg_text(diagram, Links("?step={}".format, chosen=2))
    links = [e.attrib for e in ElementTree.fromstring(picture).iter() if e.tag.endswith("}a")]
    assert [link["href"] for link in links] == [f"?step={n}" for n in range(len(life.steps))]
    assert [link["id"] for link in links if "aria-current" in link] == ["row-2"]
    part = cut(diagram, 0, 2)
    assert [p.name for p in part.participants] == names[:2]
    assert part.rows == diagram.rows[:2]


def test_only_what_can_hold_the_dialog_is_read(combined: Lived) -> None:
    """Another dialog's records are skipped; a limit of records reports the omission."""
    system, life = combined.system, combined.life
    cut = read_dialog(system.cluster, life.conversation, Bounds(records=5))
    assert len(cut.records) == 5
    assert cut.left_out == ["all but the first 5 records found"]


def test_large_records_are_read_up_to_a_number_of_bytes(combined: Lived) -> None:
    """Events of 64 kB and states that decode to 200 kB took gigabytes within the record limit."""
    cluster, conversation = combined.system.cluster, combined.life.conversation
    everything = read_dialog(cluster, conversation)
    assert not everything.left_out and everything.size == combined.life.size > 0
    cut = read_dialog(cluster, conversation, Bounds(size=everything.size // 2))
    assert 0 < len(cut.records) < len(everything.records)
    assert 0 < cut.size <= everything.size // 2
    assert cut.left_out == [
        f"all but the first {len(cut.records)} records found, because they are large"
    ]


def test_a_later_state_that_is_too_large_leaves_the_number_of_records() -> None:
    """It would take the place of the endpoint's first state."""
    conversation = uuid.UUID(int=1)
    search = _Search(
        cast(Any, SimpleNamespace(topics=Topics())), conversation, Bounds(size=100), lambda: 0.0
    )
    state = Kept("A", StateKey("DatabaseA", conversation, True, None), None, 0, "dialog.A/0@1")
    search._keep(state, 40)
    search._keep(Broken("A", "no Avro", 0, "cmd.A/0@1"), 30)
    search._keep(state, 71)
    assert (len(search._found.records), search._found.size) == (2, 70)
    assert search._found.left_out == ["all but the first 2 records found, because they are large"]


def test_only_the_last_state_of_an_endpoint_is_kept(combined: Lived) -> None:
    reading = read_dialog(combined.system.cluster, combined.life.conversation)
    states = [record for record in reading.records if isinstance(record, Kept)]
    assert sorted(state.endpoint for state in states) == sorted(
        (e.instance, e.database, e.is_initiator) for e in combined.life.endpoints
    )
    assert {state.dialog and state.dialog.state for state in states} <= {State.CD, None}


def test_a_timeout_is_reported(combined: Lived) -> None:
    ticks = iter([0.0, *([100.0] * 100)])
    reading = read_dialog(
        combined.system.cluster, combined.life.conversation, clock=lambda: next(ticks)
    )
    assert reading.records == []
    assert "that were not read within 20 s" in reading.left_out[0]


def test_a_dialog_that_nobody_knows(combined: Lived) -> None:
    life = read_life(combined.system.cluster, uuid.uuid4())
    assert not life.known
    assert (life.steps, life.messages, life.endpoints) == ((), (), ())


def test_what_nobody_can_read_is_drawn_at_an_instance_of_which_nothing_else_is_known() -> None:
    broken = Broken("GatewayD", "no text", 1, "txq.GatewayD/0@7")
    life = build_life(uuid.UUID(int=1), [broken], Topology({}), 0, [])
    diagram = draw_life(life)
    assert [each.place for each in diagram.participants] == [("GatewayD",)]
    assert "no text" in svg_text(diagram) and "no text" in mermaid_text(diagram)


def test_an_unknown_state_is_shown_as_it_is() -> None:
    event = {"event": int(EventKind.CONVERSATION), "at": 1, "instance": "ServerA", "state": "odd"}
    record = BrokerEvent(decode_event(encode_event(event)), "event/0@7")
    life = build_life(uuid.UUID(int=1), [record], Topology({}), 0, [])
    assert "odd" in svg_text(draw_life(life))


@pytest.mark.long
def test_an_unreachable_cluster_is_reported() -> None:
    with pytest.raises(SurroundingsError, match=r"Kafka at 127\.0\.0\.1:1 cannot be reached"):
        read_dialog(Cluster("127.0.0.1:1"), uuid.uuid4())


def test_routes_that_were_changed_since_are_reported(combined: Lived) -> None:
    """The catalog of another topology explains none of it, or otherwise."""
    reading = read_dialog(combined.system.cluster, combined.life.conversation)
    nothing = build_life(combined.life.conversation, reading.records, Topology({}))
    assert nothing.steps and not any(step.decisions for step in nothing.steps)
    assert [step_text(s) for s in nothing.steps] == [step_text(s) for s in combined.life.steps]


@pytest.mark.long
def test_a_clock_that_is_ahead_puts_no_statement_behind_its_message(combined: Lived) -> None:
    """An application's clock and Kafka's differ, if only by milliseconds."""
    reading = read_dialog(combined.system.cluster, combined.life.conversation)
    ahead = [_later(record) for record in reading.records]
    life = build_life(combined.life.conversation, ahead, combined.system.topology)
    words = [step_text(step) for step in life.steps]
    assert words[:3] == ["BEGIN DIALOG to TargetService", "SEND 0", "message 0"]
    assert words.index("END 1") < words.index("EndDialog 1 into TargetQueue")
    assert all(message.took is not None and message.took >= 0 for message in life.messages)


@pytest.mark.long
def test_a_message_known_only_from_a_queue_was_not_sent_after_its_arrival(combined: Lived) -> None:
    reading = read_dialog(combined.system.cluster, combined.life.conversation)
    kept = [r for r in reading.records if isinstance(r, Frame) and r.kind == "queue"]
    ahead = [_later(record) for record in kept]
    life = build_life(combined.life.conversation, ahead, combined.system.topology)
    assert [message.took for message in life.messages if message.from_initiator] == [0, 0]


def _later(record: Record) -> Record:
    """Return a record of the initiator's application with a clock that is an hour ahead."""
    if isinstance(record, Issued) and record.command.from_initiator:
        stored_at = record.command.stored_at + HOUR
        return record._replace(command=record.command._replace(stored_at=stored_at))
    if isinstance(record, Frame) and record.header is not None and record.parties.from_initiator:
        enqueued_at = record.header.enqueued_at + HOUR
        return record._replace(header=record.header._replace(enqueued_at=enqueued_at))
    return record


# --- retries, drops, several targets -------------------------------------------------------------


@pytest.mark.long
def test_copies_and_duplicates_say_why(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers", limits=QUICK, start=False) as system:
        system.start("ServerA")
        system.start("ServerB", roles=("forwarder",))
        with system.client() as client:
            dialog = client.begin(*AT_A, *SERVICES)
            client.send(dialog, b"<hello/>", wait=True)
            system.records(system.cluster.topics.inbox("ServerB"), count=3)
            system.start("ServerB", roles=("endpoint",))
            system.received(*AT_B, "TargetQueue", 1)
            system.events(160, lambda e: e["error"] == Number.DUPLICATE, count=2)
            system.events(149)
        life = read_life(system.cluster, dialog.id)
    [message] = life.messages
    assert message.attempts >= 3
    assert message.copies >= message.attempts
    assert message.removed >= 2
    again = [s for s in life.steps if s.number == Number.DUPLICATE]
    assert all("the sender retried" in dict(s.facts)["why"] for s in again)
    assert [s.sight.rest for s in _copies_of(life, 0)][:3] == ["", ", attempt 1", ", attempt 2"]


def _copies_of(life: Life, number: int) -> list[Step]:
    return [s for s in life.steps if s.sight.shape is Shape.MESSAGE and s.message == (True, number)]


@pytest.mark.long
def test_a_message_without_a_route_has_the_number_and_the_rule(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers", limits=QUICK) as system, system.client() as client:
        dialog = client.begin(*AT_A, "InitiatorService", "NobodysService")
        client.send(dialog, b"<hello/>", wait=True)
        system.events(141, lambda e: bool(e["error"]))
        until_stable(system.cluster, system.cluster.topics.dialog("ServerA"))
        life = read_life(system.cluster, dialog.id)
    delayed = next(s for s in life.steps if s.sight.verb == "delays message")
    assert delayed.number in (Number.NO_ROUTE, Number.SERVICE_NOT_HERE)
    assert f"{delayed.number}: " in dict(delayed.facts)["number"]
    [decided] = delayed.decisions
    assert decided.agrees
    assert decided.went_to is None
    assert decided.answer.decision.error == delayed.number
    assert life.messages[0].refused[delayed.number] >= 1
    assert life.messages[0].queued_at is None
    state = life.endpoints[0].dialog
    assert state is not None and state.status == delayed.number


@pytest.mark.long
def test_several_targets_and_who_was_refused(kafka: str, unique: str) -> None:
    with running(kafka, unique, "several_targets") as system, system.client() as client:
        dialog = client.begin(*AT_A, *SERVICES)
        client.send(dialog, b"<hello/>", wait=True)
        system.events(160, lambda e: e["error"] == Number.ANOTHER_INSTANCE_CONVERSES)
        [locked] = system.events(149)
        system.events(124, lambda e: e["state"] == "ER")
        life = read_life(system.cluster, dialog.id)
    there = {s.sight.ends[1][0] for s in _copies_of(life, 0)}
    assert there == {"ServerB", "ServerC"}
    assert f"locked to {locked['from_broker']}" in [step_text(s) for s in life.steps]
    refused = next(s for s in life.steps if s.number == Number.ANOTHER_INSTANCE_CONVERSES)
    assert "several targets" in dict(refused.facts)["why"]
    assert any(s.sight.shape is Shape.ERROR and "-8495" in s.sight.rest for s in life.steps)
    assert len(life.endpoints) == 3


@pytest.mark.long
def test_a_long_dialog_is_read_and_drawn_in_parts(kafka: str, unique: str) -> None:
    count = 300
    with running(kafka, unique, "local", limits=Limits()) as system, system.client() as client:
        dialog = client.begin(*AT_A, *SERVICES)
        for number in range(count):
            client.send(dialog, b"%d" % number)
        client.send(dialog, b"last", wait=True)
        queue = system.cluster.topics.queue("ServerA", "DatabaseB", "TargetQueue")
        system.records(queue, count=count)
        life = read_life(system.cluster, dialog.id)
    queued = [s for s in life.steps if s.sight.shape is Shape.QUEUED]
    assert len(queued) >= count
    assert all(step.decisions for step in queued), "begun and delivered in one instance"
    assert len(draw_life(life, fold=False).rows) == len(life.steps)
    assert len(draw_life(life).rows) < len(life.steps)
