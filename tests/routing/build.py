"""Builders that let a row of the conformance table read aloud as a sentence."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from streams.errors.numbers import Number
from streams.routing import (
    Address,
    Database,
    Decision,
    Instance,
    Origin,
    Query,
    Route,
    RoutingTable,
    Verdict,
    auto_created_local,
    parse_address,
)

NOW = 1_000_000.0
G1 = "5fb8d92b-ed69-4c80-afbb-2aa6a7d3cb2d"
G2 = "81b1d3d0-288e-4d2c-b1d3-456cbb944b4f"

ACL = auto_created_local()

# Two dialogs whose hashes take the first and the second of two broker ids.
TAKES_FIRST = uuid.UUID(int=1)
TAKES_SECOND = uuid.UUID(int=2)


def address(text: str) -> Address:
    """Read an address that the table is sure of."""
    parsed = parse_address(text)
    assert parsed is not None, text
    return parsed


# --- The world -----------------------------------------------------------------------------------


def route(
    name: str,
    service: str | None = None,
    broker: str | None = None,
    *,
    to: str,
    mirror: str | None = None,
    expires: float | None = None,
    route_id: int = 0,
) -> Route:
    """Create a route, in the order of the clauses of CREATE ROUTE."""
    partner = address(mirror) if mirror is not None else None
    return Route(name, service, broker, address(to), partner, expires, route_id)


def database(
    name: str,
    *routes: Route,
    services: Iterable[str] = (),
    broker: str | None = None,
    enabled: bool = True,
    is_mirror: bool = False,
) -> Database:
    """Create a database; its broker id is its name by default."""
    on, table = enabled and not is_mirror, RoutingTable(routes)
    return Database(name, broker or name, frozenset(services), on, table, is_mirror)


def instance(
    name: str,
    *databases: Database,
    msdb: Iterable[Route] = (ACL,),
    aliases: Iterable[str] = (),
    forwarding: bool = False,
    started: bool = True,
    msdb_enabled: bool = True,
) -> Instance:
    """Create an instance that listens at ``tcp://<name>:4022``."""
    return Instance(
        name,
        address(f"tcp://{name}:4022"),
        frozenset(aliases),
        {d.name: d for d in databases},
        RoutingTable(msdb),
        forwarding,
        started,
        msdb_enabled,
    )


# --- The question --------------------------------------------------------------------------------


def sent_from(
    home: str, *, to: str, broker: str | None = None, dialog: uuid.UUID | None = None
) -> Query:
    """Ask for a message of the initiator, begun in a database of this instance."""
    return Query(to, Origin.INSIDE, broker, home, conversation=dialog)


def answered_in(home: str, *, to: str, broker: str | None = None) -> Query:
    """Ask for a message or acknowledgement of the target's side, begun in a database here."""
    return Query(to, Origin.INSIDE, broker, home, from_initiator=False)


def from_outside(*, to: str, broker: str | None = None, dialog: uuid.UUID | None = None) -> Query:
    """Ask for a message of the initiator's side that arrived from the network."""
    return Query(to, Origin.OUTSIDE, broker, conversation=dialog)


def reply_from_outside(*, to: str, broker: str | None) -> Query:
    """Ask for a message of the target's side that arrived from the network."""
    return Query(to, Origin.OUTSIDE, broker, from_initiator=False)


# --- The answer ----------------------------------------------------------------------------------


def _to_network(verdict: Verdict, step: str, by: str, to: str, broker: str | None) -> Decision:
    hops = tuple(address(a) for a in to.split())
    return Decision(verdict, step, tuple(by.split()), broker, addresses=hops)


def sent(step: str, *, by: str, to: str, broker: str | None = None) -> Decision:
    """Expect a message begun here to go to the network, by these routes, to these next hops."""
    return _to_network(Verdict.SEND, step, by, to, broker)


def forwarded(step: str, *, by: str, to: str, broker: str | None = None) -> Decision:
    """Expect a message from another instance to go on to the network."""
    return _to_network(Verdict.FORWARD, step, by, to, broker)


def probes(step: str, *, by: str, to: str, broker: str | None = None) -> Decision:
    """Expect both partners of a mirrored pair to be asked."""
    return _to_network(Verdict.PROBE, step, by, to, broker)


def delivered(step: str, *, to: str, by: str = "", broker: str | None = None) -> Decision:
    """Expect the message in one of these databases of this instance."""
    found = tuple(to.split())
    return Decision(Verdict.DELIVER, step, tuple(by.split()), broker, candidates=found)


def asks_configuration(step: str, *, by: str) -> Decision:
    """Expect the configuration service to be asked for a route."""
    return Decision(Verdict.ASK, step, tuple(by.split()), error=Number.WAITING_FOR_CONFIGURATION)


def delayed(step: str, error: int, *, by: str = "", broker: str | None = None) -> Decision:
    """Expect a message begun here to wait in the transmission queue with this status."""
    return Decision(Verdict.DELAY, step, tuple(by.split()), broker, error=Number(error))


def dropped(step: str, error: int, *, by: str = "", broker: str | None = None) -> Decision:
    """Expect the copy of a message from another instance to be gone, for this reason."""
    return Decision(Verdict.DROP, step, tuple(by.split()), broker, error=Number(error))


def answered(step: str, database: str, *, by: str, inside: bool = False) -> Decision:
    """Expect this database, whose broker id the conversation names, to answer with -8490."""
    missing, routes = Number.REMOTE_SERVICE_MISSING, tuple(by.split())
    verdict = Verdict.DELAY if inside else Verdict.DROP
    return Decision(verdict, step, routes, database, candidates=(database,), error=missing)
