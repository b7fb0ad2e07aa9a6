"""What is read from outside fits wherever it is written again, and an event fits in any case."""

from __future__ import annotations

import gc
import tracemalloc
import uuid
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.errors import EventKind
from streams.node import event
from streams.protocol import Ack, Claim, Command, CommandKind, Header, Journey, Parties
from streams.routing import broker_key
from streams.times import LATEST
from streams.wire import (
    MalformedError,
    Topics,
    decode_event,
    decode_presence,
    encode_event,
    encode_presence,
)
from streams.wire.acknowledgements import decode_ack_value, encode_ack
from streams.wire.bounds import LONGEST, MOST_VISITS
from streams.wire.catalog_objects import decode_catalog_object, encode_catalog_object
from streams.wire.commands import decode_command, encode_command
from streams.wire.frame_headers import (
    HOP_CODEC,
    decode_header,
    decode_journey,
    decode_parties,
    encode_header,
    encode_journey,
    encode_parties,
)
from streams.wire.hop import Hop
from streams.wire.packing import pack_long
from streams.wire.reading import Reading, decode_reading, reading_record
from streams.wire.records import (
    CAUSE,
    COMMAND,
    LARGEST_BODY,
    LARGEST_WITH_BODY,
    MOVED,
    ORIGIN,
    ROUTE,
    command_record,
    conversation_of,
    demand_size,
    key_of,
    moved_headers,
    statement_record,
)
from streams.wire.shift import shifted
from streams.wire.state import encode_dialog, unpack_dialog
from streams.wire.state_keys import RequestKey
from streams.wire.visits import count_visits
from tests.protocol import build

PLAIN = Header(uuid.UUID(int=1), "DEFAULT", 0, 1_790_000_000_000, 1_790_000_000_001)
PARTIES = Parties("Target", "B", "Initiator", "A", "DEFAULT", True)
DIALOG = build.initiator().dialog
NAME = "x" * (LONGEST - 10)
BEGIN = Command(uuid.UUID(int=2), uuid.UUID(int=3), CommandKind.BEGIN, "A")


def with_fragment(fragment: int) -> bytes:
    """Return a header whose fragment number Avro's writer would refuse."""
    whole = encode_header(PLAIN._replace(fragment=1, fragments=3))
    mark = pack_long(1) + pack_long(3)
    assert whole.count(mark) == 1
    return whole.replace(mark, pack_long(fragment) + pack_long(fragment + 2))


def test_a_number_of_more_than_32_bits_is_malformed() -> None:
    """A forwarder that drops the copy says its number in an event."""
    assert decode_header(with_fragment(2**31 - 3)).fragment == 2**31 - 3
    with pytest.raises(MalformedError, match="fragment is out of bounds"):
        decode_header(with_fragment(2**40))


@pytest.mark.parametrize("field", ["to_service", "from_broker", "contract"])
def test_a_name_that_nothing_can_have_is_malformed(field: str) -> None:
    longest = PARTIES._replace(**{field: "x" * LONGEST})
    assert decode_parties(encode_parties(longest)) == longest
    with pytest.raises(MalformedError, match=f"{field} is out of bounds"):
        decode_parties(encode_parties(PARTIES._replace(**{field: "x" * (LONGEST + 1)})))


@pytest.mark.parametrize("field", ["database", "reply_to", "error_text"])
def test_a_statement_whose_refusal_would_be_too_large_is_malformed(field: str) -> None:
    """The refusal repeats the database, and ``reply_to`` is its key."""
    for length, why in ((100_000, f"{field} is out of bounds"), (1_000_050, "at most")):
        said = encode_command(BEGIN._replace(**{field: "x" * length}))
        with pytest.raises(MalformedError, match=why):
            decode_command(said, BEGIN.conversation, None, 0)


def test_what_an_operator_writes_may_be_long() -> None:
    assert decode_catalog_object(encode_catalog_object(1, "x" * 900_000))[1] == "x" * 900_000


@pytest.mark.parametrize("changes", [{}, {"fragments": 2}])
def test_a_lifetime_without_end_is_malformed(changes: dict[str, int]) -> None:
    """An endpoint worker adds a time to live to it, and writes the sum into its state."""
    last = PLAIN._replace(dialog_expires_at=LATEST, **changes)
    assert decode_header(encode_header(last)) == last
    for at in (LATEST + 1, 2**62, 2**63 - 1):
        with pytest.raises(MalformedError, match="dialog_expires_at is out of bounds"):
            decode_header(encode_header(last._replace(dialog_expires_at=at)))


