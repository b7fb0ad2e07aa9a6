"""Generated topologies of a thousand instances that are hard to analyse.

Each has layers of gateways between one sender and its targets. Every gateway has routes to
``addresses`` instances of the next layer and, for the return path, to as many of the previous
layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from streams.topology import (
    MSDB,
    Database,
    Endpoint,
    Instance,
    Route,
    Service,
    Topology,
    empty_database,
)

SENDER = "Sender/Home/Initiator"
TARGET = "Target"
BACK = "Initiator"


def one_target(instances: int = 1_000, addresses: int = 4, hops: int = 8) -> Topology:
    """Return a topology with layers between a sender and one target."""
    return _layered([*_split(instances - 2, hops - 1), 1], addresses)


def many_targets(instances: int = 1_000, addresses: int = 4, hops: int = 8) -> Topology:
    """Return layers of which the last has a copy of the service in every instance."""
    return _layered(_split(instances - 1, hops), addresses)


def balanced(instances: int = 1_000, addresses: int = 4, hops: int = 8) -> Topology:
    """Return layers of which the fourth balances, with other broker ids at each gateway."""
    widths = _split(instances - 1, hops)
    last = widths[-1]

    def route(layer: int, number: int, host: str, service: str) -> Route:
        broker = None
        if layer == 4 and service == TARGET:
            broker = f"broker {(number * 7 + len(host)) % last}"
        return _route(service, host, broker)

    return _layered(widths, addresses, route)


def rings(instances: int = 1_000, addresses: int = 4, hops: int = 8, size: int = 7) -> Topology:
    """Return layers whose gateways also have routes to their neighbours, in rings of ``size``."""
    return _layered([*_split(instances - 2, hops - 1), 1], addresses, ring=size)


def mesh(instances: int = 1_000, addresses: int = 4) -> Topology:
    """Return gateways each of which has routes to the next ones, which form one large circle."""
    count = instances - 2
    names = [f"G{n}" for n in range(count)]
    made = [_sender(names[:addresses]), _target("T0", names[:addresses], 0)]
    for n, name in enumerate(names):
        hosts = [names[(n * addresses + 1 + i) % count] for i in range(addresses)]
        there = [_route(TARGET, host) for host in (*hosts, "T0")]
        made.append(_gateway(name, [*there, _route(BACK, "Sender")]))
    return _topology(made)


CASES: Mapping[str, Callable[[], Topology]] = {
    "one target": one_target,
    "125 targets": many_targets,
    "balanced on the way": balanced,
    "rings of 4": lambda: rings(size=4),
    "rings of 7": rings,
    "one large circle": mesh,
}
"""The hard cases by name."""


def _split(count: int, parts: int) -> list[int]:
    return [count // parts + (n < count % parts) for n in range(parts)]


def _layered(
    widths: list[int],
    addresses: int,
    route: Callable[[int, int, str, str], Route] | None = None,
    ring: int = 0,
) -> Topology:
    make = route or (lambda layer, number, host, service: _route(service, host))
    layers = [["Sender"], *([f"L{n}x{i}" for i in range(w)] for n, w in enumerate(widths, 1))]
    made = [_sender(_hosts(layers[1], 0, addresses))]
    for n in range(1, len(layers) - 1):
        for i, name in enumerate(layers[n]):
            hosts = _hosts(layers[n + 1], i, addresses - bool(ring))
            there = [make(n, i + j, host, TARGET) for j, host in enumerate(hosts)]
            if ring:
                start = i - i % ring
                members = layers[n][start : start + ring]
                there.append(_route(TARGET, members[(i - start + 1) % len(members)]))
            back = [make(n, i, host, BACK) for host in _hosts(layers[n - 1], i, addresses)]
            made.append(_gateway(name, [*there, *back]))
    for i, name in enumerate(layers[-1]):
        made.append(_target(name, _hosts(layers[-2], i, addresses), i))
    return _topology(made)


def _hosts(layer: list[str], number: int, addresses: int) -> list[str]:
    count = min(addresses, len(layer))
    return [layer[(number * addresses + i) % len(layer)] for i in range(count)]


def _route(service: str, host: str, broker: str | None = None) -> Route:
    return Route(f"{service} by {host}", service, broker, f"tcp://{host}:4022")


def _sender(hosts: list[str]) -> Instance:
    routes = tuple(_route(TARGET, host) for host in hosts)
    services = {BACK: Service(BACK, "Queue")}
    home = Database("Home", "home", services=services, routes=routes)
    return Instance("Sender", empty_database("Sender", MSDB), {"Home": home})


def _target(name: str, hosts: list[str], number: int) -> Instance:
    routes = tuple(_route(BACK, host) for host in hosts)
    services = {TARGET: Service(TARGET, "Queue", ("DEFAULT",))}
    store = Database("Store", f"broker {number}", services=services, routes=routes)
    return Instance(name, empty_database(name, MSDB), {"Store": store})


def _gateway(name: str, routes: list[Route]) -> Instance:
    msdb = Database(MSDB, f"msdb of {name}", routes=tuple(routes))
    return Instance(name, msdb, endpoint=Endpoint(forwarding=True))


def _topology(instances: Iterable[Instance]) -> Topology:
    return Topology({instance.name: instance for instance in instances})
