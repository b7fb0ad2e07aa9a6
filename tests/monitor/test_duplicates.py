"""Duplicates by cause, and the alarm where an endpoint let one through."""

from __future__ import annotations

import uuid
from collections import Counter

import pytest
from pyspark.sql import Column, Row, SparkSession
from pyspark.sql import functions as F

from streams.monitor import duplicates, read
from streams.monitor.sink import event_row, repeat_row
from streams.protocol.frames import Flag
from streams.store import Cause, EventWindow, MalformedWindow, Repeat
from streams.wire import encode_event
from tests.monitor.records import (
    MALFORMED,
    MALFORMED_EVENTS,
    NOON,
    Delivery,
    Stored,
    frame,
    replaced,
)

_START = NOON - NOON % 10_000


def _now() -> Column:
    return F.timestamp_millis(F.lit(NOON + 60_000))


def _event(event: int, error: int = 0, **fields: object) -> Stored:
    values = {"event": event, "error": error, "at": NOON, "instance": "ServerB", **fields}
    return Stored(value=encode_event(values), topic="ssb.event")


def _windows(spark: SparkSession, records: list[Stored]) -> list[EventWindow | MalformedWindow]:
    frame_ = duplicates.event_windows(
        read.events(frame(spark, records)), _now(), length=10_000, late=60_000
    )
    assert tuple(frame_.columns) == duplicates.EVENT_WINDOWS
    return [event_row(row) for row in frame_.collect()]  # type: ignore[misc]


def test_the_attempt_is_the_cause_of_a_removed_copy(spark: SparkSession) -> None:
    records = [
        _event(160, 11218, attempt=0),
        _event(160, 11218, attempt=1),
        _event(160, 11218, attempt=7),
        _event(160, 11218),
        _event(160, 11224, attempt=0),
        _event(160, 11209, attempt=1),
        _event(140, 11218, attempt=1),
        _event(124),
    ]
    found = Counter[tuple[int, int, Cause | None]]()
    for row in _windows(spark, records):
        assert isinstance(row, EventWindow)
        found[row.event, row.error, row.cause] += row.count
    assert found == {
        (160, 11218, Cause.REDELIVERY): 1,
        (160, 11218, Cause.RETRY): 2,
        (160, 11218, Cause.UNKNOWN): 1,
        (160, 11224, Cause.SEVERAL_TARGETS): 1,
        (160, 11209, None): 1,
        (140, 11218, None): 1,
        (124, 0, None): 1,
    }


def test_events_are_counted_by_window_place_and_service(spark: SparkSession) -> None:
    records = [
        _event(141, 9753, database="DatabaseB", to_service="TargetService"),
        _event(141, 9753, database="DatabaseB", to_service="TargetService", at=NOON + 1),
        _event(141, 9753, database="DatabaseB", to_service="Other"),
        _event(141, 9753, database="DatabaseB", to_service="Other", at=NOON + 10_000),
        _event(141, 9753, instance="ServerC", at=NOON + 3_600_000),
    ]

    def window(start: int, place: tuple[str, str | None], to: str | None, n: int) -> EventWindow:
        return EventWindow(start, start + 10_000, 141, 9753, *place, None, to, None, None, n)

    here = ("ServerB", "DatabaseB")
    assert set(_windows(spark, records)) == {
        window(_START, here, "TargetService", 2),
        window(_START, here, "Other", 1),
        window(_START + 10_000, here, "Other", 1),
        # From the future: at Kafka's timestamp.
        window(_START, ("ServerC", None), None, 1),
    }


def test_malformed_events_are_counted(spark: SparkSession) -> None:
    records = [Stored(value=value, topic="ssb.event") for _, value in MALFORMED_EVENTS.values()]
    assert set(_windows(spark, records)) == {
        MalformedWindow(_START, _START + 10_000, "ssb.event", reason, 1)
        for reason, _ in MALFORMED_EVENTS.values()
    }


def _repeats(spark: SparkSession, records: list[Stored]) -> list[Row]:
    frame_ = duplicates.repeats(read.envelopes(frame(spark, records)), _now(), within=600_000)
    assert tuple(frame_.columns) == duplicates.REPEATS
    return frame_.collect()


@pytest.mark.long
def test_a_message_that_a_queue_holds_twice_is_an_alarm(spark: SparkSession) -> None:
    first = Delivery(id=3)
    late = Delivery(id=3, attempt=1, visits=(("ServerA", NOON), ("ServerB/DatabaseB", NOON + 99)))
    records = [Stored(d.headers) for d in (first, Delivery(id=4), late)]
    assert [repeat_row(row) for row in _repeats(spark, records)] == [
        Repeat(
            topic="ssb.queue.ServerB.DatabaseB.TargetQueue",
            message_id=str(uuid.UUID(int=3)),
            fragment=0,
            conversation=str(first.conversation),
            sequence=3,
            copies=2,
            first_at=NOON + 9,
            last_at=NOON + 99,
        )
    ]


def test_what_looks_alike_and_is_none_is_no_alarm(spark: SparkSession) -> None:
    elsewhere = "ssb.queue.ServerC.DatabaseC.TargetQueue"
    ahead = Delivery(enqueued_at=NOON + 10**9)
    records = [
        Stored(Delivery().headers),
        Stored(Delivery().headers, topic=elsewhere),  # several targets: reported by event 11224
        Stored(Delivery(fragment=1).headers),
        *[Stored(Delivery(flags=Flag.UNSEQUENCED).headers)] * 2,
        *[Stored(ahead.headers)] * 2,
        *[Stored(headers) for _, headers in MALFORMED.values()] * 2,
    ]
    assert _repeats(spark, records) == []


def test_what_names_no_conversation_is_no_alarm(spark: SparkSession) -> None:
    """The store has no row for it, and whoever may write a queue may leave the name out."""
    nameless = [
        replaced(Delivery().headers, "sb-conversation", value) for value in (None, b"", b"x" * 17)
    ]
    assert _repeats(spark, [Stored(headers) for headers in nameless * 2]) == []


def test_every_header_is_decoded_once(spark: SparkSession) -> None:
    # Spark moves conditions below the decoding where it can, and then decodes twice as often.
    from streams.monitor import latency

    empty = frame(spark, [])
    envelopes = read.envelopes(empty)
    plans = {
        "deliveries": latency.windows(latency.legs(envelopes, _now()), length=1_000, late=1_000),
        "repeats": duplicates.repeats(envelopes, _now(), within=1_000),
        "events": duplicates.event_windows(read.events(empty), _now(), length=1_000, late=1_000),
    }
    text = {
        name: str(frame_._jdf.queryExecution().executedPlan())  # type: ignore[operator]
        for name, frame_ in plans.items()
    }
    assert {name: plan.count("from_avro(") for name, plan in text.items()} == {
        "deliveries": 3,
        "repeats": 3,
        "events": 1,
    }
