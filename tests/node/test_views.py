"""The views over dialogs: parked messages (reference 4.6), and endpoints that were removed."""

from __future__ import annotations

from streams.node.views import conversation_endpoint, parked_messages, transmission_queue
from streams.protocol import Flag, Message, State
from tests.node.evidence import shows
from tests.protocol.build import Side, message, target


def off() -> Side:
    """Return a target whose queue is off, with two messages, a timer and an EndDialog for it."""
    side = target()
    side.queue_on = False
    side.receives(
        message(0), message(1, fragment=0, fragments=2), message(1, fragment=1, fragments=2)
    )
    side.sets_timer(1)
    side.waits(1)
    side.receives(message(2, flags=Flag.END))
    return side


def test_what_is_parked_is_in_the_transmission_queue_of_its_target() -> None:
    """It was sent to the service here; a timer of the endpoint's own has no row."""
    side = off()
    rows = list(parked_messages("S", side.dialog, side.inbox.__getitem__))
    assert [(row["message_sequence_number"], row["message_body"]) for row in rows] == [
        (0, b"0"),
        (1, b"1.0 1.1 "),
        (2, b"2"),
    ]
    assert [row["is_end_of_dialog"] for row in rows] == [False, False, True]
    assert {row["transmission_status"] for row in rows} == {"9617: the queue is disabled"}
    assert {(row["to_service_name"], row["from_service_name"]) for row in rows} == {
        ("TargetService", "InitiatorService")
    }


def test_its_columns_are_those_of_what_is_sent() -> None:
    side = target()
    side.queue_on = False
    side.receives(message(0))
    side.sends()
    [sent] = transmission_queue("S", side.dialog, lambda _: None)
    [row] = parked_messages("S", side.dialog, side.inbox.__getitem__)
    assert list(row) == list(sent)


def test_what_is_gone_has_no_row() -> None:
    side = off()

    def kept(position: int) -> Message | None:
        return None if position == 1 else side.inbox[position]

    numbers = [row["message_sequence_number"] for row in parked_messages("S", side.dialog, kept)]
    assert numbers == [0, 2]


@shows("D4.5")
def test_cleanup_removes_the_row_of_a_target() -> None:
    """A target that both sides have closed has a row for half an hour."""
    closed, removed = target(), target()
    for side in (closed, removed):
        side.receives(message(0), message(1, flags=Flag.END))
    closed.ends()
    removed.cleans_up()
    assert {side.dialog.state for side in (closed, removed)} == {State.CD}
    row = conversation_endpoint("S", closed.dialog, closed.now)
    assert row is not None and row["state"] == "CD"
    assert conversation_endpoint("S", removed.dialog, removed.now) is None
