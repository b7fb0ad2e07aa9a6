"""`hopline begin`, `send`, `end`, `timer`, `move` and `receive` on a running topology."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.client import LARGEST_BODY
from streams.kafka import read_ends, read_positions
from tests import command
from tests.running import DEADLINE, System, eventually, running, until_stable

A, B = "ServerA/DatabaseA", "ServerB/DatabaseB"
RECEIVE = ("receive", "--at", A, "--queue", "InitiatorQueue", "--group", "g")
SERVICES = ("--from", "InitiatorService", "--to", "TargetService")


def hopline(
    *args: object, system: System | None = None, stdin: bytes = b""
) -> tuple[int, str, str]:
    options = system.options if system is not None else ()
    return command.hopline(*args, *options, given=stdin)


@pytest.fixture(scope="module")
def system(kafka: str) -> Iterator[System]:
    with running(kafka, f"t{uuid.uuid4().hex[:12]}.", "two_brokers") as found:
        yield found


def begin(system: System, *more: object) -> str:
    code, out, err = hopline("begin", "--at", A, *SERVICES, *more, system=system)
    assert (code, err) == (0, "")
    return out.strip()


def lines(system: System, at: str, queue: str, *more: object) -> list[str]:
    args = ("--at", at, "--queue", queue, "--group", "g", "--timeout", int(DEADLINE), *more)
    code, out, err = hopline("receive", *args, system=system)
    assert code == 0, err
    return out.splitlines()


def test_a_dialog_from_the_first_statement_to_the_last(system: System, tmp_path: Path) -> None:
    dialog = begin(system)
    assert str(uuid.UUID(dialog)) == dialog
    on = ("--at", A, "--conversation", dialog)
    code, out, err = hopline("send", *on, "hello\nworld", system=system)
    assert (code, err) == (0, "")
    uuid.UUID(out.strip())  # the message's id
    file = tmp_path / "body"
    file.write_bytes(b"\xff\xfe")
    assert hopline("send", *on, "--file", file, system=system)[0] == 0
    assert hopline("send", *on, "-", system=system, stdin="grün".encode())[0] == 0
    assert hopline("send", *on, "", system=system)[0] == 0
    assert lines(system, B, "targetqueue", "--limit", 4) == [
        f'{dialog}     0  DEFAULT "hello\\nworld"',
        f"{dialog}     1  DEFAULT 0xfffe",
        f'{dialog}     2  DEFAULT "grün"',
        f'{dialog}     3  DEFAULT ""',
    ]
    reply = ("--at", B, "--conversation", dialog, "--target", "reply")
    code, out, _ = hopline("send", *reply, "--format", "json", system=system)
    answer = json.loads(out)
    assert (code, answer["number"], answer["conversation"]) == (0, 0, dialog)
    [line] = lines(system, A, "InitiatorQueue", "--limit", 1, "--format", "json")
    received = json.loads(line)
    assert received["message_id"] == answer["message_id"]
    assert received["body"] == {"size": 5, "text": "reply"}
    assert (received["target"], received["from_service"]) == (False, "TargetService")
    assert hopline("end", *on, system=system) == (0, "", "")
    ended = lines(system, B, "TargetQueue", "--limit", 1, "--end-when-ended")
    assert ended == [f"{dialog}     4  EndDialog"]
    until_stable(system.cluster, system.cluster.topics.dialog("ServerB"))
    states = ("query", "sys.conversation_endpoints", "--at", B, "--format", "json")
    rows = json.loads(hopline(*states, system=system)[1])
    assert [r["state"] for r in rows if r["conversation_id"] == dialog] == ["CD"]


@pytest.mark.long
def test_dialogs_of_one_group_are_received_together(system: System) -> None:
    """Those that were begun with its id, and those that were begun beside one of them."""
    group = uuid.uuid4()
    first = begin(system, "--conversation-group", group)
    related, alone = begin(system, "--related", first), begin(system)
    for dialog in (first, alone, related):
        on = ("--at", A, "--conversation", dialog)
        assert hopline("send", *on, "question", system=system)[0] == 0
    lines(system, B, "TargetQueue", "--limit", 3)
    for dialog in (alone, first, related):
        reply = ("--at", B, "--conversation", dialog, "--target")
        assert hopline("send", *reply, "one", system=system)[0] == 0
        assert hopline("send", *reply, "two", system=system)[0] == 0
    topic = system.cluster.topics.queue("ServerA", "DatabaseA", "InitiatorQueue")
    ours = (first, related, alone)
    system.records(topic, lambda found: found["conversation"] in ours, count=6)

    def received(limit: int, *where: object) -> list[tuple[str, str]]:
        args = ("--group", "related", "--limit", limit, *where)
        found = lines(system, A, "InitiatorQueue", *args, "--format", "json")
        messages = [json.loads(line) for line in found]
        return [(t["conversation"], t["body"]["text"]) for t in messages]

    next_group = ("--group", "related", "--next-group")
    [oldest] = lines(system, A, "InitiatorQueue", *next_group)
    assert str(uuid.UUID(oldest)) == oldest
    [row] = lines(system, A, "InitiatorQueue", *next_group, "--format", "json")
    assert json.loads(row) == {"conversation_group": oldest}
    assert received(2, "--conversation", related) == [(related, "one"), (related, "two")]
    assert received(1, "--conversation-group", group, "--top", 9) == [(first, "one")]
    assert received(1, "--conversation-group", group, "--top", 9) == [(first, "two")]
    both = [(alone, "one"), (alone, "two")]
    assert received(2, "--conversation", alone, "--top", 9) == both


def test_an_unknown_target_service_is_warned_of(system: System) -> None:
    """Service Broker allows it: the dialog begins all the same."""
    for to, hint in (("targetService", " Did you mean 'TargetService'?"), ("Zzz", "")):
        words = ("begin", "--at", A, "--from", "InitiatorService", "--to", to)
        code, out, err = hopline(*words, system=system)
        assert (code, err) == (0, f"hopline: warning: no database has a service '{to}'.{hint}\n")
        uuid.UUID(out.strip())


@pytest.mark.long
def test_a_timer_and_a_move(system: System) -> None:
    dialog, group = begin(system), uuid.uuid4()
    on = ("--at", A, "--conversation", dialog)
    assert hopline("timer", *on, 3600, system=system) == (0, "", "")
    assert hopline("move", *on, "--conversation-group", group, system=system) == (0, "", "")
    until_stable(system.cluster, system.cluster.topics.dialog("ServerA"))
    states = ("query", "sys.conversation_endpoints", "--at", A, "--format", "json")
    rows = json.loads(hopline(*states, system=system)[1])
    [row] = [row for row in rows if row["conversation_id"] == dialog]
    assert row["conversation_group_id"] == str(group)
    assert row["dialog_timer"] is not None
    assert hopline("timer", *on, 1, system=system) == (0, "", "")
    where = ("--limit", 1, "--conversation-group", group)
    assert lines(system, A, "InitiatorQueue", *where) == [f"{dialog}     0  DialogTimer"]


def test_a_body_is_printed_whole(system: System) -> None:
    """What was printed is committed: nothing of it may be left out, however narrow the terminal."""
    dialog = begin(system)
    on = ("--at", A, "--conversation", dialog)
    text, octets = "<order/>" * 400, b"\xff\x00" * 400
    assert hopline("send", *on, "-", system=system, stdin=text.encode())[0] == 0
    assert hopline("send", *on, "-", system=system, stdin=octets)[0] == 0
    assert lines(system, B, "TargetQueue", "--limit", 2) == [
        f'{dialog}     0  DEFAULT "{text}"',
        f"{dialog}     1  DEFAULT 0x{octets.hex()}",
    ]


@pytest.mark.long
def test_an_error_reaches_the_other_side_with_code_and_text(system: System) -> None:
    dialog = begin(system)
    on = ("--at", A, "--conversation", dialog)
    hopline("send", *on, "one", system=system)
    assert "one" in lines(system, B, "TargetQueue", "--limit", 1)[0]
    assert hopline("end", *on, "--error", 42, "no <more>", system=system)[0] == 0
    [line] = lines(system, B, "TargetQueue", "--limit", 1, "--end-when-ended")
    assert line.endswith("  Error 42: no <more>")


def test_cleanup_forgets_at_once(system: System) -> None:
    dialog = begin(system)
    on = ("--at", A, "--conversation", dialog)
    assert hopline("end", *on, "--cleanup", system=system)[0] == 0
    code, _, err = hopline("send", *on, "late", system=system)
    assert code == 1
    assert err.startswith("hopline: 8429: ")


@pytest.mark.parametrize("more", [("--timeout", 0.1), (), ("--next-group",)])
def test_receive_of_an_empty_queue_is_nothing(
    system: System, more: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.cli.dialogs.receive._WAIT", 3_600.0)  # it would not return
    args = ("--at", A, "--queue", "InitiatorQueue", "--group", "empty", "--from", "end", *more)
    assert hopline("receive", *args, system=system) == (0, "", "")


@pytest.mark.long
def test_receive_waits_for_a_number_of_messages(system: System) -> None:
    """The message that --limit asks for is sent after the end of the queue was read."""
    args = ("--at", B, "--queue", "TargetQueue", "--group", "waiting", "--from", "end")
    words = (sys.executable, "-m", "streams", "receive", *args, "--limit", "1", *system.options)
    topic = system.cluster.topics.queue("ServerB", "DatabaseB", "TargetQueue")
    dialog = begin(system)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as waiting:
        eventually(
            lambda: read_positions(system.cluster, "waiting", [topic]).get((topic, 0), -1) >= 0,
            "the group has its start position",
        )
        assert hopline("send", "--at", A, "--conversation", dialog, "late", system=system)[0] == 0
        assert waiting.communicate()[0] == f'{dialog}     0  DEFAULT "late"\n'
    assert waiting.returncode == 0


@pytest.mark.long
def test_a_record_that_is_no_queue_message_is_reported_and_skipped(system: System) -> None:
    dialog = begin(system)
    topic = system.cluster.topics.queue("ServerB", "DatabaseB", "TargetQueue")
    begin_at = f"0:{read_ends(system.cluster, [topic])[topic, 0]}"
    producer = system.cluster.producer()
    producer.produce(topic, key=b"?", value=b"rubbish")
    producer.flush()
    args = ("--at", B, "--queue", "TargetQueue", "--group", "rubbish", "--from", begin_at)
    more = ("--limit", "1", "--timeout", f"{DEADLINE:.0f}", *system.options)
    words = (sys.executable, "-m", "streams", "receive", *args, *more)
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as waiting:
        assert waiting.stderr is not None
        err = waiting.stderr.readline()  # it is reported when there is no message to receive
        hopline("send", "--at", A, "--conversation", dialog, "after it", system=system)
        out, _ = waiting.communicate()
    assert waiting.returncode == 1
    assert "after it" in out
    assert err.startswith(f"hopline: {topic}/0@")
    assert "a queue message without its conversation id" in err


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "number"),
    [
        (("begin", "--at", A, "--from", "Nobody", "--to", "TargetService"), 8423),
        (("begin", "--at", A, *SERVICES, "--contract", "Nothing"), 8425),
        (("begin", "--at", A, *SERVICES, "--lifetime", 0), 8411),
        (("begin", "--at", "ServerA/msdb", *SERVICES), 8423),
        (("send", "--at", A, "--conversation", uuid.uuid4(), "x"), 8426),
        (("send", "--at", A, "--conversation", "DIALOG", "--target", "x"), 8426),
        (("send", "--at", A, "--conversation", "DIALOG", "--type", "Nothing", "x"), 8428),
        (("send", "--at", A, "--conversation", "DIALOG", "--file", "BIG"), 8459),
        (("end", "--at", A, "--conversation", uuid.uuid4()), 8426),
        (("timer", "--at", A, "--conversation", uuid.uuid4(), 1), 8426),
        (
            (
                "move",
                "--at",
                A,
                "--conversation",
                uuid.uuid4(),
                "--conversation-group",
                uuid.uuid4(),
            ),
            8426,
        ),
        (("begin", "--at", A, *SERVICES, "--related", uuid.uuid4()), 8426),
        (("end", "--at", B, "--conversation", "DIALOG"), 8426),
    ],
)
def test_a_refused_statement_ends_with_its_number(
    system: System, tmp_path: Path, command: tuple[object, ...], number: int
) -> None:
    big = tmp_path / "big"
    big.write_bytes(bytes(LARGEST_BODY + 1))
    there = {"DIALOG": begin(system) if "DIALOG" in command else "", "BIG": str(big)}
    args = [there.get(str(arg), arg) for arg in command]
    code, out, err = hopline(*args, system=system)
    assert (code, out) == (1, "")
    assert err.startswith(f"hopline: {number}: ")
    code, out, _ = hopline(*args, "--format", "json", system=system)
    answer = json.loads(out)
    assert (code, answer["number"]) == (1, number)
    assert answer["text"]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("begin", "--at", "ServerX/DatabaseA", *SERVICES), "There is no instance 'ServerX'"),
        (("begin", "--at", "ServerA/DatabaseX", *SERVICES), "There is no database 'DatabaseX'"),
        (("begin", "--at", "ServerA", *SERVICES), "'ServerA' has no database; write"),
        (("send", "--at", A, "--conversation", "6f1c", "x"), "'6f1c' is not a GUID"),
        (("send", "--at", A, "--conversation", uuid.uuid4()), "Give the message's BODY"),
        (
            ("end", "--at", A, "--conversation", uuid.uuid4(), "--cleanup", "--error", 1, "x"),
            "--error and --cleanup cannot be combined",
        ),
        (("end", "--at", A, "--conversation", uuid.uuid4(), "--error", 0, "x"), "0 is not in"),
        (("receive", "--at", A, "--queue", "Initiator", "--group", "g"), "Did you mean"),
        (
            (
                "begin",
                "--at",
                A,
                *SERVICES,
                "--related",
                uuid.uuid4(),
                "--conversation-group",
                uuid.uuid4(),
            ),
            "--related and --conversation-group cannot be combined",
        ),
        (("timer", "--at", A, "--conversation", uuid.uuid4(), 0), "0 is not in the range"),
        (
            ("move", "--at", A, "--conversation", uuid.uuid4()),
            "Missing option '--conversation-group'",
        ),
        ((*RECEIVE, "--next-group", "--limit", 1), "--next-group cannot be combined"),
        ((*RECEIVE, "--target"), "--target needs --conversation"),
        (
            (*RECEIVE, "--conversation", uuid.uuid4(), "--conversation-group", uuid.uuid4()),
            "--conversation and --conversation-group cannot be combined",
        ),
    ],
)
def test_wrong_use_is_reported_before_anything_is_sent(
    system: System, command: tuple[object, ...], sentence: str
) -> None:
    code, out, err = hopline(*command, system=system)
    assert (code, out) == (2, "")
    assert sentence in err


def test_without_an_endpoint_worker_there_is_no_answer(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers", start=False) as quiet:
        code, out, err = hopline("begin", "--at", A, *SERVICES, "--timeout", 1, system=quiet)
    assert (code, out) == (3, "")
    assert "ServerA has not answered within 1 s." in err
    assert "hopline worker endpoint --instance ServerA" in err


def test_an_empty_cluster_is_reported_with_the_remedy(kafka: str, unique: str) -> None:
    options = ("--bootstrap", kafka, "--prefix", unique)
    code, _, err = hopline("begin", "--at", A, *SERVICES, *options)
    assert code == 3
    assert f"Topic {unique}catalog does not exist." in err
    assert "hopline apply TOPOLOGY" in err


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [
        ("begin", "--at", A, *SERVICES),
        ("send", "--at", A, "--conversation", uuid.uuid4(), "x"),
        ("end", "--at", A, "--conversation", uuid.uuid4()),
        ("query", "sys.routes"),
    ],
)
def test_a_broker_that_does_not_answer_is_one_sentence(command: tuple[object, ...]) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        code, out, err = hopline(*command, "--bootstrap", address, "--timeout", 1)
    assert (code, out) == (3, "")
    assert f"Kafka at {address} cannot be reached" in err
    assert "(gave up after 1 s)." in err


@pytest.mark.long
def test_commands_that_arrive_while_the_worker_is_away_are_not_lost(
    kafka: str, unique: str
) -> None:
    with running(kafka, unique, "two_brokers", start=False) as system:
        args = ("begin", "--at", A, *SERVICES, "--timeout", 0.5)
        assert hopline(*args, system=system)[0] == 3
        system.start("ServerA", roles=("endpoint",))
        begins = system.events(124, lambda e: e["state"] == "SO")
        rows = ("query", "sys.conversation_endpoints", "--format", "json")
        found = eventually(lambda: json.loads(hopline(*rows, system=system)[1]), "an endpoint")
        assert [r["conversation_id"] for r in found] == [begins[0]["conversation"]]
