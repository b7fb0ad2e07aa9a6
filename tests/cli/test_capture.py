"""`hopline capture` on a real broker: records exactly, each once, whoever is killed and when."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from streams.capture import CaptureReader, Record, TimestampType
from streams.capture.manifest import MANIFEST, Gap, read_manifest, total
from streams.kafka import Cluster, create, headers_of, read_all, topic_id, trim
from streams.wire import Topics, encode_catalog_object, encode_event
from streams.wire.evolution import schema_key
from streams.wire.id_secret import encode_secret, secret_key
from streams.wire.specs import TopicSpec
from tests.command import hopline
from tests.running import DEADLINE, eventually, until_stable
from tests.workers.raw_produce import produce_raw
from tests.workers.rig import pause
from tests.workers.tomorrow import newer, rewritten

KEPT = {"retention.ms": "-1"}
"""Records here are of long ago, and Kafka lets such go when it pleases."""
APPEND = {"message.timestamp.type": "LogAppendTime"}
AT = 1_767_600_000_000


def capture(cluster: Cluster, folder: Path, *words: object) -> tuple[int, str, str]:
    options = "--bootstrap", cluster.bootstrap, "--prefix", cluster.topics.prefix
    return hopline("capture", "--output", folder, *words, *options)


def captured(cluster: Cluster, folder: Path, *words: object, exits: int = 0) -> dict[str, Any]:
    code, out, err = capture(cluster, folder, *words, "--format", "json")
    assert code == exits, err
    answer: dict[str, Any] = json.loads(out)
    return answer


def made(kafka: str, prefix: str, partitions: int = 1) -> tuple[Cluster, str]:
    cluster = Cluster(kafka, Topics(prefix))
    topic = cluster.topics.cmd("ServerA")
    create(cluster, [TopicSpec(topic, "cmd", partitions, KEPT)])
    return cluster, topic


def records_in(cluster: Cluster, *topics: str) -> list[Record]:
    """Return what topics hold, read without anything of what records."""
    return [
        Record(
            m.topic(), m.partition(), m.offset(), m.timestamp()[1],
            TimestampType(m.timestamp()[0] - 1), m.key(), tuple(headers_of(m)), m.value(),
        )
        for topic in topics
        for m in read_all(cluster, topic)
    ]  # fmt: skip


def by_place(records: Sequence[Record]) -> dict[tuple[str, int], list[Record]]:
    found: dict[tuple[str, int], list[Record]] = {}
    for one in records:
        found.setdefault((one.topic, one.partition), []).append(one)
    return found


def fill(cluster: Cluster, topic: str, count: int, size: int = 20) -> None:
    producer = cluster.producer()
    for n in range(count):
        producer.produce(topic, key=b"k%d" % n, value=b"%d" % n + b"x" * size, timestamp=AT + n)
        producer.poll(0)
    assert producer.flush(60) == 0


# --- what is in it -------------------------------------------------------------------------------


def test_records_are_captured_exactly(tmp_path: Path, kafka: str, unique: str) -> None:
    cluster, topic = made(kafka, unique, 3)
    event = cluster.topics.event
    create(cluster, [TopicSpec(event, "event", 1, APPEND)])
    producer = cluster.producer()
    many = [("h", None), ("h", b""), ("a", b"1"), ("h", b"\xff\0"), ("ä", b"x" * 20_000)]
    for partition in range(3):
        for value in (None, b"", b"\xff" * 70_000, b"v"):
            for key in (None, b"", b"k"):
                for headers in ([], many):
                    producer.produce(
                        topic, value, key, partition, timestamp=AT - partition, headers=headers
                    )
    producer.produce(event, b"e", timestamp=AT)
    producer.flush()
    answer = captured(cluster, tmp_path / "c")
    expected = by_place(records_in(cluster, topic, event))
    reader = CaptureReader(tmp_path / "c")
    assert by_place(list(reader)) == expected
    assert {len(of) for of in expected.values()} == {24, 1}
    [appended] = expected[event, 0]
    assert appended.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert (answer["records"], answer["complete"], answer["topics"]) == (73, True, 2)
    assert reader.metadata.prefix == unique


def test_only_what_is_committed(tmp_path: Path, kafka: str, unique: str) -> None:
    cluster, topic = made(kafka, unique)
    producer = cluster.producer(transactional_id=f"{unique}p")
    producer.init_transactions()
    for word in (b"in", b"never", b"in too"):
        producer.begin_transaction()
        producer.produce(topic, word)
        producer.flush()
        (producer.abort_transaction if word == b"never" else producer.commit_transaction)()
    until_stable(cluster, topic)
    captured(cluster, tmp_path / "c")
    assert [(r.offset, r.value) for r in CaptureReader(tmp_path / "c")] == [
        (0, b"in"), (4, b"in too"),
    ]  # fmt: skip


def test_unreadable_headers_are_reported(tmp_path: Path, kafka: str, unique: str) -> None:
    cluster, topic = made(kafka, unique)
    fill(cluster, topic, 3)
    produce_raw(kafka, topic, b"k", b"v", [(b"\xff", b"2")])
    fill(cluster, topic, 3)
    code, out, _ = capture(cluster, tmp_path / "c")
    assert code == 1
    assert "1 record without headers: a header name is not UTF-8" in " ".join(out.split())
    records = list(CaptureReader(tmp_path / "c"))
    assert [r.offset for r in records] == list(range(7))
    assert (records[3].value, records[3].headers) == (b"v", ())


# --- which ---------------------------------------------------------------------------------------


@pytest.mark.long
def test_topics_are_chosen(tmp_path: Path, kafka: str, unique: str) -> None:
    cluster = Cluster(kafka, Topics(unique))
    names = cluster.topics
    all_of = [names.cmd("A"), names.cmd("B"), names.out("A"), names.event, names.presence]
    others = [f"{unique}other"]
    create(cluster, [TopicSpec(name, "cmd", 1, KEPT) for name in (*all_of, *others)])
    for name in (*all_of, *others):
        fill(cluster, name, 1)

    def topics(*words: str) -> set[str]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        captured(cluster, folder, *words)
        return {record.topic.removeprefix(unique) for record in CaptureReader(folder)}

    assert topics() == {"cmd.A", "cmd.B", "out.A", "event"}, "but what processes say every second"
    assert topics("--topic", "presence", "--topic", "cmd.*") == {"presence", "cmd.A", "cmd.B"}
    assert topics("--topic", f"{unique}other") == {"other"}
    assert topics("--instance", "A") == {"cmd.A", "out.A"}
    assert topics("--instance", "A", "--topic", "cmd.*") == {"cmd.A"}
    for words, complaint in (
        (("--instance", "C"), "no topics of instance 'C'"),
        (("--topic", "nonsense*"), "No topic matches 'nonsense*'"),
    ):
        code, _, err = capture(cluster, tmp_path / "none", *words)
        assert (code, complaint in err) == (2, True), err
        assert not (tmp_path / "none").exists()
    code, _, err = capture(cluster, tmp_path / "none", "--topology", "two_brokers")
    assert code == 3
    assert "does not exist" in err
    assert "apply" in err


@pytest.mark.parametrize("prefix", ["", "other."])
def test_no_secret_is_captured(tmp_path: Path, kafka: str, unique: str, prefix: str) -> None:
    """Also in another system's topics, and whether it is the last record or not."""
    cluster, names = Cluster(kafka, Topics(unique)), Topics(f"{unique}{prefix}")
    topic, other = names.reading("A"), names.cmd("A")
    create(cluster, [TopicSpec(name, "reading", 1, KEPT) for name in (topic, other)])
    secret = secret_key(uuid.uuid4(), "orders")
    producer = cluster.producer()
    for name, key in ((topic, secret), (topic, b"t/0/g"), (topic, secret), (other, secret)):
        producer.produce(name, key=key, value=encode_secret(bytes(range(32))))
    assert producer.flush(60) == 0
    answer = captured(cluster, tmp_path / "c", "--topic", topic, "--topic", other)
    assert [(r.topic, r.key) for r in CaptureReader(tmp_path / "c") if r.topic == topic] == [
        (topic, b"t/0/g")
    ]
    assert (answer["records"], answer["complete"]) == (2, True)


