"""Find routes that no flow uses, in either direction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import locked, outbound_answers, return_path, routes_of
from streams.analysis.flows.route_index import At
from streams.analysis.paths.network import Disposition, Ending, Network, State
from streams.routing import AUTO_CREATED_LOCAL, CONFIGURATION_SERVICE, AddressKind, parse_address
from streams.topology import MSDB, Database, Role


def unused_routes(estate: Estate) -> tuple[At, ...]:
    """Return the valid routes that no path of any flow uses.

    The result excludes expired routes, AutoCreatedLocal, routes of databases that send nothing now
    (mirrors, or delivery is off), and routes to services outside of the topology.
    """
    return estate.once(_unused)


def _unused(estate: Estate) -> tuple[At, ...]:
    used = frozenset(str(at) for at in _used(estate))
    routes = routes_of(estate).every()
    return tuple(at for at in routes if str(at) not in used and _counts(estate, at))


def _used(estate: Estate) -> Iterator[At]:
    """Yield the routes that messages and acknowledgements use, or would use without a failure."""
    index = routes_of(estate)
    for network, states in _visited(estate):
        for state in states:
            for step in network.steps(state):
                if step.decision.looped_back and state.database is not None:
                    here = estate.instances[state.instance]
                    yield from index.looped(here, state, network.service)
                for name in step.decision.routes:
                    at = index.named(state, step, name)
                    if at is not None:
                        yield at


def _visited(estate: Estate) -> Iterable[tuple[Network, set[State]]]:
    """Return the states on the flows' paths, in both directions, grouped by network."""
    found: dict[int, tuple[Network, set[State]]] = {}

    def visit(network: Network, states: Iterable[State]) -> None:
        found.setdefault(id(network), (network, set()))[1].update(states)

    for forth, answers in outbound_answers(estate):
        visit(forth.graph.network, (key.state for key in forth.graph.reached()))
        for later in locked(estate, answers[0]):
            visit(later.journey.network, later.journey.states)
        for answer in answers:
            backs = answer.backs
            if answer.failures:  # the return paths of missing targets
                homes = _homes(estate, answer.flow.to)
                backs = (*backs, *(return_path(estate, answer.flow, place) for place in homes))
            for back in backs:
                visit(back.journey.network, back.journey.states)
    return found.values()


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


def _counts(estate: Estate, at: At) -> bool:
    route = at.route
    expired = route.expires is not None and route.expires <= estate.now
    named = route.service is None or route.service in estate.once(_by_service)
    if expired or route.name == AUTO_CREATED_LOCAL or route.service == CONFIGURATION_SERVICE:
        return False
    return _sends(at.database) and named and not _is_local_in_msdb(at)


def _sends(database: Database) -> bool:
    mirror = database.mirror is not None and database.mirror.role is Role.MIRROR
    return database.delivers and not mirror


def _is_local_in_msdb(at: At) -> bool:
    """Return whether a route is a LOCAL route of msdb, which has a check of its own (TA-25)."""
    address = parse_address(at.route.address)
    local = address is not None and address.kind is AddressKind.LOCAL
    return local and at.database.name == MSDB
