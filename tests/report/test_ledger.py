"""The account of messages, from facts that are written down here: every verdict once."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import replace

from streams.report import Accepted, Delivered, Ledger, Missing, Side, balance

DIALOG = uuid.UUID("6f1c0000-0000-4000-8000-000000000001")
OTHER = uuid.UUID("6f1c0000-0000-4000-8000-000000000002")
HERE, ELSEWHERE = "ServerB/DatabaseB", "ServerC/DatabaseC"
SIDE = Side(DIALOG, True, "ServerA/DatabaseA", "CO", HERE, 3)


def accepted(count: int = 3, conversation: uuid.UUID = DIALOG) -> list[Accepted]:
    """Return messages as their sender's endpoint has numbered them."""
    return [
        Accepted(conversation, True, uuid.uuid5(conversation, str(n)), n, b"%d" % n)
        for n in range(count)
    ]


def delivered(messages: Iterable[Accepted], place: str = HERE, offset: int = 0) -> list[Delivered]:
    """Return them as they stand in a queue, one behind the other."""
    return [
        Delivered(
            *(m.conversation, m.from_initiator, m.message_id, m.sequence, m.digest, place),
            *(offset + at, 5, ("ServerA", place), 1_000),
        )
        for at, m in enumerate(messages)
    ]


def missing(message: Accepted) -> Missing:
    return Missing(
        message.conversation, message.from_initiator, message.sequence, message.message_id
    )


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


def test_the_order_is_that_of_offsets_and_not_of_reading() -> None:
    messages = accepted()
    assert balance(messages, reversed(delivered(messages)), [SIDE]).balanced


def test_changed_on_the_way() -> None:
    messages = accepted()
    rows = delivered(messages)
    rows[1] = replace(rows[1], digest=b"another body")
    ledger = balance(messages, rows, [SIDE])
    assert ledger.changed == [missing(messages[1])]
    assert ledger.verdict == "1 changed on the way"


def test_another_number_is_a_change_too() -> None:
    messages = accepted()
    rows = delivered(messages)
    rows[2] = replace(rows[2], sequence=7)
    assert balance(messages, rows, [SIDE]).changed == [missing(messages[2])]


def test_a_dialog_in_error_discards_what_had_not_arrived() -> None:
    messages = accepted()
    ledger = balance(messages, delivered(messages[:1]), [replace(SIDE, state="ER")])
    assert (ledger.delivered, ledger.discarded, ledger.verdict) == (1, 2, "nothing lost")


def test_ending_with_error_discards_in_its_own_direction_only() -> None:
    messages = accepted()
    replies = [replace(m, from_initiator=False) for m in accepted()]
    back = replace(SIDE, from_initiator=False, place=HERE, peer="ServerA/DatabaseA")
    ledger = balance([*messages, *replies], [], [SIDE, back], discarding={(DIALOG, True)})
    assert (ledger.discarded, ledger.lost) == (3, [missing(r) for r in replies])


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


def test_what_nobody_sent_is_told() -> None:
    messages = accepted()
    foreign = delivered(accepted(1, OTHER), offset=9)
    invented = [replace(delivered(messages[:1], offset=8)[0], message_id=uuid.uuid4(), sequence=3)]
    ledger = balance(messages, [*delivered(messages), *invented, *foreign], [SIDE])
    assert (ledger.unknown, ledger.verdict) == (2, "2 never sent")


def test_every_fault_has_its_words() -> None:
    row = missing(accepted(1)[0])
    ledger = Ledger(lost=[row, row], twice=[row], disordered=[row], changed=[row], unknown=1)
    assert ledger.verdict == (
        "2 lost, 1 delivered twice, 1 out of order, 1 changed on the way, 1 never sent"
    )


def test_dialogs_do_not_mix() -> None:
    mine, others = accepted(), accepted(2, OTHER)
    sides = [SIDE, replace(SIDE, conversation=OTHER, acknowledged=0, peer=None)]
    ledger = balance([*mine, *others], delivered(mine), sides)
    assert (ledger.accepted, ledger.delivered, ledger.waiting) == (5, 3, 2)
    assert ledger.balanced
    assert ledger.locked == {HERE: 1}
