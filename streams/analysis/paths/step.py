"""The values of a network: states, steps, and ends.

These are named tuples, because large estates create and hash millions of them.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import NamedTuple

from streams.errors import Number
from streams.routing import Address, Decision

Pick = tuple[str, int, int | str]
"""A choice by the dialog's id: (kind, number of alternatives, index or name).

All choices of a kind in one dialog depend on the same hash.
"""


class Disposition(Enum):
    """The kind of a path's end; the values are used in JSON output."""

    DELIVERED = "delivered"
    DELAYED = "delayed"
    DROPPED = "dropped"
    LOOP = "loop"
    UNKNOWN = "unknown"


Home = tuple[str, str]
"""The instance and database that began a dialog: the destination of acknowledgements."""


class State(NamedTuple):
    """A decision point; ``database`` is the sender's, ``None`` for a copy of another instance."""

    instance: str
    database: str | None
    broker: str | None


class Ending(NamedTuple):
    """The end of a path: the database of the delivery, or else the last instance."""

    disposition: Disposition
    instance: str
    database: str | None = None
    broker: str | None = None
    error: Number | None = None

    @property
    def at(self) -> str:
        """Return ``instance/database`` if delivered, or else the instance."""
        return self.instance if self.database is None else f"{self.instance}/{self.database}"

    @property
    def delivered(self) -> bool:
        """Return whether a database accepted the message."""
        return self.disposition is Disposition.DELIVERED

    def is_home(self, home: Home) -> bool:
        """Return whether an acknowledgement arrived: the initiator's database accepted it (4.5)."""
        return self.delivered and (self.instance, self.database) == home


class Step(NamedTuple):
    """One possible step from a state, with its share of the state's messages.

    ``forwards`` states whether the step uses up a hop; sending a local message does not.
    """

    share: Fraction
    decision: Decision
    alternatives: tuple[str, ...]
    picks: frozenset[Pick]
    address: Address | None = None
    following: State | None = None
    ending: Ending | None = None
    forwards: bool = False

    @property
    def order(self) -> tuple[str, ...]:
        """Return the key by which steps from one place are sorted."""
        end = self.ending.at if self.ending else self.following.instance if self.following else ""
        return (end, str(self.address or ""), self.decision.broker or "")
