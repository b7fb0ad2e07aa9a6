"""Values to bytes and back; the header rules of the documentation."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import avro.io
import avro.schema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streams.wire as c
from streams.errors import Number
from streams.protocol import (
    END_DIALOG,
    ERROR,
    UNPROVOKED,
    Ack,
    Acknowledgement,
    Chunk,
    Claim,
    Command,
    Dialog,
    Flag,
    Header,
    Journey,
    Message,
    Parties,
    Request,
    Seen,
    Status,
)
from streams.schema import NAMES, load
from streams.wire import MalformedError, UnknownSchemaError, commands, frame_headers, single_object
from streams.wire import records as r
from streams.wire import state as s
from streams.wire.familiar import Familiar
from streams.wire.hop import Hop, limited
from streams.wire.packing import pack_long, pack_string
from streams.wire.single_object import Codec, Record, prefix_of
from streams.wire.state_keys import POSITIONS_KEY, RequestKey, SeenKey, StateKey, decode_key

from . import values as v
from .test_compatibility import examples

thoroughly = settings(max_examples=100)

ID = uuid.UUID(int=7)
HEADER = Header(ID, "T", 3, 1, 2)


# --- round trips ---------------------------------------------------------------------------------


@thoroughly
@given(v.parties)
def test_parties(parties: Parties) -> None:
    """``sb-route`` says who talks to whom."""
    assert c.decode_parties(c.encode_parties(parties)) == parties


@thoroughly
@given(v.parties)
def test_the_same_parties_are_the_same_bytes(parties: Parties) -> None:
    """A forwarder finds its plan by the raw bytes of ``sb-route``."""
    again = c.decode_parties(c.encode_parties(parties))
    assert c.encode_parties(again) == c.encode_parties(parties)


@thoroughly
@given(v.headers)
def test_header(header: Header) -> None:
    """``sb-message`` is written once per message."""
    assert c.decode_header(c.encode_header(header)) == header


@thoroughly
@given(v.journeys)
def test_journey(journey: Journey) -> None:
    """``sb-hop`` is one copy's."""
    assert c.decode_journey(c.encode_journey(journey)) == journey


@thoroughly
@given(v.acks, v.uuids)
def test_ack(ack: Ack, conversation: uuid.UUID) -> None:
    """An acknowledgement frame's value."""
    assert c.decode_ack_value(c.encode_ack(ack), conversation) == ack


@thoroughly
@given(v.statuses)
def test_status(status: Status) -> None:
    """A Status stands on the same topic and is told apart by its fingerprint."""
    assert c.decode_ack_value(c.encode_status(status), status.conversation) == status


@thoroughly
@given(v.commands)
def test_command(command: Command) -> None:
    """A command as a record of ``cmd``; its body may be NULL, which is not the empty one."""
    key, value, headers = r.command_record(command)
    assert r.read_command(key, value, headers, command.stored_at) == command


@thoroughly
@given(v.results)
def test_result(result: commands.ResultRecord) -> None:
    """The answer to a command."""
    assert commands.decode_result(commands.encode_result(result)) == result


@thoroughly
@given(v.events)
def test_event(event: Record) -> None:
    """Fields that an event does not state take their default."""
    read = dict(c.decode_event(c.encode_event(event)))
    assert {name: read[name] for name in event} == event
    assert read["partition"] is None


@thoroughly
@given(
    v.names, v.names, v.longs, v.longs, st.lists(st.builds(Claim, v.names, st.booleans(), v.longs))
)
def test_presence(instance: str, replica: str, count: int, at: int, claims: list[Claim]) -> None:
    """A heartbeat, with what it claims of mirrored databases."""
    read = c.decode_presence(c.encode_presence(instance, replica, count, at, claims))
    assert c.claims_in(read) == tuple(claims)
    del read["roles"]
    del read["period"]
    assert read == {"instance": instance, "replica": replica, "count": count, "at": at}