@pytest.mark.long
def test_a_topology_selects_the_topics(tmp_path: Path, kafka: str, unique: str) -> None:
    options = "--bootstrap", kafka, "--prefix", unique
    assert hopline("apply", "two_brokers", *options)[0] == 0
    cluster = Cluster(kafka, Topics(unique))
    create(cluster, [TopicSpec(cluster.topics.cmd("Else"), "cmd", 1, KEPT)])
    fill(cluster, cluster.topics.cmd("Else"), 1)
    fill(cluster, cluster.topics.cmd("ServerA"), 1)
    captured(cluster, tmp_path / "c", "--topology", "two_brokers", "--topic", "cmd.*")
    reader = CaptureReader(tmp_path / "c")
    assert {record.topic for record in reader} == {cluster.topics.cmd("ServerA")}
    assert reader.metadata.topology == "two_brokers"


@pytest.mark.long
def test_from_and_to_by_offset_and_time(tmp_path: Path, kafka: str, unique: str) -> None:
    cluster, topic = made(kafka, unique, 2)
    other = cluster.topics.out("ServerA")
    create(cluster, [TopicSpec(other, "out", 1, KEPT)])
    producer = cluster.producer()
    for n in range(10):
        for name, partition in ((topic, 0), (topic, 1), (other, 0)):
            producer.produce(name, b"%d" % n, partition=partition, timestamp=AT + 1000 * n)
    producer.flush()

    def spans(*words: str) -> dict[str, tuple[int, int]]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        captured(cluster, folder, *words)
        found = by_place(list(CaptureReader(folder)))
        short = {topic: "cmd", other: "out"}
        return {f"{short[t]}{p}": (of[0].offset, of[-1].offset) for (t, p), of in found.items()}

    assert spans("--since", "@7") == {"cmd0": (7, 9), "cmd1": (7, 9), "out0": (7, 9)}
    assert spans("--since", f"{topic}/1@4", "--until", f"{topic}@6") == {
        "cmd0": (0, 5), "cmd1": (4, 5), "out0": (0, 9),
    }  # fmt: skip
    assert spans(
        "--since", "2026-01-05T08:00:03Z", "--until", "2026-01-05T08:00:05.500Z"
    ) == dict.fromkeys(("cmd0", "cmd1", "out0"), (3, 5))
    for words, complaint in (
        (("--since", "@11"), "has no offset 11 yet: it ends at 10"),
        (("--since", "nothing@1"), "--since names nothing, which is not recorded"),
        (("--since", "soon"), "neither a time"),
        (("--until", "2999-01-01"), "--until is in the future"),
        (("--until", "@1", "--follow"), "--follow and --until cannot be combined"),
    ):
        code, _, err = capture(cluster, tmp_path / "none", *words)
        assert (code, complaint in err) == (2, True), err


