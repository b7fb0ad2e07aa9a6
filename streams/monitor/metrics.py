"""Metrics for Prometheus, health and readiness of a running monitor.

The only labels are the names of the monitor's queries, the kinds of alarms, and error numbers that
Hopline knows.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from streams.errors import is_known
from streams.monitor.watch import Watch
from streams.store import Report, Situation, Store
from streams.store.freshness import QUERIES
from streams.store.situation import RECENT
from streams.telemetry import CONTENT_TYPE, Answers, Series, answering, exposition_of, health_answer

_LABELS = ("query",)


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric of each query; ``read`` returns None if a query does not have the metric."""

    name: str
    says: str
    read: Callable[[Watch], float | None]


FIGURES = (
    Figure(
        "hopline_monitor_records_total",
        "Records that a query has read since the monitor started.",
        lambda w: w.rows,
    ),
    Figure(
        "hopline_monitor_batches_total",
        "Batches with records since the monitor started; each is one store transaction.",
        lambda w: w.batches,
    ),
    Figure(
        "hopline_monitor_late_records_total",
        "Rows older than the watermark; they are not counted in any window.",
        lambda w: w.late,
    ),
    Figure(
        "hopline_monitor_batch_seconds",
        "Duration of the last batch, from the fetch of offsets to the commit in the store.",
        lambda w: w.took,
    ),
    Figure(
        "hopline_monitor_delay_seconds",
        "Mean delay from a record's timestamp to the commit in the store, in the last batch.",
        lambda w: w.delay,
    ),
    Figure(
        "hopline_monitor_last_batch_timestamp_seconds",
        "Time of the last commit of a batch with records, in seconds since 1970.",
        lambda w: w.ended,
    ),
    Figure(
        "hopline_monitor_behind_records",
        "Consumer lag of a query: records in Kafka that are not in the store.",
        lambda w: w.behind,
    ),
    Figure(
        "hopline_monitor_query_active",
        "1 while a query runs, otherwise 0.",
        lambda w: w.query.isActive,
    ),
)


def figures_of(watches: Sequence[Watch], store: Store, now: int) -> Iterator[Series]:
    """Read the store, and yield the metrics of a monitor as of ``now`` (epoch ms)."""
    for figure in FIGURES:
        read = ((str(w.query.name), figure.read(w)) for w in watches)
        samples = [((name,), value) for name, value in read if value is not None]
        yield Series(figure.name, figure.says, samples, _LABELS)
    fresh = Situation(store).freshness(now)
    yield Series(
        "hopline_monitor_behind_seconds",
        "Age of the records up to which a query has read everything, in seconds.",
        [((q,), (now - fresh.reached[q]) / 1_000) for q in QUERIES if q in fresh.reached],
        _LABELS,
    )
    yield Series(
        "hopline_monitor_repeated_messages",
        "Messages that are in a queue twice, which means that exactly-once is broken. Must be 0.",
        [((), len(Report(store).repeats()))],
    )
    yield Series(
        "hopline_monitor_refusals",
        "Refused statements and failed dialogs of the last ten minutes, by error number.",
        [((number,), count) for number, count in sorted(_refusals(store, now).items())],
        ("error",),
    )
    alarms = Counter((a.severity, a.kind) for a in Situation(store).alarms(now))
    yield Series(
        "hopline_monitor_alarms",
        "Number of subjects with an alarm of each kind.",
        [
            ((severity.name.lower(), kind.value), count)
            for (severity, kind), count in sorted(alarms.items(), key=lambda i: i[0][1].value)
        ],
        ("severity", "kind"),
    )


def _refusals(store: Store, now: int) -> Counter[str]:
    """Return the refusals by number; error codes of applications are "other"."""
    rows, total = Report(store, (now - RECENT, now + 1)).refusals()
    counts: Counter[str] = Counter()
    for row in rows:
        counts[str(row.error) if is_known(row.error) else "other"] += row.count
    if left_out := total - counts.total():
        counts["other"] += left_out
    return counts


@contextmanager
def serving(
    address: str | None,
    watches: Sequence[Watch],
    store: Store,
    outage: Callable[[], str] = lambda: "",
) -> Iterator[int | None]:
    """Serve requests while the block runs, if there is an address; yield the port.

    ``outage`` returns why the store is unavailable, if it is.
    """
    if address is None:
        yield None
        return
    metrics = exposition_of(lambda: figures_of(watches, store, time.time_ns() // 1_000_000))
    answers: Answers = {
        "/metrics": lambda: (200, CONTENT_TYPE, metrics()),
        "/healthz": lambda: health_answer(_failures(watches)),
        "/readyz": lambda: health_answer(
            (*_failures(watches), *_missing(watches), *filter(None, [outage()]))
        ),
    }
    with answering(address, answers) as port:
        yield port


def _failures(watches: Sequence[Watch]) -> Iterable[str]:
    return [f"The query '{w.query.name}' has ended." for w in watches if not w.query.isActive]


def _missing(watches: Sequence[Watch]) -> Iterable[str]:
    return [
        f"The query '{w.query.name}' has not read its topics yet." for w in watches if not w.ready
    ]
