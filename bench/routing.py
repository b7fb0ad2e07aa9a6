"""How fast is a routing decision, and does it depend on the number of routes?

Run ``python bench/routing.py``. The ratios are against a baseline of the same run, one dictionary
look-up by raw bytes, so that they mean the same on any machine.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from functools import partial
from itertools import cycle
from time import perf_counter

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

SIZES = (10, 1_000, 100_000)
DIALOGS = tuple(uuid.uuid5(uuid.NAMESPACE_URL, str(n)) for n in range(1_000))
KEYS = tuple(b"\xc3\x01" + bytes(60) + str(n).encode() for n in range(1_000))


def per_second(work: Callable[[], object], *, at_least: float = 0.2, rounds: int = 5) -> float:
    """Return the best of several measurements, each of which takes some time."""
    count = 1
    while (took := seconds(work, count)) < at_least:
        count = int(count * max(2.0, 1.2 * at_least / max(took, 1e-6)))
    return count / min(took, *(seconds(work, count) for _ in range(rounds - 1)))


def seconds(work: Callable[[], object], count: int) -> float:
    """Return how long it takes to do something that often."""
    began = perf_counter()
    for _ in range(count):
        work()
    return perf_counter() - began


def routes(count: int) -> list[Route]:
    """Create full routes to as many services, and the catch-all."""
    full = (
        Route(f"R{n}", f"//bench/Service{n}", str(uuid.UUID(int=n)), network(f"host{n % 500}"))
        for n in range(count - 1)
    )
    return [*full, auto_created_local()]


def initiator(table: RoutingTable) -> Instance:
    """Build an instance whose one database has these routes."""
    home = Database("Home", str(uuid.UUID(int=0)), frozenset({"//bench/Initiator"}), routes=table)
    return Instance("Bench", network("bench"), databases={"Home": home})


def question(count: int) -> Query:
    """Ask for the service in the middle of the table, with its broker id."""
    n = count // 2
    return Query(
        f"//bench/Service{n}", Origin.INSIDE, str(uuid.UUID(int=n)), "Home", True, DIALOGS[0]
    )


def balanced() -> Plan:
    """Plan for a service with two broker ids."""
    table = RoutingTable(Route(b, "Svc", b, network(b)) for b in ("DatabaseB", "DatabaseC"))
    return plan(initiator(table), Query("Svc", Origin.INSIDE, database="Home"), 0.0)


def cached(made: Plan) -> Callable[[], object]:
    """Do what a forwarder does with a message whose plan it has made before."""
    plans = dict.fromkeys(KEYS, made)
    messages = cycle(zip(KEYS, DIALOGS, strict=True))

    def decide() -> object:
        key, dialog = next(messages)
        return plans[key].decision(dialog)

    return decide


def look_up() -> Callable[[], object]:
    """Look up one of as many keys, and nothing else: the baseline."""
    values = dict.fromkeys(KEYS, 0)
    keys = cycle(zip(KEYS, DIALOGS, strict=True))

    def find() -> object:
        key, _ = next(keys)
        return values[key]

    return find


def main() -> None:
    """Print one line for each measurement."""
    baseline = per_second(look_up())

    def line(name: str, rate: float) -> None:
        print(f"{name:<42}{rate:>14,.0f} /s{1e6 / rate:>10.2f} us{baseline / rate:>9.1f} x")

    print(f"Python {sys.version.split()[0]}; ratios against the first line")
    line("dictionary look-up by raw bytes", baseline)
    single = plan(initiator(RoutingTable(routes(10))), question(10), 0.0)
    line("cached plan, decision", per_second(cached(single)))
    line("cached plan, decision among 2 broker ids", per_second(cached(balanced())))
    for size in SIZES:
        at, asks = initiator(RoutingTable(routes(size))), question(size)
        line(f"plan, {size:,} routes", per_second(partial(plan, at, asks, 0.0)))
        line(f"explain, {size:,} routes", per_second(partial(explain, at, asks, 0.0)))
    many = routes(SIZES[-1])
    took = min(seconds(lambda: RoutingTable(many), 1) for _ in range(3))
    print(f"{f'RoutingTable of {SIZES[-1]:,} routes':<42}{took * 1e3:>14,.0f} ms to compile")


if __name__ == "__main__":
    main()