# --- what is gone --------------------------------------------------------------------------------


@pytest.mark.long
def test_what_was_trimmed_before_it_could_be_read_is_counted(
    tmp_path: Path, kafka: str, unique: str
) -> None:
    cluster, topic = made(kafka, unique)
    fill(cluster, topic, 100)
    trim(cluster, {(topic, 0): 70})
    answer = captured(cluster, tmp_path / "c", "--since", f"{topic}@20", exits=1)
    assert answer["gaps"] == [{"topic": topic, "partition": 0, "begin": 20, "end": 70}]
    assert [r.offset for r in CaptureReader(tmp_path / "c")] == list(range(70, 100))
    assert read_manifest(tmp_path / "c").gaps == (Gap(topic, 0, 20, 70),)
    trim(cluster, {(topic, 0): 100})
    code, out, err = capture(cluster, tmp_path / "d", "--since", "@0")
    assert code == 1
    assert "offsets 0 to 99 were deleted before they were read: at most 100 records lost" in out
    assert out.count("offsets 0") == err.count("offsets 0") == 1
    assert captured(cluster, tmp_path / "e")["gaps"] == [], "who asks for what is there loses none"


# --- again and again -----------------------------------------------------------------------------


@contextmanager
def following(cluster: Cluster, folder: Path, *words: object) -> Iterator[subprocess.Popen[str]]:
    command = [
        sys.executable, "-m", "streams", "capture", "--output", str(folder), "--follow",
        "--bootstrap", cluster.bootstrap, "--prefix", cluster.topics.prefix, *map(str, words),
    ]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def parts_in(folder: Path) -> int:
    pause()
    return len(read_manifest(folder).parts) if (folder / MANIFEST).exists() else 0


