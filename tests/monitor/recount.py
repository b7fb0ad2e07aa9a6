"""The monitor's figures once more: from the same topics, by DuckDB, in SQL of its own.

Nothing of this is shared with the queries: topics are read by a consumer, decoded by the codecs of
the workers, and counted by another engine in another language.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from streams.kafka import Cluster, Message, headers_of, read_all
from streams.kafka.listing import topic_names
from streams.store import (
    Cause,
    CopiedMessage,
    EventWindow,
    FoundMessage,
    Gap,
    LatencyWindow,
    MissingMessage,
    Repeat,
    Store,
)
from streams.wire import MalformedError, decode_event
from streams.wire.place import place_of
from streams.wire.records import CONVERSATION, header_of, read_message, read_queued

Figures = dict[type, list[tuple[Any, ...]]]
"""Rows by their kind, as plain values."""

_FRAMES = """
    kind varchar, topic varchar, sender varchar, conversation varchar, from_initiator boolean,
    message_id varchar, sequence bigint, fragment bigint, flags bigint, enqueued_at bigint,
    expires_at bigint, attempt bigint, sent_at bigint, first_hop bigint, names varchar[],
    instants bigint[], from_service varchar, to_service varchar
"""
_EVENTS = """
    event bigint, error bigint, moment bigint, instance varchar, database varchar,
    conversation varchar, from_initiator boolean, message_id varchar, sequence bigint,
    attempt bigint, sent_at bigint, first_hop bigint, left_at bigint, from_service varchar,
    to_service varchar, route varchar
"""

_PATHS = """
create view ways as select *,
    instants[-1] // {window} * {window} as window_start,
    case when len(names) > 1 and starts_with(names[-1], names[-2] || '/')
         then list_concat(names[1:-3], names[-1:]) else names end as way
from frames where kind = 'queue' and len(names) > 1 and flags & 7 = 0;
create view legs as
    select *, 0 as leg, names[1] as leg_from, names[-1] as leg_to,
           instants[-1] - enqueued_at as ms from ways
    union all
    select ways.*, leg, case leg when 1 then '' else names[leg - 1] end, names[leg],
           instants[leg] - case leg when 1 then enqueued_at else instants[leg - 1] end
    from ways, unnest(range(1, len(names) + 1)) as legs(leg);
"""
_LATENCY = """
select window_start, window_start + {window}, from_service, to_service, names[-1],
       array_to_string(way, '>'), leg, leg_from, leg_to, len(way) - 1, count(*), sum(attempt),
       min(ms), max(ms), round(quantile_cont(ms, 0.5), 6), round(quantile_cont(ms, 0.95), 6),
       round(quantile_cont(ms, 0.99), 6)
from legs group by all
"""
_EVENT_WINDOWS = """
select moment // {window} * {window} as start, start + {window}, event, error, instance, database,
       from_service, to_service, route,
       case when event = 160 and error = 11218 and attempt is null then 'unknown'
            when event = 160 and error = 11218 and attempt > 0 then 'retry'
            when event = 160 and error = 11218 then 'redelivery'
            when event = 160 and error = 11224 then 'several targets' end, count(*)
from events group by all
"""
_REPEATS = """
select topic, message_id, fragment, conversation, sequence, count(*), min(instants[-1]),
       max(instants[-1])
from frames where kind = 'queue' and flags & 4 = 0
group by topic, message_id, fragment, conversation, sequence, enqueued_at having count(*) > 1
"""
_GAPS = """
with seen as (
    select topic, conversation, from_initiator, sequence, instants[-1] as moment,
           moment // {horizon} * {horizon} as newest, unnest([newest, newest - {horizon}]) as start
    from frames where kind = 'queue' and flags & 6 = 0 and fragment = 0
), stretches as (
    select topic, conversation, from_initiator, start, min(sequence) as first,
           max(sequence) as last, count(*) as n, count(distinct sequence) as numbers,
           min(moment) as first_at, max(moment) as last_at
    from seen group by topic, conversation, from_initiator, start
)
select topic, conversation, from_initiator, start, start + 2 * {horizon}, first, last, n,
       case when n > last - first + 1 then 0 else greatest(last - first + 1 - n, 1) end,
       first_at, last_at
