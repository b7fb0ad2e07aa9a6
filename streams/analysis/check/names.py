"""Names, broker ids and addresses that do not exist: TA-03, TA-04, TA-06."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streams.analysis.check.certain import homes_without_id, is_stale, may_be_beside
from streams.analysis.check.proof import (
    evidence,
    flows_in,
    lives,
    place_of,
    shown,
    where,
    written,
)
from streams.analysis.check.registry import Check
from streams.analysis.check.trouble import Cause, Phase, caused_by
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import answers_of, routes_of
from streams.analysis.flows.flows import Clue
from streams.analysis.flows.journey import travel
from streams.analysis.flows.route_index import At
from streams.analysis.known import known
from streams.analysis.paths.network import Disposition, State
from streams.errors import Number
from streams.prose import listed
from streams.routing import Address, AddressKind, broker_key, parse_address
from streams.topology import Finding, Severity, Source, finding_at
from streams.topology.compile import is_loopback

_E, _W = Severity.ERROR, Severity.WARNING


def _live(estate: Estate) -> Iterator[At]:
    """Yield the routes that have not expired."""
    for at in routes_of(estate).every():
        if at.route.expires is None or at.route.expires > estate.now:
            yield at


# --- TA-03 ---------------------------------------------------------------------------------------


def near_names(estate: Estate) -> Iterable[Finding]:
    """Find names that resemble a service's name, but that the engine treats as different (1.2)."""
    names = known(estate)
    for at in _live(estate):
        meant = names.meant(at.route.service) if at.route.service is not None else None
        if meant is not None and at.route.service is not None:
            place = place_of(at.instance, at.database)
            what = f"route {at.route.name}"
            yield _near(
                estate, what, at.route.service, meant, place, where(at), shown((at,), (place,))
            )
    for answer in answers_of(estate):
        flow, meant = answer.flow, names.meant(answer.flow.to)
        for clue in flow.why if meant is not None else ():
            if clue.clue is not Clue.ROUTE and meant is not None:
                place = place_of(flow.sender.instance, flow.sender.database)
                proof = shown((), answer.failures[0].instances if answer.failures else (place,))
                source = written(clue.source, flow.sender.database.source)
                what = f"{clue.clue.value} {clue.name}"
                yield _near(
                    estate, what, flow.to, meant, place, source, {**proof, **flows_in([answer])}
                )


def _near(
    estate: Estate,
    what: str,
    name: str,
    meant: str,
    place: str,
    source: Source,
    proof: dict[str, object],
) -> Finding:
    return finding_at(
        "TA-03", _E,
        f"{what} names the service {name!r}, which does not exist; {meant!r} does",
        f"Write {meant}: names are compared byte by byte, and {lives(estate, meant)}.",
        place, source, {**proof, "service": name, "meant": meant},
    )  # fmt: skip


# --- TA-04 ---------------------------------------------------------------------------------------


def stale_brokers(estate: Estate) -> Iterable[Finding]:
    """Find broker ids that no database has, unless the path leaves the topology (1.5)."""
    brokers = known(estate).brokers
    stale: dict[tuple[str, str | None], list[At]] = {}
    for at in _live(estate):
        broker = at.route.broker
        if broker is not None and broker_key(broker) not in brokers and _ends_here(estate, at):
            key = place_of(at.instance, at.database), at.route.service
            stale.setdefault(key, []).append(at)
    for routes in stale.values():
        yield _stale_routes(estate, routes)
    for trouble in caused_by(estate, Cause.STALE_BROKER):
        # If only a route names the id, the finding is reported at the route.
        flows = (answer.flow for answer in trouble.answers)
        flow = next((flow for flow in flows if flow.broker is not None and flow.stated), None)
        if trouble.phase is Phase.FIRST and flow is not None:
            database = flow.sender.database
            unsure = [str(home) for home in homes_without_id(estate, flow.to)]
            yield finding_at(
                "TA-04", _E if is_stale(estate, flow.to) else _W,
                f"dialogs from {flow.sender} to {flow.to} name broker id {flow.broker}, which no "
                f"database has",
                _state_id(unsure) if unsure else
                f"Name the broker id of the database that has {flow.to}, or omit the broker id.",
                place_of(flow.sender.instance, database),
                written(flow.why[0].source, database.source), evidence(estate, trouble),
            )  # fmt: skip


def _stale_routes(estate: Estate, routes: list[At]) -> Finding:
    """Report the routes of one database to one service whose broker ids no database has."""
    at, service = routes[0], routes[0].route.service or ""
    one = len(routes) == 1
    brokers = list(dict.fromkeys(at.route.broker or "" for at in routes))
    homes = known(estate).services.get(service, ())
    unsure = [str(home) for home in homes_without_id(estate, service)]
    ids = [f"{home.database.broker_id} ({home})" for home in homes]
    remedy = (
        _state_id(unsure)
        if unsure
        else f"Create {'the route' if one else 'each route'} again with the broker id of the "
        f"database that has {service}{': ' + listed(ids) if ids else ''}."
    )
    return finding_at(
        "TA-04", _E if not service or is_stale(estate, service) else _W,
        f"{'route' if one else 'routes'} {listed([at.route.name for at in routes])} "
        f"{'names' if one else 'name'} broker {'id' if one else 'ids'} {listed(brokers)} for "
        f"{service}, which no database has",
        remedy, place_of(at.instance, at.database), where(at),
        shown(routes, (at.instance.name,), service=service, broker=brokers[0], brokers=brokers),
    )  # fmt: skip


