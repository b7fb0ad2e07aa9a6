"""A frame that another cluster wrote has no more hops and no more time than one from here."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from streams.kafka import Headers, Message, headers_of
from streams.protocol import Journey, Limits
from streams.routing import Origin
from streams.times import LATEST
from streams.wire import MalformedError, decode_journey, encode_journey
from streams.wire.records import HOP, MESSAGE, ROUTE, header_of
from streams.workers.forwarder.admission import admission
from streams.workers.forwarder.processor import Processor
from streams.workers.forwarder.read_record import read_record

NOW = 1_790_000_000_000
LIMITS = Limits()
UNTIL = NOW + LIMITS.time_to_live
LONG = Journey(63, LATEST, 0, NOW, 3, (("X", NOW - 5), ("Y", NOW)))


def record(hop: bytes, topic: str = "ingress.A.x") -> Message:
    headers: Headers = [(ROUTE, b"route"), (HOP, hop)]
    return Message(topic=topic, partition=0, offset=7, key=b"key", value=b"body", headers=headers)


def hop_of(headers: Headers) -> Journey:
    return decode_journey(header_of(headers, HOP))


@pytest.mark.parametrize("hops", [17, 63, 64, 1_000])
@pytest.mark.parametrize("attempt", [0, 100])
def test_hops_and_time_to_live_are_those_of_a_frame_from_here(hops: int, attempt: int) -> None:
    """Otherwise a copy could be buffered, and keep its source, until the year 9999."""
    claimed = LONG._replace(hops_remaining=hops, attempt=attempt)
    expected = claimed._replace(hops_remaining=LIMITS.hops, expires_at=UNTIL)
    message = record(encode_journey(claimed))
    assert hop_of(admission(lambda: NOW)(message)) == expected
    assert hop_of(headers_of(message)) == expected
    assert hop_of(admission(lambda: NOW + 30_000)(message)) == expected


@pytest.mark.parametrize("changes", [{}, {"hops_remaining": 0}, {"expires_at": NOW - 1}])
def test_a_frame_within_the_limits_is_unchanged(changes: dict[str, int]) -> None:
    journey = LONG._replace(**{"hops_remaining": LIMITS.hops, "expires_at": UNTIL, **changes})
    message = record(encode_journey(journey))
    assert admission(lambda: NOW)(message) == [(ROUTE, b"route"), (HOP, encode_journey(journey))]


def test_each_of_several_headers_is_limited() -> None:
    """Some readers take the last one, others the one in the usual place."""
    raw = encode_journey(LONG)
    message = Message(headers=[(HOP, raw), (HOP, None), (HOP, raw)])
    found = [raw and decode_journey(raw).expires_at for _, raw in admission(lambda: NOW)(message)]
    assert found == [UNTIL, None, UNTIL]


@pytest.mark.parametrize("name", ["", "sb-Hop", "sb-hop2", ROUTE])
def test_a_hop_under_another_name_does_not_evade_the_limits(name: str) -> None:
    """Only what is limited by its name is read as a hop, also from the place of a usual hop."""
    raw = encode_journey(LONG)
    message = Message(key=b"key", headers=[(ROUTE, b"route"), (MESSAGE, b""), (name, raw)])
    with pytest.raises(MalformedError, match="without sb-route or sb-hop"):
        read_record(message, admission(lambda: NOW)(message), Origin.OUTSIDE)


def test_an_invalid_journey_is_malformed() -> None:
    for raw in (b"", encode_journey(LONG._replace(expires_at=LATEST + 1))):
        with pytest.raises(MalformedError):
            admission(lambda: NOW)(record(raw))


def test_only_frames_of_other_clusters_are_limited() -> None:
    seen: list[Journey] = []
    processor = object.__new__(Processor)
    vars(processor).update(
        _control=SimpleNamespace(now=lambda: NOW),
        _fast_path=SimpleNamespace(
            begin=lambda *_: None, take=lambda _, __, headers: seen.append(hop_of(headers)) or True
        ),
        _forwarder=None,
        _inputs={},
        _lasting=SimpleNamespace(decided=0),
        _out="out.A",
        _topics=SimpleNamespace(writers={"ingress.A.x": "x"}),
        local_producer=SimpleNamespace(report=lambda *_: None),
        tracker=SimpleNamespace(note=lambda *_: None),
    )
    raw = encode_journey(LONG)
    processor.pass_on([record(raw), record(raw, "txq.A"), record(raw, "out.A")])
    assert [journey.expires_at for journey in seen] == [UNTIL, LATEST, LATEST]
