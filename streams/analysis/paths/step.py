"""The values of a network: where a message is decided upon, what can follow, and how paths end.

Named tuples, because large estates make and hash millions of them.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import NamedTuple

from streams.errors import Number
from streams.routing import Address, Decision

Pick = tuple[str, int, int | str]
"""What a choice depends on: (kind, among how many, which). Two choices of one dialog are linked."""


class Disposition(Enum):
    """How a path ends; the values are the contract's words."""

    DELIVERED = "delivered"
    DELAYED = "delayed"
    DROPPED = "dropped"
    LOOP = "loop"
    UNKNOWN = "unknown"


Home = tuple[str, str]
"""The instance and database in which a dialog began: where its acknowledgements belong."""


class State(NamedTuple):
    """Where a message is decided upon; ``database`` is its home, ``None`` for one from outside."""

    instance: str
    database: str | None
    broker: str | None


class Ending(NamedTuple):
    """The end of a path: in a database where it was delivered, else where it was left."""

    disposition: Disposition
    instance: str
    database: str | None = None
    broker: str | None = None
    error: Number | None = None

    @property
    def at(self) -> str:
        """Return ``instance/database`` where delivered, else the instance."""
        return self.instance if self.database is None else f"{self.instance}/{self.database}"

    @property
    def delivered(self) -> bool:
        """Tell whether a database took the message."""
        return self.disposition is Disposition.DELIVERED

    def is_home(self, home: Home) -> bool:
        """Tell whether an acknowledgement arrived: the initiator's database took it (4.5)."""
        return self.delivered and (self.instance, self.database) == home


class Step(NamedTuple):
    """One thing that can follow from a state, with its share of the state's messages.

    ``forwards`` tells whether it uses a hop: what an instance sends of its own does not.
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
        """Return the names by which paths are ordered."""
        end = self.ending.at if self.ending else self.following.instance if self.following else ""
        return (end, str(self.address or ""), self.decision.broker or "")
