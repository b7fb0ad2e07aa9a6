"""CHOOSE: select which tier of the matching routes is used (R5)."""

from __future__ import annotations

from streams.errors.numbers import Number
from streams.routing.address import AddressKind, address_from_name
from streams.routing.decision import Decision
from streams.routing.locate import with_service
from streams.routing.model import Route
from streams.routing.rules.locate import ANSWERS, lacks_service
from streams.routing.rules.rule import Context, Found, Routes, Rule, always


def _of_kind(routes: Routes, kind: AddressKind) -> Routes:
    """Return one tier; identical routes count once (reference 1.4, EX-27)."""
    distinct: dict[tuple[str, str, int], Route] = {}
    for route in routes:
        if route.address.kind is kind:
            distinct.setdefault(route.address.key, route)
    return tuple(distinct.values())


def _mirrored(c: Context, routes: Routes) -> Routes:
    mirrored = [(r, r.mirror) for r in routes if r.mirror is not None]
    if not mirrored:
        return ()
    route, partner = min(mirrored, key=lambda pair: pair[0].route_id)  # U-11
    c.addresses = (route.address, partner)
    return (route,)


def _service_is_here(c: Context) -> bool:
    if c.broker is None or c.strict_local_tier:
        return bool(c.instance.hosting(c.query.service))
    # A name and a broker id together identify a service (U-44).
    return with_service(c.instance, c.broker, c.query.service) is not None


def _local(c: Context, routes: Routes) -> Routes:
    tier = _of_kind(routes, AddressKind.LOCAL)
    return tier if tier and _service_is_here(c) else ()


def _network(c: Context, routes: Routes) -> Routes:
    tier = _of_kind(routes, AddressKind.NETWORK)
    c.addresses = tuple(r.address for r in tier)
    return tier


def _transport(c: Context, routes: Routes) -> Found | None:
    tier = _of_kind(routes, AddressKind.TRANSPORT)
    if not tier:
        return None
    address = address_from_name(c.query.service)
    if address is None:  # U-10
        return c.refuse(tier, Number.ADDRESS_UNUSABLE, Number.ROUTE_INVALID)
    c.addresses = (address,)
    return tier


def _lacks_service(c: Context, routes: Routes) -> Decision | None:
    return lacks_service(c, _of_kind(routes, AddressKind.LOCAL))


def _nothing_usable(c: Context, routes: Routes) -> Decision:
    tier = _of_kind(routes, AddressKind.LOCAL)
    if c.broker is not None and c.instance.hosting(c.query.service):
        dropped = c.unusable(Number.TARGET_BROKER_NOT_HERE)
        return c.refuse(tier, Number.BROKER_NOT_HERE, dropped)
    return c.refuse(tier, Number.SERVICE_NOT_HERE, c.unusable(Number.TO_SERVICE_NOT_FOUND))


def _miss_local(c: Context, routes: Routes) -> str:
    if not _of_kind(routes, AddressKind.LOCAL):
        return "no LOCAL route"
    if c.broker is None or c.strict_local_tier:
        return f"a LOCAL route, but no active database here has the service {c.query.service}"
    return f"a LOCAL route, but no active database here has {c.query.service} and this broker id"


CHOOSE = (
    Rule("R5.1", _mirrored, "a mirrored route ranks first",
         always("no mirrored route")),
    Rule("R5.2", _local, "LOCAL, and this instance has the service", _miss_local),
    Rule("R5.3", _network, "a network address; the transport gets the addresses of all such routes",
         always("no network address")),
    Rule("R5.4", _transport, "TRANSPORT: the service's name is the address",
         always("no TRANSPORT route")),
    Rule("R7.4", _lacks_service, ANSWERS, always("")),
    Rule("R5.5", _nothing_usable, "only LOCAL, and the service is not here", always("")),
)  # fmt: skip
