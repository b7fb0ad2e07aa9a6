"""A process full of workers: start them, wait, stop them all when one fails or the user says so.

SIGTERM and SIGINT drain: every loop ends after its present turn, flushes and commits. Who has no
slot leaves its group; the others are expected back. A worker that fails takes the process with it:
what runs it (compose, systemd, the demo) starts it again, and nothing is lost by that. A call of
Kafka's client may never come back; a thread that waits in one is left behind, with the same end.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Protocol

from streams.errors import HoplineError, SurroundingsError, UsageError
from streams.kafka import CACHE_BYTES, Cluster, KafkaException, demand
from streams.node import CatalogView, home_of, pairs_at
from streams.protocol import Limits
from streams.routing import SYSTEM_SERVICE
from streams.settings import NO_CREDENTIALS, Credentials
from streams.wire.evolution import written_schemas
from streams.wire.grants import checked_kinds
from streams.wire.specs import QueueSpec, cluster_specs, home_specs, instance_specs
from streams.workers.collector import collecting_rarely
from streams.workers.control import Control
from streams.workers.endpoint import EndpointWorker, Pace
from streams.workers.endpoint.standby import own_name
from streams.workers.event_counts import EventCounts, Traffic
from streams.workers.forwarder import ForwarderWorker
from streams.workers.free_memory import FreeMemory
from streams.workers.ownership import PairOwnership
from streams.workers.pulse import HUNG, Pulses
from streams.workers.slot import Slot, refuse_taken
from streams.workers.trimming import Trimming, TrimPoints, every
from streams.workers.working import WORKING

log = logging.getLogger("hopline.process")

ROLES = ("forwarder", "endpoint")

LEAVE_WITHIN = 45.0
"""Seconds in which workers end that are asked to; the longest call that has a deadline takes 30."""
_LOOK = 0.5


class Worker(Protocol):
    """What a thread of this process runs: the loop of one worker until ``stop`` is set."""

    instance: str
    ownership: PairOwnership
    traffic: Traffic

    @property
    def role(self) -> str:
        """Say which of :data:`ROLES` it has."""

    @property
    def assigned(self) -> bool:
        """Tell whether it has been dealt its partitions, with what lives in them."""

    @property
    def event_counts(self) -> EventCounts:
        """Return what events it has written."""

    @property
    def trim_points(self) -> TrimPoints:
        """Return below which positions nothing is needed, of partitions that it owns."""

    def run(self, stop: threading.Event) -> None:
        """Work until ``stop``, then drain and return."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which workers a process runs, for which instances, and how its endpoints work.

    ``slot``: the process's name across restarts, if it has one; its partitions wait for it then.
    ``watched``: Kafka's clients report about themselves, for metrics. ``standby``: an endpoint
    begins when nobody else works in its slot. ``keep``: for so many seconds what is no longer
    needed stays in the topics, ``None``: for ever.
    """

    roles: tuple[str, ...]
    instances: tuple[str, ...]
    slot: str = ""
    cache_bytes: int = CACHE_BYTES
    pace: Pace = Pace.LATENCY
    watched: bool = False
    standby: bool = False
    keep: float | None = None


class Process:
    """The workers of one process, each in a thread; ``credentials`` are for other clusters.

    It fails when a worker does nothing for ``hung_after`` seconds. Workers that are asked to end
    and do not, ``leave_within`` seconds later, are ``left_behind``: who runs the process must end
    it without waiting for anything more.
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
        self._leave_within, self._hung_after = leave_within, hung_after
        self._stop = threading.Event()
        self.left_behind: tuple[str, ...] = ()
        self._failure: BaseException | None = None
        self._control: Control | None = None
        self.workers: list[Worker] = []

    @property
    def cluster(self) -> Cluster:
        """Return the cluster that it works for."""
        return self._cluster

    @property
    def catalog_version(self) -> int:
        """Return the version of the catalog that it lives by; 0 while it has none."""
        return self._control.version if self._control is not None else 0

    def differences(self) -> Iterator[tuple[str, float]]:
        """Yield each other cluster, and by how many seconds its clock is ahead of one's own."""
        if self._control is not None:
            yield from self._control.remote.differences()

    def failures(self) -> Iterator[str]:
        """Yield a sentence for each thing that is broken; nothing where all is well so far."""
        if self._failure is not None:
            yield f"A worker has failed: {self._failure}"
        if self._control is not None and self._control.is_ready:
            yield from self._control.failures()

    def missing(self) -> Iterator[str]:
        """Yield a sentence for each thing that it still waits for before all workers work."""
        if self._control is None or not self._control.is_ready:
            yield "The catalog is not read yet."
        elif not self.workers:
            yield "The workers are not started yet."
        if self._control is not None and abs(self._control.skew) > self._clocks_differ:
            yield f"The clock is {self._control.skew:+.0f} s off Kafka's."
        for worker in self.workers:
            if not worker.assigned:
                yield f"The {worker.role} of {worker.ownership} has no partitions yet."
        if self._stop.is_set():
            yield "It is draining."

    def stop(self, *_: object) -> None:
        """Ask every worker to drain and leave."""
        self._stop.set()

    def run(self) -> None:
        """Run until stopped; raises the failure of the first worker that failed."""
        with collecting_rarely():
            self._run()

    def _run(self) -> None:
        names = self._plan.instances
        forwards = "forwarder" in self._plan.roles
        others = [own_name(name, self._plan.slot) for name in names if self._plan.standby]
        control = self._control = Control(
            self._cluster,
            names if forwards else (),
            others,
            timeout=self._timeout,
            credentials=self._credentials,
        )
        try:
            control.start()
            self._check(control)
            refuse_taken(tuple(self._slots()), control, self._stop)
            workers = self.workers = self._workers(names, control)
            threads = [
                threading.Thread(target=self._work, args=(w,), name=_name_of(w), daemon=True)
                for w in workers
            ]
            for thread in threads:
                thread.start()
            if self._plan.keep is not None:
                trimming = Trimming(self._cluster, control, workers, self._plan.keep)
                threading.Thread(
                    target=self._guarded, args=(trimming.run, "Trimming"), name="trimming",
                    daemon=True,
                ).start()  # fmt: skip
            log.info("%d workers for %s", len(threads), ", ".join(names))
            self._await(threads, control)
        finally:
            control.stop()
        if self._failure is not None:
            raise self._failure

    def _await(self, threads: Sequence[threading.Thread], control: Control) -> None:
        """Wait until all workers have ended; a call of Kafka's client may never come back.

        A worker that waits in one notices neither that it is to stop nor that its control has
        failed, and the process would go on for ever without doing anything.
        """
        asked_at: float | None = None
        pulses, memory = Pulses(threads, self._hung_after), FreeMemory(time.monotonic())
        while alive := [thread for thread in threads if thread.is_alive()]:
            alive[0].join(_LOOK)
            memory.give_back(time.monotonic())
            if control.failure is not None:
                self._failure = self._failure or control.failure
                self._stop.set()
            hung = pulses.hung(_LOOK)
            if hung is not None and not self._stop.is_set():
                why = f"{hung.name} has done nothing for {self._hung_after:g} s."
                log.error("%s", why)
                remedy = "Kafka's client hangs. Start this again: another one goes on."
                self._failure = self._failure or SurroundingsError(why, remedy)
                self._stop.set()
            if not self._stop.is_set():
                continue
            now = time.monotonic()
            asked_at = asked_at or now
            if now - asked_at > self._leave_within:
                self.left_behind = tuple(thread.name for thread in threads if thread.is_alive())
                why = f"{self.left_behind[0]} has not ended within {self._leave_within:g} s: "
                log.error("%sit waits for Kafka's client, and is left behind", why)
                self._failure = self._failure or SurroundingsError(f"{why}Kafka's client is stuck.")
                return

    def _check(self, control: Control) -> None:
        """Refuse unknown instances, topics that would lose something, and unannounced schemas."""
        names, catalog = self._plan.instances, control.catalog
        unknown = [n for n in names if n not in catalog.instances]
        if unknown:
            raise UsageError(
                f"The catalog knows no instance {unknown[0]}.",
                f"It has: {', '.join(sorted(catalog.instances))}.",
            )
        topics, used = self._cluster.topics, checked_kinds(self._plan.roles)
        specs = list(cluster_specs(topics))
        for name in names:
            queues = _queues(catalog, name)
            writers = catalog.ingress.get(name, ())
            own = queues.pop(name)
            specs += instance_specs(topics, name, own, catalog.partitions[name], writers)
            for pair, held in queues.items():
                specs += home_specs(topics, pair, held, catalog.partitions[name])
        demand(self._cluster, (spec for spec in specs if spec.kind in used))
        if not all(map(control.has, written_schemas())):
            raise SurroundingsError(
                "The catalog does not have the schemas that this version writes.",
                "Run 'hopline apply TOPOLOGY' first: by it every reader learns them.",
            )

    def _slots(self) -> Iterator[Slot]:
        """Yield the slots in which nobody else may work when this process begins."""
        plan = self._plan
        for name in plan.instances:
            if "forwarder" in plan.roles and self._forwarder_slot:
                yield Slot(name, "forwarder", self._forwarder_slot)
            if "endpoint" in plan.roles and not plan.standby:
                yield Slot(name, "endpoint", plan.slot)

    @property
    def _forwarder_slot(self) -> str:
        """Return the slot of forwarders: beside stand-bys none, where two of each work at once."""
        return "" if self._plan.standby else self._plan.slot

    def _workers(self, names: Sequence[str], control: Control) -> list[Worker]:
        workers: list[Worker] = []
        for name in names:
            for pair in (None, *pairs_at(control.catalog, name)):
                if "forwarder" in self._plan.roles:
                    workers.append(self._forwarder(name, control, pair))
                if "endpoint" in self._plan.roles:
                    workers.append(self._endpoint(name, control, pair))
        for worker in workers:
            worker.traffic.wanted = self._plan.watched
        return workers

    def _forwarder(self, name: str, control: Control, pair: str | None) -> ForwarderWorker:
        slot = self._forwarder_slot
        return ForwarderWorker(self._cluster, name, control, pair=pair, slot=slot)

    def _endpoint(self, name: str, control: Control, pair: str | None) -> EndpointWorker:
        keep = self._plan.keep
        return EndpointWorker(
            self._cluster,
            name,
            control,
            pair=pair,
            slot=self._plan.slot,
            limits=self._limits,
            cache_bytes=self._plan.cache_bytes,
            pace=self._plan.pace,
            standby=self._plan.standby,
            trims_every=None if keep is None else every(keep),
        )

    def _work(self, worker: Worker) -> None:
        WORKING.set((worker.role, str(worker.ownership)))
        self._guarded(worker.run, _name_of(worker))

    def _guarded(self, run: Callable[[threading.Event], None], name: str) -> None:
        try:
            run(self._stop)
        except BaseException as error:  # the thread's end is the process's end
            if isinstance(error, KafkaException):
                log.debug("%s failed", name, exc_info=True)
                error = self._cluster.unreachable(error)
            elif not isinstance(error, HoplineError):
                log.exception("%s failed", name)
                error = SurroundingsError(f"{name}: {error}")
            self._failure = self._failure or error
            self._stop.set()


def _name_of(worker: Worker) -> str:
    return f"{type(worker).__name__} {worker.ownership}"


def _queues(catalog: CatalogView, instance: str) -> dict[str, set[QueueSpec]]:
    """Return the queues of an instance by whom their topics are named after."""
    found: dict[str, set[QueueSpec]] = {instance: set()}
    for (at, database, named), service in catalog.services.items():
        if at == instance and named != SYSTEM_SERVICE:  # whose messages are in no topic
            home = home_of(catalog, instance, database)
            found.setdefault(home, set()).add((database, service.queue, service.partitions))
    return found


def stop_on_signals(process: Process) -> None:
    """Drain on SIGTERM and SIGINT."""

    def handle(_: int, __: FrameType | None) -> None:
        process.stop()

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)
