"""The account of messages, from facts that are written down here: every verdict once."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import replace

import pytest

from streams.report import (
    Accepted,
    Begins,
    Delivered,
    Ending,
    Endings,
    EndpointKey,
    Fate,
    Fault,
    Ledger,
    Missing,
    Side,
    balance,
)

DIALOG = uuid.UUID("6f1c0000-0000-4000-8000-000000000001")
OTHER = uuid.UUID("6f1c0000-0000-4000-8000-000000000002")
HERE, ELSEWHERE = "ServerB/DatabaseB", "ServerC/DatabaseC"
SENDER = "ServerA/DatabaseA"
INITIATOR = EndpointKey(SENDER, DIALOG, True)
TARGET, REFUSED = EndpointKey(HERE, DIALOG, False), EndpointKey(ELSEWHERE, DIALOG, False)
SIDE = Side(INITIATOR, "CO", HERE, 3)
BACK = Side(TARGET, "CO", SENDER, 3)


def accepted(count: int = 3, sender: EndpointKey = INITIATOR) -> list[Accepted]:
    """Return messages as their sender's endpoint has numbered them."""
    return [
        Accepted(sender, uuid.uuid5(sender.conversation, f"{sender}{n}"), n, b"%d" % n)
        for n in range(count)
    ]


def delivered(messages: Iterable[Accepted], place: str = HERE, offset: int = 0) -> list[Delivered]:
    """Return them as they stand in a queue, one behind the other."""
    return [
        Delivered(
            *(m.sender.conversation, m.sender.is_initiator),
            *(m.message_id, m.sequence, m.digest, place),
            *(offset + at, 5, ("ServerA", place), 1_000),
        )
        for at, m in enumerate(messages)
    ]


def missing(message: Accepted) -> Missing:
    sender = message.sender
    return Missing(sender.conversation, sender.is_initiator, message.sequence, message.message_id)


def test_everything_is_there() -> None:
    messages = accepted()
    ledger = balance(messages, delivered(messages), [SIDE])
    assert ledger.balanced
    assert (ledger.accepted, ledger.delivered, ledger.verdict) == (3, 3, "nothing lost")
    assert ledger.locked == {HERE: 1}


def test_nothing_at_all_is_balanced() -> None:
    assert balance([], [], []).verdict == "nothing lost"


def test_an_acknowledged_message_that_is_in_no_queue_is_lost() -> None:
    messages = accepted()
    ledger = balance(messages, delivered([messages[0], messages[2]]), [SIDE])
    assert ledger.lost == [missing(messages[1])]
    assert (ledger.balanced, ledger.verdict) == (False, "1 lost")


def test_what_is_not_acknowledged_waits() -> None:
    messages = accepted()
    ledger = balance(messages, delivered(messages[:1]), [replace(SIDE, acknowledged=1)])
    assert (ledger.delivered, ledger.waiting, ledger.verdict) == (1, 2, "nothing lost")


def test_what_is_stored_and_not_yet_known_to_be_is_delivered() -> None:
    messages = accepted()
    ledger = balance(messages, delivered(messages), [replace(SIDE, acknowledged=0)])
    assert (ledger.delivered, ledger.waiting) == (3, 0)


def test_without_any_endpoint_there_is_no_excuse() -> None:
    messages = accepted(1)
    assert balance(messages, [], []).lost == [missing(messages[0])]


def test_twice_in_the_queue() -> None:
    messages = accepted()
    rows = delivered(messages) + delivered(messages[:1], offset=10)
    ledger = balance(messages, rows, [SIDE])
    assert ledger.twice == [missing(messages[0])]
    assert ledger.delivered == 3, "a message counts once"
    assert ledger.verdict == "1 delivered twice, 1 out of order"


def test_two_in_the_wrong_order() -> None:
    messages = accepted()
    rows = delivered([messages[0], messages[2], messages[1]])
    ledger = balance(messages, rows, [SIDE])
    assert ledger.disordered == [missing(messages[1])]
    assert ledger.verdict == "1 out of order"


