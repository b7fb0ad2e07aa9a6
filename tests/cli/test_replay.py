"""`hopline replay`, against a real broker: what arrives, what is printed, how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from streams.capture import (
    CaptureOrigin,
    CaptureReader,
    CaptureWriter,
    Metadata,
    Record,
    TimestampType,
)
from streams.capture.generate import Traffic, write_traffic
from streams.cli import main
from streams.kafka import Cluster, Message, create, read_all
from streams.protocol.command import Command
from streams.wire import Topics, decode_command
from streams.wire.specs import TopicSpec
from tests.running import DEADLINE
from tests.terminal import at_terminal

SMALL = Traffic(dialogs=20, messages=200, duration=1_000)


def run(*args: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["replay", *map(str, args)])
    return result.exit_code, result.stdout, result.stderr


def made(kafka: str, prefix: str, partitions: int = 1) -> tuple[Cluster, str]:
    cluster = Cluster(kafka, Topics(prefix))
    topic = cluster.topics.cmd("ServerA")
    create(cluster, [TopicSpec(topic, "cmd", partitions, {"max.message.bytes": "100000"})])
    return cluster, topic


def fields(message: Message) -> tuple[Any, ...]:
    return message.key(), message.headers() or [], message.value()


def commands(rows: list[tuple[Any, ...]]) -> list[Command]:
    """Decode, without the time at which the command was issued: a replay issues it now."""
    return [
        decode_command(headers[0][1], uuid.UUID(key.decode()), value, 0)._replace(issued_at=0)
        for key, headers, value in rows
    ]


def test_every_command_arrives_as_it_was_in_the_order_of_its_dialog(
    tmp_path: Path, kafka: str, unique: str
) -> None:
    path = tmp_path / "t.avro"
    write_traffic(path, SMALL)
    cluster, topic = made(kafka, unique, partitions=3)
    before = time.time_ns() // 1_000_000
    code, out, err = run(
        path, "--bootstrap", kafka, "--prefix", unique, "--asap", "--format", "json"
    )
    assert code == 0, err
    result = json.loads(out)
    assert (result["sent"], result["delivered"], result["failed"]) == (240, 240, 0)
    assert (result["dialogs"], result["stopped"]) == (20, False)
    assert "240 of 240 records" in err

    messages = list(read_all(cluster, topic, to_high=True))
    arrived, captured = defaultdict(list), defaultdict(list)
    for message in messages:
        arrived[message.key()].append(fields(message))
        assert message.timestamp()[1] >= before
        raw = dict(fields(message)[1])["sb-command"]
        issued = decode_command(raw, uuid.UUID(int=0), None, 0).issued_at
        assert before <= issued <= message.timestamp()[1] + 1
    for record in CaptureReader(path):
        captured[record.key].append((record.key, list(record.headers), record.value))
    assert arrived.keys() == captured.keys()
    for key, rows in captured.items():
        assert commands(arrived[key]) == commands(rows)
    assert len({message.partition() for message in messages}) == 3


@pytest.mark.parametrize("raw", [(), ("--raw",)])
def test_at_a_terminal_it_asks_before_it_sends(
    tmp_path: Path, kafka: str, unique: str, raw: tuple[str, ...]
) -> None:
    path = tmp_path / "t.avro"
    write_traffic(path, SMALL)
    cluster, topic = made(kafka, unique, partitions=3)
    words = ("replay", path, "--bootstrap", kafka, "--prefix", unique, *raw)
    code, shown = at_terminal(*words, typed="n\n")
    what = "restore 240 records into topics 1" if raw else (
        "send 240 commands of 20 dialogs with their original ids to 1"
    )  # fmt: skip
    where = f"Kafka at {kafka}, cluster id {cluster.id()}:\n"
    assert f"{where}  {what}: {topic}\nContinue? [y/N]: Nothing was changed.\n" in shown
    assert (code, list(read_all(cluster, topic, to_high=True))) == (1, [])


def test_what_is_no_command_of_ours_arrives_byte_for_byte(
    tmp_path: Path, kafka: str, unique: str
) -> None:
    cluster, topic = made(kafka, unique)
    headers = (("h", None), ("sb-command", b"garbage"), ("h", b""), ("h", b"2"))
    records = [
        Record(topic, 0, 0, 5, TimestampType.CREATE_TIME, None, (), None),
        Record(topic, 0, 1, 5, TimestampType.CREATE_TIME, b"", headers, b""),
        Record(topic, 0, 2, -1, TimestampType.NONE, b"\xff", headers[1:], b"\x00body"),
    ]
    other = replace(records[0], topic=f"{unique}in.ServerA")
    with CaptureWriter(tmp_path / "c", Metadata(CaptureOrigin.CAPTURED, unique, "", 0)) as writer:
        for record in [*records, other]:
            writer.write(record)
    code, out, err = run(tmp_path / "c", "--bootstrap", kafka)
    assert code == 0, err
    assert "3 of 3 commands delivered" in out
    assert "1 other record skipped" in out
    assert [fields(message) for message in read_all(cluster, topic, to_high=True)] == [
        (record.key, list(record.headers), record.value) for record in records
    ]


def test_speed_shortens_the_time(tmp_path: Path, kafka: str, unique: str) -> None:
    path = tmp_path / "t.avro"
    write_traffic(path, replace(SMALL, prefix=unique))
    made(kafka, unique)
    code, out, _ = run(path, "--bootstrap", kafka, "--speed", "4", "--format", "json")
    assert code == 0
    counts = CaptureReader(path).counts
    assert counts is not None
    assert json.loads(out)["seconds"] >= (counts.last - counts.first) / 1000 / 4


def test_a_rejected_record_is_named_and_fails_the_replay(
    tmp_path: Path, kafka: str, unique: str
) -> None:
    cluster, topic = made(kafka, unique)
    small = Record(topic, 0, 0, 5, TimestampType.CREATE_TIME, b"a", (), b"x")
    # The first is too large for the topic, the second for the client.
    records = [
        small,
        replace(small, key=b"big", value=os.urandom(200_000)),
        replace(small, key=b"huge", value=os.urandom(2_000_000)),
    ]
    with CaptureWriter(tmp_path / "c", Metadata(CaptureOrigin.CAPTURED, unique, "", 0)) as writer:
        for record in records:
            writer.write(record)
    code, out, err = run(tmp_path / "c", "--bootstrap", kafka, "--speed", "1")
    assert code == 1
    assert "failed" in out
    assert "record 3 (" in err and "huge" in err
    code, out, _ = run(tmp_path / "c", "--bootstrap", kafka, "--format", "json")
    result = json.loads(out)
    assert code == 1
    assert result["failed"] == len(result["rejections"]) >= 2
    assert result["delivered"] + result["failed"] == result["sent"] == 3
    keys = [message.key() for message in read_all(cluster, topic, to_high=True)]
    assert b"big" not in keys and b"huge" not in keys


def test_a_missing_topic_is_named_before_anything_is_sent(
    tmp_path: Path, kafka: str, unique: str
) -> None:
    write_traffic(tmp_path / "t", SMALL)
    code, out, err = run(tmp_path / "t", "--bootstrap", kafka, "--prefix", unique)
    assert (code, out) == (3, "")
    assert f"Topic {unique}cmd.ServerA does not exist" in err
    assert "hopline apply" in err
    existing = Cluster(kafka).admin().list_topics(timeout=DEADLINE).topics
    assert f"{unique}cmd.ServerA" not in existing


def test_a_broker_that_is_not_there(tmp_path: Path) -> None:
    write_traffic(tmp_path / "t", SMALL)
    code, out, err = run(tmp_path / "t", "--bootstrap", "127.0.0.1:1", "--timeout", "1s")
    assert (code, out) == (3, "")
    assert "Kafka at 127.0.0.1:1 cannot be reached" in err
    assert "gave up after 1 s" in err


def test_an_interrupt_ends_with_what_was_sent(tmp_path: Path, kafka: str, unique: str) -> None:
    path = tmp_path / "t.avro"
    write_traffic(path, replace(SMALL, prefix=unique, duration=600_000))
    cluster, topic = made(kafka, unique)
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from streams.cli import main; main()",
            *("replay", str(path), "--bootstrap", kafka, "--format", "json"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith(f"Kafka at {kafka}, cluster id ")
    assert process.stderr.readline().startswith("  send 240 commands ")
    while re.match("replay: +0 of", line := process.stderr.readline()):
        pass  # on a loaded machine the first line may come before the first record
    assert "records" in line, "the replay has begun"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130, err
    result = json.loads(out)
    assert result["stopped"]
    assert 0 < result["delivered"] == result["sent"] < 240
    assert len(list(read_all(cluster, topic, to_high=True))) == result["sent"]


def test_a_capture_without_commands(tmp_path: Path) -> None:
    record = Record("ssb.in.A", 0, 0, 5, TimestampType.CREATE_TIME, b"a", (), b"x")
    with CaptureWriter(tmp_path / "c", Metadata(CaptureOrigin.CAPTURED, "ssb.", "", 0)) as writer:
        writer.write(record)
    code, _, err = run(tmp_path / "c", "--bootstrap", "127.0.0.1:1")
    assert code == 2
    assert "but no commands" in err


def test_a_damaged_file_sends_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write_traffic(path, SMALL)
    path.write_bytes(path.read_bytes()[:-200])
    code, _, err = run(path, "--bootstrap", "127.0.0.1:1")
    assert code == 2
    assert str(path) in err and "cannot be read" in err


@pytest.mark.parametrize(
    "args, message",
    [
        (["--speed", "2", "--asap"], "cannot be combined"),
        (["--speed", "0"], "is not a valid speed"),
        (["--speed", "nan"], "is not a valid speed"),
    ],
)
def test_wrong_use(tmp_path: Path, args: list[str], message: str) -> None:
    write_traffic(tmp_path / "t", SMALL)
    code, out, err = run(tmp_path / "t", "--bootstrap", "127.0.0.1:1", *args)
    assert (code, out) == (2, "")
    assert message in err
