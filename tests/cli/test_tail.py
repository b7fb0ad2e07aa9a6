"""`hopline tail` on a real broker: a dialog as a story, any topic as lines, what is broken."""

from __future__ import annotations

import json
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from streams.cli.look.tail import choose
from streams.errors import UsageError
from streams.kafka import Cluster, create
from streams.wire import Topics, encode_event
from streams.wire.specs import TopicSpec
from tests.command import hopline
from tests.running import System, eventually, running, until_stable
from tests.workers.raw_produce import produce_raw

WIDTH = 100
AT_A = ("ServerA", "DatabaseA")
AT_B = ("ServerB", "DatabaseB")


def run(system: System, *args: object) -> tuple[int, str, str]:
    return tail(*args, *system.options)


def tail(*args: object) -> tuple[int, str, str]:
    return hopline("tail", *args, columns=WIDTH)


def records(system: System, *args: object) -> list[dict[str, Any]]:
    code, out, err = run(system, *args, "--format", "json")
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


@dataclass(frozen=True)
class TailedSystem:
    system: System
    conversation: uuid.UUID
    other: uuid.UUID


@pytest.fixture(scope="module")
def tailed(kafka: str) -> Iterator[TailedSystem]:
    """Return a dialog that was begun, held, refused something, and ended by both sides."""
    prefix = f"t{uuid.uuid4().hex[:12]}."
    first = uuid.UUID("6f1c2a04-aaaa-4000-8000-000000000001")
    second = uuid.UUID("6f1c2a04-bbbb-4000-8000-000000000002")
    with running(kafka, prefix, "two_brokers") as system, system.client() as client:
        services = ("InitiatorService", "TargetService")
        dialog = client.begin(*AT_A, *services, conversation=first)
        client.send(dialog, b"\x1b[2Jhello\n" + b"x" * 500, wait=True)
        with pytest.raises(Exception, match="8428"):
            client.send(dialog, b"?", type="Nonsense", wait=True)
        [question] = system.received(*AT_B, "TargetQueue", 1)
        client.send(question.conversation, b"\xff\xfe", wait=True)
        [answer] = system.received(*AT_A, "InitiatorQueue", 1)
        client.end(answer.conversation, wait=True)
        [ended] = system.received(*AT_B, "TargetQueue", 1)
        client.end(ended.conversation, wait=True)
        system.events(124, lambda e: e["state"] == "CD" and e["from_initiator"])
        client.begin(*AT_A, *services, conversation=second)
        yield TailedSystem(system, first, second)


# --- one dialog ----------------------------------------------------------------------------------


@pytest.mark.long
def test_a_dialog_is_printed_in_the_order_of_its_records(
    tailed: TailedSystem,
) -> None:
    code, out, err = run(tailed.system, "--conversation", tailed.conversation)
    assert code == 0, err
    statements = (
        f"Conversation {tailed.conversation}",
        "cmd ServerA DatabaseA: BEGIN InitiatorService to TargetService",
        "cmd ServerA DatabaseA: SEND DEFAULT",
    )
    effects = (
        f"Conversation {tailed.conversation}",
        "event ServerA/DatabaseA Broker:Conversation 124 (BEGIN DIALOG): now SO",
        "out ServerA message 0 of the initiator, attempt 0: DEFAULT",
        "txq ServerB message 0 of the initiator, attempt 0, via ServerA: DEFAULT",
        "in ServerB message 0 of the initiator, attempt 0, via ServerA > ServerB: DEFAULT",
        "event ServerB/DatabaseB Broker:Conversation 124 (endpoint created): now CO",
        "queue ServerB/DatabaseB TargetQueue: message 0 of the initiator, attempt 0, via",
        "out ServerB ack up to 0 from broker DatabaseB, attempt 0",
        "ack ServerA ack up to 0 from broker DatabaseB, attempt 0, via ServerB > ServerA",
        "event ServerA/DatabaseA Broker:Remote Message Acknowledgement 149 (",
    )
    text = " ".join(out.split())
    for story in (statements, effects):  # written by two clocks, of which one may be ahead
        at = 0
        for line in story:
            found = text.find(line, at)
            assert found >= 0, f"{line!r} is not where it should be:\n{out}"
            at = found
    assert "124: 8428 SEND refused: the message type does not exist in this database" in text
    assert ": 8428 the message type does not exist in this database" in text
    assert "message 0 of the target, attempt 0: DEFAULT 0xfffe" in text
    assert "via ServerA > ServerB: EndDialog" in text
    times = [line[:12] for line in out.splitlines() if line[2:3] == ":" and line[5:6] == ":"]
    assert len(times) > 30
    assert str(tailed.other) not in out


