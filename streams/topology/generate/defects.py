"""Plant typical defects of real estates, and record them.

Each kind of defect is a row: the resulting finding, the flows that it can affect, and the change.
No two defects concern the same instance, so that no defect hides another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from streams.chance import Chance
from streams.errors import UsageError
from streams.prose import counted
from streams.topology.findings import Severity
from streams.topology.generate.draft import Draft
from streams.topology.generate.rows import Flow, PathKind, RouteDraft, Table
from streams.topology.model import MSDB, EndpointState
from streams.topology.objects import Route

_LONG_AGO = 1_577_836_800.0  # 2020-01-01T00:00:00Z


@dataclass(frozen=True, slots=True)
class Defect:
    """One planted defect: the finding's code, and its place.

    ``subject`` is ``instance/database`` or an instance; ``routes`` are the wrong or removed routes.
    ``sender`` and ``to`` are an affected flow.
    """

    code: str
    kind: str
    severity: Severity
    subject: str
    routes: tuple[str, ...]
    sender: str
    to: str


Planted = tuple[str, tuple[str, ...]]
"""The subject and the routes of a planted defect."""


@dataclass(frozen=True, slots=True)
class DefectKind:
    """A row of the table; ``fits`` returns whether the defect can affect a flow."""

    code: str
    name: str
    severity: Severity
    fits: Callable[[Flow], bool]
    plant: Callable[[Draft, Flow, Chance], Planted]


def plant(number: int, draft: Draft, flows: tuple[Flow, ...], chance: Chance) -> tuple[Defect, ...]:
    """Plant ``number`` defects, each kind in turn; raise UsageError if too few flows are left."""
    found: list[Defect] = []
    used: set[str] = set()
    idle = 0
    while len(found) < number and idle < len(KINDS):
        kind = KINDS[(len(found) + idle) % len(KINDS)]
        flow = _victim(kind, flows, used, chance)
        if flow is None:
            idle += 1
            continue
        idle = 0
        used |= _touched(flow)
        subject, routes = kind.plant(draft, flow, chance)
        found.append(_defect(kind, flow, subject, routes))
    if len(found) < number:
        raise UsageError(
            f"The topology has room for only {counted(len(found), 'defect')}.",
            "Use fewer defects, or more instances and routes.",
        )
    return tuple(found)


def _defect(kind: DefectKind, flow: Flow, subject: str, routes: tuple[str, ...]) -> Defect:
    sender = "/".join((*flow.sender.table, flow.sender.service))
    return Defect(kind.code, kind.name, kind.severity, subject, routes, sender, flow.offer.service)


def _victim(
    kind: DefectKind, flows: tuple[Flow, ...], used: set[str], chance: Chance
) -> Flow | None:
    first = chance.below(len(flows))
    turned = (flows[(first + n) % len(flows)] for n in range(len(flows)))
    return next((f for f in turned if kind.fits(f) and not _touched(f) & used), None)


def _touched(flow: Flow) -> set[str]:
    """Return the servers of a flow and the gateways before its target."""
    homes = {home.table[0] for home in flow.offer.homes}
    return {flow.sender.table[0], *homes, *(flow.tiers[-1] if flow.tiers else ())}


# --- Flows that a defect fits --------------------------------------------------------------------


def _direct(flow: Flow) -> bool:
    return flow.path_kind is PathKind.DIRECT and len(flow.offer.homes) == 1


def _direct_by_id(flow: Flow) -> bool:
    return _direct(flow) and not flow.offer.by_name


def _balanced(flow: Flow) -> bool:
    return flow.path_kind is PathKind.DIRECT and len(flow.offer.homes) > 1


def _guarded(flow: Flow) -> bool:
    return flow.path_kind in (PathKind.GATEWAYS, PathKind.HUBS) and len(flow.offer.homes) == 1


# --- Changes ------------------------------------------------------------------------


def _outbound(flow: Flow) -> list[RouteDraft]:
    return [r for r in flow.rows if r.table == flow.sender.table]


def _change(draft: Draft, rows: list[RouteDraft], change: Callable[[Route], Route]) -> Planted:
    """Change the routes of some rows of one table."""
    for row in rows:
        draft.database(row.table).change_route(change(draft.route_of(row)))
    return "/".join(rows[0].table), tuple(draft.names[row] for row in rows)


def _stale_broker_id(draft: Draft, flow: Flow, chance: Chance) -> Planted:
    stale = str(chance.guid())
    return _change(draft, _outbound(flow), lambda r: replace(r, broker=stale))


def _missing_return_route(draft: Draft, flow: Flow, chance: Chance) -> Planted:
    [home] = flow.offer.homes
    rows = [r for r in flow.rows if r.table == home.table]
    for row in rows:
        draft.database(row.table).drop_route(draft.route_of(row))
    return "/".join(home.table), tuple(draft.names[row] for row in rows)


def _loop(draft: Draft, flow: Flow, chance: Chance) -> Planted:
    """Make the two gateways before the target send to each other."""
    gateways = flow.tiers[-1]
    names = []
    for here, there in zip(gateways, reversed(gateways), strict=True):
        address = draft.address(there)
        [row] = [
            r for r in flow.rows if r.table == (here, MSDB) and r.service == flow.offer.service
        ]
        draft.database(row.table).change_route(replace(draft.route_of(row), address=address))
        names.append(draft.names[row])
    return f"{gateways[0]}/{MSDB}", tuple(names)


def _wrong_port(draft: Draft, flow: Flow, chance: Chance) -> Planted:
    def moved(route: Route) -> Route:
        host, _, port = route.address.rpartition(":")
        return replace(route, address=f"{host}:{int(port) + 1000}")

    return _change(draft, _outbound(flow), moved)


def _misspelt_service(draft: Draft, flow: Flow, chance: Chance) -> Planted:
    wrong = flow.offer.service.casefold()
    return _change(draft, _outbound(flow), lambda r: replace(r, service=wrong))


def _duplicate_route(draft: Draft, flow: Flow, chance: Chance) -> Planted:
    route = draft.route_of(_outbound(flow)[0])
    copy = replace(route, name=f"{route.name} again")
    draft.database(flow.sender.table).add_route(copy)
    return "/".join(flow.sender.table), (route.name, copy.name)


def _expired_route(draft: Draft, flow: Flow, chance: Chance) -> Planted:
    """Expire one of the routes to two gateways; the other route remains."""
    return _change(draft, _outbound(flow)[:1], lambda r: replace(r, expires=_LONG_AGO))


def _several_targets(draft: Draft, flow: Flow, chance: Chance) -> Planted:
    return _change(draft, _outbound(flow), lambda r: replace(r, broker=None))


def _missing_contract(draft: Draft, flow: Flow, chance: Chance) -> Planted:
    """Remove the target's contracts from the initiator's database."""
    [home] = flow.offer.homes
    accepted = draft.database(home.table).services[flow.offer.service].contracts
    for name in accepted:
        del draft.database(flow.sender.table).contracts[name]
    return "/".join(home.table), ()


def _restored_copy(draft: Draft, flow: Flow, chance: Chance) -> Planted:
    """Attach a copy of the target's database to the same instance, with the same broker id."""
    [home] = flow.offer.homes
    table: Table = (home.table[0], f"{home.table[1]}_restored")
    copy = draft.database(table)
    copy.base = replace(copy.base, broker_id=home.broker)
    return "/".join(home.table), ()


