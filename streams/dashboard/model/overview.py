"""The overview: deliveries, latency, duplicates, drops."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from streams.dashboard.figures import Window
from streams.dashboard.model.buckets import Buckets, buckets_of, window_of
from streams.dashboard.model.rate import average_rate, recent_rate
from streams.dashboard.model.undelivered import MissingCounts, Refusal, read_missing, refusals_of
from streams.dashboard.model.waiting import Waiting, read_waiting
from streams.store import (
    Cause,
    DialogCounts,
    EventWindow,
    ExactlyOnce,
    Freshness,
    LatencyWindow,
    MalformedWindow,
    QueueSample,
    Repeat,
    Report,
    Situation,
    Store,
    drops_of,
    exactly_once,
    merged,
    percentiles,
)
from streams.store.freshness import QUERIES
from streams.store.late import LateRows, late_of, span_of

_NONE_MISSING = MissingCounts()


@dataclass(frozen=True, slots=True)
class Found:
    """The input of the overview.

    ``recent``: the messages per second of the last windows that were read, whatever the range.
    """

    window: Window
    latencies: Sequence[LatencyWindow] = ()
    messages_left_out: int = 0
    copies: Sequence[EventWindow] = ()
    losses: Sequence[EventWindow] = ()
    lost: int = 0
    malformed: Sequence[MalformedWindow] = ()
    repeats: Sequence[Repeat] = ()
    late: Sequence[LateRows] = ()
    queues: Sequence[QueueSample] = ()
    waiting: Waiting | None = None
    dialogs: DialogCounts | None = None
    missing: MissingCounts = _NONE_MISSING
    gaps: int = 0
    fresh: Freshness | None = None
    recent: float | None = None
    refusals: Sequence[EventWindow] = ()
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Percentiles in milliseconds; None if there are no messages."""

    count: int
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class PathLatency:
    """The latency of a path or of a hop."""

    places: tuple[str, ...]
    quantiles: Quantiles


@dataclass(frozen=True, slots=True)
class Loss:
    """The copies that were not forwarded for one reason at one place, with the route, if any."""

    what: str
    error: int
    text: str
    instance: str
    route: str | None
    count: int


@dataclass(frozen=True, slots=True)
class Overview:
    """The content of the page. Each series has one value for each drawn range of its buckets.

    ``buckets`` are those of deliveries, ``copy_buckets`` of events, ``sample_buckets`` of samples.
    ``messages``: all messages delivered in the range; ``left_out`` of them are in no figure of
    latency, because there are too many different paths and services. ``rate``: messages per second,
    at present or on average in a past range; None if unknown. ``read_to``: the end of the range, or
    the time up to which deliveries were read, if that is earlier. ``lost``: all drops and delays;
    ``losses`` has the most frequent ones. ``refused``: refused statements and failed dialogs;
    ``refusals`` has the most frequent ones. ``known``: the queries that have read all records once;
    without its query, a figure of 0 is unknown. ``incomplete``: the time from and up to which
    deliveries may lack rows that arrived too late.
    """

    known: frozenset[str]
    exactly_once: ExactlyOnce
    buckets: Buckets
    copy_buckets: Buckets
    sample_buckets: Buckets
    messages: int
    delivered: Quantiles
    left_out: int
    rate: float | None
    until: int
    read_to: int
    attempts: int
    rates: tuple[float, ...]
    quantiles: tuple[Quantiles, ...]
    duplicates: dict[Cause, int]
    duplicates_over_time: dict[Cause, tuple[int, ...]]
    losses: tuple[Loss, ...]
    lost: int
    malformed: int
    repeats: tuple[Repeat, ...]
    incomplete: tuple[int, int] | None
    paths: tuple[PathLatency, ...]
    hops: tuple[PathLatency, ...]
    waiting: Waiting | None
    depths: dict[str, tuple[int | None, ...]]
    dialogs: DialogCounts | None
    missing: MissingCounts
    gaps: int
    refusals: tuple[Refusal, ...]
    refused: int


def read_overview(store: Store, window: Window) -> Found:
    """Read the input of the overview."""
    report, situation = Report(store, (window.since, window.until)), Situation(store)
    fresh = situation.freshness(window.now)
    return Found(
        window,
        *report.largest_windows(),
        report.copy_counts(),
        *report.losses(),
        report.malformed(),
        report.repeats(),
        late_of(store, "deliveries", window.since, window.until),
        situation.queues_over_time(window.since, window.until),
        read_waiting(situation, window, fresh),
        situation.dialog_counts(window.now, window.since, window.until),
        read_missing(report, window),
        len(report.gaps()),
        fresh,
        recent_rate(store, fresh),
        *report.refusals(),
    )


