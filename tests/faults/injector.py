"""Perform faults on workers and applications, on their topics and groups, and on Kafka itself."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from streams.embedded import Broker, Condition
from streams.kafka import Cluster
from streams.live.admin.statements import Script, plan_script, publish_script
from tests.faults import strangers
from tests.faults.clusters import RunClusters
from tests.faults.memory import is_forgetting, remembered
from tests.faults.plan import Fault, FaultKind, Happened
from tests.faults.processes import Child, Supervisor
from tests.faults.scenarios import WORKERS
from tests.faults.shifted import Clock
from tests.running import eventually
from tests.workers.rig import pause

Mend = Callable[[], None]
FORTY_MINUTES = 2_400.0
_NO_ANSWER = (Condition.STARTING, Condition.SILENT)
_DISK = 30.0
_ABSENCES = (FaultKind.ASLEEP, FaultKind.GONE, FaultKind.REPLACED)
_WORKS = 30.0
"""Seconds that a process works between two absences; an application is rejected meanwhile."""
_LEAVES = 90.0
_BESIDE = 5.0
"""Seconds for which a resumed worker and its helper run concurrently."""


@dataclass(slots=True)
class FaultInjector:
    """A system under faults. ``clocks``: by instance, if the processes use shifted clocks.

    ``remembered``: what Kafka still had of workers after absences longer than its retention.
    """

    clusters: RunClusters
    children: Supervisor
    clocks: Mapping[str, Clock] = field(default_factory=dict)
    happened: list[Happened] = field(default_factory=list)
    remembered: list[str] = field(default_factory=list)
    _mends: list[tuple[float, Fault, int, Mend]] = field(default_factory=list)
    _mending: list[tuple[Future[None], Fault, int]] = field(default_factory=list)
    _powers: dict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))
    """A lock for starting or stopping each broker, because faults may overlap with repairs."""
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(4))

    def strike(self, fault: Fault) -> bool:
        """Perform a fault; it is ended later when its time is over.

        Returns ``False`` for a kill of an absent process, which is skipped.
        """
        if fault.kind is FaultKind.KILL and self.children.is_away(fault.victim):
            return False
        at = _now()
        mend = _INJECT[fault.kind](self, fault)
        if mend is None:
            self.happened.append(Happened(fault, at, _now()))
        else:
            self._mends.append((time.monotonic() + fault.lasts, fault, at, mend))
        return True

    def may(self, fault: Fault) -> bool:
        """Return whether a fault may happen now, or is too close to another one.

        A process works between two absences. Faults with kills after them do not overlap.
        """
        lasting = [*(f for _, f, _, _ in self._mends), *(f for _, f, _ in self._mending)]
        if fault.then and any(f.then for f in lasting):
            return False
        since = _now() - _WORKS * 1000
        back = [h.fault for h in self.happened if h.fault.kind in _ABSENCES and h.over > since]
        absent = [f.victim for f in (*lasting, *back)]
        mine = fault.victim
        return fault.kind not in _ABSENCES or not any(v in mine or mine in v for v in absent)

    def absences(self, application: str) -> int:
        """Return how often an application was absent without a replacement."""
        alone = (FaultKind.ASLEEP, FaultKind.GONE)
        found = (h.fault for h in self.happened if h.fault.kind in alone)
        return sum(fault.victim == application for fault in found)

    @property
    def is_whole(self) -> bool:
        """Return whether all faults have ended."""
        return not self._mends and not self._mending

    def mend(self) -> list[Fault]:
        """End the faults whose time is over; return the faults that follow those that have ended.

        A broker may start slowly, and the supervision of workers must not wait for it.
        """
        now = time.monotonic()
        due = [each for each in self._mends if each[0] <= now]
        self._mends = [each for each in self._mends if each not in due]
        self._mending += [(self._pool.submit(self._end, f, end), f, at) for _, f, at, end in due]
        following: list[Fault] = []
        for each in [m for m in self._mending if m[0].done()]:
            mended, fault, at = each
            mended.result()
            self._mending.remove(each)
            self.happened.append(Happened(fault, at, _now()))
            following += fault.then
        return following

    def _end(self, fault: Fault, mend: Mend) -> None:
        if is_forgetting(fault):
            self.remembered += remembered(self._cluster(fault), fault.victim)
        mend()

    # --- processes -------------------------------------------------------------------------------

    def _kill(self, fault: Fault) -> None:
        self.children.kill(fault.victim)

    def _pause(self, fault: Fault) -> Mend:
        self.children.pause(fault.victim)
        return lambda: self.children.resume(fault.victim)

    def _replaced(self, fault: Fault) -> Mend:
        """Suspend a process, run another one in its place, and resume the first one.

        A worker's helper has its own slot, and runs concurrently for a while. An application's
        successor has the same name, so the former process must end by itself.
        """
        victim = fault.victim
        if victim in WORKERS:
            helper = f"{victim}/helper"
            self.children.help(victim, helper)
            return lambda: self._wake(victim, helper)
        former = self.children.replace(victim)
        return lambda: self._leaves(former, victim)

    def _wake(self, victim: str, helper: str) -> None:
        self.children.resume(victim)
        time.sleep(_BESIDE)
        self.children.take_away(helper)

    def _leaves(self, former: Child, name: str) -> None:
        former.signal(signal.SIGCONT)
        over = lambda: former.code is not None or pause()  # noqa: E731
        eventually(over, f"the former {name} leaves", _LEAVES)

    def _away(self, fault: Fault) -> Mend:
        self.children.take_away(fault.victim)
        for clock in self.clocks.values():
            clock.let_pass(FORTY_MINUTES)
        return lambda: self.children.bring_back(fault.victim)

    def _absent(self, fault: Fault) -> Mend:
        """Stop all processes whose names contain the victim's, such as a worker's standby."""
        away = [name for name in self.children.names if fault.victim in name]
        for name in away:
            self.children.take_away(name)

        def bring_back() -> None:
            for name in away:
                self.children.bring_back(name)

        return bring_back

    def _apart(self, fault: Fault) -> Mend:
        self.clusters.part()
        return self.clusters.join

    def _clock(self, fault: Fault) -> Mend:
        clock = self.clocks[fault.victim]
        clock.step(fault.step)
        return lambda: clock.step(-fault.step)

    def _queue_off(self, fault: Fault) -> Mend:
        self._turn(fault.victim, "OFF")
        return lambda: self._turn(fault.victim, "ON")

    def _turn(self, queue: str, status: str) -> None:
        instance, database, name = queue.split("/")
        cluster, text = (
            self.clusters.cluster_of(instance),
            f"ALTER QUEUE {name} WITH STATUS = {status}",
        )
        planned = plan_script(cluster, Script(instance, database, text), time.time())
        publish_script(cluster, planned)

    # --- topics and groups -----------------------------------------------------------------------

    def _fence(self, fault: Fault) -> None:
        strangers.fence(self._cluster(fault), fault.victim)

    def _abandon(self, fault: Fault) -> None:
        strangers.abandon(self._cluster(fault), fault.victim)

    def _crowd(self, fault: Fault) -> None:
        strangers.crowd(self._cluster(fault), fault.victim)

    def _cluster(self, fault: Fault) -> Cluster:
        return self.clusters.cluster_of(fault.victim.partition("/")[2])

    # --- Kafka -----------------------------------------------------------------------------------

    def _broker_kill(self, fault: Fault) -> Mend:
        with self._powers[fault.victim]:
            self._broker(fault).kill()
        return lambda: self._start(fault)

    def _broker_restart(self, fault: Fault) -> Mend:
        with self._powers[fault.victim]:
            self._broker(fault).stop()
        return lambda: self._start(fault)

    def _broker_pause(self, fault: Fault) -> Mend:
        """Suspend a broker at any point; its connections stay open but silent.

        Two pauses of the same broker may overlap; the first one to end ends both.
        """
        running = self._broker(fault).data.recorded()
        assert running is not None
        os.kill(running.pid, signal.SIGSTOP)
        return lambda: os.kill(running.pid, signal.SIGCONT)

    def _disk_full(self, fault: Fault) -> Mend:
        """Keep all files of the broker from growing, so that its next write fails and it exits.

        It does the same on a full disk, which only root could simulate.
        """
        broker = self._broker(fault)
        self._start(fault)  # it may be absent because of the previous fault
        with self._powers[fault.victim]:
            running = broker.data.recorded()
            assert running is not None
            resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            over = lambda: broker.condition() is Condition.STALE or pause()  # noqa: E731
            eventually(over, "the broker gives up", _DISK)
        return lambda: self._start(fault)

    def _start(self, fault: Fault) -> None:
        broker = self._broker(fault)
        with self._powers[fault.victim]:
            # on a loaded machine a running broker may take longer for an answer than the probe
            eventually(lambda: broker.condition() not in _NO_ANSWER or pause(), "it answers")
            if broker.condition() in (Condition.STALE, Condition.STOPPED):
                # the log is rewritten at every start, so read the reason before
                log = broker.data.log_file
                with log.open("rb") as said, (log.parent / "before.log").open("ab") as before:
                    shutil.copyfileobj(said, before)
                broker.start()

    def _broker(self, fault: Fault) -> Broker:
        return self.clusters.all[0].kafka.brokers[int(fault.victim) - 1]


def _now() -> int:
    return time.time_ns() // 1_000_000


_INJECT: Mapping[FaultKind, Callable[[FaultInjector, Fault], Mend | None]] = {
    FaultKind.KILL: FaultInjector._kill,
    FaultKind.PAUSE: FaultInjector._pause,
    FaultKind.FENCE: FaultInjector._fence,
    FaultKind.ABANDON: FaultInjector._abandon,
    FaultKind.CROWD: FaultInjector._crowd,
    FaultKind.BROKER_KILL: FaultInjector._broker_kill,
    FaultKind.BROKER_RESTART: FaultInjector._broker_restart,
    FaultKind.BROKER_PAUSE: FaultInjector._broker_pause,
    FaultKind.DISK_FULL: FaultInjector._disk_full,
    FaultKind.CLOCK: FaultInjector._clock,
    FaultKind.ABSENT: FaultInjector._absent,
    FaultKind.QUEUE_OFF: FaultInjector._queue_off,
    FaultKind.AWAY: FaultInjector._away,
    FaultKind.APART: FaultInjector._apart,
    FaultKind.ASLEEP: FaultInjector._pause,
    FaultKind.GONE: FaultInjector._absent,
    FaultKind.REPLACED: FaultInjector._replaced,
}
