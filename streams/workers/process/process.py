"""A process that runs workers: start them, wait, and stop all if one fails or on request.

SIGTERM and SIGINT drain: every loop finishes its current turn, flushes and commits. Workers without
a slot leave their group; Kafka waits for workers with a slot to return. If a worker fails, its
process exits, and the supervisor (compose, systemd, the demo) restarts it without loss. A call of
Kafka's client may never return. Then the waiting thread is abandoned, so that the process can exit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from streams.kafka import Cluster
from streams.protocol import Limits
from streams.settings import NO_CREDENTIALS, Credentials
from streams.workers.collector import collecting_rarely
from streams.workers.control import Control
from streams.workers.process.build_workers import build_workers
from streams.workers.process.check_start import check_start
from streams.workers.process.plan import Plan
from streams.workers.process.trimming import Trimming
from streams.workers.process.worker import Worker
from streams.workers.process.worker_threads import LEAVE_WITHIN, WorkerThreads
from streams.workers.pulse import HUNG
from streams.workers.slot import refuse_taken

log = logging.getLogger("hopline.process")


class Process:
    """The workers of one process, each in a thread; ``credentials`` are for other clusters.

    A process fails when one of its threads makes no progress for ``hung_after`` seconds. Workers
    that have not ended ``leave_within`` seconds after the stop request are ``left_behind``, and so
    are other threads that do not end after the workers. Then the process must exit without
    waiting for these threads.
    """

    def __init__(
        self,
        cluster: Cluster,
        plan: Plan,
        *,
        limits: Limits | None = None,
        timeout: float = 30,
        credentials: Credentials = NO_CREDENTIALS,
        leave_within: float = LEAVE_WITHIN,
        hung_after: float = HUNG,
    ) -> None:
        self._cluster = cluster
        self._plan = plan
        self._limits = limits
        self._clocks_differ = (limits or Limits()).time_to_live / 4000
        self._timeout = timeout
        self._credentials = credentials
        self._threads = WorkerThreads(cluster, leave_within, hung_after)
        self._control: Control | None = None
        self.workers: list[Worker] = []

    @property
    def cluster(self) -> Cluster:
        """Return the local cluster."""
        return self._cluster

    @property
    def catalog_version(self) -> int:
        """Return the catalog version in use; 0 if none."""
        return self._control.version if self._control is not None else 0

    @property
    def failure(self) -> BaseException | None:
        """Return the reason for the failure of the process, if it has failed."""
        return self._threads.failure

    @property
    def left_behind(self) -> tuple[str, ...]:
        """Return the names of the threads that did not end in time after the stop request."""
        return self._threads.left_behind

    def differences(self) -> Iterator[tuple[str, float]]:
        """Yield each other cluster, and the seconds by which its clock is ahead of ours."""
        if self._control is not None:
            yield from self._control.remote.differences()

    def failures(self) -> Iterator[str]:
        """Yield a sentence for each failure; none if the process is healthy so far."""
        if self.failure is not None:
            yield f"A worker failed: {self.failure}"
        if self._control is not None and self._control.is_ready:
            yield from self._control.failures()

    def missing(self) -> Iterator[str]:
        """Yield a sentence for each reason why some workers are not active yet."""
        if self._control is None or not self._control.is_ready:
            yield "The catalog has not been read yet."
        elif not self.workers:
            yield "The workers have not started yet."
        if self._control is not None and abs(self._control.skew) > self._clocks_differ:
            yield f"The clock differs from Kafka's by {self._control.skew:+.0f} s."
        for worker in self.workers:
            if not worker.assigned:
                yield f"The {worker.role} of {worker.ownership} has no partitions yet."
        if self._threads.stop.is_set():
            yield "The process is draining."

    def stop(self) -> None:
        """Ask every worker to drain and stop."""
        self._threads.stop.set()

    def run(self) -> None:
        """Run until stopped; raise the error of the first failed worker."""
        with collecting_rarely():
            self._run()

    def _run(self) -> None:
        plan, threads = self._plan, self._threads
        forwarders, others = plan.heartbeat_names()
        control = self._control = Control(
            self._cluster,
            forwarders,
            others,
            timeout=self._timeout,
            credentials=self._credentials,
        )
        try:
            control.start()
            check_start(self._cluster, plan, control)
            refuse_taken(tuple(plan.slots()), control, threads.stop)
            workers = self.workers = build_workers(self._cluster, plan, control, self._limits)
            for worker in workers:
                threads.start_worker(worker)
            if plan.keep is not None:
                trimming = Trimming(self._cluster, control, workers, plan.keep)
                threads.start(trimming.run, "Trimming")
            log.info("%d workers for %s", len(workers), ", ".join(plan.instances))
            threads.wait(control)
        finally:
            threads.end(control)
        if self.failure is not None:
            raise self.failure
