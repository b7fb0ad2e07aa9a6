"""Write routes: AutoCreatedLocal first, then the other routes in the order of ``route_id``."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from math import ceil

from streams.errors import text_of
from streams.routing import AUTO_CREATED_LOCAL
from streams.topology.export.quoting import bracket, literal
from streams.topology.export.script import Script
from streams.topology.objects import Database, Route
from streams.topology.validate import LIFETIME_MAX, Breach, Proposal, breaches

_CREATED = Route(AUTO_CREATED_LOCAL, None, None, "LOCAL", route_id=1)


def write_routes(
    script: Script, database: Database, now: float, present: tuple[Route, ...]
) -> None:
    """Write every valid route that has not expired by ``now``.

    ``present``: the routes that a new database has. LIFETIME is the remaining time at ``now``,
    rounded up to seconds.
    """
    routes = database.routes
    if present:
        routes = _created(script, routes, now)
    names = Counter(r.name.casefold() for r in database.routes)
    taken = {r.name.casefold() for r in database.routes[: len(database.routes) - len(routes)]}
    for route in routes:
        key = route.name.casefold()
        why = _refusal(route, now, taken=key in taken)
        if why is None:
            taken.add(key)
            script.add(f"CREATE ROUTE {bracket(route.name)}", *_with(script, route, now))
        else:
            alone = names[key] == 1 and key != AUTO_CREATED_LOCAL.casefold()
            script.leave_out(f"route {route.name}", why, route if alone else None)
    script.go()


def _created(script: Script, routes: tuple[Route, ...], now: float) -> tuple[Route, ...]:
    """Alter or drop AutoCreatedLocal as needed; return the routes that are still to be created."""
    first = routes[0] if routes else None
    kept = first is not None and (first.name, first.route_id) == (AUTO_CREATED_LOCAL, 1)
    if first is None or not kept or _refusal(first, now) is not None:
        name = literal(AUTO_CREATED_LOCAL)
        script.add(f"IF EXISTS (SELECT * FROM sys.routes WHERE name = {name})")
        script.add(f"    DROP ROUTE {bracket(AUTO_CREATED_LOCAL)};")
        return routes
    if first != _CREATED:
        script.add(f"ALTER ROUTE {bracket(AUTO_CREATED_LOCAL)}", *_with(script, first, now))
    return routes[1:]


def _refusal(route: Route, now: float, *, taken: bool = False) -> str | None:
    """Return why a route cannot be created."""
    found = breaches(Proposal(route, taken=taken))
    if found:
        return "; ".join(map(_breach_text, found))
    if route.expires is not None and route.expires <= now:
        return f"it expired {_instant(route.expires)}and has no effect"
    return None


def _breach_text(breach: Breach) -> str:
    number = breach.rule.number
    why = "the engine refuses it" if number is None else f"{int(number)}, {text_of(int(number))}"
    return f"{breach.detail} ({breach.rule.name}: {why})"


def _with(script: Script, route: Route, now: float) -> tuple[str, ...]:
    clauses = []
    if route.service is not None:
        clauses.append(f"SERVICE_NAME = {literal(route.service)}")
    if route.broker is not None:
        clauses.append(f"BROKER_INSTANCE = {literal(route.broker)}")
    if route.expires is not None:
        clauses.append(f"LIFETIME = {_lifetime(script, route, route.expires - now)}")
    clauses.append(f"ADDRESS = {literal(route.address)}")
    if route.mirror is not None:
        clauses.append(f"MIRROR_ADDRESS = {literal(route.mirror)}")
    return (f"    WITH {', '.join(clauses)};",)


def _lifetime(script: Script, route: Route, left: float) -> int:
    if left > LIFETIME_MAX:
        script.note(f"route {route.name}", "it expires later than LIFETIME allows", lost=True)
        return LIFETIME_MAX
    return ceil(left)


def _instant(seconds: float) -> str:
    try:
        return f"at {datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (OverflowError, ValueError, OSError):
        return "long ago"
