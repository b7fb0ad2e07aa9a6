"""The entries of a service directory, for routes on request (reference 2.5).

A directory is external data, so an offer may break the rules of CREATE ROUTE. The requester then
gets an error for this offer.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.routing import Address, parse_address
from streams.routing.model import broker_key
from streams.topology.findings import NOWHERE, Source
from streams.topology.objects import Route
from streams.topology.validate import Breach, Proposal, Rule, breaches

OFFER_LIFETIME = 3600
"""Default lifetime in seconds of a route that a directory offers."""
_TYPES = Rule("types", None, lambda _: None, "Use text, and an integer for the lifetime.")
"""The rule that an offer with a ``mistake`` breaks; the other rules assume the right types."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A route to a service, for one or any broker id; ``lifetime`` is in seconds.

    ``mistake`` states that the directory's values have wrong types. These values are then left out.
    """

    service: str
    address: str
    broker: str | None = None
    mirror: str | None = None
    lifetime: int = OFFER_LIFETIME
    source: Source = field(default=NOWHERE, compare=False)
    mistake: str = ""

    @property
    def breaches(self) -> tuple[Breach, ...]:
        """Return the rules of CREATE ROUTE that the offer breaks, V1 to V12, or its mistake."""
        if self.mistake:
            return (Breach(_TYPES, self.mistake),)
        route = Route("", self.service, self.broker, self.address, self.mirror)
        return breaches(Proposal(route, self.lifetime))

    @property
    def key(self) -> RouteKey:
        """Return the key that the offer shares with routes to the same address."""
        return _key(self.service, self.broker, self.address, self.mirror)


RouteKey = tuple[object, ...]


def route_key(route: Route) -> RouteKey:
    """Return the key that a route shares with the offer from which it may originate."""
    return _key(route.service, route.broker, route.address, route.mirror)


def _key(service: str | None, broker: str | None, *addresses: str | None) -> RouteKey:
    endpoints = tuple(None if a is None else _comparable(parse_address(a), a) for a in addresses)
    return service, None if broker is None else broker_key(broker), *endpoints


def _comparable(address: Address | None, written: str) -> object:
    return written if address is None else address.key
