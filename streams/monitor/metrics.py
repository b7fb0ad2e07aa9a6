"""What a running monitor says of itself: figures for Prometheus, health, readiness.

Labels are the names of its queries, of which there are a handful.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from streams.monitor.watch import Watch
from streams.store import Report, Situation, Store
from streams.telemetry import CONTENT_TYPE, Answers, Series, answering, exposition_of, health_answer

_LABELS = ("query",)


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric of each query; ``read`` returns nothing while there is none."""

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
        "Batches with records since the monitor started; each is one transaction of the store.",
        lambda w: w.batches,
    ),
    Figure(
        "hopline_monitor_late_records_total",
        "Rows that were older than the watermark, and are counted in no window.",
        lambda w: w.late,
    ),
    Figure(
        "hopline_monitor_batch_seconds",
        "How long the last batch took, from looking at Kafka to the commit in the store.",
        lambda w: w.took,
    ),
    Figure(
        "hopline_monitor_delay_seconds",
        "From what happened, by the mean of the last batch, to its rows being in the store.",
        lambda w: w.delay,
    ),
    Figure(
        "hopline_monitor_last_batch_timestamp_seconds",
        "When the last batch with records was committed, in seconds since 1970.",
        lambda w: w.ended,
    ),
    Figure(
        "hopline_monitor_behind_records",
        "Records of the topics that a query had not read at its last batch.",
        lambda w: w.behind,
    ),
    Figure(
        "hopline_monitor_query_active",
        "1 while a query runs, else 0.",
        lambda w: w.query.isActive,
    ),
)


def figures_of(watches: Sequence[Watch], store: Store, now: int) -> Iterator[Series]:
    """Yield the figures of a monitor as of ``now`` (epoch ms); the store is read anew."""
    for figure in FIGURES:
        read = ((str(w.query.name), figure.read(w)) for w in watches)
        samples = [((name,), value) for name, value in read if value is not None]
        yield Series(figure.name, figure.says, samples, _LABELS)
    yield Series(
        "hopline_monitor_repeated_messages",
        "Messages that a queue holds twice: exactly-once is broken. There must be none.",
        [((), len(Report(store).repeats()))],
    )
    alarms = Counter((a.severity, a.kind) for a in Situation(store).alarms(now))
    yield Series(
        "hopline_monitor_alarms",
        "What is wrong, as the store says it: how many places there are for each kind of alarm.",
        [
            ((severity.name.lower(), kind.value), count)
            for (severity, kind), count in sorted(alarms.items(), key=lambda i: i[0][1].value)
        ],
        ("severity", "kind"),
    )


@contextmanager
def serving(address: str | None, watches: Sequence[Watch], store: Store) -> Iterator[int | None]:
    """Answer requests while the block runs, if there is an address; yields the port."""
    if address is None:
        yield None
        return
    metrics = exposition_of(lambda: figures_of(watches, store, time.time_ns() // 1_000_000))
    answers: Answers = {
        "/metrics": lambda: (200, CONTENT_TYPE, metrics()),
        "/healthz": lambda: health_answer(_failures(watches)),
        "/readyz": lambda: health_answer((*_failures(watches), *_missing(watches))),
    }
    with answering(address, answers) as port:
        yield port


def _failures(watches: Sequence[Watch]) -> Iterable[str]:
    return [f"The query '{w.query.name}' has ended." for w in watches if not w.query.isActive]


def _missing(watches: Sequence[Watch]) -> Iterable[str]:
    return [
        f"The query '{w.query.name}' has not looked at its topics yet."
        for w in watches
        if not w.ready
    ]
