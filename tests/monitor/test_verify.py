"""`hopline verify`: a real run on a real Kafka, judged by Spark, as it is and sabotaged."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streams.client import Client, Conversation, StatementError
from streams.client.statements import new_command
from streams.errors import EventKind, Number
from streams.kafka import Cluster, Message, deploy, headers_of
from streams.live.verify import Asked, Verified
from streams.protocol import CommandKind
from streams.report import Fate, Fault, Ledger, Span, read_facts
from streams.wire import Topics, encode_event
from streams.wire.records import read_command
from tests.endpoints import read_dialogs
from tests.monitor.agreed import agreed_captures, agreed_clusters
from tests.monitor.written import KINDS, captured, topics_of
from tests.running import System, eventually, running

INITIATOR, TARGET = ("ServerA", "DatabaseA"), ("ServerB", "DatabaseB")
SERVICES = ("InitiatorService", "TargetService")
DIALOGS, LENGTH = 12, 4


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is over: its topics, and a dialog that went well."""

    system: System
    dialog: Conversation


@pytest.fixture(scope="module")
def run(kafka: str) -> Iterator[Run]:
    """Hold dialogs in both directions: some ended, refused, expired, with a timer, or waiting."""
    with running(kafka, f"t{uuid.uuid4().hex[:12]}.", "two_brokers") as system:
        with system.client() as client:
            dialogs = [_talk(client) for _ in range(DIALOGS)]
            for message in system.received(*TARGET, "TargetQueue", DIALOGS * LENGTH):
                client.send(message.conversation, b"answer")
            system.received(*INITIATOR, "InitiatorQueue", DIALOGS * LENGTH)
            _odd_ones(system, client, dialogs)
            eventually(lambda: _acknowledged(system, dialogs[0]) == {LENGTH}, "all is known")
            system.stop()  # else what waits is tried again, and counted, between two accounts
        yield Run(system, dialogs[0])


def _talk(client: Client) -> Conversation:
    dialog = client.begin(*INITIATOR, *SERVICES)
    for n in range(LENGTH):
        client.send(dialog, b"%d" % n)
    return dialog


def _odd_ones(system: System, client: Client, dialogs: Sequence[Conversation]) -> None:
    client.timer(dialogs[1], 1)
    [timer] = system.received(*INITIATOR, "InitiatorQueue", 1)
    assert timer.type.endswith("DialogTimer")
    several = {"type": "DEFAULT", "body": b"both"}
    both = new_command(dialogs[2], CommandKind.SEND, also=(dialogs[3].id,), **several)
    client.perform("ServerA", both, wait=True)
    refused = new_command(dialogs[2], CommandKind.SEND, also=(uuid.uuid4(), dialogs[4].id))
    with pytest.raises(StatementError):
        client.perform("ServerA", refused._replace(body=b"none"), wait=True)
    with pytest.raises(StatementError):
        client.send(dialogs[5], b"x", type="no such type", wait=True)
    client.end(dialogs[6], wait=True)
    client.end(dialogs[7], error=(7, "no more"), wait=True)
    ends = [m.ends_dialog for m in system.received(*TARGET, "TargetQueue", 4)]
    assert sorted(ends) == [False, False, True, True]
    expired = client.begin(*INITIATOR, "InitiatorService", "NobodyService", lifetime=1)
    client.send(expired, b"too late", wait=True)
    [error] = system.received(*INITIATOR, "InitiatorQueue", 1)
    assert error.ends_dialog
    client.end(expired, wait=True)  # from ERROR to CLOSED
    waiting = client.begin(*INITIATOR, "InitiatorService", "NobodyService")
    client.send(waiting, b"into the void", wait=True)


def _acknowledged(system: System, dialog: Conversation) -> set[int]:
    return {
        endpoint.acknowledged[0]
        for instance in ("ServerA", "ServerB")
        for key, endpoint in read_dialogs(system.cluster, instance)
        if key[1] == dialog.id
    }


def verified(spark: SparkSession, *clusters: Cluster, span: Span | None = None) -> Verified:
    return agreed_clusters(spark, clusters, Asked() if span is None else Asked(span))


def key_figures(ledger: Ledger) -> tuple[object, ...]:
    return +ledger.outcomes, +ledger.faults, ledger.unsaid, +ledger.locked, ledger.verdict


@pytest.mark.long
def test_verify_finds_what_one_process_finds(spark: SparkSession, run: Run) -> None:
    """The same ledger, dialog by dialog on executors, and the same counts of copies."""
    facts = read_facts(run.system.cluster, run.system.topology)
    account = verified(spark, run.system.cluster).account
    assert account.ledger.verdict == "nothing lost"
    assert key_figures(account.ledger) == key_figures(facts.balance())
    wanted = {Fate.DELIVERED: 2 * DIALOGS * LENGTH + 2, Fate.EXPIRED: 1}
    assert account.ledger.outcomes == wanted | {Fate.IN_TRANSMISSION_QUEUE: 1}
    assert account.dialogs == DIALOGS + 2
    found = account.duplicates, account.drops, account.delays
    assert found == (facts.duplicates, facts.drops, facts.delays)
    assert account.delays, "what waits has a number that says why"
    assert (account.contradicted, facts.contradictions) == (0, [])


