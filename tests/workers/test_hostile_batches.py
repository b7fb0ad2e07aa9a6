"""Batches that no client sends stop nobody, and let nobody skip an honest record (decision 46)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

import pytest

from streams.kafka import Message, read_all, recent_records, stalled_fetch
from streams.kafka.follow import raw_record
from streams.monitor.look import Eye
from streams.protocol import Command, CommandKind
from streams.wire.describe import Description, describe
from streams.wire.records import command_record
from tests.kafka.raw_batch import FAR, LZ4, UNCOMPRESSED, append, batch, disguised, record
from tests.kafka.raw_transaction import RawTransactions
from tests.running import System, running
from tests.workers.rig import QUICK
from tests.workers.test_hostile import flows

KINDS = [
    ("cmd", "ServerA"),
    pytest.param("txq", "ServerB", marks=pytest.mark.long),
    ("presence", None),
    pytest.param("catalog", None, marks=pytest.mark.long),
    pytest.param("out", "ServerA", marks=pytest.mark.long),
    pytest.param("in", "ServerB", marks=pytest.mark.long),
    pytest.param("ack", "ServerA", marks=pytest.mark.long),
]


@pytest.fixture(scope="module")
def system(kafka: str) -> Iterator[System]:
    with running(kafka, f"t{uuid.uuid4().hex[:12]}.", "two_brokers") as found:
        yield found


def topic_of(system: System, kind: str, instance: str | None) -> str:
    topics = system.cluster.topics
    return f"{topics.prefix}{kind}" if instance is None else topics.name(kind, instance)


@pytest.mark.parametrize(("kind", "instance"), KINDS)
def test_wrong_offsets_and_unreadable_batches_stop_nobody(
    kafka: str, system: System, kind: str, instance: str | None
) -> None:
    topic = topic_of(system, kind, instance)
    codec = UNCOMPRESSED if kind in ("cmd", "presence", "catalog") else LZ4
    far = batch(record(0, far=True), codec=codec)
    bad = [far, far]
    if codec == LZ4:
        bad += [batch(*disguised(delta, b"lie")) for delta in (3, 1_000)]
        bad += [batch(record(0), record(1), behind=b"x"), far]
    elif kind == "cmd":
        bad += [batch(record(0), record(delta), codec=codec) for delta in (3, 1_000)]
        bad.append(batch(*(record(delta) for delta in range(10, 21)), codec=codec))
    for one in bad:
        append(kafka, topic, one)
        flows(system)
    for one in bad:
        append(kafka, topic, one)
    flows(system)


def test_aborted_batches_that_cannot_be_parsed_hide_no_statement(
    kafka: str, system: System
) -> None:
    topic = topic_of(system, "cmd", "ServerA")
    transactions = RawTransactions(kafka, topic, topic)
    for one in ((record(0, far=True),), (record(0), record(2)), (record(0), _silent())):
        transactions.abort(one, codec=UNCOMPRESSED)
        flows(system)


def _silent() -> bytes:
    """Return a record of which librdkafka reads a wrong length, although Kafka checks lengths.

    Kafka reads 32 bits of a length, and librdkafka adds 2^31.
    """
    return record(1, longer=FAR >> 1)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let consumers look soon for records that they cannot read."""
    monkeypatch.setattr(stalled_fetch, "_QUIET", 1.0)
    monkeypatch.setattr(stalled_fetch, "_EVERY", 0.5)
    monkeypatch.setattr(recent_records, "_NEWEST_WITHIN", 0.5)


@pytest.mark.long
@pytest.mark.usefixtures("impatient")
def test_the_newest_heartbeat_need_not_be_readable_for_a_process_that_starts(
    kafka: str, unique: str
) -> None:
    with running(kafka, unique, "two_brokers") as one:
        flows(one)
        one.stop()
        append(kafka, one.cluster.topics.presence, batch(_silent(), codec=UNCOMPRESSED))
        one.start()
        flows(one)


@pytest.mark.long
@pytest.mark.usefixtures("impatient")
def test_readers_of_all_heartbeats_continue_after_one_that_is_unreadable(
    kafka: str, system: System
) -> None:
    flows(system)
    topic = system.cluster.topics.presence
    append(kafka, topic, batch(_silent(), codec=UNCOMPRESSED))
    flows(system)
    assert list(read_all(system.cluster, topic, skips=True))
    eye = Eye(system.cluster)
    seen = eye.look(time.time_ns() // 1_000_000)
    eye.close()
    assert seen is not None and all(up for up, _ in seen.heartbeats.values())


@pytest.mark.long
def test_a_body_behind_a_record_that_is_not_skipped_ends_no_worker(kafka: str, unique: str) -> None:
    """The client cannot read it from its offset, so it is read as the broker reads it."""
    dialog, issued = uuid.uuid4(), uuid.uuid4
    begin = Command(
        dialog, issued(), CommandKind.BEGIN, "DatabaseA", from_service="InitiatorService",
        to_service="Nowhere", contract="DEFAULT",
    )  # fmt: skip
    send = Command(dialog, issued(), CommandKind.SEND, "DatabaseA", type="DEFAULT", body=b"behind")
    with running(kafka, unique, "two_brokers", limits=QUICK) as one:
        cmd, out = one.cluster.topics.cmd("ServerA"), one.cluster.topics.out("ServerA")
        append(kafka, cmd, batch(raw(0, begin, longer=FAR), raw(1, send), codec=UNCOMPRESSED))
        one.records(out, is_copy, 2)
        one.stop()
        one.start()
        flows(one)
        one.records(out, is_copy, 3)
        flows(one)


def is_copy(found: Description) -> bool:
    return (found.get("body") or {}).get("text") == "behind"


def described(system: System, message: Message) -> Description:
    return describe(raw_record(message), system.cluster.topics)


def raw(delta: int, command: Command, longer: int = 0) -> bytes:
    """Return a statement in a batch."""
    key, value, headers = command_record(command)
    named = [(name.encode(), content or b"") for name, content in headers]
    return record(delta, key, value or b"", named, longer=longer)


@pytest.mark.long
@pytest.mark.parametrize(("kind", "instance"), [("cmd", "ServerA"), ("txq", "ServerB")])
@pytest.mark.usefixtures("impatient")
def test_wrong_lengths_stop_nobody(kafka: str, system: System, kind: str, instance: str) -> None:
    topic = topic_of(system, kind, instance)
    if kind == "cmd":
        bad = batch(record(0), _silent(), codec=UNCOMPRESSED)
    else:
        bad = batch(*(record(n, length=3 if n else 400) for n in range(3)))
    append(kafka, topic, bad)
    flows(system)
