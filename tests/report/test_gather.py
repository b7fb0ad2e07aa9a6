"""From records to facts: what counts as sent, as delivered, and what is no message."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from streams.errors import EventKind, Number
from streams.errors.refusals import Refusal
from streams.protocol import DIALOG_TIMER, ERROR, Cause, Command, CommandKind, Source
from streams.protocol.frames import Flag, Header, Journey, Parties
from streams.report import ALWAYS, Fate, Fault, Span
from streams.report.account import Account, Judge
from streams.report.begins import Begins
from streams.report.dialog_filter import EVERYBODY, LIVE, DialogFilter
from streams.report.dialog_parts import DialogParts
from streams.report.gather import Gatherer
from streams.report.parts import Kept, Part
from streams.report.record_reader import Record, RecordReader
from streams.report.sites import Sites
from streams.wire import encode_event
from streams.wire.job import JOB, renewed, tag_of
from streams.wire.records import LARGEST_BODY, MOVED, Wire, command_record, queue_record

ONE, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)
SOURCE = Source("shop", "billing", uuid.UUID(int=7), 0)
CMD, QUEUE, EVENT = "ssb.cmd.ServerA", "ssb.queue.ServerB.DatabaseB.TargetQueue", "ssb.event"
PARTIES = Parties("TargetService", "B", "InitiatorService", "A", "DEFAULT", True, True)


@dataclass(slots=True)
class Log:
    """What the topics hold; every record is stored a second after the one before."""

    records: list[Record] = field(default_factory=list)
    begins: Begins = field(default_factory=Begins)

    def add(self, topic: str, wire: Wire, digest: bytes = b"") -> None:
        key, value, headers = wire
        at, size = len(self.records), len(value or b"")
        self.records.append(Record(topic, 0, at, 1_000 * at, key, headers, value, digest, size))

    def issue(
        self, kind: CommandKind, *, on: uuid.UUID = ONE, job: bytes = b"", **fields: Any
    ) -> Command:
        """Write a command; of a SEND its body."""
        number = uuid.UUID(int=1_000 + len(self.records))
        command = Command(on, fields.pop("id", number), kind, "DatabaseA", **fields)
        key, value, headers = command_record(command)
        self.add(CMD, (key, value, headers + [(JOB, job)] * bool(job)), command.body or b"")
        return command

    def deliver(self, command: Command, sequence: int, on: uuid.UUID = ONE) -> None:
        """Write a message into the target's queue."""
        header = Header(command.message_id(on), "DEFAULT", sequence, 0, 9_999)
        journey = Journey(9, 9_999, 0, 0, 0, (("ServerA", 5), ("ServerB/DatabaseB", 9)))
        body = command.body or b""
        self.add(QUEUE, queue_record(on, on, PARTIES, header, journey, body), body)

    def emit(self, kind: EventKind, on: object, **fields: Any) -> None:
        """Write an event."""
        event = {"event": int(kind), "at": 5_000, "instance": "ServerA", "database": "DatabaseA"}
        value = encode_event({**event, "conversation": str(on), "from_initiator": True, **fields})
        self.add(EVENT, (b"", value, []))

    def account(self, span: Span = ALWAYS, dialog_filter: DialogFilter = EVERYBODY) -> Account:
        """Return what is found; dialogs that were refused on others are judged again."""
        refused, overruled = frozenset[bytes](), frozenset[bytes]()
        while True:
            gatherer = Gatherer(Sites("ssb."), 1_000_000, span, refused, overruled)
            found = Judge(gatherer, self.begins, 100, dialog_filter).judge(self._parts().items())
            if found.is_settled(refused, overruled):
                return found
            refused, overruled = frozenset(found.refused), overruled | found.overruled

    def _parts(self) -> dict[bytes, list[Part]]:
        reader, by_dialog = (
            RecordReader(Sites("ssb."), {("ServerA", 0): 1_000}),
            defaultdict[bytes, list[Part]](list),
        )
        for record in self.records:
            for dialog, part in reader.read_fields(*record):
                by_dialog[dialog].append(part)
        return {dialog: list(reversed(parts)) for dialog, parts in by_dialog.items()}