@pytest.mark.parametrize("attempt", [0, 100])
def test_a_time_to_live_without_end_is_malformed(attempt: int) -> None:
    """A forwarder would hold the copy in memory for as long."""
    last = Journey(16, LATEST, attempt, 1)
    assert decode_journey(encode_journey(last)) == last
    assert not Hop(encode_journey(last)).expired(LATEST - 1)
    for at in (LATEST + 1, 2**64 - 1):
        with pytest.raises(MalformedError, match="expires_at is out of bounds"):
            Hop(encode_journey(last._replace(expires_at=at)))


TEXTS = ("database", "conversation", "from_service", "next_hop", "detail", "path", "route")
WHOLE = ("error", "attempt", "fragment", "hops_remaining", "sequence", "sent_at", "offset")


@given(
    st.dictionaries(st.sampled_from(WHOLE), st.integers(-(2**70), 2**70)),
    st.dictionaries(st.sampled_from(TEXTS), st.text(st.characters(), min_size=1, max_size=20)),
    st.integers(1, 100_000),
)
def test_an_event_is_told_whatever_it_tells_of(
    whole: dict[str, int], texts: dict[str, str], times: int
) -> None:
    fields = {**whole, **{name: text * times for name, text in texts.items()}}
    kind = EventKind.MESSAGE_UNDELIVERABLE
    reported = event(kind, at=1, instance="A", **fields)  # type: ignore[arg-type]
    packed = encode_event(reported)
    found = dict(decode_event(packed))
    assert len(packed) <= 65_536
    for name, value in whole.items():
        if -(2**31) <= value < 2**31:
            assert found[name] == value
    for name, text in texts.items():
        assert found[name][:900] == (text * times).encode("utf-8", "replace").decode()[:900]


def remembered(made: Callable[[int], object], times: int = 50) -> int:
    """Return how many bytes are kept of what was made so many times, all of it different."""
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(times):
            made(number)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.long
def test_of_what_is_large_nothing_is_remembered() -> None:
    """What is read is bounded as bytes; as values it takes forty times as much, and is renewed."""
    path = (("x" * 240, 0),) * MOST_VISITS
    journeys = [Journey(16, 1, 100, number, 0, path) for number in range(50)]
    raw = [HOP_CODEC.pack((16, bytes(8), 100, bytes(7) + bytes([n]), 0, path)) for n in range(50)]
    large = [PARTIES._replace(contract=f"{number}" * 8_000) for number in range(50)]
    assert remembered(lambda n: encode_journey(journeys[n])) < 200_000
    assert remembered(lambda n: shifted([("sb-hop", raw[n])], 5)) < 200_000
    assert remembered(lambda n: Hop(raw[n]).edited("A", 1, b"", spend=False)) < 200_000
    assert remembered(lambda n: encode_parties(large[n])) < 200_000


@pytest.mark.long
def test_of_what_is_large_nothing_is_remembered_when_it_is_read() -> None:
    """Each value is within the bounds; a cache of thousands of them would take a gigabyte."""
    path = (("x" * 240, 0),) * MOST_VISITS
    journeys = [encode_journey(Journey(16, 1, 100, number, 0, path)) for number in range(50)]
    parties = [encode_parties(PARTIES._replace(from_service=f"{NAME}{n}")) for n in range(50)]
    begin = BEGIN._replace(issued_at=1_790_000_000_000)
    said = [encode_command(begin._replace(reply_to=f"{NAME}{n}")) for n in range(50)]
    where = [encode_command(begin._replace(database=f"{NAME}{n}")) for n in range(50)]
    assert remembered(lambda n: decode_journey(journeys[n])) < 200_000
    assert remembered(lambda n: decode_parties(parties[n])) < 200_000
    for raw in (said, where):
        assert (
            remembered(lambda n, raw=raw: decode_command(raw[n], BEGIN.conversation, None, 0))
            < 200_000
        )  # type: ignore[misc]
    assert remembered(lambda n: broker_key(f"{NAME}{n}")) < 200_000


@pytest.mark.long
def test_of_long_names_in_keys_and_topics_nothing_is_remembered() -> None:
    """A frame may state a service of any name, for which a route is requested."""
    topics = Topics()
    assert remembered(lambda n: RequestKey("A", f"{NAME}{n}").encode()) < 200_000
    assert remembered(lambda n: topics.queue("A", "B", f"{NAME}{n}")) < 200_000
    assert topics.queue("A", "B", "Q") is topics.queue("A", "B", "Q")


@pytest.mark.long
@pytest.mark.parametrize("field", ["database", "reply_to", "to_service", "error_text"])
def test_of_a_large_statement_nothing_is_remembered(field: str) -> None:
    large = [BEGIN._replace(**{field: f"{number}{NAME}"}) for number in range(50)]
    assert remembered(lambda n: encode_command(large[n])) < 200_000


