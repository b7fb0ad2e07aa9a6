"""Start all processes of a topology on this machine, or update a running system."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from streams.embedded import Broker
from streams.embedded.process import spawn, wait_until
from streams.errors import SurroundingsError, UsageError
from streams.kafka import Cluster, Deployment, deploy, preview, read_catalog
from streams.live.admin.open_dialogs import find_broken
from streams.live.admin.statements import live_topology
from streams.live.local.folder import System, UpFolder, WorkerProcess
from streams.live.local.readiness import WorkerStatus, ask_workers, last_words
from streams.live.local.stop import stop_workers
from streams.private import make_folder
from streams.settings import Replication
from streams.topology import Topology
from streams.topology.records import encode
from streams.wire import Topics

Reporter = Callable[[str], None]
_REPORT_S = 2.0
"""Seconds between progress lines."""
_ASK_S = 0.2
"""Seconds between two requests to workers that are not ready yet."""
_APPEARS_S = 5.0


@dataclass(frozen=True, slots=True)
class Wish:
    """The options of `up`. ``bootstrap`` ``None`` means the embedded broker, on ``port``.

    ``timeout``: seconds to wait for Kafka, and then for the workers. ``whole`` is the topology of
    which this is one cluster's share; ``folder`` is its folder, which also contains the agents'
    files.
    """

    name: str
    topology: Topology
    bootstrap: str | None
    prefix: str
    port: int
    timeout: float
    whole: Topology | None = None
    folder: str = ""
    replication: Replication = field(default_factory=Replication)


@dataclass(frozen=True, slots=True)
class Started:
    """The running system; ``fresh`` is False if the workers were already running and were kept."""

    system: System
    deployed: Deployment
    fresh: bool


def start(folder: UpFolder, wish: Wish, report: Reporter) -> Started:
    """Start the broker and workers, and apply the topology; return when every worker is ready.

    Running processes continue, except for workers that do not serve the current instances. Raises
    UsageError if the folder belongs to another system, SurroundingsError if something does not
    start in time. In that case, processes that were started keep running, and `down` stops them.
    """
    with folder.alone():
        before = folder.system()
        _refuse_another(folder, wish, before)
        bootstrap = wish.bootstrap or start_broker(folder, wish.port, report)
        cluster = Cluster(bootstrap, Topics(wish.prefix), replication=wish.replication)
        cluster.wait(wish.timeout, report)
        _refuse_breaking(cluster, wish)
        deployed = deploy(cluster, wish.topology)
        if wish.bootstrap is not None:  # without an address, Kafka is the embedded broker
            for finding in filter(None, (*deployed.findings, deployed.warning)):
                report(finding)
        instances = tuple(live_topology(read_catalog(cluster)).instances)
        wanted = _system(wish, bootstrap, instances)
        if before is None or not _fits(folder, before, wanted):
            stop_workers(folder, before)
            system = _run(folder, wanted)
        else:
            system = before
        _await_ready(folder, system, wish.timeout, report)
        return Started(system, deployed, system is not before)


def _refuse_another(folder: UpFolder, wish: Wish, before: System | None) -> None:
    if before is None or not folder.keeps(before):
        return
    same_kafka = before.embedded if wish.bootstrap is None else before.bootstrap == wish.bootstrap
    if not same_kafka or before.prefix != wish.prefix:
        raise UsageError(
            f"The system of {folder.path} is already running at {before.bootstrap} with prefix "
            f"{before.prefix}.",
            "Stop it with `hopline down`, or choose another folder with --data.",
        )


def _refuse_breaking(cluster: Cluster, wish: Wish) -> None:
    change = preview(cluster, wish.topology).change
    found = find_broken(cluster, wish.topology, change, time.time(), wish.whole)
    broken = next(found, None)
    if broken is not None:
        raise UsageError(
            f"This topology would break open dialogs, such as {broken.conversation} of "
            f"{broken.instance}/{broken.database}: {broken.why}.",
            f"`hopline apply --force --bootstrap {cluster.bootstrap} --prefix "
            f"{cluster.topics.prefix}` applies it anyway.",
        )


def start_broker(folder: UpFolder, port: int, report: Reporter) -> str:
    """Start the folder's embedded broker if it is not running; return its address."""
    broker = Broker(folder.kafka, port=port, lasting=True)
    if not broker.condition().is_alive:
        report(f"Starting Apache Kafka on {folder.kafka} ...")
        broker.start()
    return broker.bootstrap


