"""The configuration service: answer a database's route request (reference 2.5).

The service receives a MissingRoute, creates the route with a LIFETIME in the requesting database,
and ends the dialog (WITH ERROR if it cannot create the route). A directory contains the possible
routes. The service recognizes the routes that it has created by their names, and removes expired
routes, because the engine does not. A second answer is harmless, because an equivalent route is not
created again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from streams.node.endpoint.route_requests import MissingRoute
from streams.routing.model import broker_key
from streams.topology import Database, Offer, Role, Route, Topology, route_key
from streams.topology.export.quoting import bracket

UNKNOWN, UNUSABLE, NO_REQUEST = 1, 2, 3
"""Error codes: the directory has no such service; its entry is unusable; the message is not a
MissingRoute.
"""
PREFIX = "Configured/"
"""The prefix of the names of created routes."""
_NAME, _LONGEST = 100, 1000

ErrorReply = tuple[int, str]
"""Code and text of END CONVERSATION WITH ERROR."""


@dataclass(frozen=True, slots=True)
class NoticeAnswer:
    """T-SQL for the requesting database (perhaps empty), and perhaps an error."""

    sql: str = ""
    refusal: ErrorReply | None = None


def asker(topology: Topology, broker: str) -> tuple[str, Database] | None:
    """Return the database with a broker id, with the name of its instance.

    For a mirrored pair, return the principal; the other partner sends requests only after a
    failover.
    """
    wanted = broker_key(broker)
    found = [
        (instance.name, database)
        for instance in topology.instances.values()
        for database in (*instance.databases.values(), instance.msdb)
        if broker_key(database.broker_id) == wanted
    ]
    return min(found, key=_is_mirror, default=None)


def _is_mirror(place: tuple[str, Database]) -> bool:
    mirror = place[1].mirror
    return mirror is not None and mirror.role is Role.MIRROR


def answer(
    asked: MissingRoute, offers: Sequence[Offer], routes: Sequence[Route], now: float
) -> NoticeAnswer:
    """Decide the answer to a request.

    ``offers`` are the directory's entries for the service, and ``routes`` the routes of the
    requesting database; ``now`` is in epoch seconds. A route is created for each offer, so that
    several broker ids balance the load, several addresses are tried in turn, and no further
    requests are needed.

    If no offer has the requested broker id, the request is refused, but the routes are created
    anyway. A database has only one open request for a service, so another dialog that needs one of
    these routes may not be able to request it.
    """
    refusal = refusal_of(asked, offers)
    if refusal is not None:
        return NoticeAnswer(refusal=refusal)
    if not any(_fits(offer, asked) for offer in offers):
        refusal = _unknown(asked)
    there = {route_key(route) for route in routes if not _expired(route, now)}
    distinct = {offer.key: offer for offer in offers}
    missing = (offer for key, offer in distinct.items() if key not in there)
    return NoticeAnswer("\n".join([*purge(routes, now), *map(_create, missing)]), refusal)


def purge(routes: Iterable[Route], now: float) -> Iterator[str]:
    """Yield the statements that drop this service's expired routes."""
    for route in routes:
        if route.name.startswith(PREFIX) and _expired(route, now):
            yield f"DROP ROUTE {bracket(route.name)};"


def refusal_of(asked: MissingRoute, offers: Sequence[Offer]) -> ErrorReply | None:
    """Return why no route to the service can be created, regardless of broker id and catalog."""
    if not any(offer.service == asked.service for offer in offers):
        return _unknown(asked)
    broken = [breach.detail for offer in offers for breach in offer.breaches]
    return (UNUSABLE, error_text(f"{asked.service}: {broken[0]}")) if broken else None


def _unknown(asked: MissingRoute) -> ErrorReply:
    of = "" if asked.broker is None else f" at {asked.broker}"
    return UNKNOWN, error_text(f"the directory has no address for {asked.service}{of}")


def error_text(text: str) -> str:
    """Return a string that an Error can contain, because XML cannot represent every character."""
    return "".join(c if c.isprintable() else "?" for c in text[:_LONGEST])


def _fits(offer: Offer, asked: MissingRoute) -> bool:
    """Return whether the offer's route would match the waiting messages (match, steps 1 to 3)."""
    if offer.service != asked.service or asked.broker is None or offer.broker is None:
        return offer.service == asked.service
    return broker_key(offer.broker) == broker_key(asked.broker)


def _expired(route: Route, now: float) -> bool:
    return route.expires is not None and route.expires <= now


def _create(offer: Offer) -> str:
    clauses = (
        ("SERVICE_NAME", offer.service),
        ("BROKER_INSTANCE", offer.broker),
        ("ADDRESS", offer.address),
        ("MIRROR_ADDRESS", offer.mirror),
    )
    options = [f"{name} = N'{_quoted(value)}'" for name, value in clauses if value is not None]
    options.append(f"LIFETIME = {offer.lifetime}")
    return f"CREATE ROUTE {bracket(_name(offer))} WITH {', '.join(options)};"


def _name(offer: Offer) -> str:
    digest = hashlib.blake2b(repr(offer.key).encode(), digest_size=4).hexdigest()
    return f"{PREFIX}{offer.service[:_NAME]}/{digest}"


def _quoted(text: str) -> str:
    return text.replace("'", "''")
