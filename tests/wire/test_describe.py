"""Any record as plain data: what is decoded, and that nothing whatever raises."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.cli.text.records import what
from streams.cli.text.values import clock, instant
from streams.protocol import (
    END_DIALOG,
    ERROR,
    Ack,
    Chunk,
    Command,
    CommandKind,
    Flag,
    Header,
    Journey,
    Parties,
    Request,
    Status,
)
from streams.wire import Topics, encode_ack, encode_event, encode_presence, encode_result
from streams.wire.acknowledgements import encode_status
from streams.wire.catalog_objects import encode_catalog_object
from streams.wire.commands import ResultRecord
from streams.wire.describe import RawRecord, describe
from streams.wire.id_secret import encode_secret, secret_key
from streams.wire.metric import encode_metric
from streams.wire.place import TopicPlace, place_of
from streams.wire.plain import body_of
from streams.wire.reading import Reading, reading_record
from streams.wire.records import (
    ORIGIN,
    Headers,
    ack_record,
    command_record,
    message_record,
    queue_record,
)
from streams.wire.specs import KINDS
from streams.wire.state import Positions, encode_chunk, encode_positions, encode_request
from streams.wire.state_keys import POSITIONS_KEY, RequestKey, StateKey

TOPICS = Topics("t.")
NESTED = 800 if sys.version_info < (3, 12) else 5_000
"""JSON that is decoded, but too deep for what follows; newer Pythons allow more in C."""
DIALOG = uuid.UUID("6f1c2a04-0000-4000-8000-000000000001")
GROUP = uuid.UUID("6f1c2a04-0000-4000-8000-000000000002")
KEY = str(DIALOG).encode()
PARTIES = Parties("Target", "B", "Initiator", "A", "DEFAULT", True, True)
HEADER = Header(uuid.UUID(int=7), "DEFAULT", 3, 1_000, 9_000)
JOURNEY = Journey(16, 60_000, 2, 2_000, 1, (("ServerA", 2_005), ("ServerB", 2_010)))


def record(
    topic: str,
    value: bytes | None = None,
    *,
    key: bytes | None = KEY,
    headers: Headers | None = None,
) -> RawRecord:
    return RawRecord(topic, 0, 5, 1_700, key, value, tuple(headers or ()))


def frame(topic: str, **changes: object) -> RawRecord:
    header = HEADER._replace(**changes)  # type: ignore[arg-type]
    key, value, headers = message_record(DIALOG, PARTIES, header, JOURNEY, b"hello")
    return record(topic, value, key=key, headers=headers)


def test_a_command_shows_its_statement_and_its_body() -> None:
    command = Command(DIALOG, uuid.UUID(int=1), CommandKind.SEND, "D", type="Order", body=b"{}")
    key, value, headers = command_record(command)
    found = describe(record(TOPICS.cmd("ServerA"), value, key=key, headers=headers), TOPICS)
    assert (found["kind"], found["instance"]) == ("cmd", "ServerA")
    assert found["conversation"] == str(DIALOG)
    assert found["command"]["kind"] == "SEND"
    assert found["command"]["command_id"] == str(uuid.UUID(int=1))
    assert found["body"] == {"size": 2, "text": "{}"}
    assert what(found) == 'D: SEND Order "{}"'


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (
            Command(DIALOG, GROUP, CommandKind.BEGIN, "D", from_service="I", to_service="T"),
            "D: BEGIN I to T",
        ),
        (
            Command(
                DIALOG,
                GROUP,
                CommandKind.BEGIN,
                "D",
                from_service="I",
                to_service="T",
                to_broker="B",
                contract="C",
                lifetime=60,
            ),
            "D: BEGIN I to T at B, contract C, lifetime 60 s",
        ),
        (
            Command(DIALOG, GROUP, CommandKind.END, "D", from_initiator=False),
            "D: END by the target",
        ),
        (Command(DIALOG, GROUP, CommandKind.END, "D", cleanup=True), "D: END WITH CLEANUP"),
        (
            Command(DIALOG, GROUP, CommandKind.END, "D", error_code=5, error_text="no"),
            'D: END WITH ERROR 5 "no"',
        ),
    ],
)
def test_every_statement_reads_as_it_is_said(command: Command, text: str) -> None:
    key, value, headers = command_record(command)
    found = describe(record(TOPICS.cmd("S"), value, key=key, headers=headers), TOPICS)
    assert what(found) == text


@pytest.mark.parametrize("kind", ["out", "txq", "in"])
def test_a_message_frame_shows_its_three_headers(kind: str) -> None:
    raw = frame(TOPICS.name(kind, "ServerB"))
    found = describe(replace(raw, headers=(*raw.headers, (ORIGIN, b"outside"))), TOPICS)
    assert found["route"]["to_service"] == "Target"
    assert found["message"]["sequence"] == 3
    assert found["hop"]["path"][1] == {"instance": "ServerB", "at": 2_010}
    assert found["origin"] == "outside"
    assert found["body"] == {"size": 5, "text": "hello"}
    assert found["at"] == 2_010, "the last instance on its path, not the Kafka timestamp"
    text = 'message 3 of the initiator, attempt 2, via ServerA > ServerB: DEFAULT "hello"'
    assert what(found) == text


def test_a_frame_that_begins_here_happened_when_it_was_sent() -> None:
    key, value, headers = message_record(
        DIALOG, PARTIES, HEADER, JOURNEY._replace(path=()), b"hello"
    )
    found = describe(record(TOPICS.out("S"), value, key=key, headers=headers), TOPICS)
    assert found["at"] == 2_000


def test_system_messages_lose_their_long_prefix() -> None:
    ended = describe(frame(TOPICS.out("S"), type=END_DIALOG, flags=Flag.END), TOPICS)
    assert what(ended).endswith(": EndDialog")
    assert ended["message"]["flags"] == ["END"]
    body = b"<Error><Code>-8462</Code><Description>gone</Description></Error>"
    key, value, headers = message_record(
        DIALOG,
        PARTIES,
        HEADER._replace(type=ERROR, sequence=0, flags=Flag.ERROR | Flag.UNSEQUENCED),
        JOURNEY,
        body,
    )
    error = describe(record(TOPICS.out("S"), value, key=key, headers=headers), TOPICS)
    assert what(error).startswith("unsequenced message of the initiator")
    assert what(error).endswith(": Error -8462: gone")


@pytest.mark.parametrize("kind", ["out", "txq", "ack", "ingress"])
def test_an_acknowledgement_frame_says_up_to_what_and_from_whom(kind: str) -> None:
    ack = Ack(4, 6, 2, 1, 1_900)
    key, value, headers = ack_record(DIALOG, PARTIES, ack, JOURNEY)
    topic = TOPICS.ingress("S", "other") if kind == "ingress" else TOPICS.name(kind, "S")
    found = describe(record(topic, value, key=key, headers=headers), TOPICS)
    assert (found["instance"], found.get("cluster")) == (
        "S", "other" if kind == "ingress" else None
    )  # fmt: skip
    assert found["ack"]["next_sequence"] == 4
    assert what(found) == (
        "ack up to 3 from broker A, seen up to 6, attempt 2, via ServerA > ServerB"
    )


def test_a_status_is_told_from_an_acknowledgement() -> None:
    status = Status(DIALOG, "D", True, 9750, 2, 1_950)
    found = describe(record(TOPICS.ack("S"), encode_status(status)), TOPICS)
    assert found["status"]["number"] == 9750
    assert (found["at"], found["conversation"]) == (1_950, str(DIALOG))
    assert "status of the initiator, attempt 2: 9750 no route" in what(found)
    asking = status._replace(number=9770, service="New")
    found = describe(record(TOPICS.ack("S"), encode_status(asking)), TOPICS)
    assert what(found).startswith("a route to New must be requested: 9770")


def test_a_status_is_no_frame() -> None:
    """It is what a forwarder tells its own endpoint worker; elsewhere it is printed as rubbish."""
    raw = encode_status(Status(DIALOG, "D", True, 9770, 2, 5))
    found = describe(RawRecord("t.txq.ServerA", 0, 1, 2, KEY, raw, ()), TOPICS)
    assert "a status instead of an acknowledgement" in found["malformed"]
    assert what(found).isprintable()


def test_a_queue_message_has_its_conversation_in_a_header_and_its_group_as_key() -> None:
    key, value, headers = queue_record(GROUP, DIALOG, PARTIES, HEADER, JOURNEY, b"\xff\x00")
    topic = TOPICS.queue("SQL01\\PROD", "D", "//shop/Queue")
    found = describe(record(topic, value, key=key, headers=headers), TOPICS)
    assert (found["conversation"], found["group"]) == (str(DIALOG), str(GROUP))
    assert (found["instance"], found["database"], found["queue"]) == (
        "SQL01\\PROD",
        "D",
        "//shop/Queue",
    )
    assert found["body"] == {"size": 2, "hex": "ff00"}
    assert "0xff00 (10 ms after it was sent)" in what(found)


def test_an_event_has_its_title_its_number_and_its_text() -> None:
    value = encode_event(
        {"event": 160, "subclass": 1, "at": 1_999, "instance": "ServerB", "error": 11218}
    )
    found = describe(record(TOPICS.event, value, key=None), TOPICS)
    assert found["event"]["name"] == "Broker:Message Undeliverable"
    assert (found["instance"], found["at"]) == ("ServerB", 1_999)
    assert what(found) == (
        "Broker:Message Undeliverable 160 (sequenced): 11218 the message is a duplicate"
    )


def test_an_event_of_a_class_that_nobody_knows_is_shown_all_the_same() -> None:
    value = encode_event({"event": 999, "at": 1, "instance": "S"})
    assert describe(record(TOPICS.event, value), TOPICS)["event"]["name"] == "event 999"


def test_result_presence_and_catalog() -> None:
    result = encode_result(ResultRecord(uuid.UUID(int=3), DIALOG, 8426))
    found = describe(record(TOPICS.result("S"), result, key=b"reply"), TOPICS)
    assert (found["conversation"], found["result"]["number"]) == (str(DIALOG), 8426)
    assert what(found).endswith(": 8426 the conversation does not exist here")
    seen = describe(record(TOPICS.presence, encode_presence("S", "r", 12, 3), key=b"S"), TOPICS)
    assert what(seen) == "heartbeat 12 of replica r"
    value = encode_catalog_object(4, json.dumps({"address": "LOCAL"}))
    route = describe(record(TOPICS.catalog, value, key=b"A/D/route/R%2F1"), TOPICS)
    assert route["object"] == ["A", "D", "route", "R/1"]
    assert route["catalog"] == {"version": 4, "object": {"address": "LOCAL"}}
    assert what(route) == "A/D/route/R/1 as of version 4: address LOCAL"
    gone = describe(record(TOPICS.catalog, None, key=b"A/D/route/R"), TOPICS)
    assert what(gone) == "A/D/route/R removed"


def test_a_figure_of_the_monitor_is_shown_as_its_row() -> None:
    values = {"conversation": str(DIALOG), "count": 3, "p50": 2.5, "histogram": "[]", "cause": None}
    value = encode_metric("latency_windows", "k", "deliveries", 7, values)
    found = describe(record(TOPICS.metric, value, key=b"latency_windows/k"), TOPICS)
    assert found["metric"]["batch"] == 7
    assert found["metric"]["values"] == {n: v for n, v in values.items() if v is not None}
    assert found["conversation"] == str(DIALOG)
    assert what(found) == f"latency_windows: conversation {DIALOG}, count 3, p50 2.5"


def test_a_record_of_a_reader_says_what_it_has_received() -> None:
    reading = Reading("billing", TOPICS.queue("S", "D", "Q"), DIALOG, 2, 70, 3)
    key, value = reading_record(reading)
    found = describe(record(TOPICS.reading("S"), value, key=key), TOPICS)
    assert (found["kind"], found["instance"]) == ("reading", "S")
    assert what(found) == "group billing has received everything before 70 of t.queue.S.D.Q/2"
    assert describe(record(TOPICS.reading("S"), b"?", key=key), TOPICS)["malformed"]


@pytest.mark.parametrize(
    "value",
    [encode_secret(bytes(range(32))), b"of another version", None],
    ids=["current", "other", "removed"],
)
def test_a_record_of_a_secret_says_only_whose_it_is(value: bytes | None) -> None:
    key = secret_key(DIALOG, "billing")
    found = describe(record(TOPICS.reading("S"), value, key=key), TOPICS)
    assert found["secret"] == {"application": "billing"}
    assert what(found) == "secret of the agents of billing"
    assert not {"body", "reading", "malformed"} & set(found)
    assert "0001020304" not in str(found) and "another version" not in str(found)


def test_state_records_say_what_they_are_about() -> None:
    topic = TOPICS.dialog("S")
    key = StateKey("D", DIALOG, True, 1).encode()
    chunk = describe(record(topic, encode_chunk(Chunk.of([(-1, 1), (40, 1)])), key=key), TOPICS)
    assert what(chunk) == "initiator keeps in cmd: message 65 at 40"
    tombstone = describe(record(topic, None, key=StateKey("D", DIALOG, False).encode()), TOPICS)
    assert (tombstone["conversation"], tombstone["database"]) == (str(DIALOG), "D")
    assert what(tombstone) == "target endpoint removed"
    positions = describe(
        record(topic, encode_positions(Positions(3, 2, 1)), key=POSITIONS_KEY), TOPICS
    )
    assert what(positions) == "has applied everything before cmd 3, in 2, ack 1"
    asked = Request("a/b", 1, 2, DIALOG, 0)
    request = describe(
        record(topic, encode_request(asked), key=RequestKey("D", "a/b").encode()), TOPICS
    )
    assert what(request) == f"route to a/b: 2 requests, {DIALOG} open"
    assert request["database"] == "D"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (record(TOPICS.cmd("S"), b"x"), "Command: not in Avro single-object encoding"),
        (record(TOPICS.cmd("S"), b"x", key=b"\xff"), "the key is not a conversation id"),
        (record(TOPICS.out("S"), b"x"), "Route: not in Avro single-object encoding"),
        (record(TOPICS.ack("S"), encode_ack(Ack(1, 0))), "Route: not in Avro"),
        (record(TOPICS.ack("S"), b"x"), "Ack: not in Avro single-object encoding"),
        (record(TOPICS.queue("S", "D", "Q"), b"x"), "without its conversation id"),
        (record(TOPICS.event, b"\xc3\x01" + b"\0" * 9), "Event: unknown fingerprint"),
        (record(TOPICS.result("S"), None), "Result: not in Avro single-object encoding"),
        (record(TOPICS.catalog, encode_catalog_object(1, "{")), "catalog: JSONDecodeError"),
        (
            record(TOPICS.catalog, encode_catalog_object(1, "[" * 100_000)),
            "catalog: RecursionError",
        ),
        (
            record(TOPICS.catalog, encode_catalog_object(1, "[" * NESTED + "]" * NESTED)),
            "catalog: RecursionError",
        ),
        (record(TOPICS.dialog("S"), b"x", key=b"nonsense"), "not the key of a state record"),
        (record(TOPICS.presence, encode_presence("S", "r", 1, 1)[:-1]), "Presence: "),
    ],
)
def test_what_is_malformed_is_shown_as_such_with_coordinates(raw: RawRecord, reason: str) -> None:
    found = describe(raw, TOPICS)
    assert any(reason in said for said in found["malformed"]), found["malformed"]
    text = what(found)
    assert text.startswith(f"MALFORMED {raw.topic}/0@5: ")
    assert reason in text


def test_nothing_in_a_record_moves_the_cursor() -> None:
    key, value, headers = message_record(DIALOG, PARTIES, HEADER, JOURNEY, b"\x1b[2Jclear\r\n")
    found = describe(record(TOPICS.out("S"), value, key=key, headers=headers), TOPICS)
    assert what(found).isprintable()
    assert r"\x1b[2Jclear\r\n" in what(found)


TIMES = [0, 2**31, 2**62, -(2**62)]


@pytest.mark.parametrize("at", TIMES)
def test_impossible_times_are_shown_as_numbers(at: int) -> None:
    value = encode_event({"event": 124, "at": at, "instance": "S"})
    found = describe(record(TOPICS.event, value), TOPICS)
    assert found["at"] == at
    assert clock(at) and instant(at)


# --- names ---------------------------------------------------------------------------------------

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)


@given(NAMES, NAMES, NAMES)
def test_names_of_queues_come_back(instance: str, database: str, queue: str) -> None:
    name = TOPICS.queue(instance, database, queue)
    place = place_of(name, TOPICS)
    assert place is not None
    if len(name) < 249:
        assert place == TopicPlace("queue", instance, database, queue)


@pytest.mark.parametrize(
    "name", ["other.cmd.A", "t.cmd", "t.nonsense.A", "t.cmd.A.B", "t.catalog.A", "t.", ""]
)
def test_foreign_names_are_none_of_ours(name: str) -> None:
    assert place_of(name, TOPICS) is None


def test_a_name_that_was_too_long_keeps_its_kind() -> None:
    place = place_of(TOPICS.cmd("x" * 400), TOPICS)
    assert place is not None
    assert (place.kind, (place.instance or "")[:3]) == ("cmd", "xxx")


# --- whatever somebody has put there -------------------------------------------------------------

ALL = sorted(
    {
        *(TOPICS.name(kind, "S") for kind in KINDS),
        TOPICS.queue("S", "D", "Q"),
        TOPICS.catalog,
        TOPICS.presence,
        TOPICS.event,
        "t.unknown.S",
    }
)
HEADER_NAMES = ["sb-route", "sb-message", "sb-hop", "sb-command", "sb-origin", "sb-conversation"]


def _samples() -> list[bytes]:
    _, _, headers = queue_record(GROUP, DIALOG, PARTIES, HEADER, JOURNEY, b"x")
    command = command_record(Command(DIALOG, GROUP, CommandKind.BEGIN, "D"))
    found = [v for _, v in (*headers, *command[2]) if v is not None]
    return [
        *found,
        encode_ack(Ack(1, 0)),
        encode_event({"event": 124, "at": 1, "instance": "S", "conversation": str(DIALOG)}),
        encode_presence("S", "r", 1, 1),
        encode_result(ResultRecord(GROUP, DIALOG)),
        encode_catalog_object(1, "[]"),
        encode_chunk(Chunk.of([(1, 1)])),
        encode_positions(Positions()),
    ]


@st.composite
def hostile(draw: Callable[[st.SearchStrategy[bytes]], bytes]) -> bytes:
    """Bytes that begin like ours and go wrong somewhere, or have nothing to do with us."""
    good = bytearray(draw(st.sampled_from(SAMPLES)))
    where = len(good) - 1 if len(good) < 12 else 10
    tail = draw(st.binary(max_size=12))
    good[where : where + len(tail)] = tail
    return bytes(good)


SAMPLES = _samples()
RUBBISH = st.one_of(st.none(), st.binary(max_size=40), st.sampled_from(SAMPLES), hostile())
KEYS = st.one_of(
    st.none(),
    st.binary(max_size=40),
    st.just(KEY),
    st.just(POSITIONS_KEY),
    st.just(StateKey("D", DIALOG, True).encode()),
    st.just(StateKey("D", DIALOG, True, 2).encode()),
)


@given(
    st.sampled_from(ALL),
    KEYS,
    RUBBISH,
    st.lists(st.tuples(st.sampled_from([*HEADER_NAMES, "other"]), RUBBISH), max_size=5),
)
def test_nothing_raises_and_everything_is_json(
    topic: str,
    key: bytes | None,
    value: bytes | None,
    headers: list[tuple[str, bytes | None]],
) -> None:
    found = describe(RawRecord(topic, 0, 1, 2, key, value, tuple(headers)), TOPICS)
    json.dumps(found)
    assert isinstance(found["at"], int)
    assert what(found).isprintable()


def test_bodies_are_text_or_digits() -> None:
    assert body_of(None) is None
    assert body_of(b"") == {"size": 0, "text": ""}
    assert body_of("ä".encode()) == {"size": 2, "text": "ä"}
    assert body_of(b"\xff") == {"size": 1, "hex": "ff"}