SEND, BEGIN, END = CommandKind.SEND, CommandKind.BEGIN, CommandKind.END


def test_messages_are_numbered_as_they_stand_in_the_log_in_whatever_order_they_come() -> None:
    log = Log()
    for n in range(3):
        log.deliver(log.issue(SEND, body=b"%d" % n), n)
    account = log.account()
    assert account.ledger.outcomes == {Fate.DELIVERED: 3}
    assert (account.ledger.verdict, account.dialogs) == ("nothing lost", 1)


def test_a_dialog_timer_was_sent_by_nobody() -> None:
    """It stands in the queue, and is no message of the dialog."""
    log = Log()
    log.deliver(log.issue(SEND, body=b"x"), 0)
    header = Header(uuid.UUID(int=9), DIALOG_TIMER, 0, 0, 9_999, Flag.UNSEQUENCED)
    log.add(QUEUE, queue_record(ONE, ONE, PARTIES, header, Journey(0, 0, 0, 0), b""))
    assert log.account().ledger.verdict == "nothing lost"


def test_a_repeated_statement_counts_once() -> None:
    """By its cause: an application that crashed repeats it, under the same id."""
    log, cause = Log(), Cause(SOURCE, 4)
    first = log.issue(SEND, body=b"x", id=cause.public_id, cause=cause)
    log.issue(SEND, body=b"x", id=cause.public_id, cause=cause)
    log.deliver(first, 0)
    log.deliver(log.issue(SEND, body=b"y", cause=cause.following, id=cause.following.public_id), 1)
    assert log.account().ledger.outcomes == {Fate.DELIVERED: 2}


def test_moved_and_refused_commands_do_not_count() -> None:
    log = Log()
    sent = log.issue(SEND, body=b"x")
    key, value, headers = command_record(sent)
    log.add(CMD, (key, value, [*headers, (MOVED, b"")]))
    refused = log.issue(SEND, body=b"y")
    log.emit(
        EventKind.CONVERSATION, ONE, error=int(Number.SEND_STATE),
        message_id=str(refused.command_id),
    )  # fmt: skip
    log.deliver(sent, 0)
    assert log.account().ledger.outcomes == {Fate.DELIVERED: 1}


def test_a_statement_that_the_worker_rejects_for_its_size_does_not_count() -> None:
    log = Log()
    log.deliver(log.issue(SEND, body=b"x"), 0)
    long = dict.fromkeys(("error_text", "to_broker", "from_service"), "x" * 30_000)
    cause = Cause(SOURCE, 9)
    log.issue(SEND, body=b"x" * LARGEST_BODY, id=cause.public_id, cause=cause, **long)
    earlier = Cause(SOURCE, 8)  # not a repetition, because the worker never saw the other
    log.deliver(log.issue(SEND, body=b"y", id=earlier.public_id, cause=earlier), 1)
    assert log.account().ledger.outcomes == {Fate.DELIVERED: 2}


def test_a_statement_on_several_conversations_is_refused_on_all() -> None:
    """The event that reports it names the first: the others' next messages keep their numbers."""
    log = Log()
    both = log.issue(SEND, body=b"both", also=(OTHER,))
    refused = log.issue(SEND, body=b"none", also=(OTHER,))
    log.emit(
        EventKind.CONVERSATION, ONE, error=int(Number.SEND_STATE),
        message_id=str(refused.command_id),
    )  # fmt: skip
    for n, message in enumerate((both, log.issue(SEND, on=OTHER, body=b"next"))):
        log.deliver(message, n, on=OTHER)
    log.deliver(both, 0)
    account = log.account()
    assert (account.ledger.verdict, account.ledger.delivered) == ("nothing lost", 3)
    assert account.dialogs == 2, "a statement is no dialog"


