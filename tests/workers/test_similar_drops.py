"""Copies that a forwarder drops alike: each is reported as if it were the only one."""

from __future__ import annotations

import uuid
from dataclasses import replace
from functools import partial
from operator import itemgetter
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.errors import Number
from streams.kafka import Message
from streams.node import Forwarder, Record
from streams.protocol import Flag, Header, Journey, Parties
from streams.routing import Origin
from streams.wire import (
    Envelope,
    MalformedError,
    encode_event,
    encode_header,
    encode_journey,
    encode_parties,
)
from streams.wire.records import HOP, MESSAGE, ROUTE
from streams.workers.forwarder.fast_path import FastPath, Input
from tests.node.test_lane import MS, WORLDS, cases
from tests.wire.values import type_for

from .test_fast_path import MESSAGE_BYTES, Written, crossing, fast_path

__all__ = ["crossing"]


def message_of(record: Record) -> Message:
    """Return a record as Kafka's client returns it."""
    headers = [(ROUTE, record.route), (MESSAGE, record.message), (HOP, record.hop)]
    return Message(
        topic="txq", partition=0, offset=9, timestamp=(1, MS), key=record.key, value=b"x",
        headers=headers,
    )  # type: ignore[call-arg]  # fmt: skip


def fast_path_with_lane(forwarder: Forwarder, source: Input, record: Record) -> FastPath:
    """Return a fast path that has a lane for a record's route."""
    express = fast_path(forwarder.instance, Written())
    express.begin(forwarder, MS)
    assert express.find_lane(source, record)
    return express


def test_each_copy_from_inside_that_is_dropped_has_a_status() -> None:
    """Also if the next hop becomes unreachable within a batch."""
    alive = True
    forwarder = Forwarder("SQL1", WORLDS["forwarding_chain"], Envelope, lambda _: alive)
    parties = Parties(
        "//sqltalk/rcvTweetService", None, "//sqltalk/sendTweetService", "DatabaseA", "X", True
    )
    many_hops = encode_journey(Journey(70, MS + 60_000, 0, MS, 0, (("ServerA", MS),)))
    record = Record(
        Origin.INSIDE, str(uuid.UUID(int=1)).encode(), encode_parties(parties), many_hops, 1,
        False, MESSAGE_BYTES,
    )  # fmt: skip
    source = Input("out", 0, Origin.INSIDE, partial(print))
    express = fast_path_with_lane(forwarder, source, record)
    alive = False
    outcome = forwarder.handle(record, MS)
    assert outcome.event is not None
    express.note_drop(source, record, outcome)
    message = message_of(record)
    assert not express.take(source, message, message.headers() or [])


def late_at_gateway() -> Record:
    """Return a message that reaches the gateway SQL2 after its time to live."""
    parties = Parties(
        "//sqltalk/rcvTweetService", None, "//sqltalk/sendTweetService", "DatabaseA", "X", True
    )
    late = encode_journey(Journey(16, MS - 1, 0, MS - 9, 0, (("SQL1", MS - 9),)))
    return Record(
        Origin.OUTSIDE, str(uuid.UUID(int=1)).encode(), encode_parties(parties), late, 1, False,
        MESSAGE_BYTES,
    )  # fmt: skip


def test_a_dropped_acknowledgement_says_nothing_of_messages() -> None:
    forwarder = Forwarder("SQL2", WORLDS["forwarding_chain"], Envelope, lambda _: True)
    source, record = Input("txq", 0, Origin.OUTSIDE, partial(print)), late_at_gateway()
    express = fast_path_with_lane(forwarder, source, record)
    ack = replace(record, is_ack=True, message=None)
    express.note_drop(source, ack, forwarder.handle(ack, MS))
    message = message_of(record)
    assert not express.take(source, message, message.headers() or [])


def test_a_malformed_key_among_dropped_copies_is_reported() -> None:
    forwarder = Forwarder("SQL2", WORLDS["forwarding_chain"], Envelope, lambda _: True)
    source, record = Input("txq", 0, Origin.OUTSIDE, partial(print)), late_at_gateway()
    express = fast_path_with_lane(forwarder, source, record)
    express.note_drop(source, record, forwarder.handle(record, MS))
    message = message_of(replace(record, key=b"5" * 36))
    with pytest.raises(MalformedError, match="not a conversation id"):
        express.take(source, message, message.headers() or [])


