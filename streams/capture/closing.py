"""The closing report of a replay: what was expected, what came of it, held against each other."""

from __future__ import annotations

from collections.abc import Callable

from streams.capture.arrivals import read_arrivals
from streams.capture.compare import Comparison, Ledger
from streams.capture.forecast import sides_of
from streams.capture.rerun import Rerun
from streams.capture.settle import has_queues, settle, trimmed
from streams.kafka import Cluster
from streams.topology import Topology
from streams.wire import Topics

__all__ = ["close"]


def close(
    rerun: Rerun,
    cluster: Cluster,
    topology: Topology | None,
    *,
    began: int,
    quiet: float,
    stopped: Callable[[], bool],
    report: Callable[[int, int], None],
) -> Comparison | None:
    """Wait for what becomes of a replay, and hold it against the captured run and the forecast.

    ``began`` is when the job began (epoch milliseconds); ``quiet`` as for
    :func:`streams.capture.settle.settle`; ``report`` is told messages that have arrived, and how
    many shall. None where the cluster has no queues.
    """
    if not has_queues(cluster):
        return None
    own = Topics(rerun.reader.metadata.prefix)
    with Ledger() as ledger:
        for side in sides_of(rerun.reader, rerun.naming, topology, began / 1000):
            ledger.expect(side)
        if rerun.found.skipped:  # else there is nothing but commands in it
            for record in rerun.reader:
                for found in read_arrivals(record.topic, record.headers, record.value, own):
                    ledger.was(found)
        settled = settle(
            cluster,
            began,
            lambda found: ledger.is_now(found, began),
            lambda: ledger.complete,
            quiet=quiet,
            stopped=stopped,
            report=lambda: report(ledger.arrived, ledger.wanted),
        )
        return ledger.compare(settled=settled, trimmed=trimmed(cluster, began))