@pytest.mark.parametrize(
    ("given", "read"), [(1.0, 1.0), (5.0, 5.0), (0.0, 1.0), (-3.0, 1.0), (1e9, 60.0)]
)
def test_a_period_that_nobody_should_believe_is_not_believed(given: float, read: float) -> None:
    """Who says that he writes once a year would be reachable for five."""
    value = c.encode_presence("I", "r", 1, 2, period=given)
    assert c.period_in(c.decode_presence(value)) == read


@thoroughly
@given(v.longs, v.names)
def test_catalog_object(version: int, body: str) -> None:
    """An object of the catalog."""
    assert c.decode_catalog_object(c.encode_catalog_object(version, body)) == (version, body)


@thoroughly
@given(v.dialogs)
def test_dialog(dialog: Dialog) -> None:
    """A dialog's record holds everything but its chunks and where its last copy is."""
    assert s.decode_dialog(s.encode_dialog(dialog), dialog.conversation) == dialog


@pytest.mark.long
@thoroughly
@given(st.lists(v.dialogs, min_size=1, max_size=3), st.data())
def test_a_familiar_dialog_is_read_as_any_other(dialogs: list[Dialog], data: st.DataObject) -> None:
    """Whatever was read before, and whichever of its parts come again."""
    patterns = Familiar(s.DIALOG, s.decode_dialog)
    for dialog in [*dialogs, *dialogs]:
        other = data.draw(v.dialogs)
        names = data.draw(st.sets(st.sampled_from([f.name for f in fields(Dialog)])))
        mixed = replace(dialog, **{name: getattr(other, name) for name in names})
        raw = s.encode_dialog(mixed)
        found = patterns.read(raw, mixed.conversation)
        assert found == s.decode_dialog(raw, mixed.conversation)
        found.held[0, 0] = (0, 0)  # what is read is the reader's own
        found.chunks[0] = Chunk()


def test_a_dialog_with_positions_is_no_pattern() -> None:
    """No other dialog has the same, and a window of them takes 200 kB."""
    patterns = Familiar(s.DIALOG, s.decode_dialog)
    bare = replace(s.decode_dialog(examples()["Dialog"], ID), held={}, partial=[], parked=[])
    for parts in ({"held": {(2, 0): (7, 1)}}, {"partial": [7]}, {"parked": [(0, 7)]}, {}):
        assert not patterns._patterns
        dialog = replace(bare, **parts)  # type: ignore[arg-type]
        assert patterns.read(s.encode_dialog(dialog), dialog.conversation) == dialog
    assert len(patterns._patterns) == 1


def test_a_name_that_contains_both_ids_is_no_pattern() -> None:
    """Whoever names a service can calculate the ids of a dialog before it begins."""
    patterns = Familiar(s.DIALOG, s.decode_dialog)
    dialog = s.decode_dialog(examples()["Dialog"], ID)
    name = f"H{dialog.group}H{dialog.handle}12"
    dialog = replace(dialog, far_service=name, held={}, partial=[], parked=[])
    for _ in range(2):
        assert patterns.read(s.encode_dialog(dialog), ID) == replace(dialog, conversation=ID)


def dialog_of(far_service: str, **parts: Any) -> Dialog:
    dialog = s.decode_dialog(examples()["Dialog"], ID)
    empty: dict[str, Any] = {"held": {}, "partial": [], "parked": []}
    return replace(dialog, far_service=far_service, conversation=ID, **empty, **parts)


def test_lengths_of_names_do_not_make_other_dialogs_slow() -> None:
    """Clients choose names, and so where the ids are in a record."""
    patterns = Familiar(s.DIALOG, s.decode_dialog)
    ours = s.encode_dialog(dialog_of("ours"))
    for length in range(1, 500):
        patterns.read(s.encode_dialog(dialog_of("x" * length)), ID)
        patterns.read(ours, ID)
        patterns.read(ours, ID)
        assert patterns._lengths[0] == ours.index(b"H" + str(dialog_of("").group).encode())
        assert len(patterns._lengths) <= 64