from stretches
where numbers < last - first + 1 or n > last - first + 1
"""
_LIVES = """
create table seen as
    select 'sent' as kind, case attempt when 0 then sent_at else enqueued_at end as moment,
           * exclude (kind, names, instants), null as place,
           null as left_at, null as error, null as error_by
    from frames
    where kind = 'out' and flags & 7 = 0 and (attempt = 0 or sent_at - enqueued_at < {horizon})
    union all by name
    select 'queued' as kind, instants[-1] as moment, * exclude (kind, names, instants),
           names[-1] as place, instants[1] as left_at
    from frames where kind = 'queue' and flags & 4 = 0
    union all by name
    select 'removed' as kind, moment, conversation, message_id, sequence, from_initiator,
           from_service, to_service, sent_at, first_hop, left_at,
           instance || '/' || database as place
    from events where event = 160 and error = 11218
    union all by name
    select 'refused' as kind, moment, conversation, message_id, sequence, from_initiator,
           from_service, to_service, error, instance as error_by
    from events
    where event in (140, 160) and error not in (0, 11218) and coalesce(attempt, 0) = 0
      and message_id is not null;
create table lives as
with marked as (
    select *, coalesce(moment - lag(moment) over message > {horizon}, false) as begins from seen
    window message as (partition by conversation, message_id order by moment)
), numbered as (
    select *, sum(begins::int) over (
        partition by conversation, message_id order by moment rows unbounded preceding) as session
    from marked
), placed as (
    select *, case when count(distinct topic) filter (kind = 'queued') over (
        partition by conversation, message_id, session) > 1 then place end as at_place
    from numbered
)
select conversation, message_id, session, bool_or(from_initiator) as from_initiator,
       max(sequence) as sequence, max(from_service) as from_service,
       max(to_service) as to_service, max(enqueued_at) as enqueued_at,
       max(expires_at) as expires_at, max(sender) as sender,
       min(moment) as first_at, max(moment) as last_at,
       count(*) filter (kind = 'sent') as sent,
       count(*) filter (kind = 'queued') as delivered,
       count(*) filter (kind in ('queued', 'removed')) as copies,
       min(moment) filter (kind = 'queued') as delivered_at,
       coalesce(string_agg(distinct place, ', ' order by place) filter (kind = 'queued'), '')
           as places,
       arg_max((error, moment, error_by), moment) filter (kind = 'refused') as trouble,
       count(distinct sequence) filter (kind in ('queued', 'removed')) as said,
       count(distinct (sequence, at_place)) filter (kind in ('queued', 'removed')) as placed,
       count(distinct (sequence, at_place, sent_at))
           filter (kind in ('queued', 'removed')) as sends,
       count(distinct (sequence, at_place, sent_at, left_at))
           filter (kind in ('queued', 'removed')) as passes,
       count(distinct (sequence, at_place, sent_at, left_at, first_hop))
           filter (kind in ('queued', 'removed')) as routed
from placed group by conversation, message_id, session
"""
_MISSING = """
select conversation, from_initiator, message_id, sequence, from_service, to_service, sender,
       enqueued_at, expires_at, last_at, coalesce(trouble[1], 0), trouble[2], trouble[3]
from lives where sent > 0 and copies = 0
"""
_FOUND = """
select conversation, message_id, places, delivered_at
from lives
where sent = 0 and delivered_at - enqueued_at > {horizon}
"""
_COPIED = """
select conversation, from_initiator, message_id, sequence, from_service, to_service, places,
       copies, delivered, sends - placed, passes - sends + copies - routed, routed - passes,
       placed - said, said - 1, 0, first_at, last_at
from lives where delivered > 0 and copies > 1
union all
select conversation, from_initiator, message_id, sequence, from_service, to_service, places,
       copies, 0, 0, 0, 0, 0, 0, copies, first_at, last_at