def _system(wish: Wish, bootstrap: str, instances: tuple[str, ...]) -> System:
    """Return the requested system before any of its processes run."""
    return System(
        keeper=0,
        bootstrap=bootstrap,
        prefix=wish.prefix,
        topology=wish.name,
        instances=instances,
        embedded=wish.bootstrap is None,
        started=time.time(),
        folder=wish.folder,
        agents={name: json.dumps(encode(a)) for name, a in wish.topology.agents.items()},
    )


def _fits(folder: UpFolder, before: System, wanted: System) -> bool:
    """Return whether the running processes serve all instances and can be queried."""
    return (
        before.jobs == wanted.jobs
        and before.agents == wanted.agents
        and (set(before.instances) == set(wanted.instances))
        and folder.keeps(before)
        and all(worker.port for worker in folder.workers())
    )


def _run(folder: UpFolder, wanted: System) -> System:
    """Start a supervisor, which starts all other processes."""
    log = folder.log("keeper")
    make_folder(log.parent)
    where = (str(folder.path), wanted.bootstrap, wanted.prefix, wanted.folder)
    child = spawn([sys.executable, "-m", "streams.live.local", *where, *wanted.agents], log)
    system = replace(wanted, keeper=child.pid)
    folder.record_system(system)
    # For a moment a new process lacks the command line that identifies it.
    wait_until(lambda: folder.keeps(system) or child.poll() is not None, _APPEARS_S)
    return system


def _await_ready(folder: UpFolder, system: System, timeout: float, report: Reporter) -> None:
    """Wait until every process is ready, and report progress."""
    deadline = time.monotonic() + timeout
    next_word = time.monotonic() + _REPORT_S
    while True:
        instances = system.instances
        workers = ask_workers(folder, system, instances)
        if len(workers) == len(system.jobs) and all(w.serves(instances) for w in workers):
            return
        progress = ", ".join(_progress(worker, instances) for worker in workers)
        _refuse_failed(folder, system)
        now = time.monotonic()
        if progress and now > next_word:
            report(f"Ready: {progress}")
            next_word = now + _REPORT_S
        if now > deadline:
            raise SurroundingsError(
                f"The workers were not ready within {timeout:g} s: "
                f"{progress or 'none has started'}.",
                f"Their logs are in {folder.log('keeper').parent}; `hopline status` shows the "
                "state, `hopline down` stops them.",
            )
        time.sleep(_ASK_S)


def _progress(worker: WorkerStatus, instances: tuple[str, ...]) -> str:
    wanted = worker.process.wanted(instances)
    why = worker.missing[:1] if worker.answers else ("not answering",)
    counts = f"{worker.process.name} {len(worker.ready)} of {len(wanted)}"
    return " ".join((counts, *(f"({reason})" for reason in why)))


def _refuse_failed(folder: UpFolder, system: System) -> None:
    """Raise SurroundingsError if a process has exited twice, or the supervisor has exited."""
    for worker in folder.workers():
        if worker.restarts >= 2:
            raise SurroundingsError(
                f"The {_called(worker)} repeatedly: {last_words(folder.log(worker.name))}",
                f"The log is {folder.log(worker.name)}; `hopline down` stops the restarts.",
            )
    if not folder.keeps(system):
        raise SurroundingsError(
            f"The supervisor has exited: {last_words(folder.log('keeper'))}",
            f"Its log is {folder.log('keeper')}.",
        )


def _called(worker: WorkerProcess) -> str:
    return f"agent {worker.agent} exits" if worker.agent else f"{worker.role} workers exit"