def test_another_thread_may_forget_all_patterns_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """All endpoint workers of a process share them."""
    patterns, find = Familiar(s.DIALOG, s.decode_dialog), Familiar._find
    records = [s.encode_dialog(dialog_of("x" * length)) for length in range(1, 64)]
    for raw in records:
        patterns.read(raw, ID)

    def forgetting(self: Familiar, raw: bytes, at: int) -> Dialog | None:
        found = find(self, raw, at)
        for length in range(64, 70):
            self._learn(s.encode_dialog(dialog_of("x" * length)), dialog_of("x" * length))
        return found

    monkeypatch.setattr(Familiar, "_find", forgetting)
    for raw in reversed(records):
        assert patterns.read(raw, ID) == s.decode_dialog(raw, ID)


def test_names_that_look_like_ids_are_looked_up_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The length of an id is the letter H."""
    patterns, found = Familiar(s.DIALOG, s.decode_dialog), list[int]()
    for length in range(1, 60):
        patterns.read(s.encode_dialog(dialog_of("x" * length)), ID)
    find = Familiar._find

    def note(self: Familiar, raw: bytes, at: int) -> Dialog | None:
        found.append(at)
        return find(self, raw, at)

    monkeypatch.setattr(Familiar, "_find", note)
    hostile = dialog_of("H" * 256, far_broker="H" * 128)
    assert patterns.read(s.encode_dialog(hostile), ID) == hostile
    assert len(found) == 4


def test_a_record_that_is_cut_off_is_no_familiar_one() -> None:
    patterns = Familiar(s.DIALOG, s.decode_dialog)
    raw = examples()["Dialog"]
    patterns.read(raw, ID)
    for cut in range(len(raw)):
        with pytest.raises(MalformedError):
            patterns.read(raw[:cut], ID)
    with pytest.raises(MalformedError):
        patterns.read(raw.replace(b"6f1c2e6a", b"no guid!", 1), ID)


@pytest.mark.parametrize(
    "number",
    [b"\x9f" * 9 + b"\x01", b"\x9f" * 12 + b"\x04", b"\x80" * 200 + b"\x00"],
    ids=["64 bits", "85 bits", "200 empty groups"],
)
def test_a_moment_of_more_than_63_bits_is_no_familiar_one(number: bytes) -> None:
    """Avro's decoder keeps 64 bits of it, whatever it is."""
    patterns = Familiar(s.DIALOG, s.decode_dialog)
    dialog = s.decode_dialog(examples()["Dialog"], ID)
    raw = s.encode_dialog(dialog)
    ids = b"".join(pack_string(str(guid)) for guid in (dialog.group, dialog.handle))
    odd = raw.replace(ids + pack_long(dialog.created_at), ids + number)
    assert odd != raw
    for record in (raw, odd, odd, raw):
        assert patterns.read(record, ID) == s.decode_dialog(record, ID)


@thoroughly
@given(v.chunks)
def test_chunk(chunk: Chunk) -> None:
    """Positions of up to 64 messages, and their fragments."""
    assert s.decode_chunk(s.encode_chunk(chunk)) == chunk


@thoroughly
@given(v.positions)
def test_positions(positions: s.Positions) -> None:
    """How far a partition has come."""
    assert s.decode_positions(s.encode_positions(positions)) == positions


@thoroughly
@given(v.state_keys, v.state_keys)
def test_state_keys(one: StateKey, other: StateKey) -> None:
    """A key is read back, no two things share one, and none is that of the positions."""
    assert StateKey.decode(one.encode()) == one
    assert (one.encode() == other.encode()) is (one == other)
    assert one.encode() != POSITIONS_KEY


@thoroughly
@given(v.request_keys, v.request_keys, v.state_keys)
def test_request_keys(one: RequestKey, other: RequestKey, dialog: StateKey) -> None:
    """A request's key is read back, and is never taken for a dialog's."""
    assert decode_key(one.encode()) == one
    assert (one.encode() == other.encode()) is (one == other)
    assert decode_key(dialog.encode()) == dialog
    assert one.encode() != POSITIONS_KEY