def _state_id(databases: list[str]) -> str:
    return (
        f"State the broker_id of {listed(databases)} in topology.yaml, because a script does not "
        f"contain it. To find it, run SELECT service_broker_guid FROM sys.databases."
    )


def _ends_here(estate: Estate, at: At) -> bool:
    """Return whether the path after a route ends within the topology, so that the id is stale."""
    address = parse_address(at.route.address)
    if address is None or address.kind is not AddressKind.NETWORK:
        return True
    name = estate.leads_to(at.instance.name, address)
    if name is None or at.route.service is None:
        return False
    start = State(name, None, at.route.broker)
    return not any(
        end.disposition is Disposition.UNKNOWN or end.error is Number.WAITING_FOR_CONFIGURATION
        for end in travel(estate.network(at.route.service), start).ends
    )


# --- TA-06 ---------------------------------------------------------------------------------------


def wrong_ports(estate: Estate) -> Iterable[Finding]:
    """Find addresses with an instance's host but not the port of its broker endpoint."""
    ports = estate.once(_ports)
    for at in _live(estate):
        for text in (at.route.address, at.route.mirror):
            address = parse_address(text) if text is not None else None
            if address is None or address.kind is not AddressKind.NETWORK:
                continue
            right = _ports_of(at, address, ports)
            beside = is_loopback(address) and estate.leads_to(at.instance.name, address) is not None
            if right and address.port not in right and not beside:
                yield _wrong_port(estate, at, address, sorted(right))


def _ports(estate: Estate) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for host, port in estate.leads:
        found.setdefault(host, set()).add(port)
    return found


def _ports_of(at: At, address: Address, ports: dict[str, set[int]]) -> set[int]:
    own = {at.instance.address.port}
    return own if is_loopback(address) else ports.get(address.host.casefold(), set())


def _wrong_port(estate: Estate, at: At, address: Address, right: list[int]) -> Finding:
    ports = " or ".join(map(str, right))
    meant = Address(address.kind, address.host, right[0])
    remedy = f"Write {meant}, or correct the LISTENER_PORT of that endpoint."
    if estate.leads_to(at.instance.name, meant) == at.instance.name:
        remedy = _other_instance(estate, at, address)
    return finding_at(
        "TA-06", _W if may_be_beside(estate, at, address) else _E,
        f"route {at.route.name} leads to {address}, but {address.host} listens for Service Broker "
        f"on port {ports}",
        remedy,
        place_of(at.instance, at.database), where(at),
        shown((at,), (at.instance.name,), address=str(address), ports=right),
    )  # fmt: skip


def _other_instance(estate: Estate, at: At, address: Address) -> str:
    """Return the remedy if the right port is that of the instance with the route."""
    others = [
        instance
        for instance in estate.topology.instances.values()
        if instance.address.port == address.port and instance.name != at.instance.name
    ]
    if not others:
        return (
            f"Write the address of the instance that is meant. If another instance on the machine "
            f"of {at.instance.name} listens on port {address.port}, import its scripts too."
        )
    addresses = listed([str(instance.address) for instance in others], last="or")
    names = listed([instance.name for instance in others], last="or")
    return (
        f"Write {addresses}. If {names} runs on the machine of {at.instance.name}, list "
        f"{address.host} under its aliases: in topology.yaml."
    )


CHECKS = (
    Check(
        "TA-03",
        "A service name that differs only in case, blanks or Unicode form",
        (_E,),
        "reference 1.2",
        "Service names are compared byte by byte, whatever the collation. Case, trailing blanks "
        "and the Unicode form count, so a name that looks right can match nothing.",
        "Write the name exactly as in CREATE SERVICE.",
        near_names,
    ),
    Check(
        "TA-04",
        "A broker id that no database has",
        (_E, _W),
        "reference 1.5",
        "NEW_BROKER gives a database a new id. Routes that name the old id are then stale: "
        "messages are dropped where they arrive (28017), and replies find no route. The finding "
        "is a warning if the topology knows the database only from scripts, which do not contain "
        "its id, or if it has no database with the service. Routes that lead out of the topology "
        "are not checked.",
        "Create the route again with the current service_broker_guid of the database.",
        stale_brokers,
    ),
    Check(
        "TA-06",
        "A port on which the host does not listen for Service Broker",
        (_E, _W),
        "reference 1.3",
        "A route needs the port of the endpoint FOR SERVICE_BROKER, not the port of SQL Server or "
        "of database mirroring. No Service Broker answers on any other port, so messages wait at "
        "the sender. The finding is a warning if a script creates the route and the host is the "
        "instance's own: another instance of this machine may listen on the port.",
        "Use the LISTENER_PORT of the endpoint on that host.",
        wrong_ports,
    ),
)