@pytest.mark.long
def test_of_a_statement_on_many_dialogs_nothing_is_remembered() -> None:
    """A SEND on a thousand of them takes 40 kB, and a client's next one may name others."""
    dialogs = tuple(uuid.UUID(int=number) for number in range(1_050))
    encode_command(BEGIN._replace(also=dialogs))  # their ids are remembered as text
    large = [BEGIN._replace(also=dialogs[number:]) for number in range(50)]
    assert remembered(lambda n: encode_command(large[n])) < 200_000


@pytest.mark.long
@pytest.mark.parametrize("field", ["far_service", "far_broker", "contract"])
def test_of_a_dialog_with_long_names_nothing_is_remembered(field: str) -> None:
    """Any client that may write frames chooses them."""
    dialogs = [replace(DIALOG, **{field: f"{NAME}{number}"}) for number in range(50)]
    states = [encode_dialog(dialog) for dialog in dialogs]

    def read(number: int) -> None:
        dialog = unpack_dialog(states[number], DIALOG.conversation, {})
        assert dialog.parties == dialogs[number].parties
        encode_dialog(replace(dialog, created_at=dialog.created_at + 1))

    assert remembered(read) < 200_000


@pytest.mark.long
@pytest.mark.parametrize("form", [bytes, bytes.decode])
def test_of_a_large_key_nothing_is_remembered(form: Callable[[bytes], bytes | str]) -> None:
    """For Python's ``UUID`` it is an id: hyphens do not count."""

    def read(number: int) -> None:
        with pytest.raises(MalformedError, match="not a conversation id"):
            conversation_of(form(key_of(uuid.UUID(int=number)) + b"-" * 900_000))

    assert remembered(read, times=600) < 1_000_000


def test_a_journey_that_nobody_makes_is_malformed() -> None:
    """It is no longer than the longest names of 16 instances, wherever it is read."""
    names = encode_journey(Journey(16, 1, 0, 1, 0, (("\u4e00" * 128, 1_790_000_000_000),) * 16))
    assert len(decode_journey(names).path) == 16
    for tail in (bytes(20_000), pack_long(9_000) + bytes(18_001)):
        with pytest.raises(MalformedError, match="at most"):
            Hop(encode_journey(Journey(16, 1, 0, 1))[:-1] + tail)


@pytest.mark.parametrize("hops", [16, 100])
@pytest.mark.parametrize("attempt", [0, 100])
@pytest.mark.parametrize("per_block", [1, 40, 100, 5_000])
def test_more_visits_than_a_copy_can_make_are_malformed(
    hops: int, attempt: int, per_block: int
) -> None:
    """Each takes 70 bytes in memory, and thousands of them fit into a header."""
    for count, is_sound in ((MOST_VISITS, True), (MOST_VISITS + 1, False), (3_000, False)):
        path = (("a", 1),) * count
        raw = encode_journey(Journey(hops, 1, attempt, 1))[:-1]
        for at in range(0, count, per_block):
            size = len(path[at : at + per_block])
            raw += pack_long(size) + b"\x02a\x02" * size
        raw += b"\0"
        if is_sound:
            assert decode_journey(raw).path == path
        else:
            with pytest.raises(MalformedError, match=f"visits, at most {MOST_VISITS}"):
                decode_journey(raw)


