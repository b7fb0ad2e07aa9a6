"""Design, clocks: workers go by the clock of their broker, whatever their machine's says."""

from __future__ import annotations

from streams.node.kafka_clock import KafkaClock

EPOCH = 1_700_000_000_000
"""The broker's clock when the process's monotonic one is 0."""


def reads(clock: KafkaClock, appended: float, late: float) -> None:
    """Read a record that was appended so many seconds after the beginning, so much later."""
    clock.seen(EPOCH + int(appended * 1000), appended + late)


def following() -> KafkaClock:
    clock = KafkaClock()
    clock.end_read(0.0)
    return clock


def test_nothing_is_known_before_a_record_has_come() -> None:
    assert following().now(1.0) is None


def test_the_best_of_ten_counts() -> None:
    clock = following()
    for second, late in enumerate((0.9, 0.004, 0.3, 0.05)):
        clock.end_read(float(second))
        reads(clock, second + 0.5, late)
    assert clock.now(10.0) == EPOCH + 10_000 - 4


def test_what_is_old_counts_no_more() -> None:
    """The broker's clock is set back by an hour: ten records later everybody follows."""
    clock = following()
    reads(clock, 0.5, 0.0)
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
    assert KafkaClock().now(0.0) is None
    fresh = KafkaClock()
    fresh.seen(EPOCH, 3_600.0)
    assert fresh.now(3_600.0) is None


def test_how_far_another_clusters_clock_is_ahead() -> None:
    """Both are read by the same monotonic clock; of one that is unknown nothing is concluded."""
    here, there = following(), following()
    assert there.ahead_of(here) == here.ahead_of(there) == 0
    reads(here, 0.5, 0.0)
    assert there.ahead_of(here) == here.ahead_of(there) == 0
    there.seen(EPOCH + 600_700, 0.7)
    assert there.ahead_of(here) == 600_000
    assert here.ahead_of(there) == -600_000
