"""The content of the topics after a run, record by record, as values to be encoded."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from streams.errors import Event
from streams.node import OutFrame, QueueMessage
from streams.protocol import Command, Status
from streams.simulator.clock import MILLISECOND, START
from streams.simulator.codec import ACK, JOURNEY, decode_header, decode_parties
from streams.simulator.instance import Instance
from streams.simulator.run import Simulation
from streams.simulator.storage import Entry, read_ack, read_command

Value = Command | OutFrame | Status | QueueMessage | Event


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A record: its topic, position and content.

    ``timestamp`` is the time in epoch milliseconds that a real worker would have written; in
    ``in``, it is the append time. ``inside``: whether a frame in ``in`` was sent from the same
    instance.
    """

    kind: str
    instance: str
    offset: int
    timestamp: int
    value: Value
    inside: bool = False


def topic_records(run: Simulation) -> Iterator[TopicRecord]:
    """Yield the records of all topics of a completed run, topic by topic.

    The order of the topics is as follows: ``cmd``, ``out``, ``txq``, ``in`` and ``ack`` of each
    instance, then all queues, interleaved, and finally ``event``.
    """
    for instance in run.instances.values():
        yield from _inputs(instance)
    ends: Counter[tuple[str, str, str]] = Counter()
    for queued in run.facts.queued:
        message, at = queued.message, START + queued.at // MILLISECOND
        place = (queued.instance, message.database, message.queue)
        stamp = min(max(message.header.enqueued_at, 0), at)
        yield TopicRecord("queue", queued.instance, ends[place], stamp, message)
        ends[place] += 1
    for offset, emitted in enumerate(run.facts.events):
        at = START + emitted.at // MILLISECOND
        yield TopicRecord("event", emitted.event["instance"], offset, at, emitted.event)


def _inputs(instance: Instance) -> Iterator[TopicRecord]:
    topics = instance.topics
    for offset, entry in enumerate(topics.cmd):
        yield TopicRecord("cmd", instance.name, offset, entry.stored_at, read_command(entry))
    frames = (("out", topics.out), ("txq", topics.txq), ("in", topics.inbox), ("ack", topics.ack))
    for kind, entries in frames:
        for offset, entry in enumerate(entries):
            value = _frame(entry)
            yield TopicRecord(kind, instance.name, offset, entry.stored_at, value, entry.inside)


def _frame(entry: Entry) -> OutFrame | Status:
    if entry.route is None:
        status = read_ack(entry)
        assert isinstance(status, Status), "only the forwarder's status has no route"
        return status
    about = uuid.UUID(bytes=entry.key), decode_parties(entry.route), JOURNEY.loads(entry.hop)
    if entry.message is None:
        return OutFrame(*about, ack=ACK.loads(entry.value))
    return OutFrame(*about, header=decode_header(entry.message), body=entry.value)