def test_visits_are_counted_before_they_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks may state their size in bytes, and numbers may be longer than necessary."""
    start = encode_journey(Journey(100, 1, 100, 1))[:-1]
    one = pack_long(-1) + pack_long(3) + b"\x02a\x02"
    assert decode_journey(start + 2 * one + b"\0").path == (("a", 1),) * 2
    assert count_visits(start + 2 * one + b"\0") == 2
    monkeypatch.setattr(HOP_CODEC, "decode", lambda _: pytest.fail("decoded"))
    for tail in (
        one * 5_000,
        pack_long(-5_000) + pack_long(15_000) + b"\x02a\x02" * 5_000,
        b"\x90\xce" + b"\x80" * 9 + b"\0" + b"\x02a\x02" * 5_000,
        b"\x02" + b"\x82" + b"\x80" * 7 + b"\x80\x7e" + b"a\x02" + b"\x02a\x02" * 5_000,
    ):
        with pytest.raises(MalformedError):
            decode_journey(start + tail + b"\0")


def test_an_acknowledgement_has_no_runs_without_end() -> None:
    raw = encode_ack(Ack(0))[:-3]
    with pytest.raises(MalformedError, match="at most"):
        decode_ack_value(raw + bytes(100_000), uuid.UUID(int=1))


def test_a_statement_does_not_name_conversations_without_end() -> None:
    """A compressed record inflates, and a transaction decodes a thousand of them at once."""
    named = BEGIN._replace(also=(BEGIN.conversation,) * 3_000)
    assert decode_command(encode_command(named), BEGIN.conversation, None, 0) == named
    with pytest.raises(MalformedError, match="at most"):
        raw = encode_command(BEGIN._replace(also=(BEGIN.conversation,) * 4_000))
        decode_command(raw, BEGIN.conversation, None, 0)


@pytest.mark.parametrize("count", [1_001, 20_000, 330_000])
def test_a_heartbeat_does_not_claim_without_end(count: int) -> None:
    """A claim takes three bytes in Kafka, and seventy in the memory of each reader."""
    raw = encode_presence("A", "r", 1, 1, [Claim("", True, 0)] * count)
    with pytest.raises(MalformedError, match="at most"):
        decode_presence(raw)


def test_a_heartbeat_is_not_larger_than_other_clusters_read() -> None:
    raw = encode_presence("A", "r", 1, 1, [Claim("x" * 100, True, 0)] * 700)
    with pytest.raises(MalformedError, match="bytes, at most 65,536"):
        decode_presence(raw)


@pytest.mark.parametrize(("instance", "replica", "broker"), [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_a_heartbeat_has_no_long_name(instance: int, replica: int, broker: int) -> None:
    """Each process remembers the names of a cluster."""
    longest = [("x" * (1_024 + more)) for more in (instance, replica, broker)]
    raw = encode_presence(longest[0], longest[1], 1, 1, [Claim(longest[2], True, 1)])
    with pytest.raises(MalformedError, match="out of bounds"):
        decode_presence(raw)
    sound = encode_presence(longest[0][:1_024], longest[1][:1_024], 1, 1)
    assert decode_presence(sound)["instance"] == "x" * 1_024


@pytest.mark.parametrize(("position", "at"), [(-1, 0), (0, -1), (0, LATEST + 1), (0, 2**62)])
def test_a_position_below_0_or_a_time_that_is_none_is_malformed(position: int, at: int) -> None:
    """The error about a lost position says both."""
    sound = Reading("g", "t", uuid.UUID(int=1), 0, 7, LATEST)
    assert decode_reading(reading_record(sound)[1]).when == "9999-12-31T23:59:59+00:00"
    _, value = reading_record(Reading("g", "t", uuid.UUID(int=1), 0, position, at))
    with pytest.raises(MalformedError, match="position"):
        decode_reading(value)


def test_a_copy_of_a_body_has_no_header_that_nobody_reads() -> None:
    """With all of them it could be larger than Kafka takes: the log would never be trimmed."""
    said = [(COMMAND, b"1"), ("x", bytes(148_000)), (CAUSE, b"2"), (COMMAND, b"3"), (MOVED, None)]
    assert moved_headers(said) == [(COMMAND, b"3"), (CAUSE, b"2"), (MOVED, None)]
    of_a_frame = [(ROUTE, bytes(148_000)), (ORIGIN, b"")]
    assert moved_headers([(COMMAND, b"1"), *of_a_frame]) == [(COMMAND, b"1"), (MOVED, None)]
    assert moved_headers([*of_a_frame, (CAUSE, b"2")]) == [*of_a_frame, (MOVED, None)]


@pytest.mark.parametrize(("header", "body"), [(90_001, LARGEST_BODY), (LARGEST_WITH_BODY + 1, 0)])
def test_a_statement_that_could_not_be_written_once_more_is_malformed(
    header: int, body: int
) -> None:
    demand_size(body, [(COMMAND, bytes(header - 1)), ("x", bytes(65_500))])
    with pytest.raises(MalformedError, match="exceed the record size limit"):
        demand_size(body, [(COMMAND, bytes(header))])
    with pytest.raises(MalformedError, match="exceed the record size limit"):
        demand_size(body, [(COMMAND, bytes(header - 100)), (CAUSE, bytes(100))])


@pytest.mark.parametrize("others", [[("x" * 65_537, None)], [("x", bytes(32_768))] * 2])
def test_other_headers_of_a_statement_are_limited(others: list[tuple[str, bytes | None]]) -> None:
    """They are read with the body, 64 times a megabyte for a window of small messages."""
    demand_size(1, [*others[1:], (COMMAND, bytes(80_000))])
    with pytest.raises(MalformedError, match="of other headers, too many"):
        demand_size(1, [*others, (COMMAND, bytes(80_000))])


def test_a_statement_that_could_not_be_written_once_more_gets_no_record() -> None:
    also = tuple(uuid.UUID(int=n) for n in range(2_500))
    send = BEGIN._replace(kind=CommandKind.SEND, body=bytes(LARGEST_BODY), also=also[:2_000])
    assert statement_record(send) == command_record(send)
    with pytest.raises(MalformedError, match="exceed the record size limit"):
        statement_record(send._replace(also=also))


def test_a_body_that_is_too_large_by_itself_is_left_to_8459() -> None:
    demand_size(2 * LARGEST_BODY, [(COMMAND, bytes(100))])
