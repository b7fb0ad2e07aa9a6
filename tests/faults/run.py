"""One run of the fault suite: a system, a load, its faults, and the state of topics afterwards."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Container, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from streams.embedded.properties import NOTHING
from streams.kafka import Cluster
from streams.report import Facts
from tests.endpoints import read_dialogs
from tests.faults.brief import BROKER, shortened
from tests.faults.clusters import RunClusters, run_clusters
from tests.faults.drains import drains, with_drains
from tests.faults.harm import Effect, Harm
from tests.faults.hostile import Hostile, kinds, topics_of
from tests.faults.injector import FaultInjector
from tests.faults.junk import Writer, junk, topics_for_junk
from tests.faults.load import Load
from tests.faults.observe import Observer
from tests.faults.plan import Fault, Happened, Wanted, draw
from tests.faults.processes import Supervisor, supervised
from tests.faults.scenarios import APPLICATIONS, ENDPOINTS, EVERYBODY, WORKERS, Scenario
from tests.faults.shifted import Clock
from tests.faults.verdict import Recovery, Verdict, judge, only, summed_up
from tests.killable import RESTARTS_SOON
from tests.running import eventually
from tests.workers.rig import pause

QUEUES = (
    ("ServerB", "DatabaseB", "TargetQueue"),
    ("ServerA", "DatabaseA", "InitiatorQueue"),
)
SETTLE = 5.0
"""Seconds of load before the first fault, and after the last one."""
BRIEF = ("tests.faults.brief",)
_PROGRESS = 15.0
"""Seconds between reports of the progress, and between samples of memory."""
_QUIET = 0.1
"""The share of the time before the first hostile record, for comparison."""
_EARLY = 500
"""Number of hostile records before the load, if there is no quiet time."""
PATIENCE = 180.0
"""Seconds without a message or an end, when the load is over, after which a run gives up.

It is also the limit for both sides of all dialogs to close after that.
"""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of a run; ``recoveries`` are in the order of the scenario's faults.

    ``effect``: that of hostile records, if the run has some.
    """

    scenario: Scenario
    verdict: Verdict
    recoveries: tuple[Recovery, ...]
    seconds: float
    effect: Effect | None = None


