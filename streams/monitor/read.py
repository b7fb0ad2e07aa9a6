"""Convert Kafka's records to columns: the three headers of a queue record, the value of an event.

Only DataFrame functions are used, so no record passes through Python. An undecodable record keeps
its row with a ``reason``; the other columns are then null. The size limits are those of the
workers' codecs, because a compressed record of a few kilobytes may contain megabytes of text, which
do not fit into a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from streams.monitor.decode import Writers, clean, decode, is_long, spoiled_by
from streams.protocol.frames import Flag
from streams.schema import load
from streams.times import LATEST
from streams.wire.bounds import LAST_NUMBER
from streams.wire.events import EVENT
from streams.wire.frame_headers import HOP_CODEC, MESSAGE_CODEC, ROUTE_CODEC

RAW = ("topic", "key", "timestamp", "value", "headers")

ENVELOPE = (
    "topic", "stored_at", "reason", "key", "conversation", "from_service", "to_service",
    "from_initiator",
    "message_id", "sequence", "fragment", "flags", "enqueued_at", "dialog_expires_at", "attempt",
    "sent_at", "first_hop", "path",
)  # fmt: skip
"""Columns of a message in transit or in a queue. Ids are bytes, and times are epoch milliseconds,
except for ``sent_at`` (eight bytes, big-endian). ``stored_at`` is Kafka's timestamp; on a
queue topic, this is ``enqueued_at`` (the time of the SEND), not the time of the delivery."""

_OF_EVENT = (
    "event", "error", "at", "instance", "database", "conversation", "from_initiator",
    "from_service", "to_service", "message_id", "sequence", "fragment", "attempt", "sent_at",
    "first_hop", "left_at", "route",
)  # fmt: skip
EVENT_RECORD = ("topic", "stored_at", "reason", *_OF_EVENT)
"""Columns of an event record; ids are text."""

_OF_MESSAGE = (
    "message_id", "sequence", "fragment", "flags", "enqueued_at", "dialog_expires_at",
)  # fmt: skip

LONGEST_NAME, LONGEST_ROUTES = 512, 2_048
"""Maximum number of characters of a name in an event (valid names have at most 256), and of its
joined route names."""

ROUTES: Writers = {ROUTE_CODEC.prefix: load("Route")}
MESSAGES: Writers = {MESSAGE_CODEC.prefix: load("Message")}
HOPS: Writers = {HOP_CODEC.prefix: load("Hop")}
EVENTS: Writers = {EVENT.prefix: load("Event")}


def stream(
    spark: SparkSession,
    access: Mapping[str, str],
    pattern: str,
    columns: Sequence[str] = RAW,
    *,
    most: int | None = None,
) -> DataFrame:
    """Return the records, from the earliest, of all topics whose names match a Java pattern.

    ``access`` comes from :func:`streams.monitor.access.source_options`. A batch has at most
    ``most`` records, if given. A pattern is needed instead of a name, because every queue has its
    own topic, and topics may be created later. ``failOnDataLoss`` is off because queue topics are
    trimmed after reading.
    """
    options = {
        **access,
        "kafka.isolation.level": "read_committed",
        "kafka.allow.auto.create.topics": "false",
        "subscribePattern": pattern,
        "includeHeaders": "true",
        "startingOffsets": "earliest",
        "failOnDataLoss": "false",
    }
    if most is not None:
        options["maxOffsetsPerTrigger"] = str(most)
    return spark.readStream.format("kafka").options(**options).load().select(*columns)


def topics_of(prefix: str, *kinds: str) -> str:
    """Return the Java pattern for topics of some kinds, such as ``queue`` or ``event``."""
    return rf"\Q{prefix}\E({'|'.join(kinds)})(\..*)?"


def envelopes(
    raw: DataFrame, *, routes: Writers = ROUTES, messages: Writers = MESSAGES, hops: Writers = HOPS
) -> DataFrame:
    """Return the envelopes (ENVELOPE) of the records (RAW) of queues, or of frames in transit.

    A frame in transit has no ``conversation``, because it is the record's key.
    """
    headers = raw.select(
        "topic",
        F.col("timestamp").alias("stored_at"),
        header("sb-route").alias("route"),
        header("sb-message").alias("message"),
        header("sb-hop").alias("hop"),
        header("sb-conversation").alias("conversation"),
        "key",
    )
    decoded = headers.select(
        "topic",
        "stored_at",
        "conversation",
        "key",
        decode("route", routes, "to_service", "from_service", "from_initiator").alias("to"),
        decode("message", messages, *_OF_MESSAGE).alias("sent"),
        decode("hop", hops, "attempt", "sent_at", "first_hop", "path").alias("way"),
        F.coalesce(
            spoiled_by("sb-route", "route", routes, ROUTE_CODEC.largest),
            spoiled_by("sb-message", "message", messages, MESSAGE_CODEC.largest),
            spoiled_by("sb-hop", "hop", hops, HOP_CODEC.largest),
        ).alias("spoiled"),
    )  # fmt: skip
    reason = F.coalesce(
        "spoiled",
        F.when(F.col("to.to_service").isNull(), "sb-route: unreadable"),
        F.when(F.col("sent.message_id").isNull(), "sb-message: unreadable"),
        F.when(F.col("way.path").isNull(), "sb-hop: unreadable"),
        F.when(is_long("to.to_service", "to.from_service"), "sb-route: name too long"),
        F.when(~_instant("sent.enqueued_at"), "sb-message: no time"),
        F.when(~F.col("sent.sequence").between(0, LAST_NUMBER), "sb-message: no number"),
        F.when(F.exists("way.path", lambda visit: ~_instant(visit["at"])), "sb-hop: no time"),
    )
    visits = F.transform(
        "way.path",
        lambda visit: F.struct(clean(visit["instance"]).alias("instance"), visit["at"].alias("at")),
    )
    columns = {
        "key": F.col("key"),
        "conversation": F.col("conversation"),
        "from_service": clean(F.col("to.from_service")),
        "to_service": clean(F.col("to.to_service")),
        "from_initiator": F.col("to.from_initiator"),
        **{name: F.col(f"sent.{name}") for name in _OF_MESSAGE},
        "attempt": F.col("way.attempt"),
        "sent_at": F.col("way.sent_at"),
        "first_hop": F.col("way.first_hop"),
        "path": visits,
    }
    return _readable(decoded, reason, columns).select(*ENVELOPE)


def events(raw: DataFrame, *, writers: Writers = EVENTS) -> DataFrame:
    """Return the events (EVENT_RECORD) in the records (RAW) of the event topic.

    Any writer may state texts of up to 64 kB in an event, so texts are clipped.
    """
    decoded = raw.select(
        "topic",
        F.col("timestamp").alias("stored_at"),
        decode("value", writers, *_OF_EVENT).alias("read"),
        spoiled_by("value", "value", writers, EVENT.largest).alias("spoiled"),
    )
    reason = F.coalesce(
        "spoiled",
        F.when(F.col("read.instance").isNull(), "value: unreadable"),
        F.when(~_instant("read.at"), "value: no time"),
    )
    names = ("instance", "database", "conversation", "from_service", "to_service", "message_id")
    columns = {
        name: name_in(f"read.{name}") if name in names else F.col(f"read.{name}")
        for name in _OF_EVENT
    }
    columns["route"] = clean(F.substring("read.route", 1, LONGEST_ROUTES))
    return _readable(decoded, reason, columns).select(*EVENT_RECORD)


def event_time(claimed: str, now: Column) -> Column:
    """Return the time of a record's event: ``claimed`` (ms), unless that is in the future.

    For a time in the future, use Kafka's timestamp, but at most ``now``, the batch's time.
    Otherwise, one record from the future would advance the watermark and make all other records
    late.
    """
    instant = F.timestamp_millis(F.col(claimed))
    plausible = F.when(instant <= now, instant)
    return F.coalesce(plausible, F.least("stored_at", now))


def flagged(*flags: Flag) -> Column:
    """Return whether an envelope has one of the flags."""
    return F.col("flags").bitwiseAND(int(reduce(or_, flags))) != 0


def names_a_dialog() -> Column:
    """Return whether the record of a queue contains a dialog id.

    A record without a dialog id was not written by an endpoint worker, and cannot be stored.
    """
    return F.length("conversation") == 16


def uuid_text(column: str | Column) -> Column:
    """Return the canonical text of a UUID's 16 bytes; null for another number of bytes."""
    digits = F.lower(F.hex(column))
    parts = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
    text = F.concat_ws("-", *(F.substring(digits, start, length) for start, length in parts))
    return F.when(F.length(column) == 16, text)