@thoroughly
@given(v.seen_keys, v.seen_keys, v.state_keys, v.request_keys)
def test_seen_keys(
    one: SeenKey,
    other: SeenKey,
    dialog: StateKey,
    request: RequestKey,
) -> None:
    """A source's key is read back, and is never taken for another thing's."""
    assert decode_key(one.encode()) == one
    assert (one.encode() == other.encode()) is (one == other)
    assert decode_key(dialog.encode()) == dialog
    assert decode_key(request.encode()) == request


@thoroughly
@given(v.seens)
def test_what_a_source_has_said(seen: Seen) -> None:
    """The latest statements of a source."""
    assert s.decode_seen(s.encode_seen(seen)) == seen


@thoroughly
@given(v.requests)
def test_requests(request: Request) -> None:
    """What a database remembers of a service that has no route."""
    assert s.decode_request(s.encode_request(request), request.service) == request


@pytest.mark.parametrize(
    "raw", [b"", b"a", b"D/x/target", b"D/%s/both", b"\xff", b"\xff/request/x", b"D/%s/target/x"]
)
def test_no_state_key(raw: bytes) -> None:
    """State is never skipped: a key that cannot be read is an error."""
    with pytest.raises(MalformedError):
        decode_key(raw.replace(b"%s", str(ID).encode()))


# --- whole records -------------------------------------------------------------------------------


@thoroughly
@given(v.uuids, v.parties, v.headers, v.journeys, st.binary(max_size=20), st.booleans())
def test_message_record(
    conversation: uuid.UUID,
    parties: Parties,
    header: Header,
    journey: Journey,
    body: bytes,
    inside: bool,
) -> None:
    """Key, value and three headers in a fixed order; the origin is told where it is known."""
    key, value, headers = r.message_record(conversation, parties, header, journey, body)
    assert [name for name, _ in headers] == [r.ROUTE, r.MESSAGE, r.HOP]
    headers.append((r.ORIGIN, r.INSIDE if inside else r.OUTSIDE))
    read = r.read_message(key, value, headers)
    assert read == Message(conversation, parties, header, journey, body, inside)


@thoroughly
@given(v.uuids, v.parties, v.acks, v.journeys)
def test_ack_record(conversation: uuid.UUID, parties: Parties, ack: Ack, journey: Journey) -> None:
    """A frame without ``sb-message`` is an acknowledgement."""
    key, value, headers = r.ack_record(conversation, parties, ack, journey)
    assert [name for name, _ in headers] == [r.ROUTE, r.HOP]
    read = r.read_ack(key, value, headers)
    assert read == Acknowledgement(conversation, parties, ack)


def test_a_status_is_read_only_without_an_envelope() -> None:
    """The local forwarder writes none; with one it came from outside, as the body of a frame."""
    status = Status(uuid.UUID(int=1), "DatabaseA", True, 9770, 0, 1, "Service")
    key, raw = r.key_of(status.conversation), c.encode_status(status)
    assert r.read_ack(key, raw, []) == r.read_ack(key, raw, None) == status
    route = c.encode_parties(Parties("To", None, "From", "Broker", "DEFAULT", False))
    for headers in ([(r.ROUTE, route)], [("anything", None)]):
        with pytest.raises(MalformedError, match="a status from another instance"):
            r.read_ack(key, raw, headers)


@thoroughly
@given(v.uuids, v.uuids, v.parties, v.headers, v.journeys)
def test_queue_record(
    group: uuid.UUID,
    conversation: uuid.UUID,
    parties: Parties,
    header: Header,
    journey: Journey,
) -> None:
    """A queue topic is keyed by conversation group; the conversation stands in a header."""
    key, value, headers = r.queue_record(group, conversation, parties, header, journey, b"b")
    assert key == str(group).encode()
    assert r.read_queued(value, headers).conversation == conversation