def run(
    scenario: Scenario,
    asked: Load,
    seed: int,
    folder: Path,
    say: Say,
    look: Callable[[RunClusters], None] = lambda _: None,
    *,
    quiet: float = _QUIET,
) -> Outcome:
    """Run a scenario; no process that it starts outlives it. ``look`` gets the clusters.

    ``quiet``: the share of the time before the first hostile record; with none, applications start
    among hostile records, and latency and memory are not judged, because nothing was before.
    """
    started = time.monotonic()
    with ExitStack() as stack:
        if scenario.brief:
            stack.enter_context(shortened())
        beside = BROKER if scenario.brief else NOTHING if scenario.hostile else RESTARTS_SOON
        where = stack.enter_context(
            run_clusters(folder, scenario.brokers, two=scenario.two, beside=beside)
        )
        home = where.cluster_of("ServerA")
        watched = [(where.cluster_of(i), [home.topics.queue(i, *queue)]) for i, *queue in QUEUES]
        ours = asked.conversations(home.topics.prefix)
        with supervised(folder) as children, Observer(watched, ours) as observer:
            clocks = {i: Clock(folder / f"{i}.clock") for i in where.instances}
            _start(children, where, scenario, clocks)
            injector = FaultInjector(where, children, clocks)
            harm = Harm(children, observer, asked.seconds * quiet if scenario.hostile else 0.0)
            with _writer(scenario, asked.rate, home, where.instances, seed, harm.after) as writer:
                faults = draw(seed, scenario.wanted, SETTLE, max(asked.seconds - SETTLE, SETTLE))
                if not quiet:
                    eventually(lambda: writer.written > _EARLY or pause(), "hostile records")
                _act(injector, asked, faults, observer, say, harm, brief=scenario.brief)
                _finish(asked, children, observer, say)
                writer.stop()
            _await_ends(where, children, ours)
            harm.look()
        facts = only(where.facts(), ours)
        verdict = _judged(scenario, asked, facts)
        if not scenario.hostile:  # a hostile client writes events, too
            verdict = replace(verdict, contradicted=len(facts.contradictions))
        if scenario.brief:
            verdict = replace(
                verdict,
                unrefused=_unrefused(injector, children),
                remembered=len(injector.remembered),
            )
            for what in injector.remembered:
                say(f"{scenario.name}: Kafka still has the {what} after a long absence")
        ended = len(children.reasons)
        effect = harm.effect(writer.written, writer.bombs) if scenario.hostile else None
        if effect is not None:
            verdict = effect.judged(replace(verdict, ended=ended), quiet=quiet)
            for line in effect.lines():
                say(f"{scenario.name}: {line}")
        drained = drains(injector.happened, observer)
        for drain in drained:
            say(f"{scenario.name}: {drain}")
        verdict = with_drains(verdict, drained)
        say(f"{scenario.name}: {ended} ended by themselves; rubbish {writer.written}")
        for reason in children.reasons:
            say(f"  {reason}")
        told = ", ".join(f"{n} x {number}" for number, n in sorted(facts.drops.items()))
        say(f"{scenario.name}: copies dropped: {told or 'none'}")
        waits = sorted((*observer.by_initiator.waits(), *observer.by_target.waits()))
        middle, most = (waits[len(waits) // 2], waits[-1]) if waits else (0, 0)
        say(f"{scenario.name}: a message waited {middle} ms (median), {most} ms (worst)")
        look(where)
    recoveries = tuple(_recovery(w, injector.happened, observer) for w in scenario.wanted)
    return Outcome(scenario, verdict, recoveries, time.monotonic() - started, effect)


def _writer(
    scenario: Scenario, rate: float, home: Cluster, instances: list[str], seed: int, after: float
) -> Writer:
    """Return the writer of hostile or meaningless records into each kind of topic."""
    queues = [home.topics.queue(*queue) for queue in QUEUES]
    if not scenario.hostile:
        topics = topics_for_junk(home, instances, queues)
        return Writer(home, junk(topics, seed), rate * scenario.junk / 100)
    chosen = topics_of(home, scenario.kinds or kinds(), instances, queues)
    percent = scenario.hostile * len(chosen)
    return Writer(home, Hostile(home, chosen, seed), rate * percent / 100, after)


def _judged(scenario: Scenario, asked: Load, facts: Facts) -> Verdict:
    """Compare commands with the load, or, if they are trimmed, the queues, which are not."""
    if scenario.keep is None:
        said = [(m.sender.is_initiator, m.digest) for m in facts.accepted]
        return judge(asked, facts.balance(), said, facts.sides)
    found = [(row.from_initiator, row.digest) for row in facts.delivered]
    verdict = judge(asked, facts.balance(), found, facts.sides)
    return replace(verdict, untrimmed=2 - len(facts.begins.commands))


def _unrefused(injector: FaultInjector, children: Supervisor) -> int:
    """Return how often an application whose position was lost continued without being rejected."""
    return sum(max(0, injector.absences(a) - children.refused[a]) for a in APPLICATIONS)


def _start(
    children: Supervisor, where: RunClusters, scenario: Scenario, clocks: dict[str, Clock]
) -> None:
    rest = () if scenario.keep is None else ("--keep", str(scenario.keep))
    standbys: dict[str, tuple[str, ...]] = {}
    for name in WORKERS:
        role, _, instance = name.partition("/")
        through: tuple[str, ...] = ()
        if scenario.shifted:
            through = ("tests.faults.shifted", str(clocks[instance].path))
        elif scenario.brief:
            through = (*BRIEF, "streams")
        arguments = (*worker(role, instance, where.cluster_of(instance), *through), *rest)
        if name in scenario.standbys:
            arguments = (*arguments, "--standby")
            standbys[f"{name}/standby"] = arguments
        children.start(name, *arguments)
    eventually(lambda: children.have_logged(WORKERS, "ready") or pause(), "all workers are ready")
    for name, arguments in standbys.items():
        children.start(name, *arguments)
    brief = BRIEF if scenario.brief else ()
    children.start("target", *brief, *application(where.cluster_of("ServerB"), "target"))


def worker(role: str, instance: str, cluster: Cluster, *through: str) -> tuple[str, ...]:
    """Return the module and arguments that run one worker, ``through`` a modifying module."""
    where = ("--bootstrap", cluster.bootstrap, "--prefix", cluster.topics.prefix)
    how = ("worker", role, "--instance", instance, "--slot", "0", "--verbose")
    return (*(through or ("streams",)), *how, *where)


def application(cluster: Cluster, name: str, *rest: object) -> tuple[str, ...]:
    """Return the module and arguments that run one application."""
    where = (cluster.bootstrap, cluster.topics.prefix)
    return ("tests.faults.applications", name, *where, *map(str, rest))


def _act(
    injector: FaultInjector,
    asked: Load,
    faults: Sequence[Fault],
    observer: Observer,
    say: Say,
    harm: Harm,
    *,
    brief: bool,
) -> None:
    """Start the load, and perform every fault at its time."""
    numbers = (asked.messages, asked.rate, asked.dialogs, asked.length)
    home = injector.clusters.cluster_of("ServerA")
    through = BRIEF if brief else ()
    injector.children.start("source", *through, *application(home, "source", *numbers))
    eventually(lambda: observer.seen or pause(), "the first message arrives")
    began, told, left = time.time(), -_PROGRESS, list(faults)
    while left or not injector.is_whole or time.time() - began < asked.seconds:
        now = time.time() - began
        fault = next((f for f in left if now >= f.at and injector.may(f)), None)
        if fault is not None:
            left.remove(fault)
            skipped = "" if injector.strike(fault) else ", skipped: it is absent"
            say(f"{now:5.0f} s {fault.kind.name} {fault.victim} {fault.lasts:.1f}{skipped}")
        following = injector.mend()
        left += [replace(f, at=time.time() - began + f.at) for f in following]
        injector.children.look()
        if now - told >= _PROGRESS:
            told = now
            harm.look()
            say(f"{now:5.0f} s, {len(left)} faults to come, {observer.seen:,} messages seen")
        time.sleep(0.02)


def _finish(asked: Load, children: Supervisor, observer: Observer, say: Say) -> None:
    """Wait until all messages have arrived and all dialogs have ended, or nothing more arrives.

    The applications may be slower than the load: each of their transactions has one RECEIVE.
    """
    wanted = asked.messages + sum(1 for _ in asked.answers())
    deadline = time.monotonic() + PATIENCE
    told, known = time.monotonic() + _PROGRESS, (0, 0)
    while observer.seen < wanted or observer.ended < asked.talks:
        children.look()
        if (found := (observer.seen, observer.ended)) != known:
            known, deadline = found, time.monotonic() + PATIENCE
        if time.monotonic() > told:
            told += _PROGRESS
            say(f"    {observer.seen:,} of {wanted:,} messages seen")
        if time.monotonic() > deadline:
            say(f"{observer.seen:,} of {wanted:,} messages, {observer.ended} of {asked.talks} ends")
            say("\n".join(observer.behind()) or "all of it is seen")
            say(children.last_words(asking=EVERYBODY))
            return
        time.sleep(0.1)


def _await_ends(where: RunClusters, children: Supervisor, ours: Container[uuid.UUID]) -> None:
    """Wait until both sides of every dialog are closed, or the time is over."""
    deadline = time.monotonic() + PATIENCE
    instances = [name.partition("/")[2] for name in ENDPOINTS]
    while time.monotonic() < deadline:
        children.look()
        found = (d for i in instances for d in read_dialogs(where.cluster_of(i), i))
        if all(dialog.state.name == "CD" for key, dialog in found if key[1] in ours):
            return
        time.sleep(1)


def _recovery(wanted: Wanted, happened: Sequence[Happened], observer: Observer) -> Recovery:
    hit = [h for h in happened if _belongs(h.fault, wanted)]
    return summed_up([_milliseconds(each, observer) for each in hit])


def _belongs(fault: Fault, wanted: Wanted) -> bool:
    return fault.kind is wanted.kind and fault.victim in wanted.victims


def _milliseconds(happened: Happened, observer: Observer) -> int:
    """Return how long a fault had an effect; an application is back when it sends again."""
    both = (observer.by_initiator, observer.by_target)
    if happened.fault.victim == "source":
        return observer.by_initiator.sent_after(happened.at)
    if happened.fault.victim == "target":
        return observer.by_target.sent_after(happened.at)
    return max(each.felt(happened.at, happened.over) for each in both)
