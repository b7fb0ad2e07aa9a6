"""Which positions a forwarder commits: behind what is confirmed, dropped or held."""

from __future__ import annotations

from streams.kafka import TopicPartition, note_of
from streams.workers.forwarder.offset_tracker import OffsetTracker

TXQ = ("txq.A", 0)


def reported(found: list[TopicPartition]) -> list[tuple[str, int, int, str]]:
    """Return positions as values."""
    return [(p.topic, p.partition, p.offset, note_of(p)) for p in found]


def test_nothing_is_passed_while_it_is_under_way() -> None:
    passed = OffsetTracker()
    passed.note(TXQ, 10)
    assert reported(passed.due([("txq.A", 0, 7), ("txq.A", 0, 4), ("out.A", 0, 1)], {})) == [
        (*TXQ, 4, "")
    ]
    assert reported(passed.due([], {})) == [(*TXQ, 10, "")]


def test_what_is_held_is_passed_and_noted() -> None:
    passed = OffsetTracker()
    passed.note(TXQ, 10)
    due = passed.due([], {TXQ: "3-4"})
    assert reported(due) == [(*TXQ, 10, "3-4")]
    passed.committed(due)
    assert passed.due([], {TXQ: "3-4"}) == []
    assert reported(passed.due([], {})) == [(*TXQ, 10, "")], "it is held no longer"


def test_the_note_of_a_killed_forwarder_is_taken_away() -> None:
    """What it held is gone; its successor says so with its first commit."""
    passed = OffsetTracker()
    passed.begin([TopicPartition(*TXQ, 10, "3-4"), TopicPartition("out.A", 0, -1001)])
    assert reported(passed.due([], {})) == [(*TXQ, 10, "")]


def test_what_somebody_else_has_is_not_committed() -> None:
    passed = OffsetTracker()
    passed.note(TXQ, 10)
    due = passed.due([], {})
    passed.forget([TopicPartition(*TXQ)])
    passed.committed(due)  # the response came late
    assert passed.due([], {TXQ: "3"}) == []
    assert passed.trim_points() == {}


def test_what_may_go_is_known_to_kafka_and_held_by_nobody() -> None:
    """What was passed and not committed is read again after a crash; a view shows what is held."""
    passed = OffsetTracker()
    passed.begin([TopicPartition(*TXQ, 5, ""), TopicPartition("out.A", 0, -1001)])
    passed.note(TXQ, 10)
    assert passed.trim_points() == {TXQ: 5}
    passed.committed(passed.due([], {TXQ: "7-8"}))
    assert passed.trim_points() == {TXQ: 7}
    passed.committed(passed.due([], {}))
    assert passed.trim_points() == {TXQ: 10}
    passed.forget([TopicPartition(*TXQ)])
    assert passed.trim_points() == {}
