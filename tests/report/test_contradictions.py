"""An event that reports a refusal counts only if neither queues nor state contradict it."""

from __future__ import annotations

import pickle
import uuid

import pytest

from streams.errors import EventKind, Number
from streams.protocol import Command, Dialog, State
from streams.report import Fate, Fault
from streams.report.account import Account
from streams.report.begins import Begins
from streams.wire.state import encode_dialog
from streams.wire.state_keys import dialog_key
from tests.report.test_gather import BEGIN, END, ONE, OTHER, SEND, Log

NOBODY = uuid.UUID(int=77)


def refuse(log: Log, command: Command, on: object = ONE) -> None:
    log.emit(
        EventKind.CONVERSATION, on, error=int(Number.SEND_STATE), message_id=str(command.command_id)
    )


def keep(log: Log, sent: int, acknowledged: int = 0, on: uuid.UUID = ONE) -> None:
    """Write the initiator's state: it has sent so many messages."""
    about = "DatabaseA", on, True
    dialog = Dialog(
        on, "DatabaseA", "A", True, State.CO, "InitiatorService", "TargetService", "B", "DEFAULT",
        on, on, 0, 10**12, locked=True, send_sequence=sent, acknowledged=(acknowledged, 0),
    )  # fmt: skip
    log.add("ssb.dialog.ServerA", (dialog_key(about), encode_dialog(dialog), []))


def sends(log: Log, count: int) -> list[Command]:
    return [log.issue(SEND, body=b"%d" % n) for n in range(count)]


def faults(account: Account) -> dict[Fault, int]:
    return dict(+account.ledger.faults)


def test_a_message_in_a_queue_was_not_refused() -> None:
    """One forged event made three faults of a message that was delivered."""
    log = Log()
    first, second = sends(log, 2)
    for n, each in enumerate((first, second)):
        log.deliver(each, n)
    keep(log, 2, 2)
    refuse(log, first)
    account = log.account()
    assert (faults(account), account.ledger.outcomes) == ({}, {Fate.DELIVERED: 2})
    assert not list(account.refusals), "it was not refused, so no number counts it"
    assert (account.contradicted, account.to_json()["contradicted_refusals"]) == (1, 1)
    assert account.notes == (
        "Events report the refusal of 1 statement that queues or state show as applied. Such "
        "events do not count. "
        f"First: statement {first.command_id} of dialog {ONE}.",
    )


def test_a_refusal_does_not_excuse_a_message_that_the_state_counts() -> None:
    """It was accepted, acknowledged, and is in no queue: lost."""
    log = Log()
    first, second = sends(log, 2)
    log.deliver(first, 0)
    keep(log, 2, 2)
    refuse(log, second)
    account = log.account()
    assert (faults(account), account.contradicted) == ({Fault.LOST: 1}, 1)


def test_a_message_that_waits_was_not_refused() -> None:
    log = Log()
    first, second = sends(log, 2)
    keep(log, 2, 0)
    refuse(log, first)
    refuse(log, second)
    account = log.account()
    assert (faults(account), account.contradicted) == ({}, 2)
    assert account.ledger.outcomes == {Fate.IN_TRANSMISSION_QUEUE: 2}
    assert account.example is not None and account.example.statement == first.command_id


def test_of_two_refusals_the_numbers_tell_which_one_is_forged() -> None:
    """A number is missing before the last message, and none before the second."""
    log = Log()
    refused, first, forged, last = sends(log, 4)
    log.deliver(first, 0)
    log.deliver(last, 2)
    keep(log, 3, 3)
    refuse(log, refused)
    refuse(log, forged)
    account = log.account()
    assert faults(account) == {Fault.LOST: 1}
    [(number, count, first_refused)] = account.refusals
    assert (number, count) == (int(Number.SEND_STATE), 1)
    assert first_refused.command_id == refused.command_id
    assert account.example is not None and account.example.statement == forged.command_id


def test_later_messages_contradict_a_refusal_when_the_state_is_forgotten() -> None:
    log = Log()
    forged, refused, last = sends(log, 3)
    log.deliver(last, 1)
    refuse(log, forged)
    refuse(log, refused)
    account = log.account()
    assert (faults(account), account.contradicted) == ({Fault.LOST: 1}, 1)