TEXT = "0a1b2c3d-4e5f-6789-abcd-ef0123456789"
HEX = TEXT.replace("-", "")
OTHER_FORMS = [
    TEXT.upper(),
    TEXT.replace("f", "F"),
    f"{{{TEXT}}}",
    HEX,
    f"urn:uuid:{TEXT}",
    # of 36 characters, like an id
    f"{TEXT[:-1]} ",
    f"urn:{HEX}",
    f"{{{{{HEX}}}}}",
    f"----{HEX}",
    f"{HEX[:4]}-{HEX[4:12]}-{HEX[12:16]}-{HEX[16:20]}-{HEX[20:]}",
    TEXT.replace("0a1b", "0_1b"),
]
"""Keys that ``uuid.UUID`` reads, and that Kafka would put into other partitions."""


@pytest.mark.parametrize("key", OTHER_FORMS)
def test_other_forms_of_a_key_are_ids_for_python(key: str) -> None:
    assert str(uuid.UUID(key)) != key


@pytest.mark.parametrize(
    "key",
    [
        None, b"", b"x", b"\xff" * 36, b"0" * 31, TEXT.replace("0", "\u0660"),
        f"{TEXT} ", f"{TEXT}\n".encode(), *OTHER_FORMS, *map(str.encode, OTHER_FORMS),
    ],
)  # fmt: skip
def test_a_key_that_is_no_conversation_id(key: bytes | str | None) -> None:
    """The conversation id must not be null (11271), and has one form only."""
    with pytest.raises(MalformedError, match="11271") as reported:
        r.conversation_of(key)
    assert reported.value.number == 11271


def test_a_queued_message_without_its_conversation() -> None:
    """A record of a queue topic that does not say whose it is cannot be read."""
    _, value, headers = r.queue_record(
        ID, ID, Parties("", None, "", "", "", True), HEADER, Journey(0, 0, 0, 0), b""
    )
    with pytest.raises(MalformedError, match="conversation"):
        r.read_queued(value, [h for h in headers if h[0] != "sb-conversation"])


def test_header_rules_of_acknowledgements() -> None:
    """What was seen cannot end before what is stored (28007): a Corrupted Message."""
    with pytest.raises(MalformedError, match="28007") as reported:
        c.decode_ack_value(c.encode_ack(Ack(3, 1)), ID)
    assert reported.value.number == 28007
    assert c.decode_ack_value(c.encode_ack(Ack(3, 2)), ID) == Ack(3, 2)


@pytest.mark.parametrize("attempt", [-1, -5, -(2**31)])
def test_only_an_acknowledgement_may_have_the_attempt_minus_1(attempt: int) -> None:
    """No endpoint sends any other negative attempt; -1 is an unprovoked acknowledgement."""
    raw = c.encode_journey(Journey(16, 1, attempt, 1))
    for read in (c.decode_journey, Hop, lambda raw: limited(raw, 16, 1)):
        with pytest.raises(MalformedError, match="attempt is negative"):
            read(raw)
    ack = c.encode_ack(Ack(3, 2, attempt))
    if attempt == UNPROVOKED:
        assert c.decode_ack_value(ack, ID) == Ack(3, 2, attempt)
        return
    with pytest.raises(MalformedError, match="attempt is negative"):
        c.decode_ack_value(ack, ID)


# --- header rules (Corrupted Message) ------------------------------------------------------------