@pytest.mark.long
@pytest.mark.parametrize("args", [(), ("--conversation", "6f1c2a04-aaaa")])
def test_text_fits_and_moves_no_cursor(tailed: TailedSystem, args: tuple[str, ...]) -> None:
    code, out, err = run(tailed.system, *args)
    assert code == 0, err
    assert max(len(line) for line in out.splitlines()) <= WIDTH
    assert all(line.isprintable() for line in out.splitlines())


def test_json_of_a_dialog_is_everything_decoded(tailed: TailedSystem) -> None:
    found = records(tailed.system, "--conversation", tailed.conversation)
    assert {r["conversation"] for r in found} == {str(tailed.conversation)}
    assert {r["kind"] for r in found} == {
        *("cmd", "out", "txq", "in", "ack", "queue", "event", "result", "dialog"),
    }
    assert not any("malformed" in r for r in found)
    queued = next(r for r in found if r["kind"] == "queue" and r["route"]["from_initiator"])
    assert [visit["instance"] for visit in queued["hop"]["path"]] == [
        *("ServerA", "ServerB", "ServerB/DatabaseB"),
    ]
    assert queued["body"] == {"size": 510, "text": f"\x1b[2Jhello\n{'x' * 500}"}
    refused = [r for r in found if r["kind"] == "result" and r["result"]["number"]]
    assert [r["result"]["number"] for r in refused] == [8428]
    assert sorted(r["at"] for r in found) == [r["at"] for r in found]


def test_a_shortened_id_will_do_unless_it_means_several(tailed: TailedSystem) -> None:
    short = records(tailed.system, "--conversation", "6F1C2A04-AAAA")
    assert {r["conversation"] for r in short} == {str(tailed.conversation)}
    code, _, err = run(tailed.system, "--conversation", "6f1c2a04")
    assert code == 2
    assert "'6f1c2a04' matches several conversations" in err
    assert str(tailed.other) in err


def test_a_conversation_that_nobody_knows_is_bad_news(tailed: TailedSystem) -> None:
    nobody = uuid.uuid4()
    code, out, err = run(tailed.system, "--conversation", nobody)
    assert (code, out) == (1, "")
    assert err.startswith(f"There is no record of conversation {nobody}")


@pytest.mark.parametrize("text", ["6f1c", "hello-world", "6f1c2a04" * 5])
def test_what_is_no_id_is_refused(text: str) -> None:
    code, _, err = tail("--conversation", text)
    assert code == 2
    assert f"'{text}' is not a conversation id" in err


# --- topics --------------------------------------------------------------------------------------


def test_a_topic_by_its_name_with_and_without_prefix(tailed: TailedSystem) -> None:
    prefix = tailed.system.cluster.topics.prefix
    full = records(tailed.system, f"{prefix}cmd.ServerA")
    assert full == records(tailed.system, "cmd.ServerA")
    assert [r["command"]["kind"] for r in full] == ["BEGIN", "SEND", "SEND", "END", "BEGIN"]


def test_a_pattern_names_several_topics(tailed: TailedSystem) -> None:
    found = records(tailed.system, "queue.*")
    assert {r["queue"] for r in found} == {"InitiatorQueue", "TargetQueue"}


def test_without_a_topic_all_but_catalog_and_presence_are_read(tailed: TailedSystem) -> None:
    kinds = {r["kind"] for r in records(tailed.system)}
    assert {"cmd", "event", "dialog", "result"} <= kinds
    assert not kinds & {"catalog", "presence"}
    catalog = records(tailed.system, "catalog")
    assert catalog[-1]["object"] == ["version"]
    assert records(tailed.system, "presence", "--last", "1")[0]["presence"]["count"] > 0


