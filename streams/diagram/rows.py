"""The content of a diagram as values: participants, and rows in time order.

Times are microseconds of a virtual clock or since the start.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

MILLISECOND, SECOND = 1_000, 1_000_000
LATE = 50 * MILLISECOND
"""A copy that takes longer is late if other events happen during its transit."""
NO_BREAK = "\N{NO-BREAK SPACE}"
Place = tuple[str, ...]
"""A participant: (instance,), or (instance, database, service)."""


class Shape(Enum):
    """The type of a row: the first six are arrows, the others are notes over their participants."""

    STATEMENT = "statement"  # from a service to its instance
    QUEUED = "queued"  # from an instance to one of its services
    MESSAGE = "message"  # the copies between two instances
    ACK = "ack"
    ERROR = "error"
    END = "end"
    NOTE = "note"
    TROUBLE = "trouble"  # a note on an error
    FAULT = "fault"  # a fault in the system or a change to it, not to a dialog
    AGAIN = "again"  # rows that repeat the rows above

    @property
    def is_arrow(self) -> bool:
        """Return whether the row goes from one participant to another."""
        return self in _ARROWS

    @property
    def is_copy(self) -> bool:
        """Return whether the row is a copy in flight between two instances."""
        return self in _COPIES


_COPIES = (Shape.MESSAGE, Shape.ACK, Shape.ERROR, Shape.END)
_ARROWS = (Shape.STATEMENT, Shape.QUEUED, *_COPIES)


@dataclass(frozen=True, slots=True)
class Sight:
    """One event; events that differ only in number, dialog and time can be folded.

    Its text is ``verb number rest``; ``aside`` is added in a separate row. ``arrived`` is ``None``
    for a copy that was lost. ``key`` refers to the source of the event.
    """

    at: int
    shape: Shape
    ends: tuple[Place, ...]
    verb: str
    number: int | None = None
    rest: str = ""
    dialog: uuid.UUID | None = None
    arrived: int | None = None
    aside: str = ""
    key: int | None = None

    @property
    def is_lost(self) -> bool:
        """Return whether this is a copy that has not arrived."""
        return self.shape.is_copy and self.arrived is None


@dataclass(frozen=True, slots=True)
class Participant:
    """A lifeline: a service, or an instance; ``where`` is the service's instance and database."""

    place: Place
    name: str
    where: str = ""

    @property
    def is_service(self) -> bool:
        """Return whether this is an application's service."""
        return len(self.place) > 1


@dataclass(frozen=True, slots=True)
class DiagramRow:
    """An arrow, or a note over its ``ends``; ``count`` is the number of merged events.

    ``arrived`` is the time at which the last of its copies arrived, ``None`` if all were lost or if
    the row is not a copy; ``slowest`` is the longest transit time. ``keys`` contains the keys of
    its events.
    """

    at: int
    shape: Shape
    ends: tuple[Place, ...]
    text: str
    count: int = 1
    arrived: int | None = None
    slowest: int = 0
    keys: tuple[int, ...] = ()

    @property
    def is_lost(self) -> bool:
        """Return whether the row is an arrow that does not arrive."""
        return self.shape.is_copy and self.arrived is None


@dataclass(frozen=True, slots=True)
class Diagram:
    """A diagram; ``left_out`` contains sentences about its omissions."""

    title: str
    participants: tuple[Participant, ...]
    rows: tuple[DiagramRow, ...]
    left_out: tuple[str, ...] = ()


def seconds(at: int) -> str:
    """Return a time as a diagram shows it: ``0.301``."""
    return f"{at // SECOND}.{at % SECOND // 1000:03}"


def printable(text: str) -> str:
    """Return a string on one line, without characters that XML or Mermaid cannot represent."""
    return "".join(c if c.isprintable() or c == NO_BREAK else " " for c in text)


def arrives_late(rows: Sequence[DiagramRow], position: int) -> bool:
    """Return whether a row's copy was slow, and other events happened before it arrived."""
    row = rows[position]
    if row.arrived is None or row.slowest <= LATE:
        return False
    return any(row.at < later.at < row.arrived for later in rows[position + 1 :])
