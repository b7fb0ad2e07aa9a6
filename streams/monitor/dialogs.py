"""Dialogs: the last state of each side, and the time at which it was reached.

No state is kept between batches, so Spark's state does not grow with the number of dialogs. The
previous state is in the store, whose rows keep the times that a batch cannot know
(``streams.store.state_tables``).
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from streams.errors import EventKind, Number
from streams.monitor.decode import Writers, clean, decode, is_long, spoiled_by
from streams.monitor.read import uuid_bytes, uuid_text
from streams.schema import load
from streams.times import LATEST
from streams.wire.bounds import LAST_NUMBER, LONGEST
from streams.wire.state import DIALOG

DIALOG_RAW = ("topic", "offset", "timestamp", "key", "value")

STATES: Writers = {DIALOG.prefix: load("Dialog")}

STATE = (
    "topic", "position", "at", "reason", "database", "conversation", "is_initiator", "gone",
    "service", "far_service", "contract", "state", "begun_at", "expires_at", "far_broker",
    "is_locked", "ended_at", "sent", "acknowledged", "received", "parked", "attempt", "status",
    "status_at",
)  # fmt: skip
"""One record about a side of a dialog; ``gone``: the side was deleted; ``reason``: the reason why
the record is unreadable.
"""

SIDE = ("topic", "database", "conversation", "is_initiator")

_FIELDS = {
    "service": "service",
    "far_service": "far_service",
    "contract": "contract",
    "state": "state",
    "begun_at": "created_at",
    "expires_at": "expires_at",
    "far_broker": "far_broker",
    "is_locked": "locked",
    "ended_at": "closed_at",
    "sent": "send_sequence",
    "acknowledged": "acknowledged",
    "received": "receive_sequence",
    "attempt": "attempt",
    "status": "status",
    "status_at": "status_at",
}
_TEXTS = ("service", "far_service", "contract", "state", "far_broker")
_NUMBERS = ("send_sequence", "acknowledged", "receive_sequence")
_TIMES = ("created_at", "expires_at", "closed_at", "status_at")
_UUID = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"


def states(raw: DataFrame, *, writers: Writers = STATES) -> DataFrame:
    """Return the dialogs (STATE) in the records (DIALOG_RAW) of ``dialog`` topics.

    Records with other keys are left out.
    """
    parts = F.split(F.col("key").cast("string"), "/")
    database = F.try_url_decode(F.get("parts", F.lit(0)))
    about = raw.withColumn("parts", parts).where(
        (F.size("parts") == 3)
        & F.get("parts", F.lit(1)).rlike(_UUID)
        & F.get("parts", F.lit(2)).isin("initiator", "target")
    )
    decoded = about.select(
        "topic",
        F.col("offset").alias("position"),
        F.unix_millis("timestamp").alias("at"),
        clean(F.when(F.length(database) <= LONGEST, database)).alias("database"),
        F.get("parts", F.lit(1)).alias("conversation"),
        (F.get("parts", F.lit(2)) == "initiator").alias("is_initiator"),
        F.col("value").isNull().alias("gone"),
        decode("value", writers, *_FIELDS.values(), "parked").alias("read"),
        spoiled_by("value", "value", writers, DIALOG.largest).alias("spoiled"),
    )
    reason = F.when(
        ~F.col("gone"),
        F.coalesce(
            "spoiled",
            F.when(F.col("read.state").isNull(), "value: unreadable"),
            F.when(F.col("database").isNull(), "key: unreadable"),
            F.when(is_long(*(f"read.{name}" for name in _TEXTS)), "value: text too long"),
            F.when(~_are_within(_NUMBERS, LAST_NUMBER), "value: no number"),
            F.when(~_are_within(_TIMES, LATEST), "value: no time"),
        ),
    )
    waiting = F.filter("read.parked", lambda one: one["sequence"] >= 0)
    columns = {
        name: clean(F.col(f"read.{field}")) if name in _TEXTS else F.col(f"read.{field}")
        for name, field in _FIELDS.items()
    }
    return decoded.select(
        "*", reason.alias("reason"), *(column.alias(name) for name, column in columns.items()),
        F.size(waiting).alias("parked"),
    ).select(*STATE)  # fmt: skip


def sides(states: DataFrame) -> DataFrame:
    """Return one row per side of a dialog in a batch (STATE, static).

    A row has the columns of ``DialogSide`` that the side's records in the batch provide. ``state``
    is null if no record has a state. ``gone_at`` is set if the last record deletes the side.
    ``unreadable`` is the number of unreadable records, and ``reason`` the reason for one of them.
    """
    at, gone = F.col("at"), F.col("gone")
    readable = F.col("state").isNotNull() & F.col("reason").isNull()
    ordered = Window.partitionBy(*SIDE).orderBy("position")
    before = ordered.rowsBetween(Window.unboundedPreceding, -1)
    numbers = F.when(readable, F.struct("state", "sent", "acknowledged", "received"))
    head = F.when(readable, F.struct("acknowledged", F.col("sent") > F.col("acknowledged")))
    marked = states.select(
        "*",
        _begins(numbers, before).alias("moved"),
        _begins(head, before).alias("new_head"),
        F.struct(*STATE[8:]).alias("last"),
    )
    rows = marked.groupBy(*SIDE).agg(
        F.max_by("last", F.when(readable, F.col("position"))).alias("last"),
        F.max(F.when(F.col("reason").isNull(), F.col("position"))).alias("position"),
        F.max(F.when(readable, at)).alias("seen_at"),
        F.min(F.when(F.col("is_initiator") & F.col("is_locked"), at)).alias("locked_at"),
        F.min(F.when(F.col("state") == "ER", at)).alias("error_at"),
        F.max(F.when(readable & F.col("moved"), at)).alias("progress_at"),
        F.max(F.when(readable & F.col("new_head"), at)).alias("head_since"),
        F.max_by(F.when(gone, at), "position").alias("gone_at"),
        F.count("reason").alias("unreadable"),
        F.max("reason").alias("reason"),
        F.max(F.when(F.col("reason").isNotNull(), at)).alias("unreadable_at"),
    )
    depth = F.col("last.sent") - F.col("last.acknowledged")
    return rows.select(
        *(name for name in rows.columns if name not in ("last", "head_since")),
        "last.*",
        depth.alias("depth"),
        F.when(depth > 0, F.col("head_since")).alias("waiting_since"),
    )


def troubles(events: DataFrame) -> DataFrame:
    """Return the events of a batch that report an error about a dialog, one row per kind of error.

    Duplicates (11218) do not count. ``conversation`` must be an id: the store has an index on it,
    in which PostgreSQL accepts only short texts.
    """
    identified = events.withColumn("conversation", uuid_text(uuid_bytes("conversation")))
    named = F.col("conversation").isNotNull() & ~F.col("error").isin(0, int(Number.DUPLICATE))
    wanted = F.col("event").isin(int(EventKind.CONVERSATION), int(EventKind.MESSAGE_UNDELIVERABLE))
    return (
        identified.where(named & wanted)
        .withColumnRenamed("from_initiator", "is_initiator")
        .groupBy("instance", "database", "conversation", "is_initiator", "event", "error")
        .agg(
            F.max("to_service").alias("to_service"),
            F.min("at").alias("first_at"),
            F.max("at").alias("last_at"),
        )
    )


def _are_within(names: Iterable[str], most: int) -> Column:
    """Return whether the fields that have a value are between 0 and ``most``."""
    values = [F.col(f"read.{name}") for name in names]
    return (F.least(*values) >= 0) & (F.greatest(*values) <= most)  # both ignore null


def _begins(what: Column, before: WindowSpec) -> Column:
    """Return whether ``what`` differs from its last value ``before``, or has no earlier value.

    Unreadable records have no value, so the result is always true for the first readable record.
    """
    former = F.last(what, ignorenulls=True).over(before)
    return former.isNull() | (former != what)
