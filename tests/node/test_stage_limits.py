"""Every record that a stage writes is accepted by its readers, at the limit of each field.

Each stage adds to a copy: a forwarder its visit, and the endpoint worker the last one. The sizes
here are those that the reader before the stage just accepts, and those that it just rejects.
"""

from __future__ import annotations

import uuid

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from streams.errors import EventKind
from streams.protocol import DEFAULT, Header, Journey, Parties
from streams.times import LATEST
from streams.wire import MalformedError, decode_journey
from streams.wire.bounds import LARGEST_HOP, LARGEST_QUEUED_HOP, MOST_VISITS
from streams.wire.describe.raw_record import RawRecord
from streams.wire.dialog_records import QueuedRecord
from streams.wire.frame_headers import encode_journey
from streams.wire.hop import visit
from streams.wire.packing import pack_long
from streams.wire.records import (
    HOP,
    Wire,
    header_of,
    message_record,
    queue_record,
    read_message,
    read_queued,
)
from streams.wire.visits import count_visits
from tests.node.harness import START
from tests.node.places import D1, TARGET, pair

NUMBERS = st.sampled_from([0, 1, 63, 64, 2**31 - 1])
INSTANTS = st.sampled_from([0, START, LATEST, 2**63 - 1])
SIZES = st.sampled_from([100, 1_024, 1_025, *range(LARGEST_HOP - 60, LARGEST_HOP + 2)])
NAMES = st.sampled_from(["n", "n" * 256, "\U0001f600" * 128, "\u4e00" * 256])
BROKERS = st.sampled_from(["b", "b" * 128, "\u4e00" * 128])
BARE = Journey(16, START + 60_000, 0, START)


def hop(journey: Journey, per_block: int = 100) -> bytes:
    """Return ``sb-hop`` with several blocks of visits, as forwarders write it."""
    raw = encode_journey(journey._replace(path=()))[:-1]
    for begin in range(0, len(journey.path), per_block):
        block = journey.path[begin : begin + per_block]
        raw += pack_long(len(block)) + b"".join(visit(*one)[1:] for one in block)
    return raw + b"\0"


def of_size(journey: Journey, size: int, per_block: int = 100) -> bytes:
    """Return ``sb-hop`` with a size, if that has room for the visits: the first name is long."""
    (name, at), *others = journey.path
    for length in range(max(1, size - len(hop(journey, per_block)) - 3), size):
        raw = hop(journey._replace(path=((name * length, at), *others)), per_block)
        if len(raw) >= size:
            return raw
    return hop(journey, per_block)


@st.composite
def hops(draw: st.DrawFn) -> bytes:
    """Return ``sb-hop`` with a number of visits and a size, often near one of the limits."""
    visits = draw(st.integers(0, 2) | st.integers(MOST_VISITS - 3, MOST_VISITS + 1))
    expires_at = draw(st.sampled_from([START + 1, LATEST]))
    path = (("a", draw(INSTANTS)),) * visits
    journey = Journey(draw(NUMBERS), expires_at, draw(NUMBERS), START, draw(NUMBERS), path)
    per_block = draw(st.sampled_from([1, 40, 100]))
    return of_size(journey, draw(SIZES), per_block) if visits else hop(journey)


def frame(raw: bytes, parties: Parties, header: Header, body: bytes) -> Wire:
    """Return the record of a frame with a given ``sb-hop``."""
    key, value, headers = message_record(D1, parties, header, BARE, body)
    return key, value, [(name, raw if name == HOP else found) for name, found in headers]


@st.composite
def frames(draw: st.DrawFn) -> Wire:
    """Return the first message of a dialog, with the longest names that an endpoint accepts."""
    to_broker, instants = draw(st.sampled_from([None, "B"])), draw(INSTANTS)
    parties = Parties("TargetService", to_broker, draw(NAMES), draw(BROKERS), DEFAULT, True)
    expires_at = draw(st.sampled_from([START + 3_600_000, LATEST]))
    header = Header(uuid.UUID(int=1), DEFAULT, 0, instants, expires_at)
    return frame(draw(hops()), parties, header, bytes(draw(st.sampled_from([0, 65_536]))))


