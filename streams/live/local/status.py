"""The status of a running system: its broker, workers, catalog and lag."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streams.embedded import Broker, Condition
from streams.kafka import Cluster, Hung
from streams.live.admin.unreadable import UnreadableStatement
from streams.live.cluster_status import CatalogStatus, ClusterStatus, Lag, ask_cluster
from streams.live.health import Health
from streams.live.local.folder import System, UpFolder
from streams.live.local.readiness import WorkerStatus, ask_workers
from streams.wire import Topics


@dataclass(frozen=True, slots=True)
class Status:
    """The status; ``broker`` and ``bootstrap`` describe the embedded broker, if there is one."""

    health: Health
    system: System | None = None
    broker: Condition | None = None
    broker_pid: int | None = None
    supervisor_alive: bool = False
    workers: tuple[WorkerStatus, ...] = ()
    catalog: CatalogStatus | None = None
    lags: tuple[Lag, ...] = ()
    hung: tuple[Hung, ...] = ()
    held_back: tuple[UnreadableStatement, ...] = ()


def find_statuses(folder: UpFolder, timeout: float) -> dict[str, Status]:
    """Return the status of every cluster that runs here, by name; "" for the folder itself."""
    parts = {name: part for name, part in folder.parts().items() if part.system() is not None}
    return {name: find_status(part, timeout) for name, part in (parts or {"": folder}).items()}


def worst(statuses: Iterable[Status]) -> Health:
    """Return the overall health of these clusters."""
    found = {status.health for status in statuses}
    order = (Health.BROKEN, Health.STARTING, Health.RUNNING, Health.STOPPED)
    return next(health for health in order if health in found)


def find_status(folder: UpFolder, timeout: float) -> Status:
    """Return the status of processes, catalog and groups; ``timeout``: seconds for Kafka."""
    system = folder.system()
    if system is None:
        return Status(Health.STOPPED)
    broker = Broker(folder.kafka) if system.embedded else None
    condition = broker.condition() if broker else None
    recorded = broker.data.recorded() if broker else None
    answers = condition in (None, Condition.RUNNING)
    asked = ask_cluster(_cluster(system), timeout) if answers else ClusterStatus()
    catalog, supervised = asked.catalog, folder.keeps(system)
    workers = ask_workers(folder, system, catalog.instances if catalog else system.instances)
    lives = supervised and catalog is not None and all(w.alive for w in workers)
    alive = lives and not asked.hung and not asked.held_back
    wanted = catalog.instances if catalog else ()
    served = bool(workers) and all(w.serves(wanted) for w in workers)
    health = Health.BROKEN if not alive else Health.RUNNING if served else Health.STARTING
    pid = recorded.pid if recorded else None
    rest = catalog, asked.lags, asked.hung, asked.held_back
    return Status(health, system, condition, pid, supervised, workers, *rest)


def _cluster(system: System) -> Cluster:
    return Cluster(system.bootstrap, Topics(system.prefix))