def test_positions_of_two_partitions_say_nothing_of_an_order() -> None:
    """MOVE CONVERSATION: what comes after it has another group, and maybe another partition."""
    messages = accepted()
    rows = delivered(messages, offset=10)
    rows[2] = replace(rows[2], partition=1, offset=0)
    assert balance(messages, rows, [SIDE]).balanced
    rows[2] = replace(rows[2], partition=0)
    assert balance(messages, rows, [SIDE]).disordered == [missing(messages[0])]


def test_the_order_is_that_of_offsets_and_not_of_reading() -> None:
    messages = accepted()
    assert balance(messages, reversed(delivered(messages)), [SIDE]).balanced


def test_changed_in_transit() -> None:
    messages = accepted()
    rows = delivered(messages)
    rows[1] = replace(rows[1], digest=b"another body")
    ledger = balance(messages, rows, [SIDE])
    assert ledger.changed == [missing(messages[1])]
    assert ledger.verdict == "1 changed in transit"


def test_another_number_is_a_change_too() -> None:
    messages = accepted()
    rows = delivered(messages)
    rows[2] = replace(rows[2], sequence=7)
    assert balance(messages, rows, [SIDE]).changed == [missing(messages[2])]


# --- discarded, and by what ----------------------------------------------------------------------


def test_a_dialog_in_error_discards_what_had_not_arrived() -> None:
    messages = accepted()
    side = replace(SIDE, state="ER", discarded_from=1)
    ledger = balance(messages, delivered(messages[:1]), [side])
    assert (ledger.delivered, ledger.discarded, ledger.verdict) == (1, 2, "nothing lost")


def test_an_error_excuses_nothing_that_was_acknowledged_before() -> None:
    messages = accepted()
    side = replace(SIDE, state="ER", discarded_from=2)
    ledger = balance(messages, delivered(messages[:1]), [side])
    assert (ledger.lost, ledger.discarded) == ([missing(messages[1])], 1)


def test_the_application_ends_after_an_error() -> None:
    """ER, then CD: what the Error has discarded is as discarded as before."""
    messages = accepted()
    side = replace(SIDE, state="CD", discarded_from=0)
    endings = Endings({INITIATOR: Ending.PLAIN}, {INITIATOR: -8495})
    ledger = balance(messages, [], [side], endings)
    assert ledger.outcomes == {Fate.ERROR_RECEIVED: 3}


@pytest.mark.parametrize(
    ("side", "endings", "outcome"),
    [
        (SIDE, Endings(errors={INITIATOR: -8489}), Fate.EXPIRED),
        (SIDE, Endings(errors={INITIATOR: 7}), Fate.ERROR_RECEIVED),
        (SIDE, Endings({INITIATOR: Ending.WITH_ERROR}), Fate.ENDED_WITH_ERROR),
        (SIDE, Endings({INITIATOR: Ending.WITH_CLEANUP}), Fate.CLEANED_UP),
        (SIDE, Endings({INITIATOR: Ending.PLAIN}), Fate.ERROR_RECEIVED),
        (replace(SIDE, expired=True), Endings({INITIATOR: Ending.PLAIN}), Fate.EXPIRED),
        (SIDE, Endings(), Fate.NEW_BROKER),
        (SIDE, Endings(errors={INITIATOR: -9719}), Fate.NEW_BROKER),
        (SIDE, Endings({INITIATOR: Ending.PLAIN}, events={INITIATOR: 9719}), Fate.NEW_BROKER),
        (SIDE, Endings(events={INITIATOR: 9684}), Fate.NEW_BROKER),
        (SIDE, Endings(events={INITIATOR: 0}), Fate.ERROR_RECEIVED),
    ],
)
def test_every_reason_has_its_name(side: Side, endings: Endings, outcome: Fate) -> None:
    messages = accepted()
    ledger = balance(messages, [], [replace(side, state="CD", discarded_from=0)], endings)
    assert ledger.outcomes == {outcome: 3}
    assert (ledger.discarded, ledger.verdict) == (3, "nothing lost")


