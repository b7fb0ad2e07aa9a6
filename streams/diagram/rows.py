"""What a diagram consists of, as values: participants, and rows in the order of their times.

Times are microseconds, of a virtual clock or since something began.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

MILLISECOND, SECOND = 1_000, 1_000_000
LATE = 50 * MILLISECOND
"""A copy that takes longer is late where something else happens meanwhile."""
NO_BREAK = "\N{NO-BREAK SPACE}"
Place = tuple[str, ...]
"""A participant: (instance,), or (instance, database, service)."""


class Shape(Enum):
    """What a row shows; the first six are arrows, the others stand over their participants."""

    STATEMENT = "statement"  # from a service to its instance
    QUEUED = "queued"  # from an instance to one of its services
    MESSAGE = "message"  # the copies between two instances
    ACK = "ack"
    ERROR = "error"
    END = "end"
    NOTE = "note"
    TROUBLE = "trouble"  # a note on what went wrong
    FAULT = "fault"  # what is done to the system, not to a dialog
    AGAIN = "again"  # rows that repeat those above

    @property
    def is_arrow(self) -> bool:
        """Tell whether it goes from one participant to another."""
        return self in _ARROWS

    @property
    def is_copy(self) -> bool:
        """Tell whether it is a copy on its way between two instances."""
        return self in _COPIES


_COPIES = (Shape.MESSAGE, Shape.ACK, Shape.ERROR, Shape.END)
_ARROWS = (Shape.STATEMENT, Shape.QUEUED, *_COPIES)


@dataclass(frozen=True, slots=True)
class Sight:
    """One thing that happened; what is alike but for its number, dialog and time can be folded.

    Its text is ``verb number rest``; ``aside`` is added where a row shows nothing else.
    ``arrived`` is ``None`` for a copy that was lost. By its ``key`` whoever has made it finds again
    what it is made of.
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
        """Tell whether it is a copy that has not arrived."""
        return self.shape.is_copy and self.arrived is None


@dataclass(frozen=True, slots=True)
class Participant:
    """A lifeline: a service, or an instance; ``where`` is the service's instance and database."""

    place: Place
    name: str
    where: str = ""

    @property
    def is_service(self) -> bool:
        """Tell whether it is an application's service."""
        return len(self.place) > 1


@dataclass(frozen=True, slots=True)
class DiagramRow:
    """An arrow, or a note over its ``ends``; ``count`` is how many things it stands for.

    ``arrived`` is when the last of its copies was there, ``None`` where they were lost, and where a
    row is no copy; ``slowest`` is how long one of them was on its way at most. ``keys`` are those
    of the things that have one.
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
        """Tell whether it is an arrow that does not arrive."""
        return self.shape.is_copy and self.arrived is None


@dataclass(frozen=True, slots=True)
class Diagram:
    """A picture of what happened; ``left_out`` says in sentences what is not in it."""

    title: str
    participants: tuple[Participant, ...]
    rows: tuple[DiagramRow, ...]
    left_out: tuple[str, ...] = ()


def seconds(at: int) -> str:
    """Return a time as a diagram shows it: ``0.301``."""
    return f"{at // SECOND}.{at % SECOND // 1000:03}"


def printable(text: str) -> str:
    """Return a text on one line, of what neither XML nor Mermaid stumbles over."""
    return "".join(c if c.isprintable() or c == NO_BREAK else " " for c in text)


def arrives_late(rows: Sequence[DiagramRow], position: int) -> bool:
    """Tell whether a row's copy was slow, and something else happened before it arrived."""
    row = rows[position]
    if row.arrived is None or row.slowest <= LATE:
        return False
    return any(row.at < later.at < row.arrived for later in rows[position + 1 :])