def corrupted(**changes: Any) -> bytes:
    """Return ``sb-message`` with fields that no writer of ours would write."""
    record: Record = {
        "message_id": ID.bytes,
        "type": "T",
        "sequence": 3,
        "fragment": 0,
        "fragments": 1,
        "flags": 0,
        "enqueued_at": 1,
        "dialog_expires_at": 2,
    }
    return frame_headers.MESSAGE_CODEC.encode({**record, **changes})


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (11275, {"flags": Flag.END | Flag.ERROR}),
        (11276, {"flags": Flag.END | Flag.UNSEQUENCED, "sequence": 0}),
        (11299, {"flags": Flag.ERROR | Flag.UNSEQUENCED, "sequence": 1}),
        (28001, {"flags": 16}),
        (28001, {"flags": -1}),
        (28001, {"flags": 2**30 | Flag.END}),
        (11274, {"sequence": -1}),
        (11274, {"sequence": 2**62}),
    ],
)
def test_header_rules(number: int, changes: Record) -> None:
    """What a header must not say is a corrupted message, with its number."""
    with pytest.raises(MalformedError, match=str(number)) as reported:
        c.decode_header(corrupted(**{k: int(n) for k, n in changes.items()}))
    assert reported.value.number == number


@pytest.mark.parametrize(
    ("flags", "kind"),
    [(Flag.END, "DEFAULT"), (Flag.END, ERROR), (Flag.ERROR, "DEFAULT"), (Flag.ERROR, END_DIALOG)],
)
def test_only_system_messages_end_a_dialog(flags: Flag, kind: str) -> None:
    """Another type would reach the application past its contract and its validation."""
    with pytest.raises(MalformedError, match="is set on a message of type") as reported:
        c.decode_header(corrupted(flags=int(flags), type=kind))
    assert reported.value.number == Number.CORRUPTED_HEADER
    right = END_DIALOG if flags is Flag.END else ERROR
    assert c.decode_header(corrupted(flags=int(flags), type=right)).flags == flags


def test_a_header_that_breaks_no_rule() -> None:
    """The same header without a violation is read."""
    assert c.decode_header(corrupted()) == HEADER


# --- other libraries -----------------------------------------------------------------------------


def rabin(data: bytes) -> int:
    """Return CRC-64-AVRO as the specification defines it, bit by bit."""
    empty = 0xC15D213AA4D7A795
    value = empty
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (empty if value & 1 else 0)
    return value


@pytest.mark.parametrize("name", NAMES)
def test_fingerprints(name: str) -> None:
    """The prefix is C3 01 and the little-endian CRC-64-AVRO of the canonical form.

    The Apache library for Python is no witness for a schema that uses a named type twice: it writes
    the definition out again, which the specification's canonical form does not.
    """
    import fastavro

    canonical = fastavro.schema.to_parsing_canonical_form(load(name))
    assert prefix_of(load(name)) == b"\xc3\x01" + rabin(canonical.encode()).to_bytes(8, "little")
    apache = avro.schema.parse(json.dumps(load(name)))
    if name != "Hop":
        assert apache.canonical_form == canonical
        assert apache.fingerprint() == prefix_of(load(name))[2:]


ENCODED: list[tuple[str, st.SearchStrategy[bytes]]] = [
    ("Route", v.parties.map(c.encode_parties)),
    ("Message", v.headers.map(c.encode_header)),
    ("Hop", v.journeys.map(c.encode_journey)),
    ("Ack", v.acks.map(c.encode_ack)),
    ("Status", v.statuses.map(c.encode_status)),
    ("Command", v.commands.map(commands.encode_command)),
    ("Cause", v.causes.map(commands.encode_cause)),
    ("Result", v.results.map(commands.encode_result)),
    ("Event", v.events.map(c.encode_event)),
    ("Presence", st.builds(c.encode_presence, v.names, v.names, v.longs, v.longs)),
    ("CatalogObject", st.builds(c.encode_catalog_object, v.longs, v.names)),
    ("Dialog", v.dialogs.map(s.encode_dialog)),
    ("Chunk", v.chunks.map(s.encode_chunk)),
    ("Positions", v.positions.map(s.encode_positions)),
    ("Request", v.requests.map(s.encode_request)),
    ("Seen", v.seens.map(s.encode_seen)),
]