OTHERS = st.builds(
    Header,
    st.uuids(),
    st.sampled_from(["DEFAULT", "//hopline/Order"]),
    st.sampled_from([1, 200, 2**40]),
    st.just(MS),
    st.just(MS + 10**7),
    st.sampled_from([Flag.NONE, Flag.END, Flag.ERROR]),
    st.just(2),
    st.just(5),
).map(lambda header: header._replace(type=type_for(header.flags, header.type)))


@settings(max_examples=150)
@given(cases(), st.uuids(), OTHERS)
def test_a_drop_is_reported_as_it_would_be_alone(
    case: tuple[Forwarder, Record, int], conversation: uuid.UUID, header: Header
) -> None:
    """Whatever another message with the same route and path differs in."""
    forwarder, record, now = case
    written = Written()
    express = fast_path(forwarder.instance, written)
    express.begin(forwarder, now)
    source = Input("txq", 0, record.origin, partial(print))
    if record.is_ack or not express.find_lane(source, record):
        return
    express.note_drop(source, record, forwarder.handle(record, now))
    other = replace(record, key=str(conversation).encode(), message=encode_header(header))
    message = message_of(other)
    taken = express.take(source, message, message.headers() or [])
    express._postponed.write_all()
    outcome = forwarder.handle(other, now)
    if taken and not written.copies:
        assert written.events == [(other.key, encode_event(outcome.event or {}))]
        assert not outcome.copies
        assert not outcome.statuses
    elif not taken and record.origin is Origin.OUTSIDE:
        assert outcome.event is None or outcome.copies


def expired(crossing: ModuleType) -> list[Message]:
    """Return messages that arrive at their target too late, all on the same path."""
    late = encode_journey(Journey(16, crossing.NOW - 1, 0, MS, 0, (("ServerA", MS),)))
    return [
        Message(
            topic=m.topic(), partition=0, offset=m.offset(), timestamp=(1, MS), key=m.key(),
            value=m.value(), headers=[*(m.headers() or ())[:2], (HOP, late)],
        )
        for m in crossing.messages("ServerB", "TargetService")[:30]
    ]  # type: ignore[call-arg]  # fmt: skip


def reports(crossing: ModuleType, batch: list[Message], **given: bool) -> list[Any]:
    """Return the events about a batch, in the order of the copies."""
    processor = crossing.gateway(WORLDS["combined"], "ServerB", **given)
    found = processor.local_producer.events = []
    processor.local_producer.emit = lambda source, key, event, value=None: found.append(
        (source, key, event["error"], value or encode_event(event))
    )
    processor.pass_on(batch)
    processor.postponed.write_all()
    return sorted(found, key=itemgetter(0))


def test_expired_messages_are_dropped_at_once(
    crossing: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = expired(crossing)
    alone = reports(crossing, batch, lanes=False)
    assert [error for _, _, error, _ in alone] == [Number.TIME_TO_LIVE_EXCEEDED] * 30
    decided: list[Record] = []
    handle = Forwarder.handle
    monkeypatch.setattr(
        Forwarder, "handle", lambda f, r, now: (decided.append(r), handle(f, r, now))[1]
    )
    assert reports(crossing, batch) == alone
    assert len(decided) == 1


def test_offsets_wait_for_the_events_about_drops(crossing: ModuleType) -> None:
    """If the worker ends before it has written them, the copies are read again."""
    processor = crossing.gateway(WORLDS["combined"], "ServerB")
    processor.local_producer.emit = lambda *_: None
    batch = expired(crossing)
    first, last = batch[0].offset() or 0, batch[-1].offset() or 0
    processor.pass_on(batch)
    [due] = processor.tracker.due(processor.unfinished(), processor.notes())
    assert due.offset == first + 1  # the event about the first is not postponed
    processor.settle()
    [due] = processor.tracker.due(processor.unfinished(), processor.notes())
    assert due.offset == last + 1


@pytest.mark.parametrize("part", ["key", "header"])
def test_a_malformed_message_among_expired_ones_is_reported_alone(
    crossing: ModuleType, part: str
) -> None:
    batch = expired(crossing)
    former = batch[7]
    route, said, hop = former.headers() or []
    batch[7] = Message(
        topic=former.topic(), partition=0, offset=former.offset(), timestamp=(1, MS),
        key=b"no id" if part == "key" else former.key(), value=former.value(),
        headers=[route, said if part == "key" else (MESSAGE, b"no header"), hop],
    )  # type: ignore[call-arg]  # fmt: skip
    found = reports(crossing, batch)
    assert found == reports(crossing, batch, lanes=False)
    assert [error for _, _, error, _ in found].count(Number.TIME_TO_LIVE_EXCEEDED) == 29