@pytest.mark.long
def test_verify_is_about_the_messages_of_a_time(spark: SparkSession, run: Run) -> None:
    """Each message belongs to the moment at which it was handed over."""
    facts = read_facts(run.system.cluster, run.system.topology)
    middle = sorted(m.at for m in facts.accepted)[len(facts.accepted) // 2]
    halves = [Span(None, middle), Span(middle, None)]
    ledgers = [verified(spark, run.system.cluster, span=s).account.ledger for s in halves]
    assert sum(ledger.accepted for ledger in ledgers) == len(facts.accepted)
    assert [ledger.accepted for ledger in ledgers] == [
        sum(m.at in span for m in facts.accepted) for span in halves
    ]
    assert all(ledger.balanced for ledger in ledgers)


# --- sabotage ------------------------------------------------------------------------------------

Spoil = Callable[[list[Message], list[int]], list[Message]]


def remove(records: list[Message], at: list[int]) -> list[Message]:
    """Take one message away: the last of the dialog."""
    return [r for n, r in enumerate(records) if n != at[-1]]


def double(records: list[Message], at: list[int]) -> list[Message]:
    """Put one message there once more, at the end."""
    return [*records, records[at[1]]]


def reorder(records: list[Message], at: list[int]) -> list[Message]:
    """Let two messages of the dialog change places."""
    spoiled = list(records)
    spoiled[at[0]], spoiled[at[1]] = spoiled[at[1]], spoiled[at[0]]
    return spoiled


def copied(run: Run, prefix: str, spoil: Spoil) -> Cluster:
    """Return another system with the same records, but for one dialog's in the target's queue."""
    system = run.system
    cluster = Cluster(system.cluster.bootstrap, Topics(prefix))
    deploy(cluster, system.topology)
    old, producer = system.cluster.topics, cluster.producer()
    for topic, found in topics_of(system, *KINDS):
        records = found
        if topic == old.queue(*TARGET, "TargetQueue"):
            ours = [n for n, r in enumerate(records) if _is_of(r, run.dialog)]
            records = spoil(records, ours)
        for record in records:
            producer.produce(
                prefix + topic.removeprefix(old.prefix),
                record.value(),
                record.key(),
                partition=record.partition(),
                timestamp=record.timestamp()[1],
                headers=headers_of(record),
            )
    assert producer.flush(30) == 0
    return cluster


def _is_of(record: Message, dialog: Conversation) -> bool:
    return dict(headers_of(record))["sb-conversation"] == dialog.id.bytes


@pytest.mark.long
@pytest.mark.parametrize(
    ("spoil", "fault", "sequence"),
    [(remove, Fault.LOST, 3), (double, Fault.TWICE, 1), (reorder, Fault.DISORDERED, 0)],
)
def test_verify_finds_a_sabotaged_topic(
    spark: SparkSession, run: Run, unique: str, spoil: Spoil, fault: Fault, sequence: int
) -> None:
    """On a real Kafka: exactly the one message, and which it is."""
    account = verified(spark, copied(run, unique, spoil)).account
    found = [(fault, m.conversation, m.sequence) for fault, m in account.exceptions]
    assert (fault, run.dialog.id, sequence) in found
    assert {each[1] for each in found} == {run.dialog.id}
    assert set(account.ledger.faults) <= {fault, Fault.DISORDERED}


@pytest.mark.long
def test_a_forged_refusal_of_a_delivered_message_is_a_note(
    spark: SparkSession, run: Run, unique: str
) -> None:
    """For a message on one conversation and for one on two; both engines report it."""
    cluster = copied(run, unique, lambda records, _: records)
    wanted = read_facts(run.system.cluster, run.system.topology).balance()
    forge(cluster, run)
    facts, found = read_facts(cluster, run.system.topology), verified(spark, cluster)
    assert key_figures(found.account.ledger) == key_figures(facts.balance())
    assert key_figures(found.account.ledger) == key_figures(wanted)
    assert found.account.contradicted == len(facts.contradictions) == 2
    assert found.account.example == min(facts.contradictions)
    [note] = found.notes
    assert note.startswith("Events report the refusal of 2 statements")


def forge(cluster: Cluster, run: Run) -> None:
    """Report two applied statements as refused; one of them is on two conversations."""
    commands = [
        read_command(record.key(), record.value(), headers_of(record), 0)
        for _, records in topics_of(run.system, "cmd")
        for record in records
    ]
    one = next(c for c in commands if c.conversation == run.dialog.id and c.body == b"1")
    both = next(c for c in commands if c.also and c.body == b"both")
    producer = cluster.producer()
    for forged in (one, both):
        event = {
            "event": int(EventKind.CONVERSATION), "at": 0, "error": int(Number.SEND_STATE),
            "instance": "ServerA", "database": "DatabaseA", "from_initiator": True,
            "conversation": str(forged.conversation), "message_id": str(forged.command_id),
        }  # fmt: skip
        producer.produce(cluster.topics.event, encode_event(event))
    assert producer.flush(30) == 0


# --- captures ------------------------------------------------------------------------------------


@pytest.mark.long
def test_verify_reads_captures_of_all_topics(spark: SparkSession, run: Run, tmp_path: Path) -> None:
    """Also where they are several, and a dialog's records stand in all of them."""
    files = [
        captured(run.system, tmp_path / "said.avro", "cmd", "event"),
        captured(run.system, tmp_path / "kept.avro", "queue", "dialog"),
    ]
    facts = read_facts(run.system.cluster, run.system.topology)
    found = agreed_captures(spark, files)
    assert key_figures(found.account.ledger) == key_figures(facts.balance())
    assert found.notes == ()


def test_verify_reports_what_a_capture_of_commands_lacks(
    spark: SparkSession, run: Run, tmp_path: Path
) -> None:
    """Without any state they count as not read: they wait."""
    found = agreed_captures(spark, [captured(run.system, tmp_path / "said.avro", "cmd")])
    ledger = found.account.ledger
    assert ledger.outcomes == {Fate.UNREAD: ledger.accepted} and ledger.accepted > 90
    assert found.notes == (
        "The capture has no state of ServerA, so its commands count as not read.",
        "The capture has no state of ServerB, so its commands count as not read.",
    )