def test_refused_statements_are_counted_by_number_with_the_first_of_each() -> None:
    """One that is reported twice counts once, one on several conversations too."""
    log = Log()
    refused = [log.issue(SEND, body=b"x"), log.issue(SEND, body=b"y", also=(OTHER,))]
    for command in (*refused, refused[0]):
        log.emit(EventKind.CONVERSATION, ONE, error=8430, message_id=str(command.command_id))
    ended = log.issue(END, on=OTHER)
    log.emit(
        EventKind.CONVERSATION, OTHER, error=int(Number.NOT_IN_THIS_STATE), at=4_000,
        message_id=str(ended.command_id), from_initiator=False,
    )  # fmt: skip
    found = {number: (count, first) for number, count, first in log.account().refusals}
    first = Refusal(5_000, ONE, True, refused[0].command_id, "ServerA/DatabaseA")
    other = Refusal(4_000, OTHER, False, ended.command_id, "ServerA/DatabaseA")
    assert found == {8430: (2, first), int(Number.NOT_IN_THIS_STATE): (1, other)}
    assert log.account().to_json()["refused"]["8430"] == {
        "count": 2,
        "first": {
            "conversation": str(ONE),
            "from": "initiator",
            "command_id": str(refused[0].command_id),
            "place": "ServerA/DatabaseA",
            "at": 5_000,
        },
    }
    assert [number for number, *_ in log.account(Span(4_500)).refusals] == [8430]


def test_a_header_whose_name_is_no_text_makes_a_record_nobodys() -> None:
    """Java's client reads such a name as U+FFFD, and a worker refuses the record."""
    log = Log()
    key, value, headers = command_record(log.issue(SEND, body=b"x"))
    log.add(CMD, (key, value, [*headers, ("\ufffd", b"x")]))
    assert log.account().ledger.accepted == 1


@pytest.mark.parametrize(
    ("body", "fate"),
    [
        (b"<Error x=''><Code>-8489</Code>", Fate.EXPIRED),
        (b"<Error x=''>" + b" " * 300 + b"<Code>-8489</Code>", Fate.ERROR_RECEIVED),
        (b"<Code>-8489</Code>", Fate.ERROR_RECEIVED),
    ],
)
def test_the_code_of_an_error_is_read_from_its_beginning_only(body: bytes, fate: Fate) -> None:
    """An engine need not bring more of a body."""
    log = Log()
    log.issue(SEND, body=b"x")
    header = Header(uuid.UUID(int=9), ERROR, 0, 0, 9_999, Flag.ERROR)
    parties = PARTIES._replace(from_initiator=False)
    queue = "ssb.queue.ServerA.DatabaseA.InitiatorQueue"
    log.add(queue, queue_record(ONE, ONE, parties, header, Journey(0, 0, 0, 0), body))
    assert log.account().ledger.outcomes == {fate: 1}


def test_statements_of_an_earlier_time_may_be_read_later() -> None:
    """A capture's files come in any order."""
    log = Log()
    causes = [Cause(SOURCE, n) for n in range(3)]
    for n, cause in enumerate(causes):
        log.deliver(log.issue(SEND, body=b"%d" % n, id=cause.public_id, cause=cause), n)
    log.records.reverse()
    assert log.account().ledger.outcomes == {Fate.DELIVERED: 3}


def test_copies_are_counted_beside_the_ledger_within_the_time() -> None:
    log = Log()
    duplicate = {"error": int(Number.DUPLICATE), "attempt": 1}
    log.emit(EventKind.MESSAGE_UNDELIVERABLE, ONE, **duplicate)
    log.emit(EventKind.MESSAGE_UNDELIVERABLE, ONE, **duplicate | {"attempt": 0})
    log.emit(EventKind.FORWARDED_MESSAGE_DROPPED, "nobody's", error=11292)
    log.emit(EventKind.MESSAGE_CLASSIFY, ONE, error=28052)
    account = log.account()
    causes = {"retries": 1, "sent again after a retry, or by a forwarder": 1}
    assert (account.duplicates, account.drops, account.delays) == (causes, {11292: 1}, {28052: 1})
    assert not log.account(Span(6_000)).drops


