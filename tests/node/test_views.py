"""``sys.transmission_queue`` has what waits for a queue that is off, too (reference 4.6)."""

from __future__ import annotations

from streams.node.views import parked_messages, transmission_queue
from streams.protocol import Flag, Message
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