def test_ending_with_error_discards_in_its_own_direction_only() -> None:
    messages, replies = accepted(), accepted(3, TARGET)
    side = replace(SIDE, state="DO", discarded_from=0)
    endings = Endings({INITIATOR: Ending.WITH_ERROR}, end_dialogs={INITIATOR})
    ledger = balance([*messages, *replies], [], [side, BACK], endings)
    assert (ledger.discarded, ledger.lost) == (3, [missing(r) for r in replies])


def test_a_receiver_that_has_ended_discards_what_still_arrives() -> None:
    """It acknowledges, and shows nobody; that excuses no gap before what it has shown."""
    messages = accepted()
    endings, deaf = Endings({TARGET: Ending.PLAIN}), replace(BACK, deaf_from=2)
    ledger = balance(messages, delivered(messages[:2]), [SIDE, deaf], endings)
    assert ledger.outcomes == {Fate.DELIVERED: 2, Fate.PEER_ENDED: 1}
    ledger = balance(messages, delivered(messages[:1]), [SIDE, deaf], endings)
    assert ledger.lost == [missing(messages[1])]
    ledger = balance(messages, delivered(messages[1:2]), [SIDE, deaf], endings)
    assert ledger.lost == [missing(messages[0])]


def test_a_receiver_that_ended_after_the_enddialog_had_received_everything() -> None:
    messages = accepted()
    endings = Endings({TARGET: Ending.PLAIN}, end_dialogs={TARGET})
    ledger = balance(messages, delivered(messages[:2]), [SIDE, BACK], endings)
    assert ledger.lost == [missing(messages[2])]


def test_another_targets_end_excuses_nothing() -> None:
    messages = accepted()
    endings = Endings({REFUSED: Ending.PLAIN})
    ledger = balance(messages, delivered(messages[:2]), [SIDE, BACK], endings)
    assert ledger.lost == [missing(messages[2])]


# --- a target that acknowledges and has no endpoint: it does not accept the contract --------------

IN_ERROR = replace(SIDE, state="ER")
NOT_ACCEPTED = -8408


@pytest.mark.parametrize("side", [IN_ERROR, SIDE, replace(SIDE, state="CD"), None])
@pytest.mark.parametrize(
    "endings", [Endings(errors={INITIATOR: NOT_ACCEPTED}), Endings(unaccepted={TARGET: 2})]
)
def test_a_contract_that_the_target_refuses_discards_what_it_acknowledged(
    endings: Endings, side: Side | None
) -> None:
    """Its Error and its event say so, each without the other; also where one state is forgotten."""
    ledger = balance(accepted(), [], [] if side is None else [side], endings)
    assert ledger.outcomes == {Fate.ERROR_RECEIVED: 3}
    assert (ledger.discarded, ledger.verdict) == (3, "nothing lost")


def test_the_order_of_the_error_and_the_acknowledgement_does_not_matter() -> None:
    endings = Endings(errors={INITIATOR: NOT_ACCEPTED})
    first = replace(IN_ERROR, acknowledged=3, discarded_from=1)
    assert balance(accepted(), [], [first], endings).outcomes == {Fate.ERROR_RECEIVED: 3}


def test_a_target_that_accepts_the_contract_later_keeps_the_reason() -> None:
    """A later copy created the endpoint; it waits for a message that is never sent again."""
    waits, event = replace(BACK, state="SI", received=0), Endings(unaccepted={TARGET: 0})
    ledger = balance(accepted(1), [], [replace(IN_ERROR, acknowledged=1), waits], event)
    assert ledger.outcomes == {Fate.ERROR_RECEIVED: 1}


