"""Run workers in threads; if one fails or hangs, stop all.

A call of Kafka's client may never return. A worker that is blocked in such a call does not notice a
stop request or a failure of ``control``, so the process would hang forever. Therefore such a thread
is abandoned.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from streams.errors import HoplineError, SurroundingsError
from streams.kafka import Cluster, KafkaException
from streams.workers.control import END_WITHIN, Control
from streams.workers.log_context import WORKING
from streams.workers.process.free_memory import FreeMemory
from streams.workers.process.worker import Worker, name_of
from streams.workers.pulse import HUNG, Pulses, failure_of

log = logging.getLogger("hopline.process")

LEAVE_WITHIN = 45.0
"""Seconds allowed for workers to stop; the longest call with a deadline takes 30 s."""
_LOOK = 0.5


class WorkerThreads:
    """Run the threads of a process until ``stop`` is set; ``failure`` is the first error.

    A thread without progress for ``hung_after`` seconds has failed. Workers that do not end within
    ``leave_within`` seconds of the stop request are ``left_behind``, and so are other threads that
    do not end in time.
    """

    def __init__(
        self, cluster: Cluster, leave_within: float = LEAVE_WITHIN, hung_after: float = HUNG
    ) -> None:
        self._cluster = cluster
        self._leave_within, self._hung_after = leave_within, hung_after
        self._workers: list[threading.Thread] = []
        self._helpers: list[threading.Thread] = []
        self._hung: threading.Thread | None = None
        self.stop = threading.Event()
        self.failure: BaseException | None = None
        self.left_behind: tuple[str, ...] = ()

    def start_worker(self, worker: Worker) -> None:
        """Run a worker in a thread that :meth:`wait` waits for."""

        def run(stop: threading.Event) -> None:
            WORKING.set((worker.role, str(worker.ownership)))
            worker.run(stop)

        self._workers.append(self._started(run, name_of(worker)))

    def start(self, run: Callable[[threading.Event], None], name: str) -> None:
        """Run a helper thread, whose failure also stops the process."""
        self._helpers.append(self._started(run, name))

    def _started(self, run: Callable[[threading.Event], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=self._run, args=(run, name), name=name, daemon=True)
        thread.start()
        return thread

    def wait(self, control: Control) -> None:
        """Wait until all workers have ended or are abandoned."""
        threads, asked_at = self._workers, 0.0
        pulses = Pulses(lambda: [*threads, *self._helpers, *control.threads()], self._hung_after)
        memory = FreeMemory(time.monotonic())
        while alive := [thread for thread in threads if thread.is_alive()]:
            alive[0].join(_LOOK)
            memory.give_back(time.monotonic())
            if control.failure is not None:
                self._fail(control.failure)
            hung = pulses.hung(_LOOK)
            if hung is not None and not self.stop.is_set():
                why = f"{hung.name} has made no progress for {self._hung_after:g} s."
                log.error("%s", why)
                remedy = (
                    "Kafka's client hangs. Restart this process; another process takes over "
                    "meanwhile."
                )
                self._fail_for(hung, SurroundingsError(why, remedy))
                self._hung = hung
            if not self.stop.is_set():
                continue
            asked_at = asked_at or time.monotonic()
            if time.monotonic() - asked_at > self._leave_within:
                left = [thread for thread in threads if thread.is_alive()]
                self._leave_behind(left, self._leave_within)
                return

    def end(self, control: Control) -> None:
        """Stop ``control``, which the workers no longer need; abandon helpers that still hang."""
        if not control.stop():
            if control.failure is not None:
                self._fail(control.failure)
            self._leave_behind([control.thread], END_WITHIN)
        if self._hung is not None and self._hung.name not in self.left_behind:
            self._hung.join(END_WITHIN)
            self._leave_behind([self._hung] if self._hung.is_alive() else [], END_WITHIN)

    def _leave_behind(self, threads: Sequence[threading.Thread], within: float) -> None:
        for thread in threads:
            self.left_behind += (thread.name,)
            why = f"{thread.name} has not ended within {within:g} s: "
            log.error("%sit is blocked in Kafka's client and is abandoned", why)
            self._fail_for(thread, SurroundingsError(f"{why}Kafka's client is stuck."))

    def _fail_for(self, thread: threading.Thread, error: SurroundingsError) -> None:
        """Fail with the error that a hung thread could not report, or with ``error``."""
        cause = failure_of(thread)
        self._fail(error if cause is None else self._described(cause, thread.name))

    def _run(self, run: Callable[[threading.Event], None], name: str) -> None:
        try:
            run(self.stop)
        except BaseException as error:  # an error that ends the thread also stops the process
            self._fail(self._described(error, name))

    def _described(self, error: BaseException, name: str) -> HoplineError:
        """Return the error of a thread for users; log its traceback if it has an unusual cause."""
        if isinstance(error, HoplineError):
            return error
        if isinstance(error, KafkaException):
            log.debug("%s failed", name, exc_info=error)
            return self._cluster.unreachable(error)
        log.error("%s failed", name, exc_info=error)
        return SurroundingsError(f"{name}: {error}")

    def _fail(self, error: BaseException) -> None:
        """Stop all threads; the process reports the first failure."""
        self.failure = self.failure or error
        self.stop.set()
