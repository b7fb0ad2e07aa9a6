"""Design, clocks: workers go by the clock of their broker, whatever their machine's says."""

from __future__ import annotations

import pytest

from streams.node.liveness.kafka_clock import KafkaClock

EPOCH = 1_700_000_000_000
"""The broker's clock when the process's monotonic one is 0."""


def reads(clock: KafkaClock, appended: float, late: float) -> None:
    """Read a record that was appended so many seconds after the beginning, so much later."""
    clock.seen(EPOCH + int(appended * 1000), appended + late)


def following(own: float = 0.0) -> KafkaClock:
    clock = KafkaClock(own)
    clock.end_read(0.0)
    return clock


def test_the_machines_clock_counts_before_a_record_has_come() -> None:
    assert following(own=20.0).now(1.0) == 21_000


def test_the_best_record_counts() -> None:
    clock = following()
    for second, late in enumerate((0.9, 0.004, 0.3, 0.05)):
        clock.end_read(float(second))
        reads(clock, second + 0.5, late)
    assert clock.now(10.0) == EPOCH + 10_000 - 4


def test_what_is_old_counts_no_more() -> None:
    """The broker's clock is set back by an hour: ten seconds later everybody follows."""
    clock = following()
    reads(clock, 0.0, 0.0)
    for second in range(1, 11):
        clock.end_read(float(second))
        clock.seen(EPOCH + second * 1000 - 3_600_000, float(second))
    assert clock.now(20.0) == EPOCH + 20_000 - 3_600_000


def test_a_backlog_says_nothing_about_now() -> None:
    """After a pause of a minute, or at the start: records were appended long before they came."""
    clock = following()
    reads(clock, 0.5, 0.0)
    for second in range(1, 60):
        clock.seen(EPOCH + second * 1000, 60.0)
    assert clock.now(60.0) == EPOCH + 60_000
    fresh = KafkaClock()
    fresh.seen(EPOCH, 3_600.0)
    assert fresh.now(3_600.0) == 3_600_000, "its own"


def test_many_records_in_a_second_are_not_ten_seconds() -> None:
    """Fifty instances in a cluster send fifty heartbeats in a second."""
    clock = following()
    reads(clock, 0.5, 0.0)
    for number in range(50):
        reads(clock, 0.5 + number / 200, 0.2)
    assert clock.now(1.0) == EPOCH + 1_000


def test_it_slows_down_instead_of_going_back() -> None:
    """The best record is eleven seconds old, and all that came since took 80 ms longer."""
    clock = following()
    reads(clock, 0.5, 0.0)
    for second in range(1, 10):
        clock.end_read(float(second))
        reads(clock, second + 0.5, 0.08)
    assert clock.now(9.75) == EPOCH + 9_750
    clock.end_read(10.0)
    reads(clock, 10.5, 0.08)
    times = [clock.now(10.58 + n / 100) - EPOCH for n in range(40)]
    assert times[0] == 10_580
    assert times == sorted(times)
    assert times[10] == 10_580 + 50, "half as fast"
    assert times[20] == 10_580 + 200 - 80, "and right, after 160 ms"


def test_it_does_not_go_back_when_it_gets_to_know_kafkas() -> None:
    clock = following(own=EPOCH / 1000)
    assert clock.now(0.7) == EPOCH + 700
    reads(clock, 0.5, 0.2)
    assert clock.now(0.7) == EPOCH + 700
    assert clock.now(1.7) == EPOCH + 1_500


def test_a_machine_that_is_minutes_ahead_is_put_right_at_once() -> None:
    clock = following(own=EPOCH / 1000 + 600)
    reads(clock, 0.5, 0.2)
    assert clock.now(0.7) == EPOCH + 500


def test_how_far_another_clusters_clock_is_ahead() -> None:
    """Both are read by the same monotonic clock; of one that is unknown nothing is concluded."""
    here, there = following(), following()
    assert there.ahead_of(here) == here.ahead_of(there) == 0
    reads(here, 0.5, 0.0)
    assert there.ahead_of(here) == here.ahead_of(there) == 0
    there.seen(EPOCH + 600_700, 0.7)
    assert there.ahead_of(here) == 600_000
    assert here.ahead_of(there) == -600_000


@pytest.mark.parametrize(("days", "plausible"), [(0.9, True), (1.1, False), (2_900_000, False)])
def test_a_difference_of_more_than_a_day_is_not_plausible(days: float, plausible: bool) -> None:
    clock = following()
    reads(clock, 0.5, 0.0)
    by = int(days * 86_400_000)
    assert clock.is_plausible(EPOCH + 500 + by, 0.5) is plausible
    assert clock.is_plausible(EPOCH + 500 - by, 0.5) is plausible


@pytest.mark.parametrize("appended", [-1, 2**63 - 1])
def test_a_stamp_that_no_clock_can_have_counts_nothing(appended: int) -> None:
    """Another cluster's topic may let its writers stamp: by that no copy could be stamped."""
    clock = KafkaClock()
    clock.end_read(0.0)
    clock.seen(1_000_000, 0.5)
    clock.seen(appended, 0.6)
    assert clock.now(1.5) == 1_001_000
