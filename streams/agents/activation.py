"""What is told when an agent begins and ends to read its queue (event 163).

An agent stands where an activated procedure stood; who is killed tells nothing.
"""

from __future__ import annotations

from enum import IntEnum

from streams.errors import EventKind
from streams.node.events import event
from streams.wire import encode_event


class Activation(IntEnum):
    """The subclasses of event 163 that agents tell."""

    STARTED = 1
    ENDED = 2
    ABORTED = 3


def activation_event(
    what: Activation, place: tuple[str, str], queue: str, reader: str, at: int, why: str = ""
) -> bytes:
    """Return the event's bytes; ``place`` is instance and database, ``at`` in epoch milliseconds.

    ``reader`` is the application, ``why`` what has aborted it.
    """
    instance, database = place
    detail = f"{queue}: {reader}" + (f": {why}" if why else "")
    told = event(
        EventKind.ACTIVATION,
        at=at,
        instance=instance,
        database=database,
        subclass=int(what),
        detail=detail,
    )
    return encode_event(told)
