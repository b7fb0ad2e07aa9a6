"""Extract arrivals of messages, and events about copies, from a record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from streams.capture.record import Header
from streams.errors import CopyOutcome, copy_outcome
from streams.errors.refusals import Refusal, refusal_in
from streams.protocol.frames import Flag, Message
from streams.times import LATEST
from streams.wire import MalformedError, Topics
from streams.wire.describe import RawRecord
from streams.wire.dialog_records import EventRecord, QueuedRecord, dialog_record
from streams.wire.place import place_of

__all__ = ["Arrived", "CopyEvent", "Found", "RefusedStatement", "read_arrivals"]

_OWN = Flag.END | Flag.ERROR | Flag.UNSEQUENCED


class Arrived(NamedTuple):
    """A message in a queue: its dialog and side, number, place, path and latency.

    ``path`` contains the instances, joined by ``>``; ``ms`` is the latency from the command to the
    queue. ``enqueued_at`` is the time at which the command was stored, in epoch milliseconds.
    """

    conversation: str
    from_initiator: bool
    sequence: int
    place: str
    path: str
    ms: int
    enqueued_at: int


class CopyEvent(NamedTuple):
    """An event about a copy; ``at`` is in epoch milliseconds; ``error`` is an error number."""

    conversation: str
    what: CopyOutcome
    error: int
    at: int


class RefusedStatement(NamedTuple):
    """A statement of a dialog that its endpoint worker has rejected."""

    conversation: str
    error: int
    at: int
    refusal: Refusal


Found = Arrived | CopyEvent | RefusedStatement
"""The part of a record that matters for a replay."""


def read_arrivals(
    topic: str, headers: tuple[Header, ...], value: bytes | None, topics: Topics
) -> Iterator[Found]:
    """Yield the facts that a replay needs: a delivery, a lost copy, a rejected statement."""
    place = place_of(topic, topics)
    if place is None:
        return
    record = RawRecord(topic, 0, 0, 0, None, value, headers)
    try:
        match dialog_record(place.kind, record):
            case QueuedRecord() as queued:
                yield from _arrived(queued.message, f"{place.instance}/{place.database}")
            case EventRecord() as found:
                event = found.event
                what, about = copy_outcome(event), str(event["conversation"]).lower()
                if what is not None:
                    yield CopyEvent(about, what, event["error"], event["at"])
                refusal = refusal_in(event)
                if refusal is not None:
                    yield RefusedStatement(about, event["error"], event["at"], refusal)
    except MalformedError:
        return


def _arrived(frame: Message, place: str) -> Iterator[Arrived]:
    header, path = frame.header, frame.journey.path
    if header.flags & _OWN or header.fragment:
        return
    names = [name for name, _ in path]
    if len(names) > 1 and names[-1].startswith(f"{names[-2]}/"):
        del names[-2]  # the target's own instance is already part of its place
    took = path[-1][1] - header.enqueued_at if path else 0
    took = max(-LATEST, min(took, LATEST))  # any writer may state any time
    yield Arrived(
        str(frame.conversation), frame.parties.from_initiator, header.sequence, place,
        ">".join(names), took, header.enqueued_at,
    )  # fmt: skip