@pytest.mark.parametrize("state", ["ER", "CO", "DO"])
@pytest.mark.parametrize(
    "endings",
    [
        Endings(),
        Endings(errors={INITIATOR: -8470}),
        Endings(errors={INITIATOR: -8489}),
        Endings(errors={INITIATOR: -8495}),
        Endings(errors={INITIATOR: 8408}),
        Endings(events={INITIATOR: 0}),
        Endings(errors={REFUSED: NOT_ACCEPTED}),
        Endings(unaccepted={REFUSED: 2}),
    ],
)
def test_no_other_error_excuses_what_was_acknowledged(endings: Endings, state: str) -> None:
    ledger = balance(accepted(), [], [replace(SIDE, state=state)], endings)
    assert ledger.lost == [missing(m) for m in accepted()]


def test_an_event_excuses_no_message_behind_those_that_it_acknowledged() -> None:
    messages = accepted()
    ledger = balance(messages, [], [IN_ERROR], Endings(unaccepted={TARGET: 1}))
    assert ledger.lost == [missing(messages[2])]


@pytest.mark.parametrize(
    "endings", [Endings(errors={INITIATOR: NOT_ACCEPTED}), Endings(unaccepted={TARGET: 2})]
)
def test_a_target_that_had_an_endpoint_has_accepted_the_contract(endings: Endings) -> None:
    """Its queue, its state or its application's END shows that it had one."""
    messages = accepted()
    ledger = balance(messages, delivered(messages[:1]), [IN_ERROR], endings)
    assert ledger.lost == [missing(messages[1]), missing(messages[2])]
    stored = replace(BACK, received=3)
    assert len(balance(messages, [], [IN_ERROR, stored], endings).lost) == 3
    ended = replace(endings, end_kinds={TARGET: Ending.PLAIN}, end_dialogs={TARGET})
    assert len(balance(messages, [], [IN_ERROR], ended).lost) == 3


# --- commands that wait, and state that is forgotten ---------------------------------------------


def test_what_the_endpoint_worker_has_not_read_waits() -> None:
    """Also a dialog whose BEGIN it has not read: it has no endpoint yet."""
    messages = [replace(m, read=False) for m in accepted()]
    ledger = balance(messages, [], [])
    assert ledger.outcomes == {Fate.UNREAD: 3}
    assert (ledger.waiting, ledger.verdict) == (3, "nothing lost")


def test_what_is_not_read_yet_stands_behind_what_is() -> None:
    messages = accepted(4)
    messages[3] = replace(messages[3], read=False)
    ledger = balance(messages, delivered(messages[:3]), [SIDE])
    assert ledger.outcomes == {Fate.DELIVERED: 3, Fate.UNREAD: 1}


def test_what_is_parked_waits() -> None:
    """Acknowledged, in no queue, and not lost: its queue is off."""
    messages = accepted()
    off = replace(BACK, parked=frozenset({1, 2}))
    ledger = balance(messages, delivered(messages[:1]), [SIDE, off])
    assert ledger.outcomes == {Fate.DELIVERED: 1, Fate.PARKED: 2}
    assert ledger.waiting == 2


@pytest.mark.parametrize(
    ("endings", "outcome"),
    [
        (Endings({INITIATOR: Ending.WITH_ERROR}), Fate.ENDED_WITH_ERROR),
        (Endings({INITIATOR: Ending.WITH_CLEANUP}), Fate.CLEANED_UP),
        (Endings(errors={INITIATOR: -8489}), Fate.EXPIRED),
        (Endings(errors={INITIATOR: 1}), Fate.ERROR_RECEIVED),
        (Endings(expired={DIALOG}), Fate.EXPIRED),
        (Endings({TARGET: Ending.PLAIN}), Fate.PEER_ENDED),
        (Endings({INITIATOR: Ending.PLAIN}, events={INITIATOR: 0}), Fate.ERROR_RECEIVED),
        (Endings({INITIATOR: Ending.PLAIN}, events={INITIATOR: 9719}), Fate.NEW_BROKER),
        (Endings(events={INITIATOR: 8489}), Fate.EXPIRED),
        (Endings(events={INITIATOR: 9684}), Fate.NEW_BROKER),
        (Endings({INITIATOR: Ending.PLAIN}), Fate.LOST),
        (Endings(), Fate.LOST),
    ],
)
def test_a_forgotten_endpoint(endings: Endings, outcome: Fate) -> None:
    """Sent commands, arrivals, and the lifetime excuse; a dialog that ended well does not."""
    assert balance(accepted(), [], [], endings).outcomes == {outcome: 3}


