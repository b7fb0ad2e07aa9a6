"""Event 163: an agent starts or stops reading its queue.

An agent corresponds to an activated procedure. A killed agent reports nothing.
"""

from __future__ import annotations

from enum import IntEnum

from streams.errors import EventKind
from streams.node.events import event
from streams.wire import encode_event


class Activation(IntEnum):
    """The subclasses of event 163 that agents report."""

    STARTED = 1
    ENDED = 2
    ABORTED = 3


def activation_event(
    what: Activation, place: tuple[str, str], queue: str, reader: str, at: int, why: str = ""
) -> bytes:
    """Return the event's bytes; ``place``: instance and database; ``at``: epoch milliseconds.

    ``reader`` is the application, and ``why`` is the error that aborted the application.
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
