"""Whether a reader of a compacted topic may have missed a tombstone: a matter of Kafka's time."""

from __future__ import annotations

from streams.workers.endpoint.completeness import Completeness

LIMIT = 1_000


def test_reading_may_begin_at_any_offset_but_not_take_too_long() -> None:
    reading = Completeness(5_000, LIMIT)
    assert not reading.is_doubtful(6_000)
    assert reading.is_doubtful(6_001)


def test_what_was_read_to_an_end_is_complete_as_of_that_end() -> None:
    """Not as of when it was reached: what was deleted in between may be behind the end."""
    reading = Completeness(0, LIMIT)
    reading.ends(7, 600)
    reading.reaches(6, 700)
    assert reading.is_doubtful(1_001)
    reading.reaches(7, 900)
    assert not reading.is_doubtful(1_600)
    assert reading.is_doubtful(1_601)


def test_an_end_that_is_not_reached_yet_is_not_replaced() -> None:
    """A topic in which more is written all the time has an end that is always ahead."""
    reading = Completeness(0, LIMIT)
    for second in range(1, 100):
        reading.ends(10 * second, 600 * second)
        reading.reaches(10 * second - 1, 600 * second)
        reading.reaches(10 * second, 600 * second + 300)
        assert not reading.is_doubtful(600 * second + 1_000)


def test_an_end_that_is_reached_too_late_proves_nothing() -> None:
    """Its process was suspended, and a tombstone before the end may be gone since."""
    reading = Completeness(0, LIMIT)
    reading.ends(7, 500)
    reading.reaches(7, 1_501)
    assert reading.is_doubtful(1_501)
    reading.ends(8, 1_502)
    reading.reaches(8, 1_502)
    assert reading.is_doubtful(1_502)


def test_a_clock_that_has_stood_still_shows_it_when_it_is_put_right() -> None:
    """A machine was suspended for a day, and its reader goes on before a heartbeat comes."""
    reading = Completeness(0, LIMIT)
    for at in (100, 101, 102):
        reading.ends(at, at)
        reading.reaches(at, at)
    assert not reading.is_doubtful(103)
    assert reading.is_doubtful(86_400_103)


def test_a_clock_that_is_set_far_back_proves_nothing() -> None:
    assert Completeness(86_400_000, LIMIT).is_doubtful(0)