def test_a_refused_contract_is_read_from_its_event() -> None:
    """The highest number that the target acknowledged counts, and only at its own database."""
    log = Log()
    for n in range(4):
        log.issue(SEND, body=b"%d" % n)
    target = {"error": int(Number.CONTRACT_NOT_USABLE), "instance": "ServerB"}
    for n in (0, 2, 1):
        log.emit(EventKind.MESSAGE_UNDELIVERABLE, ONE, sequence=n, database="DatabaseB", **target)
    ledger = log.account().ledger
    assert ledger.outcomes == {Fate.ERROR_RECEIVED: 3, Fate.LOST: 1}
    log.emit(EventKind.MESSAGE_UNDELIVERABLE, ONE, database="DatabaseB", **target)
    other = target | {"error": int(Number.NOT_IN_THIS_STATE)}
    log.emit(EventKind.MESSAGE_UNDELIVERABLE, ONE, sequence=3, database="DatabaseB", **other)
    assert log.account().ledger.outcomes == ledger.outcomes, "no number, and another error"


@pytest.mark.parametrize("earlier", [0, 2])
def test_the_tombstone_of_an_earlier_partition_removes_no_state(earlier: int) -> None:
    """A repartitioned instance has it until the topic is compacted."""

    def state(partition: int, offset: int, value: bytes | None) -> Kept:
        return Kept((partition, offset), "ServerA", "DatabaseA", True, value)

    parts = DialogParts()
    for part in (
        state(earlier, 90, None),
        state(1, 4, b"new"),
        state(earlier, 3, b"old"),
        state(1, 5, b"newer"),
    ):
        parts.take(part)
    assert [found.value for found in parts.states()] == [b"newer"]
    parts.take(state(1, 6, None))
    assert not list(parts.states())


def test_exceptions_are_in_order_and_have_a_limit_and_counts_have_none() -> None:
    log = Log()
    for n in range(5):
        log.issue(SEND, on=uuid.UUID(int=9 - n), body=b"x")
    gatherer = Gatherer(Sites("ssb."), 0)
    dialogs = sorted(log._parts().items())
    account = Judge(gatherer, Begins(), 3).judge(dialogs)
    assert account.ledger.faults == {Fault.LOST: 5}
    answer = account.to_json()
    assert (answer["faults"]["lost"], answer["listed"]) == (5, 3)
    ids: Iterable[str] = [e["conversation"] for e in answer["exceptions"]]
    assert list(ids) == [str(uuid.UUID(int=n)) for n in (5, 6, 7)]


def test_sums_of_some_dialogs_are_those_of_all() -> None:
    log = Log()
    for n in range(6):
        message = log.issue(SEND, on=uuid.UUID(int=1 + n), body=b"x")
        if n % 2:
            log.deliver(message, 0, on=uuid.UUID(int=1 + n))
    judge = Judge(Gatherer(Sites("ssb."), 0), Begins(), 100)
    dialogs = list(log._parts().items())
    parts = [judge.judge(dialogs[:2]), judge.judge(dialogs[2:])]
    assert judge.plus(*parts).to_json() == judge.judge(dialogs).to_json()


def test_commands_of_a_replay_are_distinguished_from_those_of_applications() -> None:
    """By its BEGIN; by the id that the replay gave the dialog where the log begins later."""
    log, late = Log(), renewed(ONE, "nightly", 0)
    for on, job in ((ONE, b""), (OTHER, b"nightly"), (late, b"nightly")):
        if on != late:
            log.issue(BEGIN, on=on, job=job, from_service="a", to_service="b")
        log.issue(SEND, on=on, job=job, body=b"x")
    everybody = log.account()
    tag = tag_of("nightly")
    assert (everybody.dialogs, everybody.replayed) == (3, {"nightly": 1, tag: 1})
    assert everybody.to_json()["replayed"] == {"nightly": 1, tag: 1}
    live, nightly = (
        log.account(dialog_filter=DialogFilter(LIVE)),
        log.account(dialog_filter=DialogFilter("nightly")),
    )
    assert (live.dialogs, live.ledger.accepted, live.replayed) == (1, 1, {})
    assert (nightly.dialogs, nightly.ledger.accepted) == (2, 2)
    assert log.account(dialog_filter=DialogFilter("weekly")).dialogs == 0
