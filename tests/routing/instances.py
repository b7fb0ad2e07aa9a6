"""Random instances and questions, drawn from so few names that they meet."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from hypothesis import strategies as st

from streams.routing import (
    CONFIGURATION_SERVICE,
    LOCAL,
    SYSTEM_SERVICE,
    TRANSPORT,
    Database,
    Instance,
    Origin,
    Query,
    Route,
    RoutingTable,
    broker_key,
)

from .build import G1, G2, NOW, address

SERVICES = (
    "Svc",
    "svc",
    "tcp://host9:4099/Pay",
    "TCP://host8",
    "Other",
    CONFIGURATION_SERVICE,
    SYSTEM_SERVICE,
)
BROKERS = (
    G1,
    G1.upper(),
    "{" + G1 + "}",
    G2,
    G2.replace("-", "").title(),
    "DatabaseB",
    "databaseb",
)
MYSELF = tuple(address(a) for a in ("tcp://I1:4022", "tcp://i1", "tcp://Localhost:4022"))
ELSEWHERE = tuple(address(a) for a in ("tcp://hub", "TCP://HUB:4022/", "tcp://I1:4023"))
TIMES = (NOW - 1, NOW + 2, NOW + 5)

# Every combination, of a legal kind or not: the engine takes records as they are. One draw picks
# one of them, which is much faster than drawing the parts.
ROUTES = tuple(
    Route("", service, broker, to, mirror, expires, route_id)
    for route_id, (service, broker, to, mirror, expires) in enumerate(
        product(
            (None, "Svc", "Svc", "Svc", *SERVICES),
            (None, None, *BROKERS),
            (LOCAL, LOCAL, TRANSPORT, *MYSELF, *ELSEWHERE),
            (*(None,) * 8, MYSELF[1], ELSEWHERE[0]),
            (None, None, *TIMES),
        )
    )
)


def _named(routes: list[Route]) -> RoutingTable:
    return RoutingTable(replace(r, name=f"R{n}") for n, r in enumerate(routes))


def _by_name(drawn: list[Database]) -> dict[str, Database]:
    """Name the databases; of those with one broker id at most one is active."""
    found: dict[str, Database] = {}
    taken: set[str] = set()
    for name, d in zip("ABCD", drawn, strict=False):
        key = broker_key(d.broker_id)
        on = d.enabled and key not in taken and not d.is_mirror
        found[name] = replace(d, name=name, enabled=on)
        taken |= {key} if found[name].enabled else set()
    return found


times = st.sampled_from([NOW + n for n in range(-2, 8)])
brokers = st.sampled_from(BROKERS)
dialogs = st.uuids()
tables = st.lists(st.sampled_from(ROUTES), max_size=6).map(_named)

databases = st.builds(
    Database,
    name=st.just(""),
    broker_id=brokers,
    services=st.frozensets(st.sampled_from(SERVICES), max_size=3),
    enabled=st.sampled_from([True, True, True, True, False]),
    routes=tables,
    is_mirror=st.sampled_from([False, False, False, True]),
)

instances = st.builds(
    Instance,
    name=st.just("I1"),
    address=st.just(MYSELF[0]),
    hosts=st.just(frozenset({"localHost"})),
    databases=st.lists(databases, min_size=1, max_size=4).map(_by_name),
    msdb=tables,
    forwarding=st.booleans(),
    started=st.sampled_from([True, True, False]),
    msdb_enabled=st.sampled_from([True, True, True, True, True, True, False]),
)

questions = st.builds(
    Query,
    service=st.sampled_from(("Svc", "Svc", "Svc", "Svc", *SERVICES)),
    origin=st.sampled_from(Origin),
    broker=st.none() | brokers,
    database=st.sampled_from(["A", "A", "A", "B", "B", "Nowhere", None]),
    from_initiator=st.booleans(),
    conversation=st.none() | dialogs,
)