def overview_of(found: Found) -> Overview:
    """Compute the content of the page."""
    whole = [row for row in found.latencies if row.leg == 0]
    legs = [row for row in found.latencies if row.leg]
    window, fresh = found.window, found.fresh or Freshness(found.window.now)
    length = window_of(found.latencies)

    def buckets_to(read_to: int | None) -> Buckets:
        return buckets_of(window.since, window.until, read_to or 0, length)

    buckets, copy_buckets = (buckets_to(fresh.until(query)) for query in ("deliveries", "events"))
    # Samples of transmission queues are sums of dialogs.
    sample_buckets = buckets_to(min(fresh.looked_at or 0, fresh.until("dialogs") or 0))
    delivered = quantiles_of(whole)
    messages = delivered.count + found.messages_left_out
    return Overview(
        known=frozenset(query for query in QUERIES if fresh.until(query) is not None),
        exactly_once=exactly_once(len(found.repeats), found.gaps, fresh, window.until),
        buckets=buckets,
        copy_buckets=copy_buckets,
        sample_buckets=sample_buckets,
        messages=messages,
        delivered=delivered,
        left_out=found.messages_left_out,
        rate=found.recent if window.live else average_rate(messages, window, fresh),
        until=window.until,
        read_to=min(window.until, fresh.until("deliveries") or 0),
        attempts=sum(row.attempts for row in whole),
        rates=buckets.per_second(whole, lambda row: row.count),
        quantiles=tuple(quantiles_of(rows) for rows in buckets.sort(whole)),
        duplicates=by_cause(found.copies),
        duplicates_over_time=causes_over_time(copy_buckets, found.copies),
        losses=losses_of(found.losses),
        lost=found.lost,
        malformed=sum(row.count for row in found.malformed),
        repeats=tuple(found.repeats),
        incomplete=span_of(found.late) if found.late else None,
        paths=path_latencies(whole, lambda row: tuple(row.path.split(">"))),
        hops=path_latencies(legs, lambda row: (row.leg_from, row.leg_to)),
        waiting=found.waiting,
        depths=depths_of(sample_buckets, found.queues),
        dialogs=found.dialogs,
        missing=found.missing,
        gaps=found.gaps,
        refusals=refusals_of(found.refusals),
        refused=found.refused,
    )


def depths_of(
    buckets: Buckets, queues: Iterable[QueueSample], most: int = 4
) -> dict[str, tuple[int | None, ...]]:
    """Return the deepest transmission queues over time, by instance.

    If all were empty, they are merged into one series.
    """
    found: dict[str, list[int | None]] = {}
    for queue in queues:
        depths = found.setdefault(queue.instance, [None] * len(buckets.drawn))
        first = (queue.at - buckets.first) // buckets.width
        last = (queue.until - buckets.first) // buckets.width
        for place, number in enumerate(buckets.drawn):
            if first <= number <= last:
                depths[place] = max(queue.messages, depths[place] or 0)
    most_at = {name: max((depth or 0 for depth in found[name]), default=0) for name in found}
    deep = sorted((name for name in found if most_at[name]), key=lambda n: (-most_at[n], n))
    if found and not deep:
        return {"all": tuple(next(iter(found.values())))}
    return {name: tuple(found[name]) for name in deep[:most]}


def quantiles_of(rows: Sequence[LatencyWindow]) -> Quantiles:
    """Return the exact latency over several windows, from their histograms."""
    if not rows:
        return Quantiles(0)
    histogram = merged(row.histogram for row in rows)
    p50, p95, p99 = percentiles(histogram)
    return Quantiles(sum(r.count for r in rows), p50, p95, p99, max(r.max for r in rows))


def by_cause(copies: Iterable[EventWindow]) -> dict[Cause, int]:
    """Return the number of duplicates; every cause is a key."""
    total = Counter(dict.fromkeys(Cause, 0))
    for row in copies:
        if row.cause:
            total[row.cause] += row.count
    return dict(total)


def causes_over_time(
    buckets: Buckets, copies: Sequence[EventWindow]
) -> dict[Cause, tuple[int, ...]]:
    """Return the duplicates of each cause over time."""
    sorted_ = [by_cause(rows) for rows in buckets.sort(copies)]
    return {cause: tuple(each[cause] for each in sorted_) for cause in Cause}


def losses_of(events: Iterable[EventWindow]) -> tuple[Loss, ...]:
    """Return copies that were not forwarded, except duplicates, most frequent first."""
    total: Counter[tuple[str, int, str, str, str | None]] = Counter()
    for drop in drops_of(events):
        total[drop.what, drop.error, drop.text, drop.instance, drop.route] += drop.count
    ordered = sorted(total.items(), key=lambda item: (-item[1], str(item[0])))
    return tuple(Loss(*key, count) for key, count in ordered)


def path_latencies(
    rows: Iterable[LatencyWindow], places: Callable[[LatencyWindow], tuple[str, ...]]
) -> tuple[PathLatency, ...]:
    """Return the latency of every path, busiest first."""
    groups: dict[tuple[str, ...], list[LatencyWindow]] = defaultdict(list)
    for row in rows:
        groups[places(row)].append(row)
    latencies = (PathLatency(key, quantiles_of(found)) for key, found in groups.items())
    return tuple(sorted(latencies, key=lambda latency: (-latency.quantiles.count, latency.places)))
