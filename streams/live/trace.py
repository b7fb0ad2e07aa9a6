"""Trace a path with a probe that the live workers forward and no application sees.

A probe is an acknowledgement of a nonexistent dialog. Forwarders route a probe by the same rules
and the same plan as a message. The probe ends in the topic ``ack`` of the delivering instance,
where the endpoint worker finds no dialog. (The worker replies to a returning probe that the dialog
is closed, but this reply does not reach any endpoint.) The probe's ``sb-hop`` contains the path and
the times.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum

from streams.analysis import Outcome, Paths, find_paths
from streams.analysis.places import Place
from streams.kafka import Cluster, Message, TopicPartition, headers_of, read_ends
from streams.protocol import DEFAULT, Ack, Journey, Limits, Parties
from streams.topology import Topology, home_of, homes_of
from streams.wire import MalformedError, decode_event
from streams.wire.frame_headers import decode_journey, decode_parties
from streams.wire.records import HOP, ROUTE, ack_record, header_of

Visit = tuple[str, int]
"""An instance, and the probe's arrival there in milliseconds after the start."""
_POLL = 0.1


class Verdict(Enum):
    """The outcomes of a probe, best first."""

    OK = "ok"
    DIFFERS = "differs"
    """The probe arrived over a path that `hopline path` does not predict."""
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Leg:
    """One direction: the path of the probe with times; ``error`` if it was dropped."""

    visits: tuple[Visit, ...]
    arrived: int | None
    error: str = ""

    @property
    def instances(self) -> tuple[str, ...]:
        """Return the instances on the path, in order."""
        return tuple(instance for instance, _ in self.visits)


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe to the target and a probe back; ``expected``: the paths that `path` predicts."""

    conversation: uuid.UUID
    expected: tuple[tuple[str, ...], ...]
    there: Leg
    back: Leg | None

    @property
    def verdict(self) -> Verdict:
        """Return the outcome of the probe."""
        if self.there.arrived is None:
            return Verdict.LOST
        if self.there.instances not in self.expected:
            return Verdict.DIFFERS
        return Verdict.OK if self.back and self.back.arrived is not None else Verdict.LOST


class Tracer:
    """A context manager that sends probes, one at a time, from one service to another.

    ``timeout``: seconds for one direction.
    """

    def __init__(
        self, cluster: Cluster, topology: Topology, sender: Place, to: str, timeout: float
    ) -> None:
        self._cluster, self._topology = cluster, topology
        self._sender, self._to, self._timeout = sender, to, timeout
        self._producer = cluster.producer(linger_ms=0)
        self._consumer = cluster.consumer(f"{cluster.topics.prefix}trace")

    def __enter__(self) -> Tracer:
        topics = self._cluster.topics
        names = [topics.event, *map(topics.ack, homes_of(self._topology))]
        ends = read_ends(self._cluster, names)
        self._consumer.assign([TopicPartition(t, p, at) for (t, p), at in ends.items()])
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.flush(self._timeout)
        self._consumer.close()

    def walk(self, conversation: uuid.UUID, broker: str | None = None) -> Probe:
        """Send a probe to the service, and a probe back from the instance at which it arrived."""
        here, now = self._sender, time.time()
        paths = find_paths(
            self._topology, here, self._to, now, broker=broker, conversation=conversation
        )
        parties = Parties(
            self._to, broker, here.service, here.database.broker_id, DEFAULT, from_initiator=True
        )
        there = self._leg(home_of(here.instance.name, here.database), conversation, parties)
        met = _taken(paths, there)
        back = None if met is None else self._back(conversation, met)
        return Probe(conversation, _paths_of(paths), there, back)

    def _back(self, conversation: uuid.UUID, met: Outcome) -> Leg | None:
        ending, here = met.way.ending, self._sender
        at = self._topology.instances[ending.instance]
        database = at.database(ending.database or "")
        if database is None:
            return None
        parties = Parties(
            here.service,
            here.database.broker_id,
            self._to,
            database.broker_id,
            DEFAULT,
            from_initiator=False,
        )
        return self._leg(home_of(at.name, database), conversation, parties)

    def _leg(self, home: str, conversation: uuid.UUID, parties: Parties) -> Leg:
        sent = time.time_ns() // 1_000_000
        journey = Journey(Limits().hops, sent + int(self._timeout * 1000), 0, sent)
        ack = Ack(0, sent_at=sent)
        key, value, headers = ack_record(conversation, parties, ack, journey)
        self._producer.produce(
            self._cluster.topics.out(home),
            key=key,
            value=value,
            headers=headers,  # type: ignore[arg-type]
        )
        self._producer.poll(0)
        deadline = time.monotonic() + self._timeout
        while time.monotonic() < deadline:
            self._producer.poll(0)
            message = self._consumer.poll(_POLL)
            if message is not None and message.error() is None and message.key() == key:
                leg = self._read(message, parties.from_initiator)
                if leg is not None:
                    return _since(leg, sent)
        return Leg((), None, f"no report within {self._timeout:g} s")

    def _read(self, message: Message, from_initiator: bool) -> Leg | None:
        """Return the leg in a record of the probe; ``None`` if it belongs to the other leg."""
        with suppress(MalformedError):
            if message.topic() == self._cluster.topics.event:
                event = decode_event(message.value())
                detail = event.get("detail") or f"event {event['event']}"
                return Leg((), None, f"{event['instance']}: {event.get('error')} {detail}")
            headers = headers_of(message)
            if decode_parties(header_of(headers, ROUTE)).from_initiator is from_initiator:
                journey = decode_journey(header_of(headers, HOP))
                return Leg(journey.path, time.time_ns() // 1_000_000)
        return None


def _since(leg: Leg, sent: int) -> Leg:
    visits = tuple((instance, at - sent) for instance, at in leg.visits)
    return replace(leg, visits=visits, arrived=None if leg.arrived is None else leg.arrived - sent)


def _paths_of(paths: Paths) -> tuple[tuple[str, ...], ...]:
    return tuple(dict.fromkeys(_instances(outcome) for outcome in paths.outcomes))


def _instances(outcome: Outcome) -> tuple[str, ...]:
    return tuple(state.instance for state, _ in outcome.way.hops)


def _taken(paths: Paths, leg: Leg) -> Outcome | None:
    """Return the predicted outcome that matches the probe's path, if any."""
    arrived = leg.arrived is not None
    for outcome in paths.outcomes:
        if arrived and outcome.way.ending.delivered and _instances(outcome) == leg.instances:
            return outcome
    return None


def walk_all(tracer: Tracer, count: int, broker: str | None = None) -> Iterator[Probe]:
    """Yield ``count`` probes, each with its own id, so that balanced routes spread them."""
    for _ in range(count):
        yield tracer.walk(uuid.uuid4(), broker)
