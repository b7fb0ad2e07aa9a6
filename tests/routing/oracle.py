"""The routing decision once more: the documented steps written down one after the other.

Slow and naive on purpose: no indexes, no tables of rules, nothing shared with
:mod:`streams.routing` but the values that go in and come out. Where the two disagree, one of them
is wrong.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import dataclass

from streams.errors.numbers import Number
from streams.routing import (
    Address,
    AddressKind,
    Database,
    Decision,
    Instance,
    Origin,
    Query,
    Route,
    Verdict,
)

CONFIGURATION = "SQL/ServiceBroker/BrokerConfiguration"
SYSTEM = "http://schemas.microsoft.com/SQL/ServiceBroker/ServiceBroker"


def decide(instance: Instance, query: Query, now: float, *, strict: bool = False) -> Decision:
    """Answer the question."""
    if query.origin is Origin.INSIDE:
        return _outbound(instance, query, now, strict)
    return _inbound(instance, query, now, strict)


@dataclass
class _Search:
    """What is known so far."""

    instance: Instance
    query: Query
    now: float
    strict: bool
    broker: str | None
    step: str = ""

    @property
    def inside(self) -> bool:
        return self.query.origin is Origin.INSIDE

    def decision(
        self,
        verdict: Verdict,
        routes: list[Route],
        addresses: list[Address] | None = None,
        candidates: list[str] | None = None,
        error: int | None = None,
    ) -> Decision:
        return Decision(
            verdict,
            self.step,
            tuple(r.name for r in routes if r.name != ""),
            self.broker,
            tuple(addresses or []),
            tuple(candidates or []),
            None if error is None else Number(error),
        )

    def fails(self, routes: list[Route], inside: int, outside: int) -> Decision:
        if self.inside:
            return self.decision(Verdict.DELAY, routes, error=inside)
        return self.decision(Verdict.DROP, routes, error=outside)


# R1
def _outbound(instance: Instance, query: Query, now: float, strict: bool) -> Decision:
    search = _Search(instance, query, now, strict, query.broker)
    table: list[Route] = []
    for database in instance.databases.values():
        if database.name == query.database:
            if not database.enabled:  # 1.1
                return search.decision(Verdict.DELAY, [], error=9791)
            table = list(database.routes.routes)
    return _route(search, table)


# R2
def _inbound(instance: Instance, query: Query, now: float, strict: bool) -> Decision:
    search = _Search(instance, query, now, strict, query.broker)
    if not instance.msdb_enabled:  # 2.1
        return search.decision(Verdict.DROP, [], error=9789)
    if not query.from_initiator and query.broker is not None:  # 2.2
        holders = [d for d in instance.databases.values() if _same(d.broker_id, query.broker)]
        if holders:
            search.step = "REPLY"
            active = [d.name for d in holders if d.enabled]
            if not active:
                return search.decision(Verdict.DROP, [], error=_or_mirror(search, 28016))
            return search.decision(Verdict.DELIVER, [], candidates=active)
    return _route(search, list(instance.msdb.routes))


# R3 and R4
def _route(search: _Search, table: list[Route]) -> Decision:
    name, bid = search.query.service, search.query.broker
    live = [r for r in table if r.expires is None or r.expires > search.now]

    search.step = "M1"
    if bid is not None:
        found = [r for r in live if r.service == name and _same(r.broker, bid)]
        if found:
            return _choose(search, found)

    search.step = "M2"
    found = [r for r in live if r.service == name and r.broker is None]
    if found:
        return _choose(search, found)

    search.step = "M3"
    if bid is None:
        found = [r for r in live if r.service == name and r.broker is not None]
        if found:
            search.broker = _pick([r.broker for r in found if r.broker], search.query.conversation)
            return _choose(search, [r for r in found if _same(r.broker, search.broker)])

    search.step = "M4"
    found = [r for r in live if r.service == CONFIGURATION and r.broker is None]
    if found and name != SYSTEM:
        return search.decision(Verdict.ASK, found, error=9770)

    search.step = "M5"
    found = [r for r in live if r.service is None and r.broker is None]
    if found:
        return _choose(search, found)

    search.step = "M6"
    if bid is not None and _having(search, name):
        return _choose(search, [Route("", name, None, Address(AddressKind.LOCAL))])

    search.step = "M7"
    return search.fails([], 9750, 9750)


def _pick(brokers: list[str], conversation: uuid.UUID | None) -> str:
    distinct: list[str] = []
    for broker in brokers:
        if not any(_same(broker, other) for other in distinct):
            distinct.append(broker)
    guids = [b for b in distinct if _guid(b) is not None]
    others = [b for b in distinct if _guid(b) is None]
    guids.sort(key=lambda b: uuid.UUID(b).bytes)
    others.sort(key=lambda b: b.encode("utf-16-le"))
    ids = guids + others
    if conversation is None:
        return ids[0]
    digest = hashlib.blake2b(conversation.bytes, digest_size=8).digest()
    return ids[int.from_bytes(digest, "big") % len(ids)]


# R5
def _choose(search: _Search, matched: list[Route]) -> Decision:
    mirrored = [r for r in matched if r.mirror is not None]  # 5.1
    if mirrored:
        first = mirrored[0]
        for r in mirrored:
            if r.route_id < first.route_id:
                first = r
        assert first.mirror is not None
        return _send(search, [first], [first.address, first.mirror])

    distinct: list[Route] = []
    for r in matched:
        if not any(_same_address(r.address, other.address) for other in distinct):
            distinct.append(r)

    local = [r for r in distinct if r.address.kind is AddressKind.LOCAL]
    name_is_here = bool(_having(search, search.query.service))
    pair_is_here = name_is_here
    if search.broker is not None:
        pair_is_here = _database_of(search, search.broker) is not None
    if local and (name_is_here if search.strict else pair_is_here):  # 5.2, U-44
        return _locate(search, local)

    network = [r for r in distinct if r.address.kind is AddressKind.NETWORK]  # 5.3
    if network:
        return _send(search, network, [r.address for r in network])

    transport = [r for r in distinct if r.address.kind is AddressKind.TRANSPORT]  # 5.4
    if transport:
        named = re.match(r"(?i)tcp://([a-z0-9]+)(?::([0-9]+))?(?:/|$)", search.query.service)
        if named is None:
            return search.fails(transport, 9785, 11294)
        port = int(named[2] or 4022)
        address = Address(AddressKind.NETWORK, named[1], port)
        return _send(search, transport, [address])

    lacking = _lacking(search)
    if lacking:  # 7.4
        verdict = Verdict.DELAY if search.inside else Verdict.DROP
        return search.decision(verdict, local, candidates=lacking, error=8490)
    if search.broker is not None and name_is_here:  # 5.5, U-12
        return search.fails(local, 9795, _or_mirror(search, 28017))
    return search.fails(local, 9796, _or_mirror(search, 11210))


# R7
def _locate(search: _Search, local: list[Route]) -> Decision:
    if search.broker is not None:  # 7.1
        holder = _database_of(search, search.broker)
        lacking = _lacking(search)
        if lacking:  # 7.4
            verdict = Verdict.DELAY if search.inside else Verdict.DROP
            return search.decision(verdict, local, candidates=lacking, error=8490)
        if holder is None:
            return search.fails(local, 9795, _or_mirror(search, 28017))
        return search.decision(Verdict.DELIVER, local, candidates=[holder.name])
    found = _having(search, search.query.service)
    if search.inside and search.query.database in found:  # 7.2a
        return search.decision(Verdict.DELIVER, local, candidates=[search.query.database])
    return search.decision(Verdict.DELIVER, local, candidates=sorted(found))  # 7.2b


# R8 and R9
def _send(search: _Search, routes: list[Route], addresses: list[Address]) -> Decision:
    if search.inside:
        if all(_is_me(search.instance, a) for a in addresses):  # 8.1
            q = search.query
            outside = Query(
                q.service, Origin.OUTSIDE, search.broker, None, q.from_initiator, q.conversation
            )
            return _inbound(search.instance, outside, search.now, search.strict)
    elif not search.instance.forwarding:  # 8.2
        return search.decision(Verdict.DROP, routes, error=9792)
    if not search.instance.started:
        return search.fails(routes, 9666, 11293)
    if routes[0].mirror is not None:  # R6
        return search.decision(Verdict.PROBE, routes, addresses)
    verdict = Verdict.SEND if search.inside else Verdict.FORWARD  # 8.4, 8.3
    return search.decision(verdict, routes, addresses)


def _guid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _same(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return False
    if _guid(one) is not None and _guid(other) is not None:
        return _guid(one) == _guid(other)
    return one == other


def _same_address(one: Address, other: Address) -> bool:
    same_place = one.host.lower() == other.host.lower() and one.port == other.port
    return one.kind is other.kind and same_place


def _is_me(instance: Instance, address: Address) -> bool:
    names = [instance.address.host.lower(), *(h.lower() for h in instance.hosts)]
    network = address.kind is AddressKind.NETWORK
    return network and address.host.lower() in names and address.port == instance.address.port


def _having(search: _Search, service: str) -> list[str]:
    databases = search.instance.databases.values()
    return [d.name for d in databases if d.enabled and service in d.services]


def _or_mirror(search: _Search, otherwise: int) -> int:
    """Return 28018 where the broker id belongs to a mirror here, and to no active database."""
    holders = [
        d
        for _, d in sorted(search.instance.databases.items())
        if search.broker is not None and _same(d.broker_id, search.broker)
    ]
    active = any(d.enabled for d in holders)
    return 28018 if holders and not active and holders[0].is_mirror else otherwise


def _lacking(search: _Search) -> list[str]:
    """Return the active database with the conversation's own broker id, if it lacks the service."""
    named, service = search.query.broker, search.query.service
    if named is None or not search.query.from_initiator:
        return []
    holders = sorted(
        d.name
        for d in search.instance.databases.values()
        if d.enabled and _same(d.broker_id, named)
    )
    return [h for h in holders[:1] if service not in search.instance.databases[h].services]


def _database_of(search: _Search, broker: str) -> Database | None:
    for d in search.instance.databases.values():
        if d.enabled and _same(d.broker_id, broker) and search.query.service in d.services:
            return d
    return None
