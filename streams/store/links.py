"""Links: figures for each ordered pair of a sending and a receiving instance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import sqlalchemy as sa

from streams.store.quantiles import Histogram, merged, percentiles
from streams.store.rollup import Columns, read_latencies
from streams.store.sampled import looked_at, samples_at, samples_in
from streams.store.state_rows import BufferedSample, HeartbeatSample, LinkSample
from streams.store.store import Store
from streams.store.tables import LATENCY, MOST_WINDOWS

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Link:
    """Figures of a link over a time window, and its state at the window's end.

    ``up`` states whether the receiving instance sent heartbeats at the end (None: no samples),
    ``up_share`` is the share of the sampled time in which the instance sent heartbeats, and
    ``seen_at`` is the arrival time of the last heartbeat. ``count`` messages were delivered over
    the link in the window, ``rate`` per second; p50, p95, p99 and max are their times on the link
    in milliseconds, None if there are no messages. ``held_copies`` and ``held_bytes`` (of bodies)
    are the copies that the sending instance buffers for all next hops that are down, repeated for
    each such link. ``routed``: routes of the sending instance lead to the receiving instance.
    """

    instance: str
    other: str
    routed: bool
    up: bool | None
    up_share: float | None
    seen_at: int | None
    count: int
    rate: float
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None
    held_copies: int
    held_bytes: int


MOST_LINKS = 50_000
"""Maximum number of different legs to count, most frequent first: frames of other clusters may
state any names."""


def find_links(
    store: Store, start: int, end: int, *, of: str | None = None, latency: bool = True
) -> tuple[Link, ...]:
    """Return all links that existed in [start, end), epoch milliseconds.

    ``of`` keeps the links from and to one instance. Without ``latency`` there are no percentiles,
    and the database does all the counting, which takes 0.1 s instead of 10 s for thousands of
    links.
    """
    at = min(end, looked_at(store) or end)
    heartbeats = {
        heartbeat.instance: heartbeat for heartbeat in samples_at(store, HeartbeatSample, at)
    }
    held = {held.instance: held for held in samples_at(store, BufferedSample, at)}
    routed = {(link.instance, link.other) for link in samples_in(store, LinkSample, start, end)}
    passed = _histograms(store, start, end, of) if latency else {}
    counts = {} if latency else _counts(store, start, end)
    shares = _shares(samples_in(store, HeartbeatSample, start, end), start, end)
    return tuple(
        _link(
            pair,
            heartbeats.get(pair[1]),
            shares.get(pair[1]),
            held.get(pair[0]),
            _Legs(passed.get(pair, ()), counts.get(pair, 0), (end - start) / 1000),
            routed=pair in routed,
        )
        for pair in sorted(routed | passed.keys() | counts.keys())
        if of is None or of in pair
    )


class _Legs(NamedTuple):
    """Messages over a link during ``seconds``: a histogram of their times, or only their number."""

    passed: Histogram
    counted: int
    seconds: float


def _link(
    pair: Pair,
    heartbeat: HeartbeatSample | None,
    up_share: float | None,
    held: BufferedSample | None,
    legs: _Legs,
    *,
    routed: bool,
) -> Link:
    passed, counted, seconds = legs
    count = counted or sum(n for _, n in passed)
    p50, p95, p99 = percentiles(passed) if passed else (None, None, None)
    keeps = held if heartbeat is not None and not heartbeat.up else None
    return Link(
        instance=pair[0],
        other=pair[1],
        routed=routed,
        up=None if heartbeat is None else heartbeat.up,
        up_share=up_share,
        seen_at=None if heartbeat is None else heartbeat.seen_at,
        count=count,
        rate=count / seconds if seconds > 0 else 0.0,
        p50=p50,
        p95=p95,
        p99=p99,
        max=passed[-1][0] if passed else None,
        held_copies=keeps.copies if keeps else 0,
        held_bytes=keeps.bytes if keeps else 0,
    )


def _histograms(store: Store, start: int, end: int, of: str | None) -> dict[Pair, Histogram]:
    found: dict[Pair, list[Histogram]] = defaultdict(list)
    for row in read_latencies(store, (start, end), partial(_legs, of, end), MOST_WINDOWS):
        pair = _pair(row.leg_from, row.leg_to)
        if pair[0] != pair[1]:
            found[pair].append(row.histogram)
    return {pair: merged(histograms) for pair, histograms in found.items()}


def _counts(store: Store, start: int, end: int) -> dict[Pair, int]:
    columns = LATENCY.c
    ends = (columns.leg_from, columns.leg_to)
    total = sa.func.sum(columns["count"]).label("total")
    within = _legs(None, end, columns) & (columns.window_start >= start)
    asked = sa.select(*ends, total).where(within).group_by(*ends)
    asked = asked.order_by(total.desc(), *ends).limit(MOST_LINKS)
    found: dict[Pair, int] = defaultdict(int)
    for row in store.ask(asked):
        pair = _pair(row["leg_from"], row["leg_to"])
        if pair[0] != pair[1]:
            found[pair] += int(row["total"])
    return found


def _legs(of: str | None, end: int, columns: Columns) -> sa.ColumnElement[bool]:
    """Return the condition for windows of links, or of one link, that are over by ``end``.

    The condition excludes the first leg, which is from the command to the sender's own forwarder.
    """
    links = (columns.leg > 1) & (columns.window_end <= end)
    if of is None:
        return links
    ends = (columns.leg_from, columns.leg_to)
    return links & sa.or_(*(name.startswith(of, autoescape=True) for name in ends))


def _pair(one: str, other: str) -> Pair:
    return one.partition("/")[0], other.partition("/")[0]


def _shares(heartbeats: Iterable[HeartbeatSample], start: int, end: int) -> dict[str, float]:
    up: dict[str, int] = defaultdict(int)
    looked: dict[str, int] = defaultdict(int)
    for heartbeat in heartbeats:
        spell = max(1, min(end, heartbeat.until) - max(start, heartbeat.at))
        looked[heartbeat.instance] += spell
        up[heartbeat.instance] += spell if heartbeat.up else 0
    return {instance: up[instance] / looked[instance] for instance in looked}