def test_refusals_that_nothing_contradicts_count() -> None:
    """With and without state, with an END, and where the commands before are trimmed."""
    for begins in (Begins(), Begins(frozenset({"ServerA"}))):
        for sent in (None, 2, 3):
            log = Log(begins=begins)
            refused, first, second, last = sends(log, 4)
            log.deliver(first, 0)
            log.deliver(second, 1)
            if sent == 3:
                log.issue(END)
            refuse(log, refused)
            refuse(log, last)
            if sent is not None:
                keep(log, sent, sent)
            account = log.account()
            assert (faults(account), account.contradicted) == ({}, 0)
            assert account.ledger.outcomes == {Fate.DELIVERED: 2}


def test_an_end_that_the_state_counts_was_not_refused() -> None:
    """A second one is refused rightly."""
    log = Log()
    [first] = sends(log, 1)
    log.deliver(first, 0)
    end, again = log.issue(END), log.issue(END)
    keep(log, 2, 2)
    refuse(log, again)
    assert (faults(log.account()), log.account().contradicted) == ({}, 0)
    refuse(log, end)
    account = log.account()
    assert (faults(account), account.contradicted) == ({}, 1)
    assert account.example is not None and account.example.statement == end.command_id


def test_the_begin_of_a_dialog_that_exists_was_not_refused() -> None:
    """So its lifetime still excuses what it has discarded; a second BEGIN is refused rightly."""
    log = Log()
    begin = log.issue(BEGIN, lifetime=1, to_service="TargetService")
    first, _expired = sends(log, 2)
    log.deliver(first, 0)
    refuse(log, log.issue(BEGIN))
    assert log.account().contradicted == 0
    refuse(log, begin)
    account = log.account()
    assert (faults(account), account.contradicted) == ({}, 2)
    assert account.ledger.outcomes == {Fate.DELIVERED: 1, Fate.EXPIRED: 1}


@pytest.mark.parametrize("named", [ONE, OTHER, NOBODY])
def test_a_statement_on_several_conversations_was_applied_on_all_or_on_none(
    named: uuid.UUID,
) -> None:
    """One conversation has the message, so the event does not excuse its loss on the other."""
    log = Log()
    both = log.issue(SEND, body=b"both", also=(OTHER,))
    log.deliver(both, 0)
    keep(log, 1, 1)
    refuse(log, both, named)
    account = log.account()
    assert (faults(account), account.contradicted) == ({Fault.LOST: 1}, 1)
    assert not list(account.refusals)
    [(_, lost)] = account.exceptions
    assert lost.conversation == OTHER


def test_an_event_without_a_conversation_refuses_nothing() -> None:
    log = Log()
    both = log.issue(SEND, body=b"both", also=(OTHER,))
    refuse(log, both, "nobody's")
    assert faults(log.account()) == {Fault.LOST: 2}


def test_statements_are_counted_and_not_events() -> None:
    log = Log()
    for n, each in enumerate(sends(log, 3)):
        log.deliver(each, n)
        refuse(log, each)
        refuse(log, each)
    [note] = log.account().notes
    assert note.startswith("Events report the refusal of 3 statements")


def test_sums_of_dialogs_have_every_contradiction_and_the_first_example() -> None:
    """Spark's executors return sums, which it adds in any order."""
    sums = []
    for on in (OTHER, ONE):
        log = Log()
        sent = log.issue(SEND, on=on, body=b"0")
        log.deliver(sent, 0, on)
        refuse(log, sent, on)
        sums.append(pickle.loads(pickle.dumps(log.account())))
    for one, other in (sums, sums[::-1]):
        total = Account()
        total.add(one, 100)
        total.add(other, 100)
        assert (total.contradicted, total.example) == (2, min(each.example for each in sums))


def test_parts_in_any_order_give_the_same_contradictions() -> None:
    """A message that is in two queues with different numbers, for example."""
    log = Log()
    refused, first, forged, last = sends(log, 4)
    log.deliver(first, 1)
    for number in (3, 2):
        log.deliver(last, number)
    refuse(log, refused)
    refuse(log, forged)
    found = log.account()
    log.records.reverse()
    assert (found.contradicted, found.example) == (1, log.account().example)
