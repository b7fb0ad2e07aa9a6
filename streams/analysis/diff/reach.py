"""Value types for the reach of one direction of a dialog: query, result, losses."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from streams.analysis.paths.network import Ending, Pick, State, Step

Edge = tuple[str, str, str]
"""(``there`` or ``back``, an instance, and the next instance or the database that delivers)."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Sender and recipient: a service in a database of an instance, and another service."""

    instance: str
    database: str
    service: str
    to: str
    broker: str | None = None
    from_initiator: bool = True

    def __str__(self) -> str:
        broker = f" (broker id {self.broker})" if self.broker is not None else ""
        return f"{self.sender} -> {self.to}{broker}"

    @property
    def sender(self) -> str:
        """Return ``instance/database/service``."""
        return f"{self.instance}/{self.database}/{self.service}"

    @property
    def key(self) -> tuple[str, str, str, str, str, bool]:
        """Return the sort key of directions."""
        names = (self.instance, self.database, self.service, self.to, self.broker or "")
        return (*names, self.from_initiator)


@dataclass(frozen=True, slots=True)
class Target:
    """A database: its place ``instance/database``, and its broker id, normalized for comparison."""

    at: str
    broker: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """The reach of a target: broker id as written, share of messages, paths in both directions.

    ``dialogs``: the choices, made by the hash of the dialog's id, that lead to this target.
    """

    broker: str
    share: Fraction
    path_count: int
    returns: int
    dialogs: frozenset[frozenset[Pick]] = frozenset()


@dataclass(frozen=True, slots=True)
class Reach:
    """The reach of a direction. ``edges`` are the steps of working paths.

    ``unreachable`` is the share of messages whose dialogs reach no database; ``missing`` explains
    why no dialog can begin.
    """

    arrivals: dict[Target, Arrival] = field(default_factory=dict)
    edges: frozenset[Edge] = frozenset()
    unreachable: Fraction = Fraction(1)
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """A step that loses messages (``there``) or their acknowledgements (``back``)."""

    leg: str
    state: State
    step: Step
    ending: Ending

    @property
    def like(self) -> tuple[object, ...]:
        """Return a key that is the same for identical losses in two topologies."""
        return self.leg, self.state, self.step.decision.routes, self.step.address, self.ending


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices that a dialog's id makes on its paths.

    ``counts``: the numbers of broker ids among which the id selects. ``candidates``: the groups of
    databases in which it selects one.
    """

    counts: frozenset[int]
    candidates: frozenset[tuple[str, ...]]
