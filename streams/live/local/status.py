"""The status of a running system: its broker, workers, catalog and lag."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from streams.embedded import Broker, Condition
from streams.kafka import Cluster, Hung, KafkaException, find_hung, read_catalog, read_lags
from streams.kafka.listing import topic_names
from streams.live.admin.unreadable import UnreadableStatement, find_held_back
from streams.live.local.folder import System, UpFolder, WorkerProcess
from streams.live.local.readiness import ready_instances
from streams.topology import Topology, pair_names
from streams.wire import Topics


class Health(Enum):
    """The health of a system."""

    RUNNING = "running"
    STARTING = "starting"
    """Everything is running, but some workers are not ready."""
    BROKEN = "broken"
    """A process has ended, Kafka does not respond, a transaction hangs, or a statement is held
    back.
    """
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """A process of workers; ``ready`` are the instances that it serves, or an agent's name."""

    process: WorkerProcess
    alive: bool
    ready: frozenset[str]


@dataclass(frozen=True, slots=True)
class CatalogStatus:
    """The catalog that the cluster has."""

    version: int
    instances: tuple[str, ...]
    error: str


@dataclass(frozen=True, slots=True)
class Lag:
    """How many records a worker has not read yet."""

    instance: str
    role: str
    topic: str
    records: int


@dataclass(frozen=True, slots=True)
class Status:
    """The status; ``broker`` and ``bootstrap`` are of the embedded one if it is ours."""

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
    """Return the status of processes, logs, catalog and groups; ``timeout``: seconds for Kafka."""
    system = folder.system()
    if system is None:
        return Status(Health.STOPPED)
    broker = Broker(folder.kafka) if system.embedded else None
    condition = broker.condition() if broker else None
    recorded = broker.data.recorded() if broker else None
    workers = tuple(
        WorkerStatus(w, folder.works(system, w), ready_instances(folder, w))
        for w in folder.workers()
    )
    answers = condition in (None, Condition.RUNNING)
    catalog, lags, hung, held_back = _ask(system, timeout) if answers else (None, (), (), ())
    supervised = folder.keeps(system)
    lives = supervised and catalog is not None and all(w.alive for w in workers)
    alive = lives and not hung and not held_back
    wanted = set(catalog.instances) if catalog else set()
    served = bool(workers) and all(w.ready >= w.process.wanted(wanted) for w in workers)
    health = Health.BROKEN if not alive else Health.RUNNING if served else Health.STARTING
    pid = recorded.pid if recorded else None
    return Status(
        health, system, condition, pid, supervised, workers, catalog, lags, hung, held_back
    )


def _ask(
    system: System, timeout: float
) -> tuple[
    CatalogStatus | None, tuple[Lag, ...], tuple[Hung, ...], tuple[UnreadableStatement, ...]
]:
    cluster = Cluster(system.bootstrap, Topics(system.prefix))
    try:
        cluster.admin().list_topics(timeout=timeout)
    except KafkaException:
        return None, (), (), ()
    names = [name for name in topic_names(cluster) if name.startswith(system.prefix)]
    hung = find_hung(cluster, names)
    if any(each.topic == cluster.topics.catalog for each in hung):
        return None, (), hung, ()
    state = read_catalog(cluster)
    topology = state.topology or Topology()
    known = CatalogStatus(state.version, tuple(topology.instances), state.error)
    lags = _lags(cluster, topology)
    waiting = {lag.instance for lag in lags if lag.topic == "cmd" and lag.records}
    held_back = find_held_back(cluster, sorted(waiting))
    return known, lags, hung, held_back


def _lags(cluster: Cluster, topology: Topology) -> tuple[Lag, ...]:
    topics, reads = cluster.topics, dict[tuple[str, str], dict[str, list[str]]]()
    for name in (*topology.instances, *sorted(pair_names(topology))):
        inputs = {"cmd": [topics.cmd(name)], "in": [topics.inbox(name)], "ack": [topics.ack(name)]}
        reads[name, "endpoint"] = inputs
        reads[name, "forwarder"] = {"out": [topics.out(name)]}
        if name in topology.instances:  # messages for a pair arrive at a partner
            reads[name, "forwarder"]["txq"] = [topics.txq(name)]
    for each in topology.ingress:
        entrance = topics.ingress(each.gateway, each.cluster)
        reads[each.gateway, "forwarder"].setdefault("ingress", []).append(entrance)
    groups = {place: f"{topics.prefix}{place[1]}.{place[0]}" for place in reads}
    found = read_lags(
        cluster, {groups[p]: [t for named in of.values() for t in named] for p, of in reads.items()}
    )
    return tuple(
        Lag(instance, role, kind, sum(found.get((groups[instance, role], t), 0) for t in named))
        for (instance, role), of in reads.items()
        for kind, named in of.items()
    )
