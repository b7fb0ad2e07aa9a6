"""The supervisor: run a process for each job, and restart it when it exits.

The process of a failed worker exits on purpose, without loss of data, and is restarted like a
killed worker. On SIGTERM, the supervisor drains and stops all processes, and then exits.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from streams.embedded.probe import free_ports
from streams.embedded.process import spawn
from streams.live.local.folder import UpFolder, WorkerProcess
from streams.live.local.jobs import Job
from streams.signals import call_on_stop

LOOK_S = 0.2
"""Seconds between checks of the processes."""
PAUSES_S = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)
"""The pause in seconds before the n-th restart in a row."""
STEADY_S = 60.0
"""Uptime in seconds after which the pause is reset."""
DRAIN_S = 30.0
"""Seconds for workers to drain before they are killed."""


@dataclass(slots=True)
class _Child:
    """A process; after it has exited, it is replaced at ``start_at`` (monotonic seconds)."""

    job: Job
    shown: WorkerProcess
    process: subprocess.Popen[bytes]
    failures: int = 0
    start_at: float | None = None


class Supervisor:
    """The processes of one system; :meth:`run` returns after :meth:`stop`."""

    def __init__(self, folder: UpFolder, jobs: Sequence[Job]) -> None:
        self._folder, self._jobs = folder, jobs
        self._stop = threading.Event()

    def stop(self) -> None:
        """Request that all processes stop."""
        self._stop.set()

    def run(self) -> None:
        """Keep the processes alive until :meth:`stop`; then drain them."""
        children = [self._start(job, 0) for job in self._jobs]
        self._record(children)
        while not self._stop.wait(LOOK_S):
            changed = [self._look_after(child, time.monotonic()) for child in children]
            if any(changed):
                self._record(children)
        _drain([child.process for child in children])
        self._folder.workers_file.unlink(missing_ok=True)

    def _look_after(self, child: _Child, now: float) -> bool:
        """Restart a process after its pause; return whether it was restarted."""
        if child.process.poll() is None:
            return False
        if child.start_at is None:
            lived = time.time() - child.shown.started
            child.failures = 0 if lived >= STEADY_S else child.failures
            child.start_at = now + PAUSES_S[min(child.failures, len(PAUSES_S) - 1)]
        if now < child.start_at:
            return False
        fresh = self._start(child.job, child.shown.restarts + 1)
        child.shown, child.process, child.start_at = fresh.shown, fresh.process, None
        child.failures += 1
        return True

    def _start(self, job: Job, restarts: int) -> _Child:
        # If another program takes the port first, the process exits, and its successor gets another
        # port.
        [port] = free_ports(1)
        command = [sys.executable, "-m", *job.words, f"--http={port}"]
        process = spawn(command, self._folder.log(job.name), "ab")
        shown = WorkerProcess(job.role, process.pid, time.time(), restarts, job.agent, port)
        return _Child(job, shown, process)

    def _record(self, children: list[_Child]) -> None:
        self._folder.record_workers(tuple(child.shown for child in children))


def _drain(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        if process.poll() is None:
            process.terminate()
    deadline = time.monotonic() + DRAIN_S
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def keep(folder: UpFolder, jobs: Sequence[Job]) -> None:
    """Run a supervisor in this process until SIGTERM."""
    supervisor = Supervisor(folder, jobs)
    call_on_stop(supervisor.stop)
    supervisor.run()