@pytest.mark.parametrize(("name", "encoded"), ENCODED, ids=[name for name, _ in ENCODED])
def test_the_apache_library_reads_what_we_write(
    name: str, encoded: st.SearchStrategy[bytes]
) -> None:
    """What stands behind the prefix is plain Avro to every reader."""
    schema = avro.schema.parse(json.dumps(load(name)))

    @settings(max_examples=25)
    @given(encoded)
    def reads(raw: bytes) -> None:
        rest = io.BytesIO(raw[10:])
        read = avro.io.DatumReader(schema).read(avro.io.BinaryDecoder(rest))
        assert rest.read() == b""
        assert read == Codec(name).decode(raw)

    reads()


# --- malformed bytes -----------------------------------------------------------------------------

DECODERS: list[tuple[str, Callable[[bytes], object]]] = [
    ("Route", c.decode_parties),
    ("Message", c.decode_header),
    ("Hop", c.decode_journey),
    ("Ack", lambda raw: c.decode_ack_value(raw, ID)),
    ("Status", lambda raw: c.decode_ack_value(raw, ID)),
    ("Command", lambda raw: commands.decode_command(raw, ID, None, 0)),
    ("Result", commands.decode_result),
    ("Event", c.decode_event),
    ("Presence", c.decode_presence),
    ("CatalogObject", c.decode_catalog_object),
    ("Dialog", lambda raw: s.decode_dialog(raw, ID)),
    ("Chunk", s.decode_chunk),
    ("Positions", s.decode_positions),
    ("Request", lambda raw: s.decode_request(raw, "S")),
]


def survives(decode: Callable[[bytes], object], raw: bytes) -> None:
    """Decode, or say that the bytes are malformed; nothing else may happen."""
    try:
        decode(raw)
    except MalformedError:
        return


