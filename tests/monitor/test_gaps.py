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


REPEATS = ((0, 1, 1, 3), (5, 8, 5, 8), (1, 3, 4, 4, 6, 2, 7))
"""Numbers with as many repeats as gaps, of which each has one."""
GIVEN: dict[object, tuple[tuple[int, ...], int]] = {
    "a gap": ((0, 1, 2, 5, 6), 1_000),
    **{numbers: (numbers, 1_000) for numbers in REPEATS},
    "several repeats": ((0, 1, 3, 3, 3), 1_000),
    "apart": ((0, 7), 3 * TEN),
    "within the horizon": ((0, 7), TEN - 1),
}
"""The numbers of dialogs, and how many milliseconds apart they came."""


def _conversation(name: object) -> uuid.UUID:
    return uuid.UUID(int=1_000 + list(GIVEN).index(name))


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[object, list[Gap]]:
    """Return the gaps of each dialog: one job for all of them, because a job takes seconds."""
    names = {str(_conversation(name)): name for name in GIVEN}
    records = [
        record
        for name, (numbers, apart) in GIVEN.items()
        for record in _numbers(*numbers, apart=apart, conversation=_conversation(name))
    ]
    # The store has no row for what names no conversation.
    nameless = [
        Stored(replaced(record.headers or [], "sb-conversation", value))
        for record in _numbers(0, 2)
        for value in (None, b"x")
    ]
    gaps_of: dict[object, list[Gap]] = {}
    for row in _gaps(spark, records + nameless):
        gaps_of.setdefault(names.get(row.conversation, "nameless"), []).append(row)
    return gaps_of


def test_a_number_that_is_missing_is_an_alarm(found: dict[object, list[Gap]]) -> None:
    start = NOON - NOON % TEN
    assert {row.window_start for row in found["a gap"]} == {start, start - TEN}
    assert {replace(row, window_start=0, window_end=0) for row in found["a gap"]} == {
        Gap(
            topic="ssb.queue.ServerB.DatabaseB.TargetQueue",
            conversation=str(_conversation("a gap")),
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


@pytest.mark.parametrize("numbers", REPEATS)
def test_as_many_repeats_do_not_hide_a_gap(
    found: dict[object, list[Gap]], numbers: tuple[int, ...]
) -> None:
    assert {row.missing for row in found[numbers]} == {1}


def test_several_repeats_withdraw_a_reported_gap_too(found: dict[object, list[Gap]]) -> None:
    assert {row.missing for row in found["several repeats"]} == {0}


def test_what_names_no_conversation_is_no_gap(found: dict[object, list[Gap]]) -> None:
    assert "nameless" not in found


def test_neighbours_further_apart_than_the_horizon_are_not_compared(
    found: dict[object, list[Gap]],
) -> None:
    assert "apart" not in found


def test_neighbours_within_it_always_share_a_window(found: dict[object, list[Gap]]) -> None:
    assert found["within the horizon"] != []


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
