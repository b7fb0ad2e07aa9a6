"""Which routes does no flow use, there or back?"""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.estate import Estate
from streams.analysis.flow_answer import answers_of, locked, routes_of, way_back
from streams.analysis.network import Disposition, Ending
from streams.analysis.route_index import At
from streams.analysis.ways import Ways
from streams.routing import AUTO_CREATED_LOCAL, CONFIGURATION_SERVICE, AddressKind, parse_address
from streams.topology import MSDB, Database, Role


def unused_routes(estate: Estate) -> tuple[At, ...]:
    """Return the routes that could be used and that no way of any flow follows.

    Left out: expired ones, AutoCreatedLocal, those of copies that send nothing now (a mirror, a
    database whose delivery is off), and what serves services outside of the topology.
    """
    return estate.once(_unused)


def _unused(estate: Estate) -> tuple[At, ...]:
    used = frozenset(str(at) for ways in _ways(estate) for at in _followed(estate, ways))
    return tuple(
        at for at in routes_of(estate).every() if str(at) not in used and _counts(estate, at)
    )


def _ways(estate: Estate) -> Iterator[Ways]:
    """Yield all ways that messages and acknowledgements take, each once."""
    found: dict[int, Ways] = {}
    for answer in answers_of(estate):
        for each in (answer, *locked(estate, answer)):
            found[id(each.forth.ways)] = each.forth.ways
            found.update((id(back.ways), back.ways) for back in each.backs)
        if answer.failures:  # what the missing targets would use on the way back
            for place in _homes(estate, answer.flow.to):
                back = way_back(estate, answer.flow, place)
                found[id(back.ways)] = back.ways
    yield from found.values()


def _homes(estate: Estate, service: str) -> Iterator[Ending]:
    for instance, database in estate.once(_by_service).get(service, ()):
        yield Ending(Disposition.DELIVERED, instance, database)


def _by_service(estate: Estate) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for instance in estate.topology.instances.values():
        for database in instance.databases.values():
            for service in database.services:
                found.setdefault(service, []).append((instance.name, database.name))
    return found


def _followed(estate: Estate, ways: Ways) -> Iterator[At]:
    index = routes_of(estate)
    for state in {key.state for key in ways.reached()}:
        for step in ways.network.steps(state):
            for name in step.decision.routes:
                at = index.named(state, step, name)
                if at is not None:
                    yield at


def _counts(estate: Estate, at: At) -> bool:
    route = at.route
    expired = route.expires is not None and route.expires <= estate.now
    named = route.service is None or route.service in estate.once(_by_service)
    if expired or route.name == AUTO_CREATED_LOCAL or route.service == CONFIGURATION_SERVICE:
        return False
    return _sends(at.database) and named and not _is_local_in_msdb(at)


def _sends(database: Database) -> bool:
    mirror = database.mirror is not None and database.mirror.role is Role.MIRROR
    return database.enabled and not mirror


def _is_local_in_msdb(at: At) -> bool:
    """Tell whether it says what holds without it: that is a finding of its own (TA-25)."""
    address = parse_address(at.route.address)
    local = address is not None and address.kind is AddressKind.LOCAL
    return local and at.database.name == MSDB
