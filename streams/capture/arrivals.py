"""What a record says of how a message fared: it arrived, or something happened to a copy of it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from streams.capture.record import Header
from streams.errors import EventKind, Number
from streams.protocol.frames import Flag
from streams.wire import MalformedError, Topics, decode_event
from streams.wire.place import place_of
from streams.wire.records import read_queued

__all__ = ["Arrived", "Copy", "CopyEvent", "read_arrivals"]

_OWN = Flag.END | Flag.ERROR | Flag.UNSEQUENCED


class Arrived(NamedTuple):
    """A message in a queue: its dialog and side, its number, its place, its path, its latency.

    ``path`` are the instances, joined by ``>``; ``ms`` from the command to the queue.
    ``enqueued_at`` is when the command was stored, in epoch milliseconds.
    """

    conversation: str
    from_initiator: bool
    sequence: int
    place: str
    path: str
    ms: int
    enqueued_at: int


class Copy(Enum):
    """What became of a copy that did not arrive, or of a message that waits."""

    REMOVED = "removed"
    DROPPED = "dropped"
    DELAYED = "delayed"


class CopyEvent(NamedTuple):
    """An event that tells of a copy, ``at`` epoch milliseconds; ``error`` is its number."""

    conversation: str
    what: Copy
    error: int
    at: int


def read_arrivals(
    topic: str, headers: tuple[Header, ...], value: bytes | None, topics: Topics
) -> Iterator[Arrived | CopyEvent]:
    """Yield what a record reports; nothing where it is neither in a queue nor such an event."""
    place = place_of(topic, topics)
    if place is None:
        return
    try:
        if place.kind == "queue":
            yield from _queued(headers, f"{place.instance}/{place.database}")
        elif place.kind == "event":
            yield from _copy_events(value)
    except MalformedError:
        return


def _queued(headers: tuple[Header, ...], place: str) -> Iterator[Arrived]:
    frame = read_queued(None, list(headers))
    header, path = frame.header, frame.journey.path
    if header.flags & _OWN or header.fragment:
        return
    names = [name for name, _ in path]
    if len(names) > 1 and names[-1].startswith(f"{names[-2]}/"):
        del names[-2]  # the target's own instance, which its database names again
    took = path[-1][1] - header.enqueued_at if path else 0
    yield Arrived(
        str(frame.conversation), frame.parties.from_initiator, header.sequence, place,
        ">".join(names), took, header.enqueued_at,
    )  # fmt: skip


def _copy_events(value: bytes | None) -> Iterator[CopyEvent]:
    event = decode_event(value)
    kind, error = event["event"], event["error"]
    if kind == EventKind.MESSAGE_UNDELIVERABLE and error == Number.DUPLICATE:
        what = Copy.REMOVED
    elif kind in (EventKind.FORWARDED_MESSAGE_DROPPED, EventKind.MESSAGE_UNDELIVERABLE):
        what = Copy.DROPPED
    elif kind == EventKind.MESSAGE_CLASSIFY and error:
        what = Copy.DELAYED
    else:
        return
    yield CopyEvent(str(event["conversation"]).lower(), what, error, event["at"])
