"""One run of the fault suite: a system, a load, its faults, and what the topics say afterwards."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from streams.embedded import Brokers
from streams.kafka import Cluster, deploy
from streams.report import Facts, read_facts
from streams.report.read import read_dialogs
from streams.resources import topologies_dir
from streams.topology import Topology, load
from streams.wire import Topics
from tests.faults.junk import Junk, topics_for_junk
from tests.faults.load import Load
from tests.faults.observe import Observer
from tests.faults.plan import Fault, Wanted, draw
from tests.faults.processes import Supervisor, supervised
from tests.faults.scenarios import ENDPOINTS, EVERYBODY, WORKERS, Scenario
from tests.faults.shifted import Clock
from tests.faults.stage import Happened, Stage, worker
from tests.faults.verdict import Recovery, Verdict, judge, summed_up
from tests.running import eventually
from tests.workers.rig import pause

PARTITIONS = 2
SETTLE = 5.0
"""Seconds of load before the first fault, and after the last one."""
PATIENCE = 120.0
"""Seconds that everything may take to finish when the load is over."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run has shown; ``recoveries`` in the order of the scenario's faults."""

    scenario: Scenario
    verdict: Verdict
    recoveries: tuple[Recovery, ...]
    seconds: float


def run(scenario: Scenario, asked: Load, seed: int, folder: Path, say: Say) -> Outcome:
    """Run a scenario; nothing that it starts outlives it."""
    started = time.monotonic()
    with ExitStack() as stack:
        kafka = stack.enter_context(Brokers(folder / "kafka", scenario.brokers))
        cluster = Cluster(kafka.bootstrap, Topics(f"t{uuid.uuid4().hex[:8]}."))
        topology = _topology()
        deploy(cluster, topology)
        queues = [
            cluster.topics.queue("ServerB", "DatabaseB", "TargetQueue"),
            cluster.topics.queue("ServerA", "DatabaseA", "InitiatorQueue"),
        ]
        with supervised(folder) as children, Observer(cluster, queues) as observer:
            clocks = {i: Clock(folder / f"{i}.clock") for i in topology.instances}
            _start(children, cluster, clocks if scenario.shifted else {}, scenario.keep)
            stage = Stage(kafka, cluster, children, clocks)
            where = topics_for_junk(cluster, list(topology.instances), queues)
            with Junk(cluster, where, asked.rate * scenario.junk / 100, seed) as junk:
                faults = draw(seed, scenario.wanted, SETTLE, max(asked.seconds - SETTLE, SETTLE))
                _act(stage, asked, faults, observer, say)
                _finish(asked, children, observer, say)
                junk.stop()
            _await_ends(cluster, children)
        facts = read_facts(cluster, topology)
        verdict = _judged(scenario, asked, facts)
        ended = ", ".join(f"{name} {count}" for name, count in children.ended.items())
        say(f"{scenario.name}: ended by themselves: {ended or 'none'}; rubbish {junk.written}")
    recoveries = tuple(_recovery(w, stage.happened, observer) for w in scenario.wanted)
    return Outcome(scenario, verdict, recoveries, time.monotonic() - started)


def _judged(scenario: Scenario, asked: Load, facts: Facts) -> Verdict:
    """Hold commands against the load; where they are trimmed, the queues, of which none is."""
    if scenario.keep is None:
        said = [(m.sender.is_initiator, m.digest) for m in facts.accepted]
        return judge(asked, facts.balance(), said, facts.sides)
    found = [(row.from_initiator, row.digest) for row in facts.delivered]
    verdict = judge(asked, facts.balance(), found, facts.sides)
    return replace(verdict, untrimmed=2 - len(facts.begins.commands))


def _topology() -> Topology:
    """Return two databases and two gateways between them, their dialogs in several partitions."""
    found = load(topologies_dir() / "high_availability", time.time())
    instances = {n: replace(i, partitions=PARTITIONS) for n, i in found.instances.items()}
    return replace(found, instances=instances)


def _start(
    children: Supervisor, cluster: Cluster, clocks: dict[str, Clock], keep: float | None
) -> None:
    rest = () if keep is None else ("--keep", str(keep))
    for name in WORKERS:
        role, _, instance = name.partition("/")
        clock = clocks[instance].path if clocks else None
        children.start(name, *worker(role, instance, cluster, clock), *rest)
    eventually(
        lambda: children.have_said(WORKERS, "ready") or pause(), "all workers are ready", 120
    )
    children.start("target", *_application(cluster, "target"))


def _application(cluster: Cluster, name: str, *rest: object) -> tuple[str, ...]:
    where = (cluster.bootstrap, cluster.topics.prefix)
    return ("tests.faults.applications", name, *where, *map(str, rest))


def _act(stage: Stage, asked: Load, faults: Sequence[Fault], observer: Observer, say: Say) -> None:
    """Let the load begin, and every fault happen at its time."""
    numbers = (asked.messages, asked.rate, asked.dialogs, asked.length)
    stage.children.start("source", *_application(stage.cluster, "source", *numbers))
    eventually(lambda: observer.seen or pause(), "the first message arrives", 120)
    began, told, left = time.time(), 0.0, list(faults)
    while left or time.time() - began < asked.seconds:
        now = time.time() - began
        if left and now >= left[0].at:
            fault = left.pop(0)
            say(f"{now:5.0f} s {fault.kind.name} {fault.victim} {fault.lasts:.1f}")
            stage.strike(fault)
        stage.mend()
        stage.children.look()
        if now - told >= 15:
            told = now
            say(f"{now:5.0f} s, {len(left)} faults to come, {observer.seen:,} messages seen")
        time.sleep(0.02)
    stage.mend(everything=True)


def _finish(asked: Load, children: Supervisor, observer: Observer, say: Say) -> None:
    """Wait until everything has arrived and all dialogs have ended, or nothing more will."""
    wanted = asked.messages + sum(1 for _ in asked.answers())
    deadline = time.monotonic() + PATIENCE
    while observer.seen < wanted or observer.ended < asked.talks:
        children.look()
        if time.monotonic() > deadline:
            say(f"{observer.seen:,} of {wanted:,} messages, {observer.ended} of {asked.talks} ends")
            say(children.last_words(asking=EVERYBODY))
            return
        time.sleep(0.1)


def _await_ends(cluster: Cluster, children: Supervisor) -> None:
    """Wait until both sides of every dialog are closed, or will never be."""
    deadline = time.monotonic() + PATIENCE
    instances = [name.partition("/")[2] for name in ENDPOINTS]
    while time.monotonic() < deadline:
        children.look()
        found = (d for i in instances for _, d in read_dialogs(cluster, i))
        if all(dialog.state.name == "CD" for dialog in found):
            return
        time.sleep(1)


def _recovery(wanted: Wanted, happened: Sequence[Happened], observer: Observer) -> Recovery:
    hit = [h for h in happened if _belongs(h.fault, wanted)]
    return summed_up([_milliseconds(each, observer) for each in hit])


def _belongs(fault: Fault, wanted: Wanted) -> bool:
    return fault.kind is wanted.kind and fault.victim in wanted.victims


def _milliseconds(happened: Happened, observer: Observer) -> int:
    """Return how long it was felt: an application is back when it speaks again."""
    both = (observer.by_initiator, observer.by_target)
    if happened.fault.victim == "source":
        return observer.by_initiator.spoken_after(happened.at)
    if happened.fault.victim == "target":
        return observer.by_target.spoken_after(happened.at)
    return max(each.felt(happened.at, happened.over) for each in both)
