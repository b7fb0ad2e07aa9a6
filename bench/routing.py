"""Measure how fast a routing decision is, and whether it depends on the number of routes.

Run ``make bench-routing``, or ``python -m bench.routing``.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from itertools import cycle

from bench.measure import DIALOGS, KEYS, Bench
from bench.part import hand_over, options
from streams.routing import (
    Database,
    Instance,
    Origin,
    Plan,
    Query,
    Route,
    RoutingTable,
    auto_created_local,
    explain,
    network,
    plan,
)
from streams.topology import MSDB, Topology, empty_database, routing_instances
from streams.topology import Database as StatedDatabase
from streams.topology import Instance as StatedInstance
from streams.topology import Route as StatedRoute

SIZES = (10, 1_000, 100_000)


def routes(count: int) -> list[Route]:
    """Create complete routes to as many services, and the catch-all route."""
    full = (
        Route(f"R{n}", f"//bench/Service{n}", str(uuid.UUID(int=n)), network(f"host{n % 500}"))
        for n in range(count - 1)
    )
    return [*full, auto_created_local()]


def balanced_routes(count: int) -> list[Route]:
    """Create pairs of routes, because every service has two broker ids."""
    return [
        Route(f"R{n}", f"//bench/Service{n // 2}", str(uuid.UUID(int=n)), network(f"host{n % 500}"))
        for n in range(count)
    ]


def initiator(table: RoutingTable) -> Instance:
    """Build an instance whose only database has these routes."""
    home = Database("Home", str(uuid.UUID(int=0)), frozenset({"//bench/Initiator"}), routes=table)
    return Instance("Bench", network("bench"), databases={"Home": home})


def question(count: int) -> Query:
    """Plan for the service in the middle of the table, with its broker id."""
    n = count // 2
    return Query(
        f"//bench/Service{n}", Origin.INSIDE, str(uuid.UUID(int=n)), "Home", True, DIALOGS[0]
    )


def balanced(count: int) -> Plan:
    """Plan for a service with two broker ids, among many."""
    table = RoutingTable(balanced_routes(count))
    asks = Query(f"//bench/Service{count // 4}", Origin.INSIDE, database="Home")
    made = plan(initiator(table), asks, 0.0)
    assert len(made.alternatives) == 2
    return made


def cached(made: Plan) -> Callable[[], object]:
    """Decide like a forwarder that has already made the message's plan."""
    plans = dict.fromkeys(KEYS, made)
    messages = cycle(zip(KEYS, DIALOGS, strict=True))

    def decide() -> object:
        key, dialog = next(messages)
        return plans[key].decision(dialog)

    return decide


def stated(count: int) -> Topology:
    """Define routes like a topology's folder, with addresses as texts."""
    rows = tuple(
        StatedRoute(
            f"R{n}", f"//bench/Service{n}", str(uuid.UUID(int=n)), f"tcp://host{n % 500}:4022",
            route_id=n,
        )
        for n in range(count)
    )  # fmt: skip
    home = StatedDatabase("Home", str(uuid.UUID(int=0)), routes=rows)
    at = StatedInstance("Bench", empty_database("Bench", MSDB), {"Home": home})
    return Topology({"Bench": at})


def main() -> None:
    """Print one line for each measurement."""
    given = options(__doc__).parse_args()
    table = Bench("routing decisions, CPU time of each", given.rounds)
    for size in SIZES:
        single = plan(initiator(RoutingTable(routes(size))), question(size), 0.0)
        table.rate(f"cached key, {size:,} routes", cached(single), 1_000_000)
    for size in SIZES:
        among = cached(balanced(size))
        table.rate(f"cached, balanced, {size:,} routes", among, 300_000)
    for size in SIZES:
        at, asks = initiator(RoutingTable(routes(size))), question(size)
        table.rate(f"plan, {size:,} routes", partial(plan, at, asks, 0.0))
        table.rate(f"explain, {size:,} routes", partial(explain, at, asks, 0.0), 10_000)
    many = stated(SIZES[-1])
    table.time(f"compile {SIZES[-1]:,} routes", partial(routing_instances, many), 5.0)
    hand_over(table.rows, given)


if __name__ == "__main__":
    main()
