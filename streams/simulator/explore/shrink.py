"""Minimize a failing case: remove or simplify all parts that its violation does not need.

The search is greedy: it accepts every proposal that still breaks the same invariant, and then
starts another round. It ends when no proposal is left or the limit of tries is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from streams.protocol import Limits
from streams.simulator.clock import MILLISECOND, SECOND
from streams.simulator.explore.case import Case
from streams.simulator.scenario import (
    Begin,
    Crash,
    Cut,
    Failover,
    Latency,
    Link,
    Network,
    Scenario,
    Send,
    Step,
)
from streams.topology import Database, Instance

TRIES = 1_500
"""Maximum number of smaller cases to run."""

Breaks = Callable[[Case], bool]


def shrink(case: Case, breaks: Breaks, tries: int = TRIES) -> Case:
    """Return a smaller case for which ``breaks`` is still true."""
    found = True
    while found and tries > 0:
        found = False
        for proposals in (_fewer_steps, _fewer_parts, _calmer, _smaller_steps, _rounder):
            again = True
            while again and tries > 0:
                again = False
                for proposal in proposals(case):
                    tries -= 1
                    if tries < 0:
                        break
                    if breaks(proposal):
                        case, found, again = proposal, True, True
                        break
    return case


# --- steps ---------------------------------------------------------------------------------------


def _fewer_steps(case: Case) -> Iterator[Case]:
    """Remove whole dialogs, then sequences of steps, then pairs of a fault and its end."""
    steps = case.scenario.steps
    for name in [s.action.dialog for s in steps if isinstance(s.action, Begin)]:
        yield _with_steps(case, tuple(s for s in steps if _dialog(s) != name))
    size = len(steps) // 2
    while size >= 1:
        for start in range(0, len(steps), size):
            rest = steps[:start] + steps[start + size :]
            if _is_whole(rest):
                yield _with_steps(case, rest)
        size //= 2
    for at, step in enumerate(steps):
        action = step.action
        if isinstance(action, (Crash, Cut)) and not action.up:
            end = replace(action, up=True)
            later = [n for n in range(at + 1, len(steps)) if steps[n].action == end]
            if later:
                rest = tuple(s for n, s in enumerate(steps) if n not in (at, later[0]))
                yield _with_steps(case, rest)


def _dialog(step: Step) -> str | None:
    return getattr(step.action, "dialog", None)


def _is_whole(steps: tuple[Step, ...]) -> bool:
    """Return whether every dialog begins before its steps, and every fault ends."""
    dialogs: set[str | None] = {None}
    down: set[object] = set()
    for step in steps:
        action = step.action
        if isinstance(action, Begin):
            if action.related not in dialogs:
                return False
            dialogs.add(action.dialog)
        elif _dialog(step) not in dialogs:
            return False
        if isinstance(action, (Crash, Cut)):
            key = replace(action, up=False)
            (down.discard if action.up else down.add)(key)
    return not down


def _with_steps(case: Case, steps: tuple[Step, ...]) -> Case:
    dialogs = {s.action.dialog for s in steps if isinstance(s.action, Begin)}
    free = tuple(
        replace(s, action=replace(s.action, related=None))
        if isinstance(s.action, Begin) and s.action.related not in dialogs
        else s
        for s in steps
    )
    return replace(case, scenario=replace(case.scenario, steps=free))


def _smaller_steps(case: Case) -> Iterator[Case]:
    """Lower counts, shorten bodies, drop optional parts of BEGIN."""
    steps = case.scenario.steps
    for at, step in enumerate(steps):
        for action in _smaller(step):
            made = replace(step, action=action)
            yield _with_steps(case, (*steps[:at], made, *steps[at + 1 :]))


def _smaller(step: Step) -> Iterator[Send | Begin]:
    match step.action:
        case Send(count=count, body=body) as send:
            if count > 1:
                yield replace(send, count=1)
                yield replace(send, count=count // 2)
                yield replace(send, count=count - 1)
            if len(body) > 1 and not body.startswith("<"):
                yield replace(send, body=body[:1])
                yield replace(send, body=body[: len(body) // 2])
        case Begin() as begin:
            for name in ("related", "group", "lifetime", "broker"):
                if getattr(begin, name) is not None:
                    yield replace(begin, **{name: None})  # type: ignore[arg-type]


def _rounder(case: Case) -> Iterator[Case]:
    """Round times (first to seconds), and end the run earlier."""
    scenario = case.scenario
    for unit in (SECOND, 100 * MILLISECOND):
        rounded = tuple(replace(s, at=s.at // unit * unit) for s in scenario.steps)
        if rounded != scenario.steps and _is_whole(rounded):
            yield _with_steps(case, rounded)
        for at, step in enumerate(scenario.steps):
            before = scenario.steps[at - 1].at if at else 0
            earlier = max(step.at // unit * unit, before)
            if earlier != step.at:
                steps = (*scenario.steps[:at], replace(step, at=earlier), *scenario.steps[at + 1 :])
                yield _with_steps(case, steps)


# --- everything else -----------------------------------------------------------------------------


def _calmer(case: Case) -> Iterator[Case]:
    """Reset the run's settings to their defaults, one at a time."""
    scenario, usual = case.scenario, Scenario()

    def settle(**changes: object) -> Case:
        return replace(case, scenario=replace(scenario, **changes))  # type: ignore[arg-type]

    for name in ("aborts", "stalls", "batch", "skew", "memory"):
        if getattr(scenario, name) != getattr(usual, name):
            yield settle(**{name: getattr(usual, name)})
    for name in ("window", "run", "hops", "time_to_live", "retries", "fragment"):
        value = getattr(Limits(), name)
        if getattr(scenario.limits, name) != value:
            yield settle(limits=replace(scenario.limits, **{name: value}))
    for application in scenario.applications:
        yield settle(applications=tuple(a for a in scenario.applications if a is not application))
    for network in _calmer_networks(scenario.network):
        yield settle(network=network)


