"""The short way of a forwarder: which records take it, and what is written then."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from streams.errors import Event
from streams.kafka import Headers, Message
from streams.node import Forwarder, Lane, Place
from streams.protocol import Flag, Header, Journey, Parties
from streams.routing import Origin
from streams.wire import (
    Envelope,
    Topics,
    decode_journey,
    encode_event,
    encode_header,
    encode_journey,
    encode_parties,
)
from streams.wire.records import HOP, INSIDE, MESSAGE, ORIGIN, ROUTE
from streams.workers.forwarder.fast_path import FastPath, Input, Known
from streams.workers.forwarder.postponed_events import PostponedEvents
from streams.workers.forwarder.topic_names import TopicNames
from tests.node.test_lane import MS, WORLDS

ROUTE_BYTES = encode_parties(Parties("To", "B", "From", "A", "DEFAULT", True))
MESSAGE_BYTES = encode_header(Header(uuid.UUID(int=7), "DEFAULT", 0, MS, MS + 10**7, Flag.NONE))
HOP_BYTES = encode_journey(Journey(16, MS + 60_000, 0, MS, 0, (("ServerA", MS),)))
SAID: Headers = [(ROUTE, ROUTE_BYTES), (MESSAGE, MESSAGE_BYTES), (HOP, HOP_BYTES)]
ANSWER: Headers = [(ROUTE, ROUTE_BYTES), (HOP, HOP_BYTES)]


class Written:
    """Stands where the forwarder's producer does."""

    def __init__(self) -> None:
        self.copies: list[tuple[str, Headers]] = []
        self.events: list[tuple[bytes, bytes]] = []

    def copy(self, _: Any, topic: str, value: Any, key: bytes, at: int, headers: Headers) -> None:
        self.copies.append((topic, headers))

    def emit(self, _: Any, key: bytes, event: Event, value: bytes | None = None) -> None:
        self.events.append((key, value or encode_event(event)))


def fast_path(instance: str, written: Written) -> FastPath:
    """Return a fast path that writes to ``written``; it may drop well-formed messages only."""
    postponed = PostponedEvents(written, None)  # type: ignore[arg-type]
    return FastPath(written, TopicNames(Topics(), instance), print, postponed)  # type: ignore[arg-type]


def decided(headers: Headers) -> list[tuple[str, Headers]]:
    """Return what becomes of a record where messages and answers have a lane each."""
    written = Written()
    express = fast_path("ServerB", written)
    express.begin(Forwarder("ServerB", WORLDS["combined"], Envelope, lambda _: True), MS)
    source = Input("txq", 0, Origin.OUTSIDE, partial(print))
    source.lanes[ROUTE_BYTES] = Known(Lane(Place.IN, "ServerB", b"new", inside=True), "in")
    source.acks[ROUTE_BYTES] = Known(Lane(Place.ACK, "ServerB", b"new"), "ack")
    message = Message(topic="txq", partition=0, offset=0, key=b"id", value=b"x", timestamp=(1, MS))
    assert express.take(source, message, headers) is bool(written.copies)
    return written.copies


def test_a_message_is_delivered_with_its_origin() -> None:
    [(topic, headers)] = decided(SAID)
    assert topic == "in"
    assert headers[:2] == [(ROUTE, b"new"), (MESSAGE, MESSAGE_BYTES)]
    assert headers[3:] == [(ORIGIN, INSIDE)]


def test_an_acknowledgement_goes_where_acknowledgements_go() -> None:
    [(topic, headers)] = decided(ANSWER)
    assert topic == "ack"
    (_, route), (name, hop) = headers
    assert (route, name) == (b"new", HOP)
    assert decode_journey(hop).path == (("ServerA", MS), ("ServerB", MS))


@pytest.mark.parametrize("headers", [SAID, ANSWER])
def test_a_copy_for_another_cluster_is_handed_over_for_that(headers: Headers) -> None:
    """With the headers that it would have at home; nothing of it is written there."""
    written = Written()
    express = fast_path("ServerB", written)
    express.begin(Forwarder("ServerB", WORLDS["combined"], Envelope, lambda _: True), MS)
    source = Input("txq", 0, Origin.OUTSIDE, partial(print))
    remote: list[tuple[Message, Headers, int]] = []
    lane = Lane(Place.TXQ, "ServerX", b"new", spend=True, hide=True)
    known = Known(lane, "txq.ServerX", lambda *given: remote.append(given))
    source.lanes[ROUTE_BYTES] = source.acks[ROUTE_BYTES] = known
    message = Message(topic="txq", partition=0, offset=0, key=b"id", value=b"x", timestamp=(1, MS))
    assert express.take(source, message, headers)
    [(taken, copied, at)] = remote
    assert (taken, at, written.copies) == (message, MS, [])
    assert [name for name, _ in copied] == [name for name, _ in headers]
    assert copied[:-1] == [(ROUTE, b"new"), *headers[1:-1]]
    journey = decode_journey(copied[-1][1])
    assert (journey.hops_remaining, journey.path) == (15, (("ServerB", MS),))


@pytest.mark.parametrize(
    "headers",
    [
        [],
        SAID[:1],
        SAID[:2],
        [*SAID, (ORIGIN, INSIDE)],
        [SAID[1], SAID[0], SAID[2]],
        [SAID[2], SAID[0]],
        [(ROUTE, b"another"), SAID[2]],
        [SAID[0], (HOP, b"rubbish")],
        [SAID[0], (HOP, None)],
        [*SAID[:2], ("sb-hop2", HOP_BYTES)],
        [*SAID[:2], (ROUTE, HOP_BYTES)],
        [("", ROUTE_BYTES), *SAID[1:]],
        [("", ROUTE_BYTES), (HOP, HOP_BYTES)],
    ],
)
def test_what_looks_otherwise_takes_the_long_way(headers: Headers) -> None:
    assert decided(headers) == []


@pytest.fixture
def crossing() -> Iterator[ModuleType]:
    """Return the benchmark that runs a forwarder's loop without Kafka; its test begins it anew."""
    yield import_module("bench.crossing")
    sys.modules.pop("bench.crossing", None)


def test_nothing_is_decided_twice(crossing: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of copies asks once for the lane of their route, and decides none alone."""
    gateway, messages, now = crossing.gateway, crossing.messages, crossing.NOW
    asked: list[str] = []
    for name in ("handle", "lane"):
        decide = getattr(Forwarder, name)

        def counting(*given: Any, name: str = name, decide: Any = decide) -> Any:
            asked.append(name)
            return decide(*given)

        monkeypatch.setattr(Forwarder, name, counting)
    batch = messages("GatewayA", "TargetService")
    gateway(WORLDS["combined"], "GatewayA").pass_on(batch)
    assert asked == ["lane"]
    many_hops = encode_journey(Journey(70, now + 60_000, 0, now, 0, (("ServerA", now),)))
    [first] = messages("GatewayA", "TargetService")[:1]
    unusual = Message(
        topic=first.topic(), partition=0, offset=1_000, timestamp=(1, now), key=first.key(),
        value=first.value(), headers=[*(first.headers() or ())[:2], (HOP, many_hops)],
    )  # type: ignore[call-arg]  # fmt: skip
    asked.clear()
    gateway(WORLDS["combined"], "GatewayA").pass_on([unusual, first, unusual])
    assert asked == ["lane", "handle", "handle"]
