"""What one direction of a dialog reaches, as values: the question, the answer, what is lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from streams.analysis.paths.network import Ending, Pick, State, Step

Edge = tuple[str, str, str]
"""(``there`` or ``back``, an instance, what follows: an instance or a database that delivers)."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Who sends to whom: a service in a database of an instance to another service."""

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
        """Return the order of directions."""
        names = (self.instance, self.database, self.service, self.to, self.broker or "")
        return (*names, self.from_initiator)


@dataclass(frozen=True, slots=True)
class Target:
    """A database by its place, ``instance/database``, and its broker id in comparable form."""

    at: str
    broker: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """How a target is reached: its broker id as written, share of messages, paths there and back.

    ``dialogs`` are what the dialog's id must decide for it: which dialogs these are.
    """

    broker: str
    share: Fraction
    path_count: int
    returns: int
    dialogs: frozenset[frozenset[Pick]] = frozenset()


@dataclass(frozen=True, slots=True)
class Reach:
    """The answer. ``edges`` are what the paths that work consist of.

    ``unreachable`` is the share of messages of dialogs that reach nothing, ``missing`` the reason
    why none can begin at all.
    """

    arrivals: dict[Target, Arrival] = field(default_factory=dict)
    edges: frozenset[Edge] = frozenset()
    unreachable: Fraction = Fraction(1)
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """A step by which messages (``there``) or their acknowledgements (``back``) are lost."""

    leg: str
    state: State
    step: Step
    ending: Ending

    @property
    def like(self) -> tuple[object, ...]:
        """Return what two losses have in common that are the same in two topologies."""
        return self.leg, self.state, self.step.decision.routes, self.step.address, self.ending


@dataclass(frozen=True, slots=True)
class Choices:
    """What a dialog's id decides on its way: of how many broker ids, of which databases."""

    counts: frozenset[int]
    candidates: frozenset[tuple[str, ...]]