# --- several targets -----------------------------------------------------------------------------


def test_what_a_refused_target_has_sent_is_an_account_of_its_own() -> None:
    """Its replies end as discarded, and hide no loss of the locked target's."""
    theirs, refused = accepted(2, TARGET), accepted(2, REFUSED)
    sides = [SIDE, BACK, Side(REFUSED, "ER", SENDER, 2, discarded_from=0)]
    endings = Endings(errors={REFUSED: -8495})
    rows = delivered(theirs[:1], SENDER)
    ledger = balance([*theirs, *refused], rows, sides, endings)
    assert ledger.outcomes == {
        Fate.DELIVERED: 1,
        Fate.LOST: 1,
        Fate.ERROR_RECEIVED: 2,
    }
    assert ledger.lost == [missing(theirs[1])]


def test_what_the_receiver_has_put_into_its_queue_is_there() -> None:
    """Whether its sender knows that or not, and not for a target that it has refused."""
    theirs, refused = accepted(1, TARGET), accepted(1, REFUSED)
    locked = replace(SIDE, received=1)
    senders = [Side(TARGET, "CO", SENDER, 0), Side(REFUSED, "CO", SENDER, 0)]
    ledger = balance([*theirs, *refused], [], [locked, *senders])
    assert ledger.outcomes == {Fate.LOST: 1, Fate.IN_TRANSMISSION_QUEUE: 1}
    assert ledger.lost == [missing(theirs[0])]


@pytest.mark.parametrize(
    ("commands", "counted", "endings", "verdict"),
    [
        (2, 2, Endings(), "nothing lost"),
        (2, 3, Endings(), "1 miscounted by one side"),
        (2, 1, Endings(), "1 miscounted by one side"),
        (2, 3, Endings({INITIATOR: Ending.PLAIN}), "nothing lost"),
        (2, 2, Endings({INITIATOR: Ending.PLAIN}), "1 miscounted by one side"),
        (
            2,
            2,
            Endings({INITIATOR: Ending.PLAIN}, end_dialogs={INITIATOR}),
            "nothing lost",
        ),
        (0, 0, Endings({INITIATOR: Ending.PLAIN}), "nothing lost"),
        (2, 2, Endings({INITIATOR: Ending.WITH_CLEANUP}), "nothing lost"),
    ],
)
def test_a_side_counts_as_many_as_its_commands_say(
    commands: int, counted: int, endings: Endings, verdict: str
) -> None:
    """An END has a number too, but for one that ends what the other side has ended."""
    side = replace(SIDE, sent=counted, acknowledged=0)
    assert balance(accepted(commands), [], [side], endings).verdict == verdict


def test_a_side_counts_what_was_trimmed_too() -> None:
    side, begins = replace(SIDE, sent=9, acknowledged=7), Begins(frozenset({"ServerA"}))
    assert balance(accepted(2), [], [side], begins=begins).balanced


def test_before_the_lock_a_message_at_two_targets_is_delivered_once() -> None:
    messages = accepted(1)
    rows = delivered(messages) + delivered(messages, ELSEWHERE)
    ledger = balance(messages, rows, [replace(SIDE, peer=None, acknowledged=0)])
    assert (ledger.delivered, ledger.at_refused_targets, ledger.twice) == (1, 1, [])


def test_a_forgotten_lock_is_where_most_messages_are() -> None:
    messages = accepted()
    rows = delivered(messages[:1]) + delivered(messages, ELSEWHERE)
    ledger = balance(messages, rows, [])
    assert (ledger.delivered, ledger.at_refused_targets, ledger.lost) == (3, 1, [])


def test_deliveries_at_a_refused_target_are_counted_apart() -> None:
    messages = accepted()
    rows = delivered(messages) + delivered(messages, ELSEWHERE)
    ledger = balance(messages, rows, [SIDE])
    assert (ledger.delivered, ledger.at_refused_targets, ledger.twice) == (3, 3, [])
    assert ledger.balanced