@pytest.mark.long
def test_one_that_is_killed_goes_on_with_each_record_once(
    tmp_path: Path, kafka: str, unique: str
) -> None:
    cluster, topic = made(kafka, unique, 2)
    folder = tmp_path / "c"
    for parts in (2, 5):
        fill(cluster, topic, 12_000, size=400)
        with following(cluster, folder, "--part-size", 1) as process:
            eventually(lambda parts=parts: parts_in(folder) >= parts, "parts")
            process.send_signal(signal.SIGKILL)
            process.wait()
        found = read_manifest(folder)
        assert not found.complete
        assert CaptureReader(folder).counts is None
    answer = captured(cluster, folder, "--part-size", 1)
    assert answer["complete"]
    assert answer["recorded"] < answer["records"] == 24_000, "what was there was not read again"
    assert by_place(list(CaptureReader(folder))) == by_place(records_in(cluster, topic))
    assert {p.suffix for p in folder.iterdir()} == {".avro", ".json"}, "and nothing else is left"


@pytest.mark.long
def test_following_ends_with_a_signal_and_completes(
    tmp_path: Path, kafka: str, unique: str
) -> None:
    cluster, topic = made(kafka, unique)
    fill(cluster, topic, 10)
    folder = tmp_path / "c"
    for number, new, expected in ((signal.SIGTERM, 20, 20), (signal.SIGINT, 10, 30)):
        with following(cluster, folder) as process:
            fill(cluster, topic, 10)
            assert process.stderr is not None
            for line in process.stderr:
                if f"capture: {new} records," in line:
                    break
            process.send_signal(number)
            out, err = process.communicate(timeout=DEADLINE)
        assert process.returncode == 0, err
        assert f"{expected} records of 1 topic" in out
        assert CaptureReader(folder).counts.records == expected
    assert list(CaptureReader(folder)) == records_in(cluster, topic)


@pytest.mark.long
def test_following_notices_topics_that_come_into_being(
    tmp_path: Path, kafka: str, unique: str
) -> None:
    """From their beginnings, what --since leaves out of others; whoever is killed goes on, too."""
    cluster, first = made(kafka, unique)
    queue, other = cluster.topics.queue("ServerA", "A", "Q"), cluster.topics.cmd("ServerB")
    later, folder = cluster.topics.queue("ServerA", "A", "Later"), tmp_path / "c"
    words = "--since", "@10", "--instance", "ServerA"
    fill(cluster, first, 12)

    def appear(topic: str, kind: str, partitions: int) -> None:
        create(cluster, [TopicSpec(topic, kind, partitions, KEPT)])
        fill(cluster, topic, 5)

    def known() -> set[str]:
        pause()
        found = read_manifest(folder).recording if (folder / MANIFEST).exists() else None
        return set() if found is None else set(found.topics)

    with following(cluster, folder, *words) as process:
        eventually(lambda: known() == {first}, "its beginning")
        appear(other, "cmd", 1)
        appear(queue, "queue", 3)
        eventually(lambda: known() == {first, queue}, "the new topic")
        process.kill()
        process.wait()
    appear(later, "queue", 1)
    left = 12 - total(read_manifest(folder).parts).records
    with following(cluster, folder, *words) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if f"capture: {left} records," in line:
                break
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, err
    assert "12 records of 3 topics" in out
    assert known() == {first, queue, later}
    expected = [*records_in(cluster, first)[10:], *records_in(cluster, queue, later)]
    assert by_place(list(CaptureReader(folder))) == by_place(expected)


