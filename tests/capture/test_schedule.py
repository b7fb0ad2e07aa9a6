"""What a replay sends and when, without sending anything."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.capture import Record, TimestampType
from streams.capture.schedule import (
    Contents,
    Due,
    contents_of,
    demand_time,
    looped,
    plan,
    renamed,
)
from streams.errors import InputError, UsageError


def record(key: str, at: int, n: int = 0, topic: str = "ssb.cmd.A") -> Record:
    return Record(topic, 0, n, at, TimestampType.CREATE_TIME, key.encode(), (), b"%d" % n)


def planned(records: list[Record], speed: float | None = 1.0) -> list[Due]:
    first = contents_of(records, "ssb.").first
    return list(plan(records, prefix="ssb.", to_prefix="ssb.", first=first, speed=speed))


def times(dues: list[Due]) -> list[tuple[str, float | None]]:
    return [(due.record.key.decode(), due.at) for due in dues if due.record.key is not None]


def test_times_count_from_the_earliest_command() -> None:
    records = [record("a", 5_000), record("b", 5_500), record("a", 7_000)]
    assert times(planned(records)) == [("a", 0.0), ("b", 0.5), ("a", 2.0)]


@pytest.mark.parametrize("speed, expected", [(2.0, [0.0, 1.0]), (0.5, [0.0, 4.0])])
def test_twice_the_speed_is_half_the_time(speed: float, expected: list[float]) -> None:
    records = [record("a", 1_000), record("a", 3_000)]
    assert [due.at for due in planned(records, speed)] == expected


def test_at_once_keeps_the_files_order() -> None:
    records = [record("a", 9_000), record("b", 1_000), record("a", 9_500)]
    assert times(planned(records, None)) == [("a", None), ("b", None), ("a", None)]


def test_partitions_one_after_the_other_are_interleaved_by_time() -> None:
    records = [record("a", 0), record("a", 2_000), record("b", 1_000), record("b", 3_000)]
    assert times(planned(records)) == [("a", 0.0), ("b", 1.0), ("a", 2.0), ("b", 3.0)]


def test_a_timestamp_that_goes_back_does_not_overtake() -> None:
    records = [record("a", 2_000, 0), record("a", 1_000, 1), record("a", -1, 2), record("b", -1)]
    assert times(planned(records)) == [("b", 0.0), ("a", 1.0), ("a", 1.0), ("a", 1.0)]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(-1, 5_000)), max_size=40),
    st.floats(0.1, 100),
)
def test_every_command_once_in_its_dialogs_order(acts: list[tuple[str, int]], speed: float) -> None:
    records = [record(key, at, n) for n, (key, at) in enumerate(acts)]
    dues = planned(records, speed)
    assert sorted(due.record.offset for due in dues) == list(range(len(records)))
    moments = [due.at for due in dues if due.at is not None]
    assert len(moments) == len(dues)
    assert moments == sorted(moments)
    assert all(moment >= 0 for moment in moments)
    for key in "abc":
        offsets = [due.record.offset for due in dues if due.record.key == key.encode()]
        assert offsets == sorted(offsets)


def test_other_records_are_skipped_and_counted() -> None:
    records = [
        record("a", 2_000),
        record("a", 1_000, topic="ssb.in.B"),
        record("b", 3_000, topic="ssb.cmd.B"),
        record("b", 4_000, topic="ssb.commander"),
    ]
    assert contents_of(records, "ssb.") == Contents(
        2, 2, 2, (("ssb.cmd.A", 1), ("ssb.cmd.B", 1)), 2_000, 3_000
    )
    assert [due.number for due in planned(records)] == [1, 3]


def test_nothing_to_send() -> None:
    assert contents_of([], "ssb.") == Contents(0, 0, 0, (), 0, 0)
    assert planned([]) == []


def test_topics_move_to_another_prefix() -> None:
    dues = plan([record("a", 0)], prefix="ssb.", to_prefix="t1.", first=0, speed=None)
    assert [due.record.topic for due in dues] == ["t1.cmd.A"]
    assert renamed("ssb.cmd.A", "ssb.", "ssb.") == "ssb.cmd.A"


def test_a_shortened_name_does_not_move() -> None:
    with pytest.raises(UsageError, match="too long"):
        renamed("ssb.cmd." + "A" * 241, "ssb.", "t.")
    with pytest.raises(UsageError, match="too long"):
        renamed("ssb.cmd." + "A" * 240, "ssb.", "tests.")


@pytest.mark.parametrize("speed", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_speed(speed: float) -> None:
    with pytest.raises(UsageError, match="is not a valid speed"):
        plan([], prefix="", to_prefix="", first=0, speed=speed)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_rate(rate: float) -> None:
    with pytest.raises(UsageError, match="is not a valid rate"):
        plan([], prefix="", to_prefix="", first=0, speed=None, rate=rate)


def test_a_rate_is_even_and_keeps_the_order_of_times() -> None:
    records = [record("a", 9_000), record("b", 1_000), record("a", 9_500)]
    dues = plan(records, prefix="ssb.", to_prefix="ssb.", first=1_000, speed=None, rate=4.0)
    assert times(list(dues)) == [("b", 0.0), ("a", 0.25), ("a", 0.5)]


def test_a_loop_begins_when_the_one_before_it_is_through() -> None:
    records = [record("a", 1_000), record("a", 3_000)]
    dues = list(looped(lambda: planned(records), 3, 2.0))
    assert [(due.at, due.loop, due.number) for due in dues] == [
        (0.0, 0, 1), (2.0, 0, 2), (2.0, 1, 1), (4.0, 1, 2), (4.0, 2, 1), (6.0, 2, 2),
    ]  # fmt: skip
    assert [due.at for due in looped(lambda: planned(records, None), 2, 0.0)] == [None] * 4


def test_times_that_nobody_can_mean_are_refused_with_the_records_that_have_them() -> None:
    found = contents_of([record("a", 1_767_600_000_000), record("a", 253_402_300_799_000)], "ssb.")
    with pytest.raises(InputError, match="record 2 from 9999-12-31T23:59:59") as caught:
        demand_time(found, 1.0, "t.avro")
    assert "--rate" in caught.value.remedy
    demand_time(found, 1e6, "t.avro")
    far = contents_of([record("a", 0), record("a", 1 << 62)], "ssb.")
    with pytest.raises(InputError, match=f"record 2 from {1 << 62} ms"):
        demand_time(far, 1.0, "t.avro")
