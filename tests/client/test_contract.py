"""docs/command_contract.md is true: its bytes, its numbers, and a Java client that keeps to it."""

from __future__ import annotations

import re
import subprocess
import uuid
from pathlib import Path

import pytest

from streams.embedded import find_java, kafka_jars
from streams.errors import text_of
from streams.protocol import Cause, CommandKind, Source
from streams.protocol.seen import KEPT
from streams.schema import load
from streams.wire.commands import CAUSE, COMMAND, RESULT, decode_cause, decode_result
from streams.wire.partition import partition_of
from streams.wire.records import read_command
from streams.wire.topics import Topics
from tests.running import DEADLINE, running

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "command_contract.md"
PROGRAM = ROOT / "docs" / "examples" / "command_client" / "CommandClient.java"
AT_B = ("ServerB", "DatabaseB")


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def examples(page: str) -> dict[str, bytes]:
    """Return the examples in hex by their names, spaces and comments left out."""
    found = re.findall(r"^### (.+?)\n.*?```hex\n(.*?)```", page, re.MULTILINE | re.DOTALL)
    return {
        name: bytes.fromhex("".join(line.partition("#")[0] for line in text.splitlines()))
        for name, text in found
    }


def test_the_prefixes_are_those_of_the_schemas(page: str) -> None:
    assert f"`{COMMAND.prefix.hex()}`" in page
    assert f"`{RESULT.prefix.hex()}`" in page
    assert f"`{CAUSE.prefix.hex()}`" in page
    assert COMMAND.prefix.hex() in PROGRAM.read_text(encoding="utf-8")


def test_the_table_has_every_field_in_order(page: str) -> None:
    section = page.partition("## The header `sb-command`")[2].partition("\n## ")[0]
    schema = load(COMMAND.name)
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [
        field["name"] for field in schema["fields"]
    ]


def test_the_table_of_the_cause_has_every_field_in_order(page: str) -> None:
    section = page.partition("## Repeated statements")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(CAUSE.names)
    cause = decode_cause(examples(page)["Cause"])
    source = Source("shop", "billing", uuid.UUID("00112233-4455-6677-8899-aabbccddeeff"), 3)
    assert cause == Cause(source, 70, 2)
    assert f"the last {KEPT} statements" in section


def test_the_examples_are_what_they_say(page: str) -> None:
    found = examples(page)
    key, said_at = "6f1c2f0e-3d52-4f0b-9a51-0d3b8a6f2b11", 1795255675198
    begin = read_command(key, None, [("sb-command", found["BEGIN"])], 0)
    send = read_command(key, b"hello", [("sb-command", found["SEND"])], 0)
    end = read_command(key, None, [("sb-command", found["END"])], 0)
    result = decode_result(found["Result"])
    kinds = (CommandKind.BEGIN, CommandKind.SEND, CommandKind.END)
    assert tuple(c.kind for c in (begin, send, end)) == kinds
    assert {(c.database, c.from_initiator, c.issued_at) for c in (begin, send, end)} == {
        ("DatabaseA", True, said_at)
    }
    assert (begin.from_service, begin.to_service) == ("InitiatorService", "TargetService")
    assert (begin.reply_to, send.reply_to) == ("java/1", None)
    assert send.type == "Question"
    assert (end.error_code, end.error_text) == (42, "no")
    assert (result.command_id, result.number) == (begin.command_id, 2601)
    assert result.conversation == uuid.UUID(key)


def test_the_partitions_and_topics_are_what_they_say(page: str) -> None:
    rows = re.findall(r"^\| `([0-9a-f-]{36})` \| (\d+) \| (\d+) \| (\d+) \|", page, re.MULTILINE)
    assert len(rows) == 3
    for key, *partitions in rows:
        counts = (2, 3, 12)
        assert [partition_of(uuid.UUID(key), n) for n in counts] == list(map(int, partitions))
    names = re.findall(r"^\| `(.+?)` \| `(ssb\.cmd\..+?)` \|", page, re.MULTILINE)
    assert len(names) == 3
    assert all(Topics().cmd(instance) == topic for instance, topic in names)


def test_the_numbers_mean_what_they_say(page: str) -> None:
    section = page.partition("## Numbers")[2]
    rows = re.findall(r"^\| (\d+) \| (.+?) \|", section, re.MULTILINE)
    assert len(rows) > 15
    assert all(text_of(int(number)) == text for number, text in rows)


@pytest.mark.long
def test_a_client_of_another_language_begins_sends_ends_and_is_refused(
    kafka: str, unique: str
) -> None:
    assert len(PROGRAM.read_text(encoding="utf-8").splitlines()) <= 60
    with running(kafka, unique, "two_brokers") as system:
        jars = ":".join(map(str, kafka_jars()))
        command = [str(find_java().path), "-cp", jars, str(PROGRAM), kafka, unique]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=DEADLINE, check=False
        )
        if "compiler" in done.stderr and done.returncode:
            pytest.fail("This test needs a JDK: the Java here runs no source.", pytrace=False)
        assert done.returncode == 0, done.stderr
        said = [line.split() for line in done.stdout.splitlines()]
        assert [(kind, number) for kind, _, number in said] == [
            *(("0", "0"), ("1", "0"), ("2", "0")),
            ("2", "8427"),  # ended already
        ]
        [hello, end] = system.received(*AT_B, "TargetQueue", 2)
        assert (hello.body, str(hello.conversation.id)) == (b"hello from Java", said[0][1])
        assert end.ends_dialog
