"""Random estates: a sender, forwarders with routes among each other, and two targets."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

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

FORWARDERS = ("F1", "F2", "F3", "F4")
TARGETS = ("T1", "T2")
_BROKERS = {"T1": "B1", "T2": "B2"}


def linked(links: dict[str, str]) -> Topology:
    """Return an estate in which A sends to S at T1 by the links that are given, a letter each."""

    def to(name: str) -> tuple[Route, ...]:
        heads = [head.replace("t", "T1") for head in links.get(name, "")]
        return tuple(Route(f"To{h}", "S", "B1", f"tcp://{h}:4022") for h in heads)

    home = Database("D", "DA", services={"I": Service("I", "Q")}, routes=to("A"))
    target = Database("D", "B1", services={"S": Service("S", "Q", ("DEFAULT",))})
    between = [_instance(name, to(name), on=True) for name in links if name != "A"]
    every = (_instance("A", (), home, on=False), *between, _instance("T1", (), target, on=False))
    return Topology({instance.name: instance for instance in every})


def _instance(name: str, routes: tuple[Route, ...], *databases: Database, on: bool) -> Instance:
    msdb = replace(empty_database(name, MSDB), routes=routes)
    return Instance(
        name, msdb, {database.name: database for database in databases},
        endpoint=Endpoint(forwarding=on),
    )  # fmt: skip


@st.composite
def routes(
    draw: st.DrawFn, service: str, ids: tuple[str | None, ...], least: int = 0
) -> list[Route]:
    """Return routes for a service to forwarders and targets, with and without broker ids."""
    hosts = st.sampled_from((*FORWARDERS, *TARGETS, "Nobody", "A"))
    pairs = draw(st.lists(st.tuples(hosts, st.sampled_from(ids)), min_size=least, max_size=3))
    return [
        Route(f"{service}{number}", service, broker, f"tcp://{host}:4022", route_id=number)
        for number, (host, broker) in enumerate(pairs)
    ]


@st.composite
def estates(draw: st.DrawFn) -> Topology:
    """Return a topology in which A/D/I sends to S, somewhere behind forwarders."""
    sent = draw(routes("S", (None, "B1", "B2"), least=1))
    home = Database("D", "DA", services={"I": Service("I", "Q")}, routes=tuple(sent))
    instances = [_instance("A", (), home, on=False)]
    for name in FORWARDERS:
        passed = draw(routes("S", (None, "B1", "B2")))
        back = draw(routes("I", (None, "DA")))
        on = draw(st.integers(0, 7)) > 0
        instances.append(_instance(name, (*passed, *back), on=on))
    for name in TARGETS:
        local = Route("Local", None, None, "LOCAL")
        back = draw(routes("I", (None, "DA")))
        service = {"S": Service("S", "Q", ("DEFAULT",))}
        target = Database("D", _BROKERS[name], services=service, routes=tuple(back))
        instances.append(_instance(name, (local,), target, on=False))
    return Topology({instance.name: instance for instance in instances})