def uuid_bytes(column: str | Column) -> Column:
    """Return the 16 bytes of a UUID's canonical text; null if invalid."""
    text = (F.col(column) if isinstance(column, str) else column).cast("string")
    digits = F.translate(text, "-", "")
    return F.when((F.length(text) == 36) & (F.length(digits) == 32), F.unhex(digits))


def instant_in(column: str) -> Column:
    """Return the time (ms) in eight big-endian bytes; null without a value."""
    number = F.conv(F.hex(column), 16, 10).try_cast("long")
    return F.when(_instant(number), number)


def _readable(frame: DataFrame, reason: Column, columns: Mapping[str, Column]) -> DataFrame:
    known = frame.withColumn("reason", reason)
    kept = [F.when(F.col("reason").isNull(), column).alias(n) for n, column in columns.items()]
    return known.select("topic", "stored_at", "reason", *kept)


def header(name: str) -> Column:
    """Return the value of the last header with a name, as all readers do; null if it is missing."""
    named = F.filter("headers", lambda one: one["key"] == name)
    return F.get(F.reverse(named), 0)["value"]


def name_in(column: str | Column) -> Column:
    """Return the beginning of a text, long enough for any name."""
    return clean(F.substring(column, 1, LONGEST_NAME))


def _instant(column: str | Column) -> Column:
    number = F.col(column) if isinstance(column, str) else column
    return number.between(0, LATEST)