def test_limit_and_last(tailed: TailedSystem) -> None:
    assert [r["offset"] for r in records(tailed.system, "cmd.ServerA", "--limit", 2)] == [0, 1]
    assert [r["offset"] for r in records(tailed.system, "cmd.ServerA", "--last", 2)] == [3, 4]
    assert records(tailed.system, "cmd.ServerA", "--last", 0) == []


@pytest.mark.parametrize(
    ("topic", "sentence", "near"),
    [
        ("cdm.ServerA", "There is no topic 'cdm.ServerA'", "Did you mean cmd.ServerA"),
        ("queue.ServerB.TargetQueue", "There is no topic", "queue.ServerB.DatabaseB.TargetQueue"),
        ("qeue.*", "No topic matches 'qeue.*'", "Did you mean queue.*"),
        ("zzz", "There is no topic 'zzz'", "ack.*, catalog, cmd.*"),
    ],
)
def test_an_unknown_topic_is_an_error_that_names_the_nearest(
    tailed: TailedSystem, topic: str, sentence: str, near: str
) -> None:
    code, out, err = run(tailed.system, topic)
    assert (code, out) == (2, "")
    assert sentence in err
    assert near in err


def test_a_prefix_that_nothing_has_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"no topics with the prefix 'nobody\.'"):
        choose({"t.cmd.A": 1}, None, Topics("nobody."))


def test_follow_goes_on_with_what_comes(tailed: TailedSystem) -> None:
    there = len(records(tailed.system, "cmd.ServerB"))
    done: list[tuple[int, str, str]] = []
    reader = threading.Thread(
        target=lambda: done.append(
            run(tailed.system, "cmd.ServerB", "--follow", "--limit", there + 1, "--format", "json")
        )
    )
    reader.start()
    producer = tailed.system.cluster.producer()
    key = str(uuid.uuid4())
    while reader.is_alive():  # until it has seen one: it may not be reading yet
        producer.produce(tailed.system.cluster.topics.cmd("ServerB"), key=key, value=b"late")
        producer.flush()
        reader.join(0.2)
    [(code, out, err)] = done
    assert code == 0, err
    last = json.loads(out.splitlines()[-1])
    assert (last["offset"], last["key"]) == (there, key)
    assert last["malformed"] == ["Command: not in Avro single-object encoding"]


# --- records that are not as they should be ------------------------------------------------------


