"""Start everything for a topology on this machine, or bring what runs up to date."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from streams.embedded import Broker, Condition
from streams.embedded.process import POLL_S, spawn, wait_until
from streams.errors import SurroundingsError, UsageError
from streams.kafka import Cluster, Deployment, deploy, preview, read_catalog
from streams.live.folder import System, UpFolder
from streams.live.open_dialogs import find_broken
from streams.live.readiness import last_words, ready_instances
from streams.live.statements import live_topology
from streams.live.stop import stop_workers
from streams.topology import Topology
from streams.wire import Topics

Tell = Callable[[str], None]
_TELL_S = 2.0
"""Seconds between two lines that say how many workers are ready."""
_APPEARS_S = 5.0


@dataclass(frozen=True, slots=True)
class Wish:
    """What `up` was asked for. ``bootstrap`` ``None`` means the embedded broker, on ``port``.

    ``timeout``: seconds to wait for Kafka, and then for the workers. ``whole`` is the topology of
    which this is one cluster's share.
    """

    name: str
    topology: Topology
    bootstrap: str | None
    prefix: str
    port: int
    timeout: float
    whole: Topology | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """What runs now; ``fresh`` is false where the workers ran already and may go on."""

    system: System
    deployed: Deployment
    fresh: bool


def start(folder: UpFolder, wish: Wish, tell: Tell) -> Started:
    """Start broker and workers, apply the topology; return when every worker is ready.

    What runs already stays, but for workers that do not serve the instances that there are now.
    Raises UsageError where the folder's system is another one, SurroundingsError where something
    does not start in time; what has been started by then goes on, and `down` ends it.
    """
    with folder.alone():
        before = folder.system()
        _refuse_another(folder, wish, before)
        bootstrap = wish.bootstrap or start_broker(folder, wish.port, tell)
        cluster = Cluster(bootstrap, Topics(wish.prefix))
        cluster.wait(wish.timeout, tell)
        _refuse_breaking(cluster, wish)
        deployed = deploy(cluster, wish.topology)
        instances = tuple(live_topology(read_catalog(cluster)).instances)
        if before is None or not _fits(folder, before, bootstrap, instances):
            stop_workers(folder, before)
            system = _workers(folder, wish, bootstrap, instances)
        else:
            system = before
        _await_ready(folder, system, wish.timeout, tell)
        return Started(system, deployed, system is not before)


def _refuse_another(folder: UpFolder, wish: Wish, before: System | None) -> None:
    if before is None or not folder.keeps(before):
        return
    same_kafka = before.embedded if wish.bootstrap is None else before.bootstrap == wish.bootstrap
    if not same_kafka or before.prefix != wish.prefix:
        raise UsageError(
            f"A system of {folder.path} runs already, at {before.bootstrap} with the prefix "
            f"{before.prefix}.",
            "Stop it with `hopline down`, or choose another folder with --data.",
        )


def _refuse_breaking(cluster: Cluster, wish: Wish) -> None:
    change = preview(cluster, wish.topology).change
    found = find_broken(cluster, wish.topology, change, time.time(), wish.whole)
    broken = next(found, None)
    if broken is not None:
        raise UsageError(
            f"Open dialogs could not go on with this topology, such as {broken.conversation} of "
            f"{broken.instance}/{broken.database}: {broken.why}.",
            f"`hopline apply --force --bootstrap {cluster.bootstrap} --prefix "
            f"{cluster.topics.prefix}` applies it all the same.",
        )


def start_broker(folder: UpFolder, port: int, tell: Tell) -> str:
    """Start the folder's embedded broker unless it runs; returns its address."""
    broker = Broker(folder.kafka, port=port, lasting=True)
    if broker.condition() not in (Condition.RUNNING, Condition.STARTING):
        tell(f"Starting Apache Kafka on {folder.kafka} ...")
        broker.start()
    return broker.bootstrap


def _fits(folder: UpFolder, before: System, bootstrap: str, instances: tuple[str, ...]) -> bool:
    """Tell whether the workers that run serve what they must serve now."""
    served = before.bootstrap == bootstrap and set(before.instances) == set(instances)
    return served and folder.keeps(before)


def _workers(folder: UpFolder, wish: Wish, bootstrap: str, instances: tuple[str, ...]) -> System:
    log = folder.log("keeper")
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "streams.live", str(folder.path), bootstrap, wish.prefix]
    child = spawn(command, log)
    system = System(
        keeper=child.pid,
        bootstrap=bootstrap,
        prefix=wish.prefix,
        topology=wish.name,
        instances=instances,
        embedded=wish.bootstrap is None,
        started=time.time(),
    )
    folder.record_system(system)
    # For a moment a new process has no command line, by which it is known.
    wait_until(lambda: folder.keeps(system) or child.poll() is not None, _APPEARS_S)
    return system


def _await_ready(folder: UpFolder, system: System, timeout: float, tell: Tell) -> None:
    """Return when both processes serve every instance; tells how far they are."""
    deadline = time.monotonic() + timeout
    next_word = time.monotonic() + _TELL_S
    while True:
        workers = folder.workers()
        counts = {w.role: len(ready_instances(folder, w)) for w in workers}
        if workers and all(n >= len(system.instances) for n in counts.values()):
            return
        said = ", ".join(f"{role} {n} of {len(system.instances)}" for role, n in counts.items())
        _refuse_failed(folder, system)
        now = time.monotonic()
        if said and now > next_word:
            tell(f"Ready: {said}")
            next_word = now + _TELL_S
        if now > deadline:
            raise SurroundingsError(
                f"The workers are not ready within {timeout:g} s: {said or 'none has started'}.",
                f"Their logs are in {folder.log('keeper').parent}; `hopline status` goes on "
                "looking, `hopline down` ends them.",
            )
        time.sleep(POLL_S)


def _refuse_failed(folder: UpFolder, system: System) -> None:
    """Raise where a process has ended twice, or the keeper is gone."""
    for worker in folder.workers():
        if worker.restarts >= 2:
            raise SurroundingsError(
                f"The {worker.role} workers end again and again: "
                f"{last_words(folder.log(worker.role))}",
                f"Their log is {folder.log(worker.role)}; `hopline down` ends the attempts.",
            )
    if not folder.keeps(system):
        raise SurroundingsError(
            f"The keeper has ended: {last_words(folder.log('keeper'))}",
            f"Its log is {folder.log('keeper')}.",
        )
