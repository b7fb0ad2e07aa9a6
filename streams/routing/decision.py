"""A routing decision, and its explanation."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from enum import Enum

from streams.errors.numbers import Number
from streams.routing.address import Address
from streams.routing.hashing import pick_broker

FOREVER = float("inf")


class Verdict(Enum):
    """The outcome for the message; the values are used in JSON output."""

    DELIVER = "deliver"  # a database of this instance accepts it
    SEND = "send"  # sent from this instance, to the network
    FORWARD = "forward"  # from another instance, to the network
    PROBE = "probe"  # mirrored: both partners are probed
    ASK = "ask"  # the configuration service is asked for a route
    DELAY = "delay"  # sent from this instance: it stays in the transmission queue
    DROP = "drop"  # the copy is dropped; the sender retries, or gets an Error (R7.4)


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision.

    ``step`` is the matching step that ended the search (``M1`` to ``M7``), or ``REPLY``. ``routes``
    are the names of the chosen tier's routes, and ``broker`` is the broker id on the wire (U-07).
    ``addresses`` are the next hops, and ``candidates`` are the databases that can accept the
    message, or the one that lacks the service and answers with an Error (R7.4). If ``looped_back``
    is set, the decision was made as if the message had arrived from outside (R9).
    """

    verdict: Verdict
    step: str
    routes: tuple[str, ...] = ()
    broker: str | None = None
    addresses: tuple[Address, ...] = ()
    candidates: tuple[str, ...] = ()
    error: Number | None = None
    looped_back: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """All decisions for one query and any conversation id, as a forwarder caches them.

    If several broker ids match equally (M3), ``alternatives`` lists them, and ``decisions`` has one
    decision for each in the same order (a nested plan if the message loops back). The plan becomes
    invalid at ``valid_until`` (epoch seconds), when one of its routes expires.
    """

    decisions: tuple[Decision | Plan, ...]
    alternatives: tuple[str, ...] = ()
    valid_until: float = FOREVER

    @property
    def count(self) -> int:
        """Return the number of decisions, including those of nested plans."""
        return sum(1 if isinstance(each, Decision) else each.count for each in self.decisions)

    def decision(self, conversation: uuid.UUID | None) -> Decision:
        """Return the decision for one dialog; without an id, the first alternative."""
        at = 0
        if conversation is not None and len(self.decisions) > 1:
            at = pick_broker(len(self.decisions), conversation)
        chosen = self.decisions[at]
        return chosen if isinstance(chosen, Decision) else chosen.decision(conversation)


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One rule that was tried: the routes that remained, and the reason."""

    rule: str
    kept: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision, with every rule that was tried for it."""

    decision: Decision
    alternatives: tuple[str, ...]
    trace: tuple[TraceStep, ...]
