"""When a process gives signs of life, and in which names."""

from __future__ import annotations

from streams.node import LEFT
from streams.workers.heartbeat_schedule import HEARTBEAT, HeartbeatSchedule


def given(signs: HeartbeatSchedule, now: float) -> list[tuple[str, int]]:
    """Return what is written at a moment."""
    written: list[tuple[str, int]] = []
    signs.give(now, lambda name, count: written.append((name, count)))
    return written


def test_signs_are_counted_and_given_when_they_are_due() -> None:
    signs = HeartbeatSchedule(("A", "B"))
    assert signs.due_in(100.0) == 0
    assert given(signs, 100.0) == [("A", 1), ("B", 1)]
    assert signs.due_in(100.25) == HEARTBEAT - 0.25
    assert given(signs, 100.25) == []
    assert given(signs, 100.0 + HEARTBEAT) == [("A", 2), ("B", 2)]


def test_a_new_name_is_told_at_once() -> None:
    signs = HeartbeatSchedule(("A",))
    given(signs, 100.0)
    signs.speak_for("B")
    assert signs.due_in(100.1) == 0
    assert given(signs, 100.1) == [("A", 2), ("B", 2)]


def test_who_leaves_says_so_once() -> None:
    signs = HeartbeatSchedule(("A", "B"))
    signs.leave("A")
    assert given(signs, 100.0) == [("B", 1), ("A", LEFT)]
    assert given(signs, 200.0) == [("B", 2)]


def test_what_has_happened_is_told_at_once() -> None:
    signs = HeartbeatSchedule(("A",))
    given(signs, 100.0)
    signs.hurry()
    assert given(signs, 100.1) == [("A", 2)]


def test_the_next_ones_are_due_after_the_period() -> None:
    signs = HeartbeatSchedule(("A",))
    signs.period = 5.0
    given(signs, 100.0)
    assert signs.due_in(101.0) == 4.0
    assert given(signs, 104.9) == []
    assert given(signs, 105.0) == [("A", 2)]
