"""The topology page: its input, and the details of one instance or link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from streams.dashboard.figures import Window
from streams.dashboard.model.buckets import Buckets, buckets_of, window_of
from streams.dashboard.model.graph import Known
from streams.dashboard.model.overview import Quantiles, quantiles_of
from streams.dashboard.network import Known as KnownTopology
from streams.routing import parse_address
from streams.store import (
    Alarm,
    HeartbeatSample,
    LagSample,
    LatencyWindow,
    Link,
    QueueSample,
    Report,
    Situation,
    Store,
)
from streams.topology import Finding, Route


@dataclass(frozen=True, slots=True)
class Found:
    """Figures for a time range: its links, and the queues and workers at its end."""

    links: Sequence[Link] = ()
    queues: Sequence[QueueSample] = ()
    lags: Sequence[LagSample] = ()
    heartbeats: Sequence[HeartbeatSample] = ()
    alarms: Sequence[Alarm] = ()


def read_found(store: Store, window: Window) -> Found:
    """Read the cluster's figures."""
    asked, end = Situation(store), None if window.live else window.until
    return Found(
        links=asked.links(window.since, window.until, latency=False),
        queues=asked.queues(end),
        lags=asked.lags(end),
        heartbeats=asked.heartbeats(end),
        alarms=asked.alarms(window.now) if window.live else (),
    )


def read_near(store: Store, window: Window, name: str) -> tuple[Link, ...]:
    """Read the links of one instance, with their latencies."""
    return Situation(store).links(window.since, window.until, of=name)


def known_of(found: Found, topology: KnownTopology | None) -> Known:
    """Combine the facts about instances from traffic and routes."""
    known = Known(found.links, found.queues, found.lags, found.heartbeats, found.alarms)
    if topology is None:
        return known
    seen = {(link.instance, link.other) for link in found.links}
    up = {heartbeat.instance: heartbeat for heartbeat in found.heartbeats}
    silent = (_silent(one, other, up.get(other)) for one, other in topology.routed - seen)
    return replace(
        known,
        links=(*known.links, *sorted(silent, key=lambda link: (link.instance, link.other))),
        instances=tuple(topology.topology.instances),
        findings=topology.findings or (),
        begins=topology.begins,
    )


def _silent(one: str, other: str, heartbeat: HeartbeatSample | None) -> Link:
    """Return a link without messages or samples."""
    up, seen_at = (heartbeat.up, heartbeat.seen_at) if heartbeat else (None, None)
    return Link(one, other, True, up, None, seen_at, 0, 0.0, None, None, None, None, 0, 0)


@dataclass(frozen=True, slots=True)
class RouteRow:
    """A route; ``leads_to`` is the instance at its address, or empty if there is none."""

    database: str
    route: Route
    leads_to: str


@dataclass(frozen=True, slots=True)
class InstanceDetail:
    """All details of one instance."""

    name: str
    address: str
    services: tuple[str, ...]
    queue: QueueSample | None
    heartbeat: HeartbeatSample | None
    lags: tuple[LagSample, ...]
    alarms: tuple[Alarm, ...]
    findings: tuple[Finding, ...]
    routes: tuple[RouteRow, ...]
    incoming: tuple[Link, ...]
    outgoing: tuple[Link, ...]


def instance_detail(
    name: str, found: Found, near: Sequence[Link], topology: KnownTopology | None
) -> InstanceDetail:
    """Return all details of one instance; ``near`` are its links."""
    instance = topology.topology.instances.get(name) if topology else None
    databases = instance.databases.values() if instance else ()
    return InstanceDetail(
        name=name,
        address=str(instance.address) if instance else "",
        services=tuple(f"{db.name}/{service}" for db in databases for service in db.services),
        queue=next((queue for queue in found.queues if queue.instance == name), None),
        heartbeat=next(
            (heartbeat for heartbeat in found.heartbeats if heartbeat.instance == name), None
        ),
        lags=tuple(lag for lag in found.lags if lag.instance == name and lag.records),
        alarms=tuple(a for a in found.alarms if a.where.partition("/")[0] == name),
        findings=_findings(name, topology),
        routes=_routes(name, topology),
        incoming=tuple(link for link in near if link.other == name),
        outgoing=tuple(link for link in near if link.instance == name),
    )


def _findings(name: str, topology: KnownTopology | None) -> tuple[Finding, ...]:
    if topology is None:
        return ()
    return tuple(f for f in topology.findings or () if f.subject.partition("/")[0] == name)


def _routes(name: str, topology: KnownTopology | None) -> tuple[RouteRow, ...]:
    instance = topology.topology.instances.get(name) if topology else None
    if topology is None or instance is None:
        return ()
    estate = topology.questions.estate
    rows = []
    for database in (*instance.databases.values(), instance.msdb):
        for route in database.routes:
            address = parse_address(route.address)
            leads = estate.leads_to(name, address) if address is not None else None
            rows.append(RouteRow(database.name, route, leads or ""))
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class LinkDetail:
    """The figures of a link over time."""

    link: Link
    buckets: Buckets
    rates: tuple[float, ...]
    quantiles: tuple[Quantiles, ...]


def read_legs(store: Store, window: Window, name: str) -> tuple[LatencyWindow, ...]:
    """Read the latencies of all hops from an instance."""
    rows = Report(store, (window.since, window.until)).hop_windows(name)
    return tuple(row for row in rows if row.leg > 1)


def read_to(store: Store, window: Window) -> int:
    """Return the time up to which deliveries have been read; 0 if not all of them were read."""
    return Situation(store).freshness(window.now).until("deliveries") or 0


def link_detail(
    link: Link, legs: Sequence[LatencyWindow], window: Window, read_to: int
) -> LinkDetail:
    """Return the figures of a link over time; ``read_to`` is the result of :func:`read_to`."""
    own = [row for row in legs if _pair(row) == (link.instance, link.other)]
    buckets = buckets_of(window.since, window.until, read_to, window_of(legs))
    return LinkDetail(
        link,
        buckets,
        buckets.per_second(own, lambda row: row.count),
        tuple(quantiles_of(rows) for rows in buckets.sort(own)),
    )


def routes_between(one: str, other: str, topology: KnownTopology | None) -> tuple[RouteRow, ...]:
    """Return the routes of an instance that lead to another instance."""
    return tuple(row for row in _routes(one, topology) if row.leads_to == other)


def _pair(row: LatencyWindow) -> tuple[str, str]:
    return row.leg_from.partition("/")[0], row.leg_to.partition("/")[0]