def _stopped_endpoint(draft: Draft, flow: Flow, chance: Chance) -> Planted:
    instance = flow.offer.homes[0].table[0]
    old = draft.instances[instance].base.endpoint
    draft.set_endpoint(instance, replace(old, state=EndpointState.STOPPED))
    return instance, ()


def _no_forwarding(draft: Draft, flow: Flow, chance: Chance) -> Planted:
    instance = flow.tiers[-1][0]
    old = draft.instances[instance].base.endpoint
    draft.set_endpoint(instance, replace(old, forwarding=False))
    return instance, ()


_E, _W = Severity.ERROR, Severity.WARNING
KINDS = (
    DefectKind("TA-04", "stale broker id", _E, _direct_by_id, _stale_broker_id),
    DefectKind("TA-09", "missing return route", _E, _direct, _missing_return_route),
    DefectKind("TA-10", "loop", _E, _guarded, _loop),
    DefectKind("TA-14", "duplicate route", _W, _balanced, _duplicate_route),
    DefectKind("TA-12", "several targets", _E, _balanced, _several_targets),
    DefectKind("TA-06", "wrong port", _E, _direct, _wrong_port),
    DefectKind("TA-03", "misspelt service", _E, _direct, _misspelt_service),
    DefectKind("TA-19", "expired route", _W, _guarded, _expired_route),
    DefectKind("TA-31", "missing contract", _E, _direct, _missing_contract),
    DefectKind("TA-17", "restored copy", _E, _direct, _restored_copy),
    DefectKind("TA-07", "stopped endpoint", _E, _direct, _stopped_endpoint),
    DefectKind("TA-08", "forwarding is off", _E, _guarded, _no_forwarding),
)
"""All kinds of defects, in the order in which they are planted."""
