"""The fast path for copies that share the decision for their route in a batch.

:meth:`Forwarder.handle` has the same result for every such record, so the decision is made once per
route (:meth:`Forwarder.lane`), and forwarding a record takes little more time than copying it. The
same applies to acknowledgements, which have their own lanes. Expired copies from another instance
share the report of their drop, which is written later (``postponed_events``), because after an
absence there are tens of thousands of them. All other records are handled one by one: retries with
a choice of addresses, buffered copies, and anything unexpected.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from streams.kafka import Headers, Message, headers_of
from streams.node import Forwarder, Lane, Outcome, Place, Record
from streams.routing import Origin
from streams.times import AGE, plausible
from streams.wire.events import SimilarEvents
from streams.wire.hop import edit_at_once, instant
from streams.wire.records import HOP, INSIDE, MESSAGE, ORIGIN, OUTSIDE, ROUTE, conversation_of
from streams.workers.forwarder.local_producer import LocalProducer, Report, source_of
from streams.workers.forwarder.outcome_writer import WriteRemote
from streams.workers.forwarder.postponed_events import PostponedEvents
from streams.workers.forwarder.topic_names import TopicNames


@dataclass(slots=True)
class Known:
    """A lane with its topic, and the new ``sb-hop`` for each ``sb-hop`` seen in this batch.

    All frames that an endpoint sends in one transaction share one ``sb-hop``, so most lookups
    succeed. If the next hop is in another cluster, ``remote(message, headers, timestamp)`` writes
    the copy. ``drops`` maps an ``sb-hop`` to the report about the copies that are dropped because
    of it.
    """

    lane: Lane
    topic: str
    remote: Callable[[Message, Headers, int], None] | None = None
    hops: dict[bytes | None, bytes | None] = field(default_factory=dict)
    drops: dict[bytes | None, SimilarEvents] = field(default_factory=dict)


@dataclass(slots=True)
class Input:
    """One input partition: values that its records share, and the last record handled.

    ``headers`` reads the headers of a record.
    """

    topic: str
    partition: int
    origin: Origin
    report: Report
    headers: Callable[[Message], Headers] = headers_of
    last: Message | None = None
    lanes: dict[bytes | None, Known] = field(default_factory=dict)
    acks: dict[bytes | None, Known] = field(default_factory=dict)


class FastPath:
    """Forward copies by the decision for their route; :meth:`begin` resets the decisions."""

    def __init__(
        self,
        local_producer: LocalProducer,
        topics: TopicNames,
        write_remote: WriteRemote,
        postponed: PostponedEvents,
    ) -> None:
        self._copy, self._postponed = local_producer.copy, postponed
        self._topics, self._write_remote = topics, write_remote
        self._block = self._since = b""
        self._now = self._oldest = 0

    def begin(self, forwarder: Forwarder, now: int) -> None:
        """Begin a batch at a time (epoch milliseconds); reachability may have changed."""
        self._forwarder, self._now, self._oldest = forwarder, now, now - AGE
        self._since = instant(now)
        self._block = forwarder.block(now)

    def take(
        self, source: Input, message: Message, headers: Headers, report: Report | None = None
    ) -> bool:
        """Forward or drop a copy whose route has a lane; return whether this was possible.

        The first expired record, the first record without remaining hops, and retries for which
        another address may be chosen are left to :meth:`Forwarder.handle`.
        """
        body = None
        lanes = source.acks
        if len(headers) == 2:
            (first, route), (last, raw) = headers
        elif len(headers) == 3 and headers[1][0] == MESSAGE:
            (first, route), body, (last, raw) = headers
            lanes = source.lanes
        else:
            return False
        if first != ROUTE or last != HOP:  # by name, as in admission.py and read_record.py
            return False
        known, key = lanes.get(route), message.key()
        if known is None or not isinstance(key, bytes):
            return False
        hop = known.hops.get(raw)
        if hop is None:
            drop = known.drops.get(raw)
            if drop is not None and body is not None:
                conversation_of(key)  # raises MalformedError
                self._postponed.add(source_of(message), key, body[1], drop)
                return True
            hop = self._edited(known, raw)
            if hop is None:
                return False
        copied: Headers = [(ROUTE, known.lane.route), (HOP, hop)]
        if body is not None:
            copied.insert(1, body)
        if known.lane.place is Place.IN:
            copied.append((ORIGIN, INSIDE if known.lane.inside else OUTSIDE))
        stamp = message.timestamp()[1]
        if not self._oldest <= stamp <= self._now:
            stamp = plausible(stamp, self._now)
        if known.remote is not None:
            known.remote(message, copied, stamp)
        else:
            self._copy(report or source.report, known.topic, message.value(), key, stamp, copied)
        return True

    def find_lane(self, source: Input, record: Record) -> bool:
        """Find a lane for a record's route if it has none yet; return whether one was found."""
        lanes = source.acks if record.is_ack else source.lanes
        lane = None if record.route in lanes else self._forwarder.lane(record, self._now)
        if lane is None:
            return False
        catalog, to = self._forwarder.catalog, lane.instance
        is_remote = to in catalog.neighbours
        remote = partial(self._write_remote, source.origin, to) if is_remote else None
        topic = self._topics.target(catalog, lane.place, to, lane.database)
        lanes[record.route] = Known(lane, topic, remote)
        return True

    def note_drop(self, source: Input, record: Record, outcome: Outcome) -> None:
        """Note how a message was dropped; others with its ``sb-hop`` are dropped alike.

        Messages from this instance are excluded, because their sender gets a status for each copy.
        """
        known, event = source.lanes.get(record.route), outcome.event
        if known is None or event is None or record.is_ack or source.origin is Origin.INSIDE:
            return
        with suppress(ValueError):
            known.drops[record.hop] = SimilarEvents(event)

    def _edited(self, known: Known, raw: bytes | None) -> bytes | None:
        lane = known.lane
        if raw is None:
            return None
        hop = known.hops[raw] = edit_at_once(
            raw,
            self._since,
            self._block,
            retries=lane.retries,
            begun=lane.begun,
            spend=lane.spend,
            hide=lane.hide,
        )
        return hop