@pytest.mark.long
@pytest.mark.parametrize(("name", "decode"), DECODERS, ids=[name for name, _ in DECODERS])
def test_malformed_bytes(name: str, decode: Callable[[bytes], object]) -> None:
    """Random bytes, truncations, bit flips: MalformedError, and never any other exception."""
    encoded = dict(ENCODED)[name]
    prefix = prefix_of(load(name))

    @settings(max_examples=120)
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        noise = data.draw(st.binary(max_size=60))
        survives(decode, noise)
        survives(decode, prefix + noise)
        raw = bytearray(data.draw(encoded))
        with pytest.raises(MalformedError):
            decode(bytes(raw[: data.draw(st.integers(0, 9))]))
        survives(decode, bytes(raw[: data.draw(st.integers(0, len(raw)))]))
        bit = data.draw(st.integers(0, len(raw) * 8 - 1))
        raw[bit // 8] ^= 1 << bit % 8
        survives(decode, bytes(raw))
        survives(decode, bytes(raw) + noise)

    holds()


@pytest.mark.parametrize(("name", "decode"), DECODERS, ids=[name for name, _ in DECODERS])
def test_unknown_fingerprints(name: str, decode: Callable[[bytes], object]) -> None:
    """A schema that nobody has announced: ``UnknownSchemaError``, which is a MalformedError."""
    with pytest.raises(UnknownSchemaError):
        decode(b"\xc3\x01" + b"12345678" + b"\x00" * 40)
    assert issubclass(UnknownSchemaError, MalformedError)


@pytest.mark.parametrize(("name", "decode"), DECODERS, ids=[name for name, _ in DECODERS])
def test_bytes_that_are_left_over(name: str, decode: Callable[[bytes], object]) -> None:
    """A record that goes on behind its end is not what it says it is."""
    raw = {
        "Presence": c.encode_presence("I", "r", 1, 2),
        "Positions": s.encode_positions(s.Positions()),
        "Ack": c.encode_ack(Ack(1, 0)),
    }.get(name)
    if raw is not None:
        with pytest.raises(MalformedError):
            decode(raw + b"\x00")


NAMED = (r.ROUTE, r.MESSAGE, r.HOP)


@thoroughly
@given(st.lists(st.tuples(v.names, st.none() | st.binary(max_size=30)), max_size=4), v.names)
def test_malformed_records(headers: list[tuple[str, bytes | None]], key: str) -> None:
    """Records with foreign headers, without headers, with any key: malformed, never a crash."""
    named = [(name, value) for name, (_, value) in zip(NAMED, headers, strict=False)]
    for given_headers in (None, headers, named):
        for raw_key in (None, key.encode(), str(ID).encode()):
            survives(lambda _, k=raw_key, h=given_headers: r.read_message(k, b"", h), b"")
            survives(lambda _, k=raw_key, h=given_headers: r.read_ack(k, b"", h), b"")
            survives(lambda _, k=raw_key, h=given_headers: r.read_command(k, b"", h, 0), b"")
            survives(lambda _, h=given_headers: r.read_queued(b"", h), b"")


# --- schemas that change -------------------------------------------------------------------------


def test_an_announced_schema_is_read() -> None:
    """A writer that is older or newer than this reader is understood once it is announced."""
    codec = Codec("Positions")
    newer = json.loads(json.dumps(load("Positions")))
    newer["fields"].append({"name": "extra", "type": "long", "default": 0})
    prefix = prefix_of(newer)
    raw = prefix + b"\x02\x04\x06\x08"
    with pytest.raises(UnknownSchemaError):
        codec.decode(raw)
    assert codec.announce(newer) == prefix
    assert codec.decode(raw) == {"cmd": 1, "inbox": 2, "ack": 3}


@pytest.mark.parametrize(
    "schema",
    [
        None,
        1,
        "nothing",
        [],
        {},
        {"type": "record"},
        {"type": "record", "name": "X"},
        {"type": "record", "name": "X", "fields": [{"name": "a", "type": "nothing"}]},
        {"type": "record", "name": "X", "fields": 3},
        {"type": "record", "name": "1 2", "fields": []},
        {"type": "fixed", "name": "F", "size": "big"},
        {"type": "enum", "name": "E", "symbols": ["a b"]},
    ],
)
def test_an_announcement_that_is_no_schema(schema: object) -> None:
    """What is announced is data too: malformed, or of no use, but never a crash."""
    codec = Codec("Positions")
    try:
        prefix = codec.announce(schema)
    except MalformedError:
        return
    survives(codec.decode, prefix + b"\x02\x04\x06")


def _long_names(references: int, **names: str) -> dict[str, object]:
    """Return a schema that refers to a type again and again; each reference has its full name."""
    named = {"name": "first", "type": {"type": "fixed", "name": "r", "size": 1}}
    others = [{"name": f"a{n}", "type": "r"} for n in range(references)]
    return {"type": "record", "name": "Positions", "fields": [named, *others], **names}


@pytest.mark.parametrize(
    "schema",
    [
        _long_names(150, namespace="n" * 300),
        _long_names(150, name="n" * 300),
        _long_names(700),
    ],
    ids=["namespace", "name", "size"],
)
def test_the_canonical_form_of_an_expensive_schema_is_never_computed(
    schema: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """100 kB took 15 s in each process that reads the catalog, also after each restart."""
    codec = Codec("Positions")

    def compute(_: object) -> str:
        raise SystemExit("it is computed")

    monkeypatch.setattr(single_object, "canonical_form", compute)
    with pytest.raises(MalformedError, match=r"the names are long|more than 16,384"):
        codec.announce(schema)


def test_the_schemas_of_a_record_are_limited() -> None:
    """The first ones stay known: compaction keeps old schemas at the start of the catalog."""
    codec = Codec("Positions")
    schemas = [_long_names(n) for n in range(single_object.MOST_SCHEMAS)]
    first, *others, last = schemas
    for schema in (first, *others):
        codec.announce(schema)
    assert codec.announce(first) == prefix_of(first)
    with pytest.raises(MalformedError, match="100 schemas of this record are already known"):
        codec.announce(last)
    assert len(codec.known) == single_object.MOST_SCHEMAS