def test_a_complete_one_is_complete(tmp_path: Path, kafka: str, unique: str) -> None:
    cluster, topic = made(kafka, unique)
    fill(cluster, topic, 10)
    captured(cluster, tmp_path / "c")
    before = (tmp_path / "c" / MANIFEST).read_bytes()
    fill(cluster, topic, 10)
    code, out, _ = capture(cluster, tmp_path / "c")
    assert code == 0
    assert "is already complete: 10 records of 1 topic in 1 part" in out
    assert (tmp_path / "c" / MANIFEST).read_bytes() == before


def interrupted(folder: Path) -> None:
    found = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(found | {"complete": False}))


@pytest.mark.long
def test_only_the_same_goes_on(tmp_path: Path, kafka: str, unique: str) -> None:
    cluster, topic = made(kafka, unique)
    fill(cluster, topic, 10)
    folder = tmp_path / "c"
    captured(cluster, folder, "--since", "@3")
    interrupted(folder)
    code, _, err = capture(cluster, folder, "--since", "@2")
    assert code == 2
    assert "was started with --since @3, not with @2" in err
    before = topic_id(cluster, topic)
    admin = cluster.admin()  # while it is held, the answer can come
    for future in admin.delete_topics([topic]).values():
        future.result()

    def again() -> bool:
        create(cluster, [TopicSpec(topic, "cmd", 1, KEPT)])
        return topic_id(cluster, topic) != before

    eventually(again, "a new topic")
    fill(cluster, topic, 10)
    code, _, err = capture(cluster, folder, "--since", "@3")
    assert code == 2
    assert "has been recreated" in err
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "letter.txt").write_text("dear")
    code, _, err = capture(cluster, tmp_path / "d")
    assert code == 2
    assert "is not empty" in err


@pytest.mark.long
def test_two_do_not_write_into_one_folder(tmp_path: Path, kafka: str, unique: str) -> None:
    cluster, topic = made(kafka, unique)
    fill(cluster, topic, 10)
    with following(cluster, tmp_path / "c"):
        eventually(lambda: pause() or (tmp_path / "c" / MANIFEST).exists(), "its beginning")
        code, _, err = capture(cluster, tmp_path / "c", "--follow")
    assert code == 2
    assert "another process is writing a capture there" in err


# --- words ---------------------------------------------------------------------------------------


def test_no_kafka_and_no_folder(tmp_path: Path) -> None:
    nowhere = Cluster("127.0.0.1:1", Topics("x."))
    code, _, err = capture(nowhere, tmp_path / "c", "--timeout", "1")
    assert code == 3
    assert "cannot be reached" in err
    assert not (tmp_path / "c").exists()
    assert hopline("capture")[0] == 2
    code, _, err = hopline("capture", "--output", tmp_path / "c", "slice", "x", "--output", "y")
    assert (code, "Write it after" in err) == (2, True)


@pytest.mark.long
def test_schemas_of_tomorrow_travel_with_the_records(
    tmp_path: Path, kafka: str, unique: str
) -> None:
    """In another process, which knows nothing of them but what the capture has."""
    options = "--bootstrap", kafka, "--prefix", unique
    assert hopline("apply", "two_brokers", *options)[0] == 0
    cluster = Cluster(kafka, Topics(unique))
    schema = newer("Event")
    event = encode_event({"event": 124, "at": AT, "instance": "ServerA"})
    producer = cluster.producer()
    producer.produce(
        cluster.topics.catalog, encode_catalog_object(2, json.dumps(schema)), schema_key(schema)
    )
    producer.produce(cluster.topics.event, rewritten(event, schema), b"")
    producer.flush()
    captured(cluster, tmp_path / "c")
    assert hopline("capture", "slice", tmp_path / "c", "--output", tmp_path / "s.avro")[0] == 0
    for path in (tmp_path / "c", tmp_path / "s.avro"):
        command = [sys.executable, "-m", "streams", "inspect", str(path), "--records"]
        where = ["--where", "kind = 'event'", "--format", "json"]
        done = subprocess.run(
            [*command, *where], capture_output=True, text=True, check=True, env=os.environ
        )
        [line] = map(json.loads, done.stdout.splitlines())
        assert line["event"]["name"] == "Broker:Conversation", line