def _calmer_networks(network: Network) -> Iterator[Network]:
    if network.links:
        yield replace(network, links={})
    for change in (
        {"loss": 0.0},
        {"duplicate": 0.0},
        {"reorder": 0.0},
        {"latency": Latency()},
    ):
        link: Link = replace(network.link, **change)
        if link != network.link:
            yield replace(network, link=link)


def _fewer_parts(case: Case) -> Iterator[Case]:
    """Remove instances, databases and routes that are no longer used."""
    instances, used = case.topology.instances, _used(case.scenario)

    def having(rest: dict[str, Instance]) -> Case:
        return replace(case, topology=replace(case.topology, instances=rest))

    for name, instance in instances.items():
        rest = {n: i for n, i in instances.items() if n != name}
        if name not in used and rest:
            yield having(rest)
        for database in instance.databases.values():
            if database.name not in used and len(instance.databases) > 1:
                fewer = {n: d for n, d in instance.databases.items() if n != database.name}
                yield having({**instances, name: replace(instance, databases=fewer)})
        for changed in _fewer_routes(instance):
            yield having({**instances, name: changed})


def _fewer_routes(instance: Instance) -> Iterator[Instance]:
    for database in instance.databases.values():
        for less in _without_routes(database):
            made = {**instance.databases, database.name: less}
            yield replace(instance, databases=made)
    for less in _without_routes(instance.msdb):
        yield replace(instance, msdb=less)


def _without_routes(database: Database) -> Iterator[Database]:
    """Return the database without one route; the other routes are renumbered, as in a file."""
    for route in database.routes[1:]:
        rest = [r for r in database.routes if r is not route]
        numbered = tuple(replace(r, route_id=n) for n, r in enumerate(rest, 1))
        yield replace(database, routes=numbered)
    if database.priorities:
        yield replace(database, priorities=())


def _used(scenario: Scenario) -> set[str]:
    """Return the instances and databases used by steps, applications and settings."""
    used: set[str] = {*scenario.skew, *scenario.memory}
    for links in scenario.network.links:
        used.update(links)
    for step in scenario.steps:
        action = step.action
        for name in ("instance", "database"):
            used.add(getattr(action, name, ""))
        used.update(getattr(action, "link", ()))
        if isinstance(action, Failover):
            used.add(action.to)
    for application in scenario.applications:
        used |= {application.instance, application.database}
    return used
