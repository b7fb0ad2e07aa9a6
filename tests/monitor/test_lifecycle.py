"""Reports about single messages: missing, found, copied, and why."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Generator
from dataclasses import replace
from itertools import accumulate

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from streams.monitor import lifecycle, read
from streams.monitor.sink import life_rows
from streams.protocol.frames import Flag
from streams.store import COPY_COLUMNS, Cause, CopiedMessage, FoundMessage, MissingMessage, Row
from streams.wire import Topics, decode_event, encode_event
from tests.monitor.records import LIFETIME, NOON, Delivery, Stored, frame

OUT, QUEUE_C = "ssb.out.ServerA", "ssb.queue.ServerC.DatabaseC.TargetQueue"
MINUTE = 60_000
FIRST = Delivery(id=3)
ODD_IDS = ("0" * 36, "-" * 36, "g" * 36)


def _now() -> Column:
    return F.timestamp_millis(F.lit(NOON + 86_400_000))


def sent(delivery: Delivery) -> Stored:
    return Stored(delivery.transmitted, topic=OUT, key=delivery.key)


def queued(delivery: Delivery, topic: str = Stored().topic) -> Stored:
    return Stored(delivery.headers, topic=topic)


def event_record(value: bytes) -> Stored:
    return Stored(value=value, topic="ssb.event")


def removed(delivery: Delivery, place: str = "ServerB/DatabaseB", after: int = 50) -> Stored:
    return event_record(delivery.removed(at=delivery.visits[-1][1] + after, place=place))


def rows(spark: SparkSession, *records: Stored, horizon: int = 10 * MINUTE) -> list[Row]:
    """What the store is given when all sessions are over."""
    events = [record for record in records if record.topic == "ssb.event"]
    frames = [record for record in records if record.topic != "ssb.event"]
    sightings = lifecycle.of_frames(
        read.envelopes(frame(spark, frames)), _now(), queues="ssb.queue.", horizon=horizon
    ).unionByName(lifecycle.of_events(read.events(frame(spark, events)), _now()))
    assert tuple(sightings.columns) == lifecycle.SIGHTING
    lives = lifecycle.lives(sightings, horizon=horizon, late=MINUTE)
    assert tuple(lives.columns) == lifecycle.LIVES
    return [row for life in lives.collect() for row in life_rows(life, Topics())]


def moved(delivery: Delivery, by: int, **changes: object) -> Delivery:
    """Another copy of a message, ``by`` ms later everywhere."""
    visits = tuple((name, at + by) for name, at in delivery.visits)
    return replace(delivery, visits=visits, **changes)  # type: ignore[arg-type]


def causes(found: list[Row]) -> dict[Cause, int]:
    (row,) = found
    assert isinstance(row, CopiedMessage)
    counts = {cause: getattr(row, name) for name, cause in COPY_COLUMNS.items()}
    return {cause: count for cause, count in counts.items() if count}


Case = Generator[list[Stored], list[Row], None]
"""The story of one message: yields its records, is sent its rows, and asserts."""

CASES: dict[str, Callable[[Delivery], Case]] = {}


def case(told: Callable[[Delivery], Case]) -> None:
    """Add a case; it is given the first copy of its message, in a dialog of its own."""
    CASES[told.__name__] = told


@pytest.fixture(scope="module")
def judged(spark: SparkSession) -> tuple[dict[str, Case], dict[str, list[Row]]]:
    """Return the cases, and the rows of all dialogs: one job, because a job takes seconds."""
    begun = {name: case(dialog_of(name)) for name, case in CASES.items()}
    records = [record for case in begun.values() for record in next(case)]
    found: dict[str, list[Row]] = {}
    for row in rows(spark, *records, *NOBODYS):
        assert isinstance(row, MissingMessage | FoundMessage | CopiedMessage)
        found.setdefault(row.conversation, []).append(row)
    return begun, found


def dialog_of(name: str) -> Delivery:
    return replace(FIRST, conversation=uuid.UUID(int=1_000 + list(CASES).index(name)))


@case
def a_message_that_arrives_once_has_no_row(first: Delivery) -> Case:
    acknowledgement = [pair for pair in first.transmitted if pair[0] != "sb-message"]
    found = yield [
        sent(first),
        queued(first),
        queued(replace(first, id=4)),  # transmitted before anybody looked
        Stored(acknowledgement, topic=OUT, key=first.key),
        event_record(encode_event({"event": 124, "at": NOON, "instance": "ServerB"})),
    ]
    assert found == []


@case
def what_does_not_arrive_is_missing(first: Delivery) -> Case:
    drop = {
        "event": 140, "error": 28072, "at": NOON + 70, "instance": "GatewayA", "attempt": 0,
        "conversation": str(first.conversation), "message_id": str(uuid.UUID(int=3)),
    }  # fmt: skip
    later = encode_event({**drop, "at": NOON + 9 * MINUTE, "attempt": 4})
    again = replace(first, attempt=1, sent_at=NOON + 9 * MINUTE)
    found = yield [sent(first), sent(again), event_record(encode_event(drop)), event_record(later)]
    assert found == [
        MissingMessage(
            conversation=str(first.conversation),
            from_initiator=True,
            message_id=str(uuid.UUID(int=3)),
            sequence=3,
            from_service="InitiatorService",
            to_service="TargetService",
            sender="ServerA",
            enqueued_at=NOON,
            expires_at=LIFETIME,
            seen_at=NOON + 70,  # what a sender repeats is no heartbeat
            error=28072,
            error_at=NOON + 70,
            error_by="GatewayA",
        )
    ]


# A first copy may have a later attempt: it was sent while its dialog was retried; a retry much
# later tells nothing new.
def _sent_while_retried(first: Delivery) -> tuple[Stored, Stored]:
    while_retried = replace(first, attempt=3, sent_at=NOON + 5_000)
    retry = replace(first, attempt=9, sent_at=NOON + 25 * MINUTE)
    return sent(while_retried), sent(retry)


@case
def a_first_copy_may_have_a_later_attempt(first: Delivery) -> Case:
    (missing,) = yield [*_sent_while_retried(first)]
    assert isinstance(missing, MissingMessage)
    assert missing.seen_at == NOON


@case
def a_first_copy_with_a_later_attempt_may_arrive(first: Delivery) -> Case:
    while_retried, retry = _sent_while_retried(first)
    assert (yield [while_retried, queued(first), retry]) == []


@case
def a_system_message_is_not_missed(first: Delivery) -> Case:
    flags = (Flag.END, Flag.ERROR, Flag.UNSEQUENCED)
    found = yield [sent(replace(first, id=n, flags=flag)) for n, flag in enumerate(flags)]
    assert found == []


@case
def what_arrives_late_is_missing_and_found(first: Delivery) -> Case:
    visits = (("ServerA", NOON + 2), ("ServerB/DatabaseB", NOON + 11 * MINUTE))
    missing, found = yield [sent(first), queued(replace(first, visits=visits))]
    assert isinstance(missing, MissingMessage)
    assert found == FoundMessage(
        missing.conversation, missing.message_id, "ServerB/DatabaseB", NOON + 11 * MINUTE
    )


@case
def within_the_horizon_nothing_is_late(first: Delivery) -> Case:
    visits = (("ServerA", NOON + 2), ("ServerB/DatabaseB", NOON + 9 * MINUTE))
    assert (yield [sent(first), queued(replace(first, visits=visits))]) == []


@case
def a_retry_is_another_transmission(first: Delivery) -> Case:
    retry = moved(first, 4_000, attempt=1, sent_at=NOON + 4_001)
    # Behind an acknowledgement the sender begins to count again.
    uncounted = moved(first, 5_000, attempt=0, sent_at=NOON + 5_001)
    found = yield [sent(first), queued(first), removed(retry), removed(uncounted)]
    assert causes(found) == {Cause.RETRY: 2}
    assert found == [
        CopiedMessage(
            conversation=str(first.conversation),
            from_initiator=True,
            message_id=str(uuid.UUID(int=3)),
            sequence=3,
            from_service="InitiatorService",
            to_service="TargetService",
            places="ServerB/DatabaseB",
            copies=3,
            delivered=1,
            retries=2,
            redeliveries=0,
            several_routes=0,
            several_targets=0,
            replays=0,
            unknown=0,
            first_at=NOON + 1,
            last_at=NOON + 5_059,
        )
    ]


@case
def a_forwarder_that_begins_anew_delivers_again(first: Delivery) -> Case:
    # The sender's own passes it on once more; a gateway does, later on the way.
    again = moved(first, 300)
    in_flight = replace(first, visits=(first.visits[0], *moved(first, 700).visits[1:]))
    found = yield [queued(first), removed(again), removed(in_flight)]
    assert causes(found) == {Cause.REDELIVERY: 2}


@case
def all_routes_at_once(first: Delivery) -> Case:
    copies = [
        replace(
            first,
            first_hop=n,
            visits=(first.visits[0], (f"Gateway{n}", NOON + 3 + n), first.visits[2]),
        )
        for n in range(3)
    ]  # fmt: skip
    found = yield [queued(copies[1]), removed(copies[0]), removed(copies[2])]
    assert causes(found) == {Cause.SEVERAL_ROUTES: 2}


@case
def several_targets_are_reported_with_the_dialog(first: Delivery) -> Case:
    elsewhere = replace(first, visits=(("ServerA", NOON + 2), ("ServerC/DatabaseC", NOON + 8)))
    retry = moved(elsewhere, 90, attempt=1, sent_at=NOON + 77)
    found = yield [queued(first), queued(elsewhere, QUEUE_C), removed(retry, "ServerC/DatabaseC")]
    assert causes(found) == {Cause.SEVERAL_TARGETS: 1, Cause.RETRY: 1}
    assert isinstance(found[0], CopiedMessage)
    assert found[0].places == "ServerB/DatabaseB, ServerC/DatabaseC"
    assert found[0].conversation == str(first.conversation)


@case
def a_database_that_moves_is_no_second_target(first: Delivery) -> Case:
    retry = moved(first, 90, attempt=1, sent_at=NOON + 77)
    found = yield [queued(first), removed(retry, "ServerC/DatabaseB")]
    assert causes(found) == {Cause.RETRY: 1}


@case
def a_repeated_statement_has_another_number(first: Delivery) -> Case:
    replayed = moved(first, 5_000, sequence=9, sent_at=NOON + 5_001)
    assert causes((yield [queued(first), queued(replayed)])) == {Cause.REPLAY: 1}


@case
def causes_mix_and_add_up(first: Delivery) -> Case:
    copies = [
        replace(moved(first, passed), first_hop=hop, attempt=attempt, sent_at=NOON + attempt)
        for attempt in (0, 1)
        for passed in (0, 30)
        for hop in (0, 1)
    ]
    found = yield [queued(copies[0]), *map(removed, copies[1:])]
    assert causes(found) == {Cause.RETRY: 1, Cause.REDELIVERY: 2, Cause.SEVERAL_ROUTES: 4}


@case
def fragments_are_held_against_the_whole_message(first: Delivery) -> Case:
    again = [moved(first, 300, fragment=n) for n in range(3)]
    assert causes((yield [queued(first), *map(removed, again)])) == {Cause.REDELIVERY: 3}


@case
def beyond_the_horizon_the_cause_of_a_copy_is_unknown(first: Delivery) -> Case:
    late = moved(first, 30 * MINUTE, attempt=3, sent_at=NOON + 30 * MINUTE)
    assert causes((yield [sent(first), queued(first), removed(late)])) == {Cause.UNKNOWN: 1}


@case
def beyond_a_thousand_copies_the_cause_is_unknown(first: Delivery) -> Case:
    retries = [moved(first, n, attempt=n, sent_at=NOON + 1 + n) for n in range(1, 1_201)]
    delivered = moved(first, 2_000, sent_at=NOON + 2_001)  # compared although it is the last one
    found = yield [*map(removed, retries), queued(delivered)]
    assert causes(found) == {Cause.RETRY: 999, Cause.UNKNOWN: 201}
    assert isinstance(found[0], CopiedMessage)
    assert (found[0].copies, found[0].delivered) == (1_201, 1)
    assert found[0].places == "ServerB/DatabaseB"


@case
def copies_of_what_was_delivered_beyond_the_horizon_are_all_counted(first: Delivery) -> Case:
    retries = [moved(first, n, attempt=n, sent_at=NOON + 1 + n) for n in range(1, 1_201)]
    assert causes((yield [*map(removed, retries)])) == {Cause.UNKNOWN: 1_200}


@case
def what_was_delivered_long_ago_and_is_sent_anew_is_not_missing(first: Delivery) -> Case:
    # Behind progress the sender repeats what it suspects, and counts its attempts from 0.
    anew = moved(first, 30 * MINUTE, sent_at=NOON + 30 * MINUTE)
    found = yield [sent(first), queued(first), sent(anew), removed(anew)]
    assert causes(found) == {Cause.UNKNOWN: 1}


@case
def a_removed_copy_has_a_row(first: Delivery) -> Case:
    assert len((yield [event_record(first.removed(at=NOON))])) == 1


@case
def a_removed_copy_without_a_side_or_a_number_has_no_row(first: Delivery) -> Case:
    """The store accepts no such row, and an event may lack any field but four."""
    whole = decode_event(first.removed(at=NOON))
    partial = [
        encode_event({**whole, "message_id": str(uuid.UUID(int=n)), missing: None})
        for n, missing in enumerate(("from_initiator", "sequence"))
    ]
    assert (yield [*map(event_record, partial)]) == []


@pytest.mark.parametrize("name", CASES)
def test_rows_of_a_message(judged: tuple[dict[str, Case], dict[str, list[Row]]], name: str) -> None:
    begun, found = judged
    with pytest.raises(StopIteration):
        begun[name].send(found.get(str(dialog_of(name).conversation), []))


NOBODYS = (
    event_record(encode_event({"event": 160, "error": 11218, "at": NOON, "instance": "ServerB"})),
    Stored(FIRST.transmitted, topic=OUT, key=b"no conversation"),
    Stored(None, topic=OUT),
    Stored([], topic=OUT),
)


def test_what_names_no_message_is_nobodys(
    judged: tuple[dict[str, Case], dict[str, list[Row]]],
) -> None:
    assert set(judged[1]) <= {str(dialog_of(name).conversation) for name in CASES}


def test_ids_that_are_not_16_bytes_are_nobodys_and_long_names_are_clipped(
    spark: SparkSession,
) -> None:
    """The store refuses a row without an id, and the query would end, again and again."""
    whole = decode_event(FIRST.removed(at=NOON))
    odd = [{**whole, name: text} for name in ("conversation", "message_id") for text in ODD_IDS]
    keys = [Stored(Delivery(id=5).transmitted, topic=OUT, key=text.encode()) for text in ODD_IDS]
    long = encode_event({**whole, "error": 28072, "instance": "x" * 60_000})
    events = [event_record(encode_event(event)) for event in odd]
    (missing,) = rows(spark, *events, *keys, sent(FIRST), event_record(long))
    assert isinstance(missing, MissingMessage)
    assert missing.error_by == "x" * read.LONGEST_NAME


def test_no_copy_is_held_against_every_other_one(spark: SparkSession) -> None:
    # Spark moves columns into the functions that are called for each copy where it can.
    plan = str(_of_nothing(spark)._jdf.queryExecution().optimizedPlan())  # type: ignore[operator]
    bodies = [_in_brackets(plan[m.end() :]) for m in re.finditer(r"lambdafunction\(", plan)]
    assert bodies
    assert not [body for body in bodies if "filter(" in body or "array_distinct(" in body]
    assert "collect_list(" not in plan


def test_every_header_is_decoded_once(spark: SparkSession) -> None:
    plan = str(_of_nothing(spark)._jdf.queryExecution().executedPlan())  # type: ignore[operator]
    assert plan.count("from_avro(") == 4


def _of_nothing(spark: SparkSession) -> DataFrame:
    sightings = lifecycle.of_frames(
        read.envelopes(frame(spark, [])), _now(), queues="ssb.queue.", horizon=MINUTE
    ).unionByName(lifecycle.of_events(read.events(frame(spark, [])), _now()))
    return lifecycle.lives(sightings, horizon=MINUTE, late=MINUTE)


def _in_brackets(text: str) -> str:
    """Return the beginning of a text up to the bracket that closes it."""
    depth = list(accumulate({"(": 1, ")": -1}.get(character, 0) for character in text))
    return text[: depth.index(-1)]