def test_only_at_a_refused_target_is_lost() -> None:
    messages = accepted(1)
    ledger = balance(messages, delivered(messages, ELSEWHERE), [SIDE])
    assert (ledger.lost, ledger.at_refused_targets) == ([missing(messages[0])], 1)


def test_messages_without_a_command_are_reported() -> None:
    messages = accepted()
    foreign = delivered(accepted(1, INITIATOR._replace(conversation=OTHER)), offset=9)
    invented = [replace(delivered(messages[:1], offset=8)[0], message_id=uuid.uuid4(), sequence=3)]
    ledger = balance(messages, [*delivered(messages), *invented, *foreign], [SIDE])
    assert (len(ledger.unknown), ledger.verdict) == (2, "2 never sent")


def test_every_fault_has_its_words() -> None:
    row, ledger = missing(accepted(1)[0]), Ledger()
    for fault in (*Fault, Fault.LOST):
        ledger.note(fault, row)
    assert ledger.verdict == (
        "2 lost, 1 delivered twice, 1 out of order, 1 changed in transit, 1 never sent, "
        "1 miscounted by one side"
    )


def test_dialogs_do_not_mix() -> None:
    other = INITIATOR._replace(conversation=OTHER)
    mine, others = accepted(), accepted(2, other)
    sides = [SIDE, replace(SIDE, endpoint=other, acknowledged=0, peer=None)]
    ledger = balance([*mine, *others], delivered(mine), sides)
    assert (ledger.accepted, ledger.delivered, ledger.waiting) == (5, 3, 2)
    assert ledger.balanced
    assert ledger.locked == {HERE: 1}


UNREAD = Begins(events_end=True)
"""The newest events cannot be read: a transaction hangs there."""


def test_a_refusal_that_cannot_be_read_is_undecided_and_no_loss() -> None:
    """The second statement was refused, so the third message has the number 1."""
    first, refused, last = messages = accepted()
    rows = delivered([first, replace(last, sequence=1)])
    side = replace(SIDE, sent=2, acknowledged=2)
    blind = balance(messages, rows, [side], begins=UNREAD)
    assert blind.outcomes == {Fate.DELIVERED: 2, Fate.UNDECIDED: 1}
    assert (blind.verdict, blind.undecided) == ("nothing lost, 1 undecided", 1)
    assert (blind.balanced, blind.complete) == (True, False)
    assert balance(messages, rows, [side]).verdict == (
        "1 lost, 1 changed in transit, 1 miscounted by one side"
    )
    read = balance([first, replace(last, sequence=1)], rows, [side])
    assert read.verdict == "nothing lost", "what the account is when the event was read"
    assert refused not in read.lost


def test_a_refusal_that_cannot_be_read_is_not_waiting() -> None:
    """The state counts one message, and the statements are two."""
    side = replace(SIDE, sent=1, acknowledged=0)
    outcomes = balance(accepted(2), [], [side], begins=UNREAD).outcomes
    assert outcomes == {Fate.IN_TRANSMISSION_QUEUE: 1, Fate.UNDECIDED: 1}


def test_what_no_event_excuses_is_found_while_events_cannot_be_read() -> None:
    messages = accepted()
    rows = delivered([messages[1], messages[0], messages[0]])
    rows[0] = replace(rows[0], digest=b"another")
    rows += delivered([replace(accepted(1)[0], message_id=uuid.uuid4())], offset=9)
    ledger = balance(messages, rows, [SIDE], begins=UNREAD)
    assert ledger.faults == {
        Fault.TWICE: 1,
        Fault.CHANGED: 1,
        Fault.DISORDERED: 1,
        Fault.UNKNOWN: 1,
    }


def test_of_two_clusters_one_may_have_events_that_cannot_be_read() -> None:
    assert (Begins() | UNREAD).events_end and (UNREAD | Begins()).events_end
    assert not (Begins() | Begins()).events_end
