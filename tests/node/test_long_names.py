"""Names of frames that are longer than any name of their kind are refused, and not kept (1.2)."""

from __future__ import annotations

import uuid

import pytest

from streams.errors import EventKind
from streams.node import Forwarder, Outcome, Place, Record, catalog_of
from streams.node.endpoint import route_requests
from streams.protocol import Ack, Header, Journey, Limits, Parties
from streams.routing import Origin
from streams.wire import Envelope
from streams.wire.records import HOP, MESSAGE, ROUTE, ack_record, header_of, message_record

from .evidence import shows
from .harness import START, conversation, topology
from .test_notices import asking, begin, commit, endpoint

GATE = topology("""
instances:
  Gate:
    address: tcp://Gate:4022
    endpoint: {forwarding: true}
    msdb:
      broker_id: MSDB
      routes:
        - {name: BCN, service_name: SQL/ServiceBroker/BrokerConfiguration, address: LOCAL}
        - {name: Known, service_name: Known, address: 'tcp://P:4022'}
  P: {address: 'tcp://P:4022'}
""")
EMOJI = "\N{GRINNING FACE}"  # two UTF-16 units
FROM = Parties("Known", None, "Initiator", "F", "DEFAULT", True)
LONGEST = Parties("Known", EMOJI * 64, EMOJI * 128, EMOJI * 64, EMOJI * 128, True)
TOO_LONG: list[tuple[dict[str, str], int]] = [
    ({"from_service": EMOJI * 128 + "s"}, 11202),
    ({"from_broker": "b" * 129}, 11204),
    ({"to_service": EMOJI * 16_000}, 11206),
    ({"contract": "c" * 257}, 11208),
    ({"to_broker": EMOJI * 65}, 28017),
]


def gateway() -> Forwarder:
    return Forwarder("Gate", catalog_of(GATE, 1), Envelope, lambda _: True)


def frame(parties: Parties, *, is_ack: bool = False) -> Record:
    journey = Journey(16, START + 60_000, 0, START)
    if is_ack:
        key, _, headers = ack_record(conversation(1), parties, Ack(1), journey)
    else:
        header = Header(uuid.UUID(int=5), "DEFAULT", 0, START, START + 3_600_000)
        key, _, headers = message_record(conversation(1), parties, header, journey, b"")
    route, hop = header_of(headers, ROUTE), header_of(headers, HOP)
    assert route is not None and hop is not None
    return Record(Origin.OUTSIDE, key, route, hop, 0, is_ack, header_of(headers, MESSAGE))


def asked(outcome: Outcome) -> list[str | None]:
    return [status.service for status in outcome.statuses]


@shows("D1.8")
@pytest.mark.parametrize("is_ack", [False, True])
@pytest.mark.parametrize(("changes", "number"), TOO_LONG)
def test_a_forwarder_drops_frames_with_names_that_are_too_long(
    changes: dict[str, str], number: int, is_ack: bool
) -> None:
    """They are reported as undeliverable, not acknowledged, and not answered."""
    gate, record = gateway(), frame(FROM._replace(**changes), is_ack=is_ack)  # type: ignore[arg-type]
    for _ in range(2):  # the second frame finds the plan of the first
        assert gate.lane(record, START) is None
        outcome = gate.handle(record, START)
        assert (outcome.copies, outcome.statuses) == ((), ())
        assert outcome.event is not None
        assert outcome.event["event"] == EventKind.MESSAGE_UNDELIVERABLE
        assert (outcome.event["error"], outcome.event["subclass"]) == (number, 1 + is_ack)


def test_a_forwarder_forwards_frames_with_the_longest_names() -> None:
    gate = gateway()
    (copy,) = gate.handle(frame(LONGEST), START).copies
    assert (copy.place, copy.instance, copy.route) == (Place.TXQ, "P", frame(LONGEST).route)
    assert gate.lane(frame(LONGEST), START) is not None


def test_no_route_is_requested_for_a_name_that_is_too_long() -> None:
    gate, longest = gateway(), EMOJI * 128
    assert asked(gate.handle(frame(FROM._replace(to_service=longest)), START)) == [longest]
    assert asked(gate.handle(frame(FROM._replace(to_service=longest + "s")), START)) == []


def test_a_status_with_a_name_that_is_too_long_begins_no_request() -> None:
    """The endpoint worker does not rely on the forwarder, because it keeps each name."""
    one, longest, id_ = endpoint(), EMOJI * 128, EMOJI * 64
    for service, broker, count in (
        (longest + "s", None, 0),
        ("New", id_ + "b", 0),
        (longest, id_, 2),
    ):
        tx = begin(one)
        tx.status(asking(service, broker))
        assert len(commit(one, tx)) == count
    assert [request.service for request in one.requests["AW"]] == [longest]


def test_open_requests_are_limited_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request of another service begins after the configuration service has answered one."""
    size = route_requests.REQUEST_BYTES + 4 * len("S0")
    monkeypatch.setattr(route_requests, "OPEN_BYTES", 3 * size)
    one = endpoint()

    def ask(*services: str) -> int:
        tx = begin(one)
        for service in services:
            tx.status(asking(service))
        return len(commit(one, tx)) // 2

    assert ask("S0", "S1") == 2
    assert ask("S2", "S3", "S4") == 1, "the requests of this transaction count too"
    assert ask("S3") == 0
    assert one.requests["AW"].open_bytes == 3 * size
    tx = begin(one)
    first = one.requests["AW"].get("S0")
    assert first is not None and first.conversation is not None
    tx.notices._ended("AW", first.conversation)
    commit(one, tx)
    assert one.requests["AW"].open_bytes == 2 * size
    assert ask("S3", "S4") == 1


@pytest.mark.parametrize("attempt", [-1, -5, -(2**31)])
def test_an_attempt_below_0_counts_as_the_first(attempt: int) -> None:
    limits = Limits()
    assert limits.retry_after(attempt) == limits.retry_after(0)
    assert limits.ask_after(attempt) == limits.ask_after(0)