from lives where delivered = 0 and copies > 0
"""

_QUERIES = {
    LatencyWindow: _LATENCY,
    EventWindow: _EVENT_WINDOWS,
    Repeat: _REPEATS,
    Gap: _GAPS,
    MissingMessage: _MISSING,
    FoundMessage: _FOUND,
    CopiedMessage: _COPIED,
}
"""What the store's rows of a kind must be; a window's histogram apart."""


def recounted(cluster: Cluster, folder: Path, *, window: int, horizon: int) -> Figures:
    """Return the rows that a store should have; ``window`` and ``horizon`` in ms."""
    frames, events = folder / "frames.json", folder / "events.json"
    _read(cluster, frames, events)
    with duckdb.connect() as base:
        base.execute(f"create table frames ({_FRAMES}); create table events ({_EVENTS})")
        base.execute(f"copy frames from '{frames}' (format json)")
        base.execute(f"copy events from '{events}' (format json)")
        for script in (_PATHS, _LIVES):
            base.execute(script.format(window=window, horizon=horizon))
        return {
            kind: sorted(
                base.execute(query.format(window=window, horizon=horizon)).fetchall(), key=repr
            )
            for kind, query in _QUERIES.items()
        }


def stored(store: Store, kind: type) -> list[tuple[Any, ...]]:
    """Return a store's rows of a kind in the same shape."""
    return sorted((_tuple(row) for row in store.read(kind)), key=repr)


KINDS: Sequence[type] = tuple(_QUERIES)


def _tuple(row: Any) -> tuple[Any, ...]:
    values = [getattr(row, name) for name in row.__slots__ if name != "histogram"]
    plain = (value.value if isinstance(value, Cause) else value for value in values)
    return tuple(round(v, 6) if isinstance(v, float) else v for v in plain)


# --- reading -------------------------------------------------------------------------------------


def _read(cluster: Cluster, frames: Path, events: Path) -> None:
    with frames.open("w") as to_frames, events.open("w") as to_events:
        for topic in sorted(topic_names(cluster)):
            place = place_of(topic, cluster.topics)
            if place is None:
                continue
            if place.kind in ("out", "queue"):
                for made in _frames(cluster, topic, place.kind, place.instance or topic):
                    to_frames.write(json.dumps(made) + "\n")
            elif place.kind == "event":
                for message in read_all(cluster, topic):
                    to_events.write(json.dumps(_event(message)) + "\n")


def _frames(cluster: Cluster, topic: str, kind: str, sender: str) -> Iterator[dict[str, Any]]:
    for message in read_all(cluster, topic):
        headers = headers_of(message)
        if header_of(headers, "sb-message") is None:
            continue
        try:
            queued = header_of(headers, CONVERSATION) is not None
            frame = (
                read_queued(message.value(), headers)
                if queued
                else read_message(message.key(), message.value(), headers)
            )
        except MalformedError:
            continue
        header, journey, parties = frame.header, frame.journey, frame.parties
        yield {
            "kind": kind,
            "topic": topic,
            "sender": sender if kind == "out" else None,
            "conversation": str(frame.conversation),
            "from_initiator": parties.from_initiator,
            "message_id": str(header.message_id),
            "sequence": header.sequence,
            "fragment": header.fragment,
            "flags": int(header.flags),
            "enqueued_at": header.enqueued_at,
            "expires_at": header.dialog_expires_at,
            "attempt": journey.attempt,
            "sent_at": journey.sent_at,
            "first_hop": journey.first_hop,
            "names": [name for name, _ in journey.path],
            "instants": [at for _, at in journey.path],
            "from_service": parties.from_service,
            "to_service": parties.to_service,
        }


def _event(message: Message) -> dict[str, Any]:
    event = dict(decode_event(message.value()))
    names = (column.split()[0] for column in _EVENTS.split(","))
    return {"moment": event["at"], **{name: event[name] for name in names if name != "moment"}}
