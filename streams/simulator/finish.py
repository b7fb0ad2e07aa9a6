"""Invariant 5: when faults have stopped and a route exists, every dialog finishes in bounded time.

A dialog has finished when its transmission queue is empty. The bound follows from the maximum retry
interval, and from the fact that every retry tries the next address, in both directions
(``streams/node/forwarder/turn.py``). Messages that were acknowledged in the meantime were ahead in
the queue, so the bound is extended by the time that they need for their path. The bound is checked
once, at the end of a run, and only for messages that had this much time without faults.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Set
from functools import cache

from streams.analysis import find_paths, find_sender
from streams.analysis.paths.path import Outcome
from streams.analysis.paths.path_graph import MessagePath
from streams.errors import UsageError
from streams.node.forwarder.turn import turn_at_origin
from streams.prose import counted
from streams.protocol import Dialog, State
from streams.routing import broker_key
from streams.simulator.clock import MILLISECOND, SECOND, START
from streams.simulator.endpoint import POLL
from streams.simulator.facts import Direction
from streams.simulator.scenario import Scenario
from streams.simulator.system import System
from streams.topology import Topology

SLACK = 10 * SECOND
"""Allowance for all delays except retries: the path, turns, commits, catalog propagation."""


def judge_finish(run: System) -> None:
    """Report the first dialog that had enough time but did not finish (invariant 5)."""
    calm = calm_at(run.scenario)
    if calm is None or not _is_mended(run):
        return
    for instance, dialog in _waiting(run):
        since = max(calm, _oldest(run, dialog))
        granted = bound(run.topology, run.scenario, dialog.far_service, dialog.service)
        if run.clock.now < since + granted + _ahead(run, dialog, since):
            continue
        if dialog.expires_at <= run.instances[instance].now or not _has_route(run, dialog):
            continue
        waits = dialog.send_sequence - dialog.acknowledged[0]
        run.invariants.broken(
            5,
            f"{counted(waits, 'message has', 'messages have')} waited since {since / SECOND:g} s, "
            f"when the faults ended; attempt {dialog.attempt}, status {dialog.status or 'none'}",
            instance,
            dialog.conversation,
        )
        return


def calm_at(scenario: Scenario) -> int | None:
    """Return the time when the last fault, change and random event are over; ``None``: never."""
    links = (scenario.network.link, *scenario.network.links.values())
    rough = (
        scenario.aborts
        or scenario.stalls
        or any(k.loss or k.duplicate or k.reorder or k.latency.heavy for k in links)
    )
    if rough and scenario.network.until is None:
        return None
    return max([scenario.network.until or 0 if rough else 0, *(s.at for s in scenario.steps)])


def bound(topology: Topology, scenario: Scenario, there: str, back: str) -> int:
    """Return the longest time that a message can wait without faults, in microseconds.

    ``there`` and ``back`` are the services of the message and its acknowledgement.
    """
    return _bound(scenario, _attempts(_addresses(topology, there), _addresses(topology, back)))


def tail(topology: Topology, scenario: Scenario, services: Iterable[str]) -> int:
    """Return the time for which a run must continue so that every dialog can be checked.

    The run may create routes that the topology does not have yet.
    """
    most = max((_addresses(topology, service) for service in services), default=1) + 1
    return _bound(scenario, _attempts(most, most))


def _bound(scenario: Scenario, attempts: int) -> int:
    ceiling = scenario.limits.retries[-1] * MILLISECOND
    return (1 + attempts) * ceiling + scenario.limits.time_to_live * MILLISECOND + SLACK


@cache
def _attempts(there: int, back: int) -> int:
    """Return the number of attempts that try every pair of up to these numbers of addresses."""
    pairs = itertools.product(range(1, there + 1), range(1, back + 1))
    return max(max(_tried(m, n), _tried(n, m)) for m, n in pairs)


def _tried(out: int, home: int) -> int:
    seen: set[tuple[int, int]] = set()
    for attempt in itertools.count():
        first = turn_at_origin(attempt, out, returning=False) % out
        seen.add((first, turn_at_origin(attempt, home, returning=True) % home))
        if len(seen) == out * home or attempt == 4 * out * home:
            break
    return attempt + 1


def _addresses(topology: Topology, service: str) -> int:
    """Return the number of addresses that retries might have to try for a service."""
    tables = [
        [1 + (r.mirror is not None) for r in d.routes if r.service in (service, None)]
        for i in topology.instances.values()
        for d in (*i.databases.values(), i.msdb)
    ]
    return max(1, *map(sum, tables))


def _is_mended(run: System) -> bool:
    # Clocks so far apart make copies expire in transit; workers then report that they are not
    # ready.
    most = run.scenario.limits.time_to_live * MILLISECOND // 4
    return run.network.is_whole and all(
        i.endpoint and i.forwarder and abs(i.skew) <= most for i in run.instances.values()
    )


def _waiting(run: System) -> Iterator[tuple[str, Dialog]]:
    for instance, store in run.stores():
        for dialog in store.state.restore().values():
            # After the other side's end or error, nothing is sent until the application acts.
            if not dialog.all_acknowledged and dialog.state not in (State.DI, State.ER):
                yield instance, dialog


def _oldest(run: System, dialog: Dialog) -> int:
    """Return the time at which the oldest waiting message was accepted."""
    return run.facts.accepted[_direction(dialog)][dialog.acknowledged[0]].at


def _ahead(run: System, dialog: Dialog, since: int) -> int:
    """Return the microseconds that fragments acknowledged after ``since`` may have needed.

    One window of fragments is in flight at a time. The longest possible path of its fragments leads
    through every instance in both directions.
    """
    limits, direction = run.scenario.limits, _direction(dialog)
    accepted, gone = run.facts.accepted[direction], run.facts.let_go.get(direction, {})
    bodies = [accepted[number].body for number, at in gone.items() if at > since]
    fragments = dialog.acknowledged[1] + sum(limits.fragments(len(body)) for body in bodies)
    windows = -(-fragments // limits.window)
    return windows * 2 * len(run.topology.instances) * _slowest(run.scenario)


def _slowest(scenario: Scenario) -> int:
    """Return the time in which a copy passes the slowest link and the instance after it."""
    links = (scenario.network.link, *scenario.network.links.values())
    # Two processes may handle the copy: the forwarder and, at an end of the path, also the endpoint
    # worker.
    return max(link.latency.most + link.latency.heavy for link in links) + 2 * POLL


def _direction(dialog: Dialog) -> Direction:
    return Direction(dialog.conversation, dialog.is_initiator, dialog.broker_id)


def _has_route(run: System, dialog: Dialog) -> bool:
    """Return whether a message of the dialog arrives, and its acknowledgement returns."""
    place, initiator, target = None, None, None
    targets: set[tuple[str, str]] = set()
    queue_off = False
    for instance, store in run.stores():
        for key, found in store.state.restore().items():
            if key[1] != dialog.conversation:
                continue
            database = run.topology.instances[instance].database(key[0])
            if database is None or broker_key(database.broker_id) != broker_key(found.broker_id):
                return False  # NEW_BROKER: that side has ended without a report
            if found.is_initiator:
                place, initiator = f"{instance}/{key[0]}/{found.service}", found
            else:
                targets.add((instance, key[0]))
                target = found if _is_peer(found, dialog) else target
            if _is_peer(found, dialog):
                catalog = run.instances[instance].catalog
                service = catalog.services.get((instance, key[0], found.service))
                queue_off = service is not None and not service.queue_on
    peer = target if dialog.is_initiator else initiator
    if place is None or initiator is None or (peer is not None and peer.state is State.ER):
        return False  # no endpoint is left that could finish the dialog
    if queue_off:
        return False  # there may be no room for more parked messages
    if not dialog.is_initiator and not _is_peer(dialog, initiator):
        return False  # the initiator is locked to another target
    now = (START + run.clock.now // MILLISECOND) / 1000
    try:
        paths = find_paths(
            run.topology,
            find_sender(run.topology, place, initiator.far_service),
            initiator.far_service,
            now,
            broker=initiator.far_broker,
            conversation=dialog.conversation,
        )
    except UsageError:  # the service was dropped
        return False
    return any(
        _arrives(outcome) and _is_taken(run.topology, outcome.way, targets)
        for outcome in paths.outcomes
    )


def _arrives(outcome: Outcome) -> bool:
    """Return whether a path and a return path exist."""
    back = outcome.back
    return outcome.way.ending.delivered and back is not None and back.ending.delivered


def _is_taken(topology: Topology, path: MessagePath, targets: Set[tuple[str, str]]) -> bool:
    """Return whether the end of a dialog's path accepts its copies.

    ``targets`` are the places (instance, database) that have a target endpoint of the dialog.
    Without a broker id, a copy is delivered to the first database of the instance that has an
    endpoint, regardless of the search order (R7.2). A mirrored database has its own worker.
    """
    ending, decision = path.ending, path.hops[-1][1].decision
    here = topology.instances[ending.instance].databases
    taker = here.get(ending.database or "")
    if decision.broker is not None or taker is None or taker.mirror is not None:
        return True
    holders = [
        name
        for name, database in here.items()
        if (ending.instance, name) in targets and database.enabled and database.mirror is None
    ]
    return not holders or holders[0] == taker.name


def _is_peer(found: Dialog, dialog: Dialog) -> bool:
    if dialog.far_broker is None or found is dialog:
        return False
    return broker_key(found.broker_id) == broker_key(dialog.far_broker)
