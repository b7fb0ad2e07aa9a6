"""Parts of captures: what is chosen, whole dialogs, and what is changed everywhere."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streams.capture import CaptureReader, Record
from streams.capture.choose import Choice, choose
from streams.capture.edit import Edit, Editor
from streams.capture.look import Look, look, raw
from streams.capture.mask import rule_of
from streams.protocol import Ack, Header, Journey, Parties, Status
from streams.protocol.command import Command, CommandKind
from streams.wire import Topics, decode_event, decode_parties, encode_event
from streams.wire.acknowledgements import encode_ack, encode_status
from streams.wire.describe import describe
from streams.wire.records import (
    CONVERSATION,
    ROUTE,
    header_of,
    message_record,
    read_command,
)
from tests.capture.commands import begin, capture, records, send
from tests.command import hopline

TOPICS = Topics()
MADE = records(
    [
        begin(1),
        begin(2, to_service="OtherService"),
        send(1),
        send(2, at="ServerB"),
        begin(3, at="ServerB"),
        send(3, at="ServerB"),
        send(1),
    ]
)


def chosen(choice: Choice, made: list[Record] = MADE) -> list[int]:
    """Return the offsets of what is chosen."""

    def read() -> list[tuple[Record, Look]]:
        return [(record, look(record, TOPICS)) for record in made]

    return [record.offset for record, _ in choose(read, choice, lambda *_: True)]


def id_of(n: int) -> str:
    return f"00000000-0000-0000-0000-{n:012}"


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Choice(), [0, 1, 2, 3, 4, 5, 6]),
        (Choice(begin=1_002, end=1_004), [2, 3]),
        (Choice(begin=1_002, end=1_004, whole=True), [0, 1, 2, 3, 6]),
        (Choice(conversations=frozenset({id_of(1)})), [0, 2, 6]),
        (Choice(services=frozenset({"OtherService"})), [1, 3]),
        (Choice(services=frozenset({"TargetService"})), [0, 2, 4, 5, 6]),
        (Choice(instances=frozenset({"serverb"})), [3, 4, 5]),
        (Choice(instances=frozenset({"serverb"}), whole=True), [1, 3, 4, 5]),
        (Choice(services=frozenset({"TargetService"}), begin=1_005, whole=True), [0, 2, 4, 5, 6]),
        (Choice(percent=0), []),
    ],
)
def test_what_is_chosen(choice: Choice, expected: list[int]) -> None:
    assert chosen(choice) == expected


def test_a_share_is_of_whole_dialogs_and_the_same_every_time() -> None:
    made = records([act for n in range(1, 401) for act in (begin(n), send(n))])
    some = chosen(Choice(percent=25), made)
    assert 60 < len(some) / 2 < 140
    assert {n // 2 for n in some if n % 2} == {n // 2 for n in some if not n % 2}
    assert chosen(Choice(percent=25), made) == some
    assert set(some) < set(chosen(Choice(percent=50), made)), "a larger share has the smaller one"
    assert chosen(Choice(percent=25, seed=1), made) != some


# --- edits, on everything that a simulated run writes ---------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    path = tmp_path_factory.mktemp("run") / "run.avro"
    code, _, err = hopline("simulate", "load_balanced/dialogs", "--capture", path)
    assert code == 0, err
    return list(CaptureReader(path))


def edited(made: list[Record], edit: Edit) -> tuple[list[Record], Editor]:
    editor = Editor(edit)
    changed = [editor.apply(record, look(record, TOPICS)) for record in made]
    return [record for record in changed if record is not None], editor


def names(record: Record) -> set[str]:
    seen = look(record, TOPICS)
    return {name for name in (seen.from_service, seen.to_service) if name}


def test_services_are_renamed_in_every_record(run: list[Record]) -> None:
    kinds = {seen.kind for seen in (look(r, TOPICS) for r in run) if seen.to_service}
    assert kinds >= {"cmd", "out", "txq", "in", "ack", "queue", "event"}
    changed, editor = edited(run, Edit({"TargetService": "Store"}))
    assert not editor.done.left_out
    assert {name for r in changed for name in names(r)} == {"InitiatorService", "Store"}
    assert not any(b"TargetService" in dump(r) for r in changed)
    back, _ = edited(changed, Edit({"Store": "TargetService"}))
    assert back == run


def dump(record: Record) -> bytes:
    values = (record.key, record.value, *(value for _, value in record.headers))
    return b"\n".join(value or b"" for value in values)


def test_bodies_are_gone_wherever_they_travel(run: list[Record]) -> None:
    bodies = {r.value for r in run if r.topic.startswith("ssb.cmd") and r.value}
    assert bodies
    changed, editor = edited(run, Edit(remove=frozenset({"*"})))
    assert not any(body in dump(r) for r in changed for body in bodies)
    assert editor.done.removed >= len(bodies)
    assert not any(describe(raw(r), TOPICS).get("malformed") for r in changed)


def test_bodies_are_masked_wherever_they_travel(run: list[Record]) -> None:
    bodies = {r.value for r in run if r.topic.startswith("ssb.cmd") and r.value}
    changed, _ = edited(run, Edit(masks=(rule_of("~.+"),)))
    assert not any(body in dump(r) for r in changed for body in bodies)


def test_a_body_that_a_rule_cannot_read_does_not_travel() -> None:
    made = records([send(1, body=b"Ada", type="Order"), send(1, body=b"Ada", type="Line")])
    changed, editor = edited(made, Edit(masks=(rule_of("Order=//Customer"),)))
    assert [r.value for r in changed] == [None, b"Ada"]
    assert (editor.done.unreadable, editor.done.masked) == (1, 0)


def test_the_text_of_an_error_is_masked_with_the_bodies() -> None:
    _, command = begin(1)
    end = Command(command.conversation, command.command_id, CommandKind.END, "DatabaseA",
                  error_code=7, error_text="Ada 4711")  # fmt: skip
    [changed], _ = edited(records([("ServerA", end)]), Edit(remove=frozenset({"Order"})))
    read = read_command(changed.key, changed.value, list(changed.headers), 0)
    assert (read.error_code, read.error_text) == (7, "Xxx 0000")


def test_the_details_of_events_are_masked_with_the_bodies() -> None:
    [record] = records([send(1)])
    value = encode_event({"event": 160, "at": 1, "instance": "ServerA", "detail": "Ada 4711"})
    event = replace(record, topic="ssb.event", headers=(), value=value)
    [changed], _ = edited([event], Edit(remove=frozenset({"Order"})))
    assert decode_event(changed.value)["detail"] == "Xxx 0000"
    assert edited([event], Edit({"A": "B"}))[0] == [event]


def test_state_is_left_out_where_it_would_reveal_masked_data() -> None:
    [record] = records([send(1)])
    state = replace(record, topic="ssb.dialog.ServerA")
    other = replace(record, topic="somebody.elses")
    assert edited([state, other], Edit(drop=frozenset({"x"})))[0] == [state, other]
    changed, editor = edited([state, other], Edit(remove=frozenset({"*"})))
    assert changed == []
    assert editor.done.left_out == {"dialog": 1, "other": 1}


PARTIES = Parties("TargetService", None, "InitiatorService", "DatabaseA", "DEFAULT", True)
HEADER = Header(uuid.UUID(int=9), "Order", 0, 1_790_000_000_000, 1_790_000_000_001)
DAMAGE = b"\xc3\x01Ada"
STATUS = encode_status(Status(uuid.UUID(int=1), "Ada", True, 9770, 0, 1, "Service"))


def frame(topic: str = "out.A", value: bytes = b"Ada", **changes: bytes | None) -> Record:
    """Return a frame with changed headers; a header that is ``None`` is left out."""
    key, _, headers = message_record(uuid.UUID(int=1), PARTIES, HEADER, Journey(16, 1, 0, 1), b"")
    headers.append((CONVERSATION, uuid.UUID(int=1).bytes))
    values = [(name, changes.get(name[3:], raw)) for name, raw in headers]
    kept = tuple((name, raw) for name, raw in values if raw is not None)
    [record] = records([send(1)])
    return replace(record, topic=f"ssb.{topic}", key=key, headers=kept, value=value)


DAMAGED = {
    "damaged sb-message": frame(message=DAMAGE),
    "damaged sb-route": frame(route=DAMAGE),
    "empty sb-message": frame(message=b""),
    "no sb-message": frame(message=None),
    "no sb-route": frame(route=None),
    "in, no sb-message": frame("in.A", message=None),
    "txq, damaged sb-message": frame("txq.A", message=DAMAGE),
    "ack, with sb-message": frame("ack.A"),
    "ack, a status with a route": frame("ack.A", STATUS, message=None),
    "queue, no sb-message": frame("queue.A.DatabaseA.Q", message=None),
    "queue, damaged sb-conversation": frame("queue.A.DatabaseA.Q", conversation=b"Ada"),
}
EDITS = {
    "mask": Edit(masks=(rule_of("~.+"),)),
    "remove": Edit(remove=frozenset({"*"})),
}


@pytest.mark.parametrize("how", EDITS)
@pytest.mark.parametrize("damage", DAMAGED)
def test_a_malformed_record_is_left_out_where_bodies_change(damage: str, how: str) -> None:
    """It has no type that a rule applies to, so its body would remain unmasked."""
    whole = frame()
    changed, editor = edited([DAMAGED[damage], whole], EDITS[how])
    assert editor.done.left_out == {"malformed": 1}
    assert [record.headers for record in changed] == [whole.headers]
    assert b"Ada" not in dump(changed[0])
    assert b"Ada" in dump(DAMAGED[damage]), "without an edit it would be there"


@pytest.mark.parametrize("how", [*EDITS.values(), Edit({"nobody": "x"})])
@pytest.mark.parametrize("whole", [frame(), MADE[2]])
def test_of_several_headers_with_one_name_the_last_remains(whole: Record, how: Edit) -> None:
    """No reader uses the others, so they may be malformed, or contain what is masked."""
    odd = [(name, value) for name, _ in whole.headers for value in (b"Ada", None)]
    foreign = ("x", b"1"), ("x", b"2")
    twice = replace(whole, headers=(*odd, foreign[0], *whole.headers, foreign[1]))
    [changed], _ = edited([twice], how)
    [expected], _ = edited([whole], how)
    assert changed == replace(expected, headers=(foreign[0], *expected.headers, foreign[1]))


def test_an_acknowledgement_is_no_malformed_record() -> None:
    for topic in ("out.A", "txq.A", "in.A", "ack.A"):
        sound = frame(topic, encode_ack(Ack(3, 2)), message=None)
        assert edited([sound], EDITS["mask"])[0] == [sound]


@pytest.mark.parametrize("words", [("--mask", "~.+"), ("--remove-body", "*")])
def test_the_command_leaves_malformed_records_out(tmp_path: Path, words: tuple[str, ...]) -> None:
    whole = capture(tmp_path / "whole.avro", [*DAMAGED.values(), frame()])
    output = tmp_path / "s.avro"
    code, out, err = hopline(
        "capture", "slice", whole, *words, "--output", output, "--format", "json"
    )
    assert (code, err) == (0, "")
    assert json.loads(out)["left_out"] == {"malformed": len(DAMAGED)}
    [left] = CaptureReader(output)
    assert b"Ada" not in dump(left)


def test_foreign_headers_go_and_ours_stay() -> None:
    [record] = records([send(1)])
    full = replace(record, headers=(("user", b"Ada"), *record.headers, ("trace", b"1")))
    [dropped], editor = edited([full], Edit(drop=frozenset({"user"})))
    assert dropped.headers == (*record.headers, ("trace", b"1"))
    assert (editor.done.dropped, editor.done.kept) == ({"user": 1}, {"trace": 1})
    [allowed], _ = edited([full], Edit(allow=frozenset({"trace"})))
    assert allowed.headers == dropped.headers
    [none], _ = edited([full], Edit(allow=frozenset()))
    assert none.headers == record.headers


def test_the_command(tmp_path: Path) -> None:
    shop = tmp_path / "shop.avro"
    hopline("generate", "traffic", "--dialogs", 200, "--messages", 900, "--output", shop)
    code, out, err = hopline(
        "capture", "slice", shop, "--percent", 20, "--mask", "//hopline/Order=~[0-9]",
        "--rename-service", "TargetService=Store", "--output", tmp_path / "s.avro",
        "--format", "json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    answer: dict[str, Any] = json.loads(out)
    reader = CaptureReader(tmp_path / "s.avro")
    looks = [look(record, TOPICS) for record in reader]
    dialogs = {seen.conversation for seen in looks}
    assert answer["records"] == len(looks)
    assert answer["masked"] == answer["renamed"] == len(dialogs) > 20
    assert {seen.to_service for seen in looks if seen.what == "BEGIN"} == {"Store"}
    assert reader.metadata == CaptureReader(shop).metadata
    assert answer["matched"]["//hopline/Order=~[0-9]"] > answer["masked"]


def test_a_rule_that_matches_nothing_is_reported(tmp_path: Path) -> None:
    shop = tmp_path / "shop.avro"
    hopline("generate", "traffic", "--dialogs", 2, "--messages", 5, "--output", shop)
    code, out, err = hopline(
        "capture", "slice", shop, "--mask", "//Nobody", "--mask", "~[0-9]",
        "--output", tmp_path / "s.avro",
    )  # fmt: skip
    assert code == 1
    assert "5  bodies masked" in out
    assert err.splitlines() == [
        "The rule //Nobody matched nothing: check the rule against the contents of the capture."
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--since", "noon"), "is not a time; write it like 2026-11-03T12:03:04"),
        (("--since", "2027"), "is not a time; write it like 2026-11-03T12:03:04"),
        (("--rename-service", "Store"), "'Store' renames nothing"),
        (("--drop-header", "sb-command"), "Without the header sb-command the record"),
        (("--mask", "Customer"), "'Customer' is not a masking rule"),
        (("--percent", "101"), "101"),
        (("--where", "price > 3"), "no such column: price"),
    ],
)
def test_wrong_use_is_a_sentence(words: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "c"
    hopline("generate", "traffic", "--dialogs", 1, "--messages", 1, "--output", path)
    code, out, err = hopline("capture", "slice", path, *words, "--output", tmp_path / "s")
    assert (code, out) == (2, "")
    assert sentence in err
    code, _, err = hopline("capture", "slice", path, "--output", path)
    assert code == 2 and "The output file is the input capture." in err


def test_events_and_routes_are_read_again_after_a_change(run: list[Record]) -> None:
    changed, _ = edited(run, Edit({"InitiatorService": "Shop"}))
    for record in changed:
        if record.topic == "ssb.event":
            decode_event(record.value)
        elif header_of(record.headers, ROUTE) is not None:
            decode_parties(header_of(record.headers, ROUTE))
