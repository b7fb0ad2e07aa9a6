"""Reading the envelope with columns only; a malformed record keeps its row, with the reason."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from streams.monitor import read
from streams.schema import load
from streams.times import LATEST
from streams.wire import MalformedError, decode_event, decode_parties, encode_event
from streams.wire.bounds import LARGEST_EVENT, LARGEST_QUEUED_HOP, LONGEST
from streams.wire.frame_headers import decode_journey
from streams.wire.hop import Hop, visit
from streams.wire.single_object import Codec, prefix_of
from tests.monitor.records import (
    LIFETIME,
    MALFORMED,
    MALFORMED_EVENTS,
    NOON,
    Delivery,
    Stored,
    any_event,
    frame,
    replaced,
)


def _envelopes(spark: SparkSession, *records: Stored) -> list[Row]:
    return read.envelopes(frame(spark, records)).collect()


def test_an_envelope_becomes_columns(spark: SparkSession) -> None:
    delivery = Delivery(id=5, attempt=2, fragment=1)
    (row,) = _envelopes(spark, Stored(delivery.headers))
    assert row.asDict(recursive=True) == {
        "topic": "ssb.queue.ServerB.DatabaseB.TargetQueue",
        "stored_at": row["stored_at"],
        "reason": None,
        "key": None,
        "conversation": delivery.conversation.bytes,
        "from_service": "InitiatorService",
        "to_service": "TargetService",
        "from_initiator": True,
        "message_id": uuid.UUID(int=5).bytes,
        "sequence": 5,
        "fragment": 1,
        "flags": 0,
        "enqueued_at": NOON,
        "dialog_expires_at": LIFETIME,
        "attempt": 2,
        "sent_at": (NOON + 1).to_bytes(8, "big"),
        "first_hop": 0,
        "path": [{"instance": name, "at": at} for name, at in delivery.visits],
    }


def test_malformed_records_keep_their_rows_and_say_why(spark: SparkSession) -> None:
    broken = [Stored(headers) for _, headers in MALFORMED.values()]
    good = Stored(Delivery().headers)
    rows = _envelopes(spark, good, *broken, good)
    assert [row["reason"] for row in rows[1:-1]] == [reason for reason, _ in MALFORMED.values()]
    assert rows[0]["reason"] is None
    assert rows[-1]["reason"] is None
    kept = ("topic", "stored_at", "reason")
    for row in rows[1:-1]:
        assert all(value is None for name, value in row.asDict().items() if name not in kept)


def test_malformed_events_keep_their_rows_and_say_why(spark: SparkSession) -> None:
    records = [Stored(value=value) for _, value in MALFORMED_EVENTS.values()]
    rows = read.events(frame(spark, records)).collect()
    assert [row["reason"] for row in rows] == [reason for reason, _ in MALFORMED_EVENTS.values()]


def test_the_longest_names_of_workers_are_read(spark: SparkSession) -> None:
    """Each has the greatest length that a worker reads."""
    names, wide = "a" * LONGEST, "\U0001f600" * (LONGEST // 2)
    delivery = Delivery(from_service=names, to_service=wide)
    second = ("c" * 2_000, NOON)
    plain = dict(Delivery(visits=(("", NOON), second)).headers)["sb-hop"]
    place = "b" * (LARGEST_QUEUED_HOP - len(plain) - 2)  # the length of the name takes three bytes
    path = Delivery(from_service="c", visits=((place, NOON), second))
    rows = _envelopes(spark, Stored(delivery.headers), Stored(path.headers))
    assert [row["reason"] for row in rows] == [None, None]
    assert (rows[0]["from_service"], rows[0]["to_service"]) == (names, wide)
    assert rows[1]["path"][0]["instance"] == place
    assert decode_parties(dict(delivery.headers)["sb-route"]).to_service == wide
    raw = dict(path.headers)["sb-hop"]
    assert len(raw) == LARGEST_QUEUED_HOP
    assert decode_journey(raw, queued=True).path == ((place, NOON), second)


def test_the_largest_event_of_a_worker_is_read(spark: SparkSession) -> None:
    event = {"event": 160, "at": NOON, "instance": "A", "database": "D", "path": "x"}
    length = LARGEST_EVENT - len(encode_event(event)) - 1  # two more bytes for its own length
    fits = encode_event({**event, "path": "x" * length})
    truncated = encode_event({**event, "path": "x" * (length + 1)})
    assert (len(fits), len(truncated) < 2_000) == (LARGEST_EVENT, True)
    rows = read.events(frame(spark, [Stored(value=fits), Stored(value=truncated)])).collect()
    assert [(row["reason"], row["database"]) for row in rows] == [(None, "D"), (None, "D")]
    with pytest.raises(MalformedError, match="at most"):
        decode_event(any_event(path="x" * LARGEST_EVENT))


def test_the_last_of_several_headers_counts_in_any_order(spark: SparkSession) -> None:
    """As for the workers: the same message by the same rule."""
    headers = Delivery(attempt=1).headers[::-1]
    again = Delivery(attempt=3).headers
    (row,) = _envelopes(spark, Stored([("other", b""), *headers, *again]))
    assert (row["reason"], row["attempt"]) == (None, 3)


def test_a_path_that_forwarders_extended_in_place_is_read(spark: SparkSession) -> None:
    delivery = Delivery(visits=(("ServerA", NOON + 1),))
    raw = dict(delivery.headers)["sb-hop"]
    for name, at in (("GatewayA", NOON + 3), ("ServerB", NOON + 4)):
        raw = Hop(raw).edited(name, at, visit(name, at), spend=True)
    (row,) = _envelopes(spark, Stored(replaced(delivery.headers, "sb-hop", raw)))
    assert [one["instance"] for one in row["path"]] == ["ServerA", "GatewayA", "ServerB"]


def test_a_newer_writer_is_read_once_its_schema_is_known(spark: SparkSession) -> None:
    newer: dict[str, Any] = {**load("Message")}
    newer["fields"] = [*newer["fields"], {"name": "extra", "type": "string", "default": ""}]
    delivery = Delivery(id=8)
    codec = Codec("Message")
    record = codec.decode(dict(delivery.headers)["sb-message"])
    prefix = prefix_of(newer)
    raw = prefix + codec.encode(record)[10:] + b"\x06new"
    records = [
        Stored(replaced(delivery.headers, "sb-message", raw)),
        Stored(Delivery(id=9).headers),
    ]
    known = {**read.MESSAGES, prefix: newer}
    rows = read.envelopes(frame(spark, records), messages=known).collect()
    assert [(row["reason"], row["sequence"]) for row in rows] == [(None, 8), (None, 9)]
    assert _envelopes(spark, records[0])[0]["reason"] == "sb-message: unknown schema"


def test_names_are_made_storable(spark: SparkSession) -> None:
    odd = Delivery(to_service="a\0b", visits=(("S", NOON), ("S/ä\U0001f600", NOON)))
    raw = dict(odd.headers)["sb-hop"].replace("ä".encode(), b"\xff\xfe")
    (row,) = _envelopes(spark, Stored(replaced(odd.headers, "sb-hop", raw)))
    assert row["to_service"] == "a\ufffdb"
    assert row["path"][-1]["instance"] == "S/\ufffd\ufffd\U0001f600"


@pytest.mark.parametrize(
    ("claimed", "stored", "expected"),
    [
        (NOON - 5, NOON - 900, NOON - 5),  # the delivery, although Kafka's timestamp is older
        (NOON + 1, NOON - 900, NOON - 900),  # yet to come: Kafka's timestamp
        (NOON + 1, NOON + 70_000, NOON),  # both: the batch's time
        (LATEST, NOON, NOON),
    ],
)
def test_nothing_happens_in_the_future(
    spark: SparkSession, claimed: int, stored: int, expected: int
) -> None:
    row = spark.range(1).select(
        F.lit(claimed).alias("claimed"), F.timestamp_millis(F.lit(stored)).alias("stored_at")
    )
    at = read.event_time("claimed", F.timestamp_millis(F.lit(NOON)))
    assert row.select(F.unix_millis(at).alias("at")).collect()[0]["at"] == expected


def test_events_are_read_with_their_defaults(spark: SparkSession) -> None:
    value = encode_event({"event": 160, "error": 11218, "at": NOON, "instance": "B", "attempt": 1})
    (row,) = read.events(frame(spark, [Stored(value=value, topic="ssb.event")])).collect()
    assert row.asDict() == {
        **dict.fromkeys(read.EVENT_RECORD),
        "topic": "ssb.event",
        "stored_at": row["stored_at"],
        "event": 160,
        "error": 11218,
        "at": NOON,
        "instance": "B",
        "attempt": 1,
    }


def test_the_topics_of_a_prefix_are_its_own(spark: SparkSession) -> None:
    pattern = read.topics_of("s.b", "queue")
    names = [
        "s.bqueue.A.D.Q",
        "s.bqueue",
        "s_bqueue.A.D.Q",
        "s.bqueues.A",
        "xs.bqueue.A",
        "s.bevent",
    ]
    frame = spark.createDataFrame([(name,) for name in names], "name string")
    # As Kafka's source does: the whole name has to match.
    matched = frame.where(F.regexp(F.col("name"), F.lit(f"^(?:{pattern})$"))).collect()
    assert [row["name"] for row in matched] == names[:2]
