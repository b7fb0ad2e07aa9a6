"""The history of each message, from its first transmission to its last copy, as one session.

A session contains all sightings of one message, with at most the horizon between successive
sightings. When the session ends, the message gets a row if there is a problem: it never arrived
(missing), it arrived more than once (with the cause of each copy), or it arrived long after it was
sent. Retries do not extend a session; otherwise, a message that is lost repeatedly would never
count as missing.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.internal import InternalFunction

from streams.errors import EventKind, Number
from streams.monitor.read import (
    event_time,
    flagged,
    instant_in,
    name_in,
    names_a_dialog,
    uuid_bytes,
    uuid_text,
)
from streams.protocol.frames import Flag

MOST_COMPARED = 1_000
"""Maximum copies of a message that are compared: delivered copies first, then the earliest.

Further copies are only counted, with an unknown cause. Otherwise a hostile writer of frames could
enlarge the state of a message without limit, and every batch would write that state again."""

_STEPS = ("sequence", "place", "fragment", "sent_at", "left_at", "first_hop")
COPY = ("removed", "arrived_at", *_STEPS, "topic")
"""A copy that reached an endpoint; ``topic`` is the queue's topic, null if the copy was removed.

``sent_at`` distinguishes the sender's transmissions, ``left_at`` the passes of one transmission by
the sender's forwarder, ``first_hop`` the routes of one pass. If a message has too many copies,
the order of the fields decides which copies are compared.
"""

_OF_MESSAGE = (
    "from_initiator", "sequence", "from_service", "to_service", "enqueued_at", "expires_at", "sent",
)  # fmt: skip
_SEEN = ("conversation", "message_id", *_OF_MESSAGE, "copy", "trouble")
SIGHTING = ("at", *_SEEN)
"""``sent``: topic of the first transmission; ``copy``: a copy that an endpoint received;
``trouble``: (instant, number, instance) of an event that explains why a copy was not received."""

LIVES = (
    "conversation", "message_id", "from_initiator", "sequence", "from_service", "to_service",
    "enqueued_at", "expires_at", "sent", "delivered", "delivered_at", "places", "copies", "retries",
    "redeliveries", "several_routes", "several_targets", "replays", "unknown", "trouble",
    "first_at", "last_at", "found",
)  # fmt: skip
"""``found``: the message arrived later than a horizon after its first transmission."""

_TYPES = {
    "conversation": "binary",
    "message_id": "binary",
    "from_initiator": "boolean",
    "sequence": "long",
    "from_service": "string",
    "to_service": "string",
    "enqueued_at": "long",
    "expires_at": "long",
    "sent": "string",
    "copy": "struct<removed: boolean, arrived_at: long, sequence: long, place: string,"
    " fragment: int, sent_at: long, left_at: long, first_hop: int, topic: string>",
    "trouble": "struct<at: long, error: int, instance: string>",
}
_REFUSED = (EventKind.FORWARDED_MESSAGE_DROPPED, EventKind.MESSAGE_UNDELIVERABLE)


def of_frames(envelopes: DataFrame, now: Column, *, queues: str, horizon: int) -> DataFrame:
    """Return the sightings in ``out`` and in queues (``read.ENVELOPE``).

    ``queues`` is the name prefix of queue topics. An attempt above 0 is a retry, or the first copy
    of a message that was sent while its dialog was retried. Its time is the time at which the
    message was accepted. Such a sighting extends a session only if the message was accepted more
    than a horizon ago. Undelivered system messages do not count as missing, because an endpoint
    that has ended accepts an EndDialog without delivering it.
    """
    queued = F.startswith("topic", F.lit(queues))
    sent_at = instant_in("sent_at")
    enqueued_at, first = F.col("enqueued_at"), F.col("attempt") == 0
    claimed = F.when(queued, _last("at")).when(first, sent_at).otherwise(enqueued_at)
    sent = ~flagged(Flag.END, Flag.ERROR) & (first | (sent_at - enqueued_at < horizon))
    is_sighting = F.col("reason").isNull() & ~flagged(Flag.UNSEQUENCED) & (queued | sent)
    copy = F.struct(
        F.lit(False).alias("removed"),
        F.col("claimed").alias("arrived_at"),
        "sequence",
        name_in(_last("instance")).alias("place"),
        "fragment",
        sent_at.alias("sent_at"),
        F.get("path.at", F.lit(0)).alias("left_at"),
        "first_hop",
        "topic",
    )
    columns = {
        "conversation": F.when(queued & names_a_dialog(), F.col("conversation")).when(
            ~queued, uuid_bytes("key")
        ),
        "expires_at": F.col("dialog_expires_at"),
        "sent": F.when(~queued, F.col("topic")),
        "copy": F.when(queued, copy),
        "trouble": F.lit(None),
    }
    named = is_sighting & columns["conversation"].isNotNull()
    return _sightings(envelopes.withColumn("claimed", claimed), named, columns, now)


def of_events(events: DataFrame, now: Column) -> DataFrame:
    """Return the sightings in events (``read.EVENT_RECORD``): copies removed, dropped, rejected."""
    removed = (F.col("event") == int(EventKind.MESSAGE_UNDELIVERABLE)) & (
        F.col("error") == int(Number.DUPLICATE)
    )
    refused = F.col("event").isin([int(kind) for kind in _REFUSED]) & (F.col("error") != 0)
    first = F.coalesce("attempt", F.lit(0)) == 0
    copy = F.struct(
        F.lit(True).alias("removed"),
        F.col("claimed").alias("arrived_at"),
        "sequence",
        F.concat_ws("/", "instance", "database").alias("place"),
        F.coalesce("fragment", F.lit(0)).alias("fragment"),
        "sent_at",
        "left_at",
        "first_hop",
        F.lit(None).alias("topic"),
    )
    columns = {
        "conversation": uuid_bytes("conversation"),
        "message_id": uuid_bytes("message_id"),
        "enqueued_at": F.lit(None),
        "expires_at": F.lit(None),
        "sent": F.lit(None),
        "copy": F.when(removed, copy),
        "trouble": F.when(~removed, F.struct("at", "error", "instance")),
    }
    timed = events.withColumn("claimed", F.col("at"))
    named = columns["conversation"].isNotNull() & columns["message_id"].isNotNull()
    # the row of a duplicate message needs both, and there may be no other record with them
    numbered = F.col("from_initiator").isNotNull() & F.col("sequence").isNotNull()
    of_copy = (removed & numbered) | (refused & first & ~removed)
    is_sighting = F.col("reason").isNull() & of_copy & named
    return _sightings(timed, is_sighting, columns, now)


def heartbeats(raw: DataFrame, now: Column) -> DataFrame:
    """Return records of ``presence`` (RAW) as empty sightings, which only advance time."""
    columns = dict.fromkeys(_SEEN, F.lit(None))
    timed = raw.withColumn("stored_at", F.col("timestamp")).withColumn(
        "claimed", F.unix_millis("timestamp")
    )
    return _sightings(timed, F.lit(True), columns, now)


def lives(sightings: DataFrame, *, horizon: int, late: int) -> DataFrame:
    """Return the messages with problems (LIVES), each when its session ends.

    ``horizon`` is the longest time (ms) between two sightings of a session, ``late`` the watermark.
    """
    gap = F.session_window("at", f"{horizon} milliseconds").alias("session")
    sessions = (
        sightings.withWatermark("at", f"{late} milliseconds")
        .groupBy(gap, "conversation", "message_id")
        .agg(
            *(F.max(name).alias(name) for name in _OF_MESSAGE),
            InternalFunction.collect_top_k(F.col("copy"), MOST_COMPARED, True).alias("arrived"),
            F.count("copy").alias("copies"),
            F.count("copy.topic").alias("delivered"),
            F.max("trouble").alias("trouble"),
        )
    )
    sessions = _with_causes(sessions).select(
        "*",
        F.unix_millis("session.start").alias("first_at"),
        (F.unix_millis("session.end") - horizon).alias("last_at"),
    )
    # A removed duplicate implies that the endpoint had received another copy long before.
    missing = F.col("sent").isNotNull() & (F.col("copies") == 0)
    after = F.col("delivered_at") - F.col("enqueued_at") > horizon
    found = F.coalesce(F.col("sent").isNull() & after, F.lit(False))
    repeated = F.col("copies") > F.least("delivered", F.lit(1))
    # There is no condition on a key: Spark would move it below the watermark, with the heartbeats.
    something = sessions.withColumn("found", found).where(missing | F.col("found") | repeated)
    for identifier in ("message_id", "conversation"):
        something = something.withColumn(identifier, uuid_text(identifier))
    return something.select(*LIVES)


def _with_causes(sessions: DataFrame) -> DataFrame:
    """Add the reason why the message arrived more than once.

    The copies at one endpoint are compared step by step: transmissions of the sender, passes of its
    forwarder, and routes of one pass. Identical copies were forwarded twice on the path. If nothing
    was delivered, the originals are unknown.
    """
    queued = F.filter("arrived", lambda copy: ~copy["removed"])
    compared = F.concat("arrived", _of_fragments())
    no_place = F.lit(None).cast("string")
    nowhere = F.transform(compared, lambda copy: copy.withField("place", no_place))
    several = F.size(F.array_distinct("queued.topic")) > 1
    counted = sessions.withColumn("queued", queued).withColumn(
        # The endpoint may have moved between copies, so places matter only if there are several
        # queues.
        "all",
        F.when(several, compared).otherwise(nowhere),
    )
    issued, placed, whole, sent, left, routed = (
        _different(*_STEPS[:n]) for n in range(1, len(_STEPS) + 1)
    )
    causes = {
        "retries": sent - whole,
        "redeliveries": left - sent + F.size("all") - routed,
        "several_routes": routed - left,
        "several_targets": placed - issued,
        "replays": issued - 1,
    }
    known = F.col("delivered") > 0
    not_compared = F.col("copies") - F.size("arrived")
    return counted.select(
        *sessions.columns,
        F.array_min("queued.arrived_at").alias("delivered_at"),
        F.array_join(F.array_sort(F.array_distinct("queued.place")), ", ").alias("places"),
        *(F.when(known, count).otherwise(0).alias(name) for name, count in causes.items()),
        F.when(known, not_compared).otherwise(F.col("copies")).alias("unknown"),
    )


def _of_fragments() -> Column:
    """Return copies for comparison with removed fragments; queued messages count as fragment 0."""
    numbers = F.array_distinct(F.filter("arrived.fragment", lambda number: number != 0))
    wholes = F.array_repeat(F.get("queued", F.lit(0)), F.size(numbers))
    return F.zip_with(wholes, numbers, lambda copy, number: copy.withField("fragment", number))


def _different(*names: str) -> Column:
    """Return the number of copies that differ in any of these columns.

    Hashes are compared, because Spark compares structs pairwise. A hash skips nulls, so it includes
    whether each value is null.
    """

    def digest(copy: Column) -> Column:
        return F.xxhash64(*(part for n in names for part in (copy[n].isNull(), copy[n])))

    return F.size(F.array_distinct(F.transform("all", digest)))


def _sightings(
    frame: DataFrame, is_sighting: Column, columns: dict[str, Column], now: Column
) -> DataFrame:
    """Return a row for each record for which ``is_sighting`` is true.

    The function explodes an array instead of using a condition, because Spark would move a
    condition below the decoding, and decode twice.
    """
    made = {name: columns.get(name, F.col(name)) for name in _TYPES}
    sighting = F.struct(
        event_time("claimed", now).alias("at"),
        *(made[name].cast(kind).alias(name) for name, kind in _TYPES.items()),
    )
    row = F.explode(F.when(is_sighting, F.array(sighting))).alias("sighting")
    return frame.select(row).select("sighting.*")


def _last(field: str) -> Column:
    return F.get(f"path.{field}", F.size("path") - 1)
