"""When a process writes heartbeats, and in which names."""

from __future__ import annotations

from streams.node import LEFT
from streams.workers.control.heartbeat_schedule import HEARTBEAT, HeartbeatSchedule


def written(schedule: HeartbeatSchedule, now: float) -> list[tuple[str, int]]:
    """Return what is written at a moment."""
    found: list[tuple[str, int]] = []
    schedule.write_due(now, lambda name, count: found.append((name, count)))
    return found


def test_heartbeats_are_counted_and_written_when_they_are_due() -> None:
    schedule = HeartbeatSchedule(("A", "B"))
    assert schedule.due_in(100.0) == 0
    assert written(schedule, 100.0) == [("A", 1), ("B", 1)]
    assert schedule.due_in(100.25) == HEARTBEAT - 0.25
    assert written(schedule, 100.25) == []
    assert written(schedule, 100.0 + HEARTBEAT) == [("A", 2), ("B", 2)]


def test_a_new_name_is_written_at_once() -> None:
    schedule = HeartbeatSchedule(("A",))
    written(schedule, 100.0)
    schedule.add("B")
    assert schedule.due_in(100.1) == 0
    assert written(schedule, 100.1) == [("A", 2), ("B", 2)]


def test_who_leaves_says_so_once() -> None:
    schedule = HeartbeatSchedule(("A", "B"))
    schedule.leave("A")
    assert written(schedule, 100.0) == [("B", 1), ("A", LEFT)]
    assert written(schedule, 200.0) == [("B", 2)]


def test_a_change_is_written_at_once() -> None:
    schedule = HeartbeatSchedule(("A",))
    written(schedule, 100.0)
    schedule.hurry()
    assert written(schedule, 100.1) == [("A", 2)]


def test_the_next_ones_are_due_after_the_period() -> None:
    schedule = HeartbeatSchedule(("A",))
    schedule.period = 5.0
    written(schedule, 100.0)
    assert schedule.due_in(101.0) == 4.0
    assert written(schedule, 104.9) == []
    assert written(schedule, 105.0) == [("A", 2)]