def usual(raw: bytes) -> Wire:
    """Return the first message of a dialog with a given ``sb-hop``."""
    parties = Parties("TargetService", "B", "InitiatorService", "A", DEFAULT, True)
    return frame(raw, parties, Header(uuid.UUID(int=1), DEFAULT, 0, START, LATEST), b"x")


FULL = usual(hop(BARE._replace(path=(("x", START),) * MOST_VISITS)))
LONG = usual(of_size(BARE._replace(path=(("x", START),)), LARGEST_HOP))
LONG_AND_FULL = usual(of_size(BARE._replace(path=(("x", START),) * MOST_VISITS), LARGEST_HOP))


@given(frames())
@example(FULL)
@example(LONG)
@example(LONG_AND_FULL)
@settings(max_examples=200)
def test_applications_can_read_what_an_endpoint_worker_has_acknowledged(record: Wire) -> None:
    try:
        arrived = read_message(*record)
    except MalformedError:
        event("rejected")
        return  # event 161; the message is not acknowledged
    net = pair()
    node = net["ServerB"]
    node.inbox.append(*record, net.now)
    node.transact()
    (queued,) = node.queues[TARGET]
    group, body, headers = queue_record(*queued[2:])
    read = read_queued(body, headers)
    shown = QueuedRecord(RawRecord("queue", 0, 0, net.now, group, body, tuple(headers)))
    assert read.journey == shown.journey == queued.journey
    assert read.journey.path == (*arrived.journey.path, ("ServerB/DatabaseB", net.now))
    assert node.out.entries, "not acknowledged"
    node.forward()
    assert node.errors(EventKind.CORRUPTED_MESSAGE) == [], "the acknowledgement is malformed"


@given(frames())
@example(FULL)
@example(LONG)
@settings(max_examples=200)
def test_the_next_stage_reads_what_a_forwarder_has_added_a_visit_to(record: Wire) -> None:
    """Unless the visit had no room: then the next stage rejects the copy, and confirms nothing."""
    net = pair()
    node = net["ServerB"]
    node.txq.append(*record, net.now)
    try:
        node.forward()
    except MalformedError:
        event("rejected")
    raw = header_of(record[2], HOP) or b""
    for entry in node.inbox.entries:
        try:
            read_message(entry.key, entry.value, entry.headers)
        except MalformedError:
            event("no room")
            is_full = count_visits(raw) >= MOST_VISITS
            assert is_full or len(raw) + len(visit("ServerB", net.now)) > LARGEST_HOP
        else:
            event("read")


def test_a_journey_in_a_queue_has_room_for_one_visit_more_than_elsewhere() -> None:
    for count, is_queued, is_sound in (
        (MOST_VISITS, False, True),
        (MOST_VISITS + 1, False, False),
        (MOST_VISITS + 1, True, True),
        (MOST_VISITS + 2, True, False),
    ):
        for attempt in (0, 100):  # read in one step, and by Avro
            raw = hop(BARE._replace(attempt=attempt, path=(("x", 1),) * count))
            assert accepts(raw, is_queued) is is_sound
    for size, is_queued, is_sound in (
        (LARGEST_HOP, False, True),
        (LARGEST_HOP + 1, False, False),
        (LARGEST_QUEUED_HOP, True, True),
        (LARGEST_QUEUED_HOP + 1, True, False),
    ):
        raw = of_size(BARE._replace(path=(("x", 1), ("x" * 10_000, 1))), size)
        assert (len(raw), accepts(raw, is_queued)) == (size, is_sound)


def accepts(raw: bytes, is_queued: bool) -> bool:
    """Return whether a reader accepts ``sb-hop``; ``is_queued``: a reader of queues."""
    try:
        return bool(decode_journey(raw, queued=is_queued).path)
    except MalformedError:
        return False