@pytest.mark.long
def test_what_is_malformed_is_shown_with_its_reason_and_its_place(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers", start=False) as system:
        topics = system.cluster.topics
        producer = system.cluster.producer()
        for topic in (
            topics.cmd("ServerA"),
            topics.out("ServerA"),
            topics.txq("ServerA"),
            topics.inbox("ServerA"),
            topics.ack("ServerA"),
            topics.queue("ServerA", "DatabaseA", "InitiatorQueue"),
            topics.dialog("ServerA"),
            topics.result("ServerA"),
            topics.event,
            topics.presence,
            topics.catalog,
        ):
            headers = [("sb-route", b"\xc3\x01rubbish"), ("sb-hop", None), ("x\u00e4", b"\xff")]
            producer.produce(topic, key=b"\xff", value=b"\x00\x1b[31mred", headers=headers)
            producer.produce(topic, key=b"", value=b"plain")
        producer.flush()
        produce_raw(kafka, topics.result("ServerB"), b"k", b"v", [(b"\xff", b"")])
        code, out, err = run(system, "*")
        assert code == 0, err
        assert all(line.isprintable() and len(line) <= WIDTH for line in out.splitlines())
        assert out.count("MALFORMED") == 11 * 2 + 1
        assert "the name of a header is not UTF-8" in " ".join(out.split())
        assert "the key is not a conversation id (11271): b'\\xff'" in " ".join(out.split())
        broken = [r for r in records(system, "cmd.ServerA") if "malformed" in r]
        assert [r["key"] for r in broken] == ["0xff", ""]
        assert any("not a conversation id (11271)" in reason for reason in broken[0]["malformed"])
        assert broken[0]["headers"] == {"xä": "0xff"}


@pytest.mark.long
def test_what_is_uncommitted_is_neither_shown_nor_waited_for(kafka: str, unique: str) -> None:
    cluster = Cluster(kafka, Topics(unique))
    create(cluster, [TopicSpec(cluster.topics.event, "event", 1, {})])
    event = encode_event({"event": 124, "at": 1, "instance": "committed"})
    plain, open_one = cluster.producer(), cluster.producer(transactional_id=unique)
    plain.produce(cluster.topics.event, value=event)
    plain.flush()
    open_one.init_transactions(30)
    open_one.begin_transaction()
    open_one.produce(
        cluster.topics.event,
        value=encode_event({"event": 124, "at": 2, "instance": "open"}),
    )
    open_one.flush()
    args = ("event", "--bootstrap", kafka, "--prefix", unique)
    code, out, _ = tail(*args)
    assert code == 0
    assert "committed" in out
    assert "open" not in out
    open_one.commit_transaction(30)
    until_stable(cluster, cluster.topics.event)
    assert "open" in tail(*args)[1]


def test_many_records_of_many_partitions_come_in_the_order_of_time(kafka: str, unique: str) -> None:
    cluster = Cluster(kafka, Topics(unique))
    names = [cluster.topics.event, cluster.topics.result("S")]
    kept = {"retention.ms": "-1"}  # a record of 1970 goes as soon as Kafka looks for old ones
    create(cluster, [TopicSpec(names[0], "event", 3, {}), TopicSpec(names[1], "result", 1, kept)])
    producer = cluster.producer()
    for at in range(6_000):  # one partition is far ahead of the others
        event = encode_event({"event": 124, "at": at, "instance": "S"})
        partition = 0 if at < 4_000 else at % 3
        producer.produce(names[0], value=event, partition=partition)
    producer.produce(names[1], key=b"r", value=b"x", timestamp=3_500)
    producer.flush()
    code, out, err = tail("--bootstrap", kafka, "--prefix", unique, "--format", "json")
    assert code == 0, err
    times = [json.loads(line)["at"] for line in out.splitlines()]
    assert times == sorted([*range(6_000), 3_500])


def test_a_dialog_is_printed_in_order_of_time_whichever_instance_wrote_first(
    kafka: str, unique: str
) -> None:
    """Two instances write into one partition of ``event`` within a millisecond."""
    cluster, dialog = Cluster(kafka, Topics(unique)), str(uuid.UUID(int=1 << 120))
    create(cluster, [TopicSpec(cluster.topics.event, "event", 1, {})])
    producer = cluster.producer()
    for at in (8, 7, 9):
        event = encode_event({"event": 124, "at": at, "instance": "S", "conversation": dialog})
        producer.produce(cluster.topics.event, key=dialog, value=event)
    producer.flush()
    code, out, err = tail(
        *("--conversation", dialog, "--format", "json", "--bootstrap", kafka, "--prefix", unique)
    )
    assert code == 0, err
    assert [json.loads(line)["at"] for line in out.splitlines()] == [7, 8, 9]


def test_a_broker_that_does_not_answer_is_one_sentence_after_the_stated_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, list_topics, main = list[float](), AdminClient.list_topics, threading.current_thread()

    def noted(self: AdminClient, *args: Any, timeout: float, **named: Any) -> Any:
        if threading.current_thread() is main:  # another thread looks whether Kafka is back
            asked.append(timeout)
        return list_topics(self, *args, timeout=timeout, **named)

    monkeypatch.setattr(AdminClient, "list_topics", noted)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        started = time.monotonic()
        code, out, err = tail("--bootstrap", address, "--timeout", "1.5")
        took = time.monotonic() - started
    assert (code, out) == (3, "")
    [sentence, remedy] = err.splitlines()
    assert sentence.startswith(f"hopline: Kafka at {address} cannot be reached: ")
    assert sentence.endswith("(gave up after 1.5 s).")
    assert "hopline kafka start" in remedy
    assert took >= 1.4
    assert sum(asked) == pytest.approx(1.5)


def test_eventually_gives_up_with_what_it_saw() -> None:
    with pytest.raises(AssertionError, match="the moon"):
        eventually(list, "the moon", deadline=0)
