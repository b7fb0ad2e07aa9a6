"""Numbers that are missing in a queue: the alarm, and what is none."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streams.monitor import gaps, read
from streams.monitor.sink import gap_row
from streams.protocol.frames import Flag
from streams.store import Gap
from tests.monitor.records import MALFORMED, NOON, Delivery, Stored, frame, replaced

TEN = 600_000


def _numbers(*numbers: int, apart: int = 1_000, **changes: object) -> list[Stored]:
    made = []
    for place, number in enumerate(numbers):
        at = NOON + place * apart
        visits = (("ServerA", at), ("ServerB/DatabaseB", at + 5))
        made.append(Stored(Delivery(id=place, sequence=number, visits=visits, **changes).headers))  # type: ignore[arg-type]
    return made


def _gaps(spark: SparkSession, records: list[Stored]) -> list[Gap]:
    now = F.timestamp_millis(F.lit(NOON + 10 * TEN))
    found = gaps.gaps(read.envelopes(frame(spark, records)), now, within=TEN, late=60_000)
    assert tuple(found.columns) == gaps.GAPS
    return [gap_row(row) for row in found.collect()]  # type: ignore[misc]


@pytest.mark.long
def test_a_number_that_is_missing_is_an_alarm(spark: SparkSession) -> None:
    found = _gaps(spark, _numbers(0, 1, 2, 5, 6))
    start = NOON - NOON % TEN
    assert {row.window_start for row in found} == {start, start - TEN}
    assert {replace(row, window_start=0, window_end=0) for row in found} == {
        Gap(
            topic="ssb.queue.ServerB.DatabaseB.TargetQueue",
            conversation=str(uuid.UUID(int=77)),
            from_initiator=True,
            window_start=0,
            window_end=0,
            first=0,
            last=6,
            count=5,
            missing=2,
            first_at=NOON + 5,
            last_at=NOON + 4_005,
        )
    }


@pytest.mark.long
@pytest.mark.parametrize("numbers", [(0, 1, 1, 3), (5, 8, 5, 8), (1, 3, 4, 4, 6, 2, 7)])
def test_as_many_repeats_do_not_hide_a_gap(spark: SparkSession, numbers: tuple[int, ...]) -> None:
    assert {row.missing for row in _gaps(spark, _numbers(*numbers))} == {1}


@pytest.mark.long
def test_several_repeats_withdraw_a_reported_gap_too(spark: SparkSession) -> None:
    assert {row.missing for row in _gaps(spark, _numbers(0, 1, 3, 3, 3))} == {0}


def test_what_looks_alike_and_is_none(spark: SparkSession) -> None:
    other = uuid.UUID(int=78)
    records = [
        *_numbers(4, 5, 6),  # the beginning was delivered long ago
        *_numbers(0, 1, 1, 2, conversation=other),  # a repeat has an alarm of its own
        *_numbers(9, conversation=other, flags=Flag.ERROR),  # it skips
        *_numbers(0, flags=Flag.UNSEQUENCED),
        *_numbers(8, 9, from_initiator=False),  # the other direction
        *[Stored(headers) for _, headers in MALFORMED.values()],
    ]
    assert [row for row in _gaps(spark, records) if row.missing] == []


@pytest.mark.long
def test_numbers_that_do_not_fit_into_sums_end_nothing(spark: SparkSession) -> None:
    """Who may write a queue may claim any number, and the others go on being watched."""
    huge = uuid.UUID(int=79)
    records = [
        *_numbers(0, 2**63 - 1, conversation=huge),
        *_numbers(-(2**63), -1, conversation=huge),
        *_numbers(0, 2**40, conversation=uuid.UUID(int=80)),
        *_numbers(0, 1, 3),
    ]
    found = {(row.conversation[-2:], row.missing) for row in _gaps(spark, records)}
    assert found == {("4d", 1), ("50", 2**40 - 1)}


@pytest.mark.long
def test_what_names_no_conversation_is_no_gap(spark: SparkSession) -> None:
    """The store has no row for it."""
    nameless = [
        replaced(record.headers or [], "sb-conversation", value)
        for record in _numbers(0, 2)
        for value in (None, b"x")
    ]
    assert _gaps(spark, [Stored(headers) for headers in nameless]) == []


@pytest.mark.long
def test_neighbours_further_apart_than_the_horizon_are_not_compared(spark: SparkSession) -> None:
    assert _gaps(spark, _numbers(0, 7, apart=3 * TEN)) == []


def test_neighbours_within_it_always_share_a_window(spark: SparkSession) -> None:
    assert _gaps(spark, _numbers(0, 7, apart=TEN - 1)) != []
