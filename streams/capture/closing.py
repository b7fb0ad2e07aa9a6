"""The closing report of a replay: the expectation compared with the outcome."""

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
    """Wait for the outcome of a replay, and compare it with the captured run and the forecast.

    ``began`` is the start of the job (epoch milliseconds); ``quiet`` is as for
    :func:`streams.capture.settle.settle`; ``report`` gets the numbers of messages that have arrived
    and of messages that are expected. Returns None if the cluster has no queues.
    """
    if not has_queues(cluster):
        return None
    own = Topics(rerun.reader.metadata.prefix)
    with Ledger() as ledger:
        for side in sides_of(rerun.reader, rerun.naming, topology, began / 1000):
            ledger.expect(side)
        for original in rerun.dialogs():
            for loop in range(rerun.naming.loops):
                ledger.add_dialog(original, rerun.naming.of(original, loop))
        if rerun.found.skipped:  # otherwise the capture has only commands
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
