"""What a replay sends and when, without sending anything."""

from __future__ import annotations

import math
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.capture import Record, TimestampType
from streams.capture.generate import Traffic, generate
from streams.capture.schedule import Contents, Due, contents_of, plan, renamed, stamped
from streams.errors import UsageError
from streams.wire import decode_command


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
    with pytest.raises(UsageError, match="no speed"):
        plan([], prefix="", to_prefix="", first=0, speed=speed)


def test_a_command_is_issued_now_and_otherwise_unchanged() -> None:
    for one in generate(Traffic(dialogs=3, messages=9)):
        conversation = uuid.UUID(int=1)
        before = decode_command(one.header("sb-command"), conversation, None, 0)
        headers = stamped((("x", None), *one.headers, ("x", b"")), 42)
        assert [key for key, _ in headers] == ["x", "sb-command", "x"]
        assert (headers[0][1], headers[2][1]) == (None, b"")
        after = decode_command(headers[1][1], conversation, None, 0)
        assert after == before._replace(issued_at=42)


def test_a_replayed_command_has_no_cause() -> None:
    """Else the second replay into the same topics would be passed over as said before."""
    said, caused = ("sb-command", b"garbage"), ("sb-cause", b"")
    assert stamped((said, caused), 42) == (said,)


def test_what_is_no_command_stays_as_it_is() -> None:
    headers = (("sb-command", b"garbage"), ("sb-command", None), ("sb-command", b""))
    assert stamped(headers, 42) == headers
