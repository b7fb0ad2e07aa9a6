"""Fuzz every decoder of records, one value or all of a record, on every topic."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence

from streams.agents.note import Note
from streams.capture import Record, TimestampType
from streams.capture.job import standing_of
from streams.capture.look import look
from streams.capture.restate import Restatement
from streams.cli.text.records import what
from streams.errors import HoplineError
from streams.protocol import Command, CommandKind, StatementIds
from streams.routing import parse_address
from streams.wire import MalformedError
from streams.wire.acknowledgements import decode_ack_value, encode_ack
from streams.wire.catalog_objects import decode_catalog_object, encode_catalog_object
from streams.wire.commands import decode_cause, decode_command, decode_result, encode_command
from streams.wire.describe import RawRecord, describe
from streams.wire.events import decode_event, encode_event
from streams.wire.evolution import (
    admission,
    clusters_that_fit,
    read_admission,
    read_announcement,
    unannounced,
)
from streams.wire.frame_headers import (
    decode_header,
    decode_journey,
    decode_parties,
    encode_header,
    encode_journey,
    encode_parties,
)
from streams.wire.heartbeats import HeartbeatReader, claims_in, decode_presence, period_in
from streams.wire.hop import Hop, edit_at_once, instant, visit
from streams.wire.id_secret import decode_secret, secret_key, secret_owner
from streams.wire.metric import decode_metric
from streams.wire.place import place_of
from streams.wire.reading import decode_reading
from streams.wire.records import (
    command_record,
    conversation_of,
    priority_of,
    queue_record,
    read_ack,
    read_command,
    read_message,
    read_queued,
)
from streams.wire.shift import shifted
from streams.wire.spans import spans_in
from streams.wire.state import (
    decode_chunk,
    decode_dialog,
    decode_positions,
    decode_request,
    decode_seen,
    encode_dialog,
    unpack_dialog,
)
from streams.wire.state_keys import StateKey, decode_key
from tests.fuzz.mutate import joined, parts_of
from tests.fuzz.target import (
    ID,
    ROOT,
    TOPICS,
    Target,
    malformed_or,
)
from tests.wire.test_compatibility import examples

# --- records: single values ----------------------------------------------------------------------


def _values(name: str) -> Callable[[], Sequence[bytes]]:
    """Return what returns a record of a schema, as it is written today and as it was before."""
    folder = ROOT / "tests" / "wire" / "fixtures"
    return lambda: [examples()[name], *(f.read_bytes() for f in folder.glob(f"{name}.*.bin"))]


def _header(data: bytes) -> None:
    """Whatever is read can be written again, as a forwarder and an endpoint worker do."""
    encode_header(decode_header(data)._replace(sequence=1))


def _hop(data: bytes) -> None:
    hop, block = Hop(data), visit("ServerA", 1)
    edit_at_once(data, instant(0), block, retries=True, begun=True, spend=True)
    if hop.hops_remaining > 0 and not hop.expired(0):
        decode_journey(hop.edited("ServerA", 1, block, spend=True))
    encode_journey(decode_journey(data))


def _ack(data: bytes) -> None:
    found = decode_ack_value(data, ID)
    if type(found).__name__ == "Ack":
        encode_ack(found)  # type: ignore[arg-type]


def _command(data: bytes) -> None:
    found = decode_command(data, ID, b"body", 1)
    encode_command(found)
    json.dumps(found._asdict(), default=str).encode("utf-8", "surrogatepass")


def _admission(data: bytes) -> None:
    """The clusters that a gateway names; those that a heartbeat has room for are read again."""
    names = read_admission(data)
    json.dumps(sorted(names), ensure_ascii=False).encode()
    fitting = clusters_that_fit(names)
    assert read_admission(admission(fitting)) == frozenset(fitting)


def _admissions() -> list[bytes]:
    return [admission(names) for names in ((), ("seller",), ("buyer", "Käufer", 'a "b"'))]


_READER = HeartbeatReader()


def _presence(data: bytes) -> None:
    found = decode_presence(data)
    claims_in(found), period_in(found)
    assert _READER.read(data[-1:], data).instance == found["instance"]


def _dialog(data: bytes) -> None:
    """What is read twice is the same, and can be written."""
    found = decode_dialog(data, ID)
    assert unpack_dialog(data, ID, {}) == found
    encode_dialog(found)


def _reading(data: bytes) -> None:
    assert decode_reading(data).when


def _secret(data: bytes) -> None:
    secret_owner(data)
    StatementIds(decode_secret(data))


def _catalog_object(data: bytes) -> None:
    version, body = decode_catalog_object(data)
    encode_catalog_object(version, body)


def _small_texts(data: bytes) -> None:
    """Names of topics, addresses, spans, notes: texts without a form of their own."""
    text = data.decode("utf-8", "replace")
    place_of(text, TOPICS), parse_address(text), spans_in(text), Note.decode(text)
    priority_of([("sb-priority", data)])
    try:
        standing_of(1, text, "plan", "job")
    except HoplineError as error:
        assert str(error).encode()
    for read in (decode_key, conversation_of, StateKey.decode, read_announcement):
        try:
            read(data)
        except MalformedError:
            continue


def _texts() -> list[bytes]:
    note = json.dumps({"plan": "plan", "refused": 1, "began": 2})
    known = [
        "ssb.cmd.A",
        "ssb.queue.A.B.C%20D",
        "tcp://ServerB:4022",
        "1-3 7",
        f"{ID} r2",
        note,
        str(ID),
    ]
    keys = [f"D/{ID}/initiator/3", "positions", f"seen/app/agent/{ID}/1", "D/request/S"]
    return [text.encode() for text in (*known, *keys)]


# --- records: all of one, on every topic ---------------------------------------------------------

_KINDS = (
    "cmd.A", "out.A", "txq.A", "in.A", "ack.A", "queue.A.B.C", "event", "result.A", "dialog.A",
    "presence", "catalog", "metric", "reading.A", "nothing",
)  # fmt: skip


def records() -> list[bytes]:
    """Return records of all topics: topic, key, value, then names and values of headers."""
    made, key = examples(), str(ID).encode()
    frame = [("sb-route", made["Route"]), ("sb-message", made["Message"]), ("sb-hop", made["Hop"])]
    group, parties, header, journey = (
        uuid.UUID(int=5), decode_parties(made["Route"]), decode_header(made["Message"]),
        decode_journey(made["Hop"]),
    )  # fmt: skip
    queued = queue_record(group, ID, parties, header, journey, b"<a/>")
    command = command_record(Command(ID, group, CommandKind.BEGIN, "D", to_service="T", body=b"x"))
    ack = [("sb-route", made["Route"]), ("sb-hop", made["Hop"])]
    about = StateKey("D", ID, True)
    found: list[tuple[str, bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]] = [
        ("cmd.A", *command),
        ("cmd.A", key, b"x", [("sb-command", made["Command"]), ("sb-cause", made["Cause"])]),
        *((topic, key, b"<a/>", frame) for topic in ("out.A", "txq.A", "in.A")),
        ("ack.A", key, made["Ack"], ack),
        ("txq.A", key, made["Ack"], ack),
        ("ack.A", key, made["Status"], []),
        ("queue.A.B.C", *queued),
        ("event", key, made["Event"], []),
        ("result.A", key, made["Result"], []),
        ("dialog.A", about.encode(), made["Dialog"], []),
        ("dialog.A", about._replace(chunk=3).encode(), made["Chunk"], []),
        ("dialog.A", b"positions", made["Positions"], []),
        (
            "presence",
            b"I",
            made["Presence"],
            [
                ("sb-schemas", made["Presence"][2:10]),
                ("sb-ingress", admission(("seller", "buyer"))),
            ],
        ),
        ("catalog", b"A//instance/A", made["CatalogObject"], []),
        ("metric", b"k", made["Metric"], []),
        ("reading.A", b"t/1/readers", made["Reading"], []),
        ("reading.A", secret_key(ID, "orders"), made["Secret"], []),
    ]
    return [
        joined([topic.encode(), key or b"", value or b"", *(
            raw or b"" for name, one in headers for raw in (name.encode(), one)
        )])
        for topic, key, value, headers in found
    ]  # fmt: skip


def parsed(data: bytes) -> tuple[str, bytes | None, bytes | None, list[tuple[str, bytes | None]]]:
    topic, key, value, *rest = (*parts_of(data), b"", b"", b"")
    names, values = rest[:-3:2], rest[1:-3:2]
    headers = [
        (n.decode("utf-8", "replace"), v or None) for n, v in zip(names, values, strict=False)
    ]
    name = topic.decode("utf-8", "replace")
    return f"ssb.{name}", key or None, value or None, headers


def _record(data: bytes) -> None:
    """Read a record as everything does that reads topics, and print it."""
    topic, key, value, headers = parsed(data)
    reads: tuple[Callable[[], object], ...] = (
        lambda: read_command(key, value, headers, 1),
        lambda: read_message(key, value, headers, 1),
        lambda: read_queued(value, headers),
        lambda: read_ack(key, value, headers),
    )
    for read in reads:
        try:
            read()
        except MalformedError:
            continue
    shifted(headers, 2**40)
    unannounced(headers, value, read_announcement(b"12345678"))
    for kind in (topic, *(f"ssb.{kind}" for kind in _KINDS)):
        found = describe(RawRecord(kind, 0, 1, 2, key, value, tuple(headers)), TOPICS)
        json.dumps(found, ensure_ascii=False).encode()
        assert what(found).encode()
        kept = Record(kind, 0, 1, 2, TimestampType.CREATE_TIME, key, tuple(headers), value)
        seen = look(kept, TOPICS)
        assert json.dumps([*seen, seen.time])
        Restatement("job", new=True).apply(kept, 1, 1)


TARGETS: Mapping[str, Target] = {
    "route": Target(_values("Route"), malformed_or(lambda d: encode_parties(decode_parties(d)))),
    "message": Target(_values("Message"), malformed_or(_header)),
    "hop": Target(_values("Hop"), malformed_or(_hop)),
    "ack": Target(lambda: [*_values("Ack")(), *_values("Status")()], malformed_or(_ack)),
    "command": Target(_values("Command"), malformed_or(_command)),
    "cause": Target(_values("Cause"), malformed_or(decode_cause)),
    "result": Target(_values("Result"), malformed_or(decode_result)),
    "event": Target(_values("Event"), malformed_or(lambda d: encode_event(decode_event(d)))),
    "presence": Target(_values("Presence"), malformed_or(_presence)),
    "ingress_header": Target(_admissions, malformed_or(_admission)),
    "catalog_object": Target(_values("CatalogObject"), malformed_or(_catalog_object)),
    "dialog": Target(_values("Dialog"), malformed_or(_dialog)),
    "chunk": Target(_values("Chunk"), malformed_or(decode_chunk)),
    "positions": Target(_values("Positions"), malformed_or(decode_positions)),
    "request": Target(_values("Request"), malformed_or(lambda d: decode_request(d, "S"))),
    "seen": Target(_values("Seen"), malformed_or(decode_seen)),
    "reading": Target(_values("Reading"), malformed_or(_reading)),
    "secret": Target(_values("Secret"), malformed_or(_secret)),
    "metric": Target(_values("Metric"), malformed_or(decode_metric)),
    "names_and_notes": Target(_texts, _small_texts),
    "record": Target(records, _record),
}  # fmt: skip
