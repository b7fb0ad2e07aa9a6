"""Stop only the processes that `up` has started."""

from __future__ import annotations

from dataclasses import dataclass

from streams.embedded import Broker
from streams.embedded.process import end
from streams.live.local.folder import System, UpFolder
from streams.live.local.supervisor import DRAIN_S

_MORE_S = 10.0
"""Seconds that the supervisor needs in addition to the time for draining its workers."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The parts that were stopped: a system's workers and the broker."""

    workers: bool
    broker: bool


def stop(folder: UpFolder) -> Stopped:
    """Drain and stop the workers, then stop the broker; do nothing if none is running.

    With several clusters, stop all of them.
    """
    done = [_stop(each) for each in (*folder.parts().values(), folder)]
    return Stopped(any(d.workers for d in done), any(d.broker for d in done))


def _stop(folder: UpFolder) -> Stopped:
    with folder.alone():
        system = folder.system()
        workers = stop_workers(folder, system)
        broker = (system is None or system.embedded) and Broker(folder.kafka).stop()
        folder.forget()
        return Stopped(workers, broker)


def stop_workers(folder: UpFolder, system: System | None) -> bool:
    """Stop the supervisor and its workers, including workers left by a killed supervisor."""
    if system is None:
        return False
    found = folder.keeps(system)
    if found:
        end(system.keeper, lambda: not folder.keeps(system), DRAIN_S + _MORE_S)
    for worker in folder.workers():
        if folder.works(system, worker):
            found = True
            end(worker.pid, lambda w=worker: not folder.works(system, w), DRAIN_S)  # type: ignore[misc]
    folder.workers_file.unlink(missing_ok=True)
    return found
