"""The principal of each mirrored pair, according to the claims in the partners' heartbeats.

A forwarder that uses a mirrored route asks both partners (``mirror``). No request is sent, because
a partner's last claim is its answer as long as the partner is reachable. A partner that is
unreachable or has no claim counts as not having answered. All state is in memory, so after a
restart both partners are asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from streams.errors import Event, EventKind
from streams.node.catalog_view import CatalogView
from streams.node.events import event
from streams.node.mirroring.claims import answer_in, by_broker
from streams.node.mirroring.mirror import MirroredRoute, Pair, RoleAnswer, Step
from streams.protocol import Claim, Limits
from streams.routing import Address

MOST_PAIRS = 10_000
"""Maximum number of routes; the oldest is evicted. Messages may name any broker id."""

_ROUNDS = 3
"""Maximum number of rounds of questions and answers; an answer can lead to another question."""


class Peers(Protocol):
    """Information about other instances: their heartbeats, and the catalog."""

    @property
    def catalog(self) -> CatalogView:
        """Return the current version of the catalog."""

    def claims(self, instance: str) -> tuple[Claim, ...] | None:
        """Return an instance's last claims, or ``None`` if there are none yet."""

    def reachable(self, instance: str) -> bool:
        """Return whether an instance is reachable."""


class Principals:
    """The mirrored routes that one forwarder uses (the port ``Roles``); times are epoch ms.

    ``instance_at`` resolves addresses.
    """

    def __init__(
        self,
        instance: str,
        peers: Peers,
        instance_at: Callable[[Address], str | None],
        limits: Limits | None = None,
    ) -> None:
        self._instance, self._peers, self._instance_at = instance, peers, instance_at
        self._limits = limits or Limits()
        self._routes: dict[Pair, MirroredRoute] = {}
        self._owed: dict[tuple[Pair, int], int] = {}
        """Unanswered questions: for each partner, the ``as_of`` to which the question belongs."""
        self._seen: dict[str, tuple[Claim, ...] | None] = {}
        """Each partner's claims at the last evaluation."""
        self._indexes: dict[str, tuple[tuple[Claim, ...], Mapping[str, Claim]]] = {}
        """Each partner's last claims by broker id, with the claims from which they were made."""
        self._events: list[Event] = []

    def principal(
        self, pair: Pair, reachable: Callable[[int], bool], attempt: int, now: int
    ) -> int | None:
        """Return the partner for a copy (0 or 1), or ``None`` if there is none at present.

        If ``attempt`` is above 0, the previous copy was not acknowledged.
        """
        route = self._routes.get(pair) or self._begun(pair)
        if attempt and route.principal is not None:
            before = now - self._limits.retry_after(attempt - 1)
            self._note(pair, route.failed(route.principal, before, now), now)
        self._note(pair, route.wanted(now, reachable), now)
        self._settle([(pair, 0), (pair, 1)], now)
        return route.principal

    def known(self, pair: Pair) -> int | None:
        """Return the assumed principal without changing any state."""
        route = self._routes.get(pair)
        return None if route is None else route.principal

    @property
    def are_asked_for(self) -> bool:
        """Return whether any mirrored route was used, so that claims must be evaluated."""
        return bool(self._routes)

    def look(self, now: int) -> tuple[Event, ...]:
        """Evaluate new claims; return the events to report (event 144)."""
        for pair, route in self._routes.items():
            self._note(pair, route.tick(now), now)
        news = {name for name, last in self._seen.items() if self._peers.claims(name) != last}
        if news:
            for pair in self._routes:
                for partner in (0, 1):
                    if self._instance_at(pair.addresses[partner]) in news:
                        self._answer(pair, partner, now, now)
        owing = dict.fromkeys(pair for pair, _ in self._owed)
        self._settle([(pair, partner) for pair in owing for partner in (0, 1)], now)
        events, self._events = tuple(self._events), []
        return events

    def forget(self) -> None:
        """Forget all routes and answers, as after a restart."""
        for state in (self._routes, self._owed, self._seen, self._indexes, self._events):
            state.clear()

    def _begun(self, pair: Pair) -> MirroredRoute:
        if len(self._routes) >= MOST_PAIRS:
            oldest = next(iter(self._routes))
            del self._routes[oldest]
            for partner in (0, 1):
                self._owed.pop((oldest, partner), None)
        route = self._routes[pair] = MirroredRoute(self._limits)
        return route

    def _settle(self, questions: Sequence[tuple[Pair, int]], now: int) -> None:
        """Answer the open questions for which claims are known.

        For a copy, only the ``questions`` about its own pair are answered: there may be thousands
        of other questions.
        """
        for _ in range(_ROUNDS):
            for pair, partner in questions:
                as_of = self._owed.get((pair, partner))
                if as_of is not None and self._answer(pair, partner, as_of, now):
                    self._settled(pair, partner, as_of)

    def _settled(self, pair: Pair, partner: int, as_of: int) -> None:
        """Close a question, unless its answer has led to another question."""
        if self._owed.get((pair, partner)) == as_of:
            del self._owed[pair, partner]

    def _answer(self, pair: Pair, partner: int, as_of: int, now: int) -> bool:
        instance = self._instance_at(pair.addresses[partner])
        if instance is None:
            return False
        claims = self._seen[instance] = self._peers.claims(instance)
        if not self._peers.reachable(instance):
            return False
        said = answer_in(
            self._by_broker(instance, claims or ()), self._peers.catalog, instance, pair
        )
        if said is None:  # evaluate again: the catalog may not be up to date yet
            self._seen[instance] = None
            return False
        self._note(pair, self._routes[pair].answer(RoleAnswer(partner, *said, as_of), now), now)
        return True

    def _by_broker(self, instance: str, claims: tuple[Claim, ...]) -> Mapping[str, Claim]:
        known = self._indexes.get(instance)
        if known is None or known[0] is not claims:
            known = self._indexes[instance] = claims, by_broker(claims)
        return known[1]

    def _note(self, pair: Pair, step: Step, now: int) -> None:
        self._owed.update(dict.fromkeys(((pair, partner) for partner in step.ask), step.as_of))
        if step.changed is not None:
            self._events.append(
                event(
                    EventKind.MIRRORED_ROUTE_STATE_CHANGED,
                    at=now,
                    instance=self._instance,
                    subclass=step.changed,
                    detail=" | ".join(map(str, pair.addresses)),
                    to_service=pair.service,
                    to_broker=pair.broker,
                )
            )
