"""The demo in three acts: before any message is sent, a running system, and several targets."""

from __future__ import annotations

import contextlib
import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from streams.analysis import find_paths, find_sender, path_text
from streams.capture.container import CaptureReader
from streams.capture.schedule import contents_of
from streams.client import Client
from streams.demo import kept, text
from streams.demo.children import Children
from streams.demo.target import TargetApplication
from streams.demo.watch import Killed, Watch
from streams.embedded import Broker
from streams.embedded.probe import is_free
from streams.errors import EventKind, Number, SurroundingsError
from streams.kafka import Cluster, deploy
from streams.report import Facts, read_facts
from streams.resources import topologies_dir
from streams.store import Report, Store
from streams.topology import Topology, load
from streams.wire import Topics

LONGEST_STILL = 300.0
"""Seconds without progress after which the demo gives up; on two busy cores, Spark takes 150 s."""
VICTIM = "GatewayA"
SENDER = ("ServerA", "DatabaseA")
TARGETS = (("ServerB", "DatabaseB"), ("ServerC", "DatabaseC"))
QUEUE = "TargetQueue"
DASHBOARD_PORT = 8090
"""The preferred port of the dashboard of a system that keeps running."""
_UNDELIVERABLE = EventKind.MESSAGE_UNDELIVERABLE


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `hopline demo`; ``speed`` 2 replays the traffic twice as fast.

    ``keep``: the system of act 2 keeps running, with a dashboard.
    """

    data: Path
    sabotage: bool = False
    speed: float = 2.0
    keep: bool = False


@dataclass(slots=True)
class Stage:
    """The shared objects of the acts.

    ``say`` prints a line, ``progress`` overwrites one in a terminal.
    """

    options: Options
    say: Callable[[str], None]
    progress: Callable[[str], None]
    started: float = field(default_factory=time.monotonic)
    example: uuid.UUID | None = None


def run(stage: Stage) -> int:
    """Run all acts; return the exit code, 0 only if the verdicts match Kafka's content."""
    data = stage.options.data
    _before(stage)
    stage.say(text.act(2, "The system runs"))
    kept.stop(data)
    shutil.rmtree(data, ignore_errors=True)
    with contextlib.ExitStack() as running:
        broker = running.enter_context(Broker(data / "kafka", lasting=stage.options.keep))
        children = running.enter_context(Children(data / "logs"))
        stage.say(
            f"Apache Kafka is running at {broker.bootstrap}, with its data in {data / 'kafka'}."
        )
        balanced = _system(stage, broker.bootstrap, children)
        balanced &= _several_targets(stage, broker.bootstrap, children)
        if stage.options.keep:
            dashboard = _go_on(stage, broker.bootstrap, children)
            kept.note(data, children.leave())
            broker.release()
            running.pop_all()
    seconds = time.monotonic() - stage.started
    if stage.options.keep:
        stage.say(text.kept(broker.bootstrap, dashboard, data, stage.example))
    else:
        stage.say(text.afterwards(data / "kafka", seconds, stage.example))
    return 0 if balanced else 1


def _go_on(stage: Stage, bootstrap: str, children: Children) -> str:
    """Start the workers of act 2, the monitor and a dashboard; return its address."""
    store = stage.options.data / "monitor.sqlite"
    _start_monitor(stage, bootstrap, children, store)
    _worker(children, "workers", bootstrap, "both", "--all")
    port = str(DASHBOARD_PORT if is_free(DASHBOARD_PORT) else 0)
    children.start(
        "dashboard",
        *("dashboard", "--bootstrap", bootstrap, "--store", f"sqlite:///{store}", "--port", port),
    )
    log = children.log("dashboard")
    _wait(stage, children, lambda: "http" in log.read_text(), "the dashboard starts")
    return log.read_text().split()[-1]


# --- Act 1 ---------------------------------------------------------------------------------------


def _before(stage: Stage) -> None:
    stage.say(text.act(1, "Before: where will a message go? (no Kafka needed)"))
    topology = _topology("load_balanced")
    sender = find_sender(topology, "ServerA/DatabaseA/InitiatorService", "TargetService")
    paths = find_paths(topology, sender, "TargetService", time.time())
    stage.say(text.before(topologies_dir() / "load_balanced"))
    stage.say(path_text(paths))


# --- Act 2 ---------------------------------------------------------------------------------------


def _system(stage: Stage, bootstrap: str, children: Children) -> bool:
    topology, cluster = _topology("combined"), Cluster(bootstrap)
    traffic = topologies_dir() / "combined" / "traffic.avro"
    deploy(cluster, topology)
    store = stage.options.data / "monitor.sqlite"
    _start_monitor(stage, bootstrap, children, store)
    others = [name for name in topology.instances if name != VICTIM]
    _worker(children, "forwarders", bootstrap, "forwarder", *others)
    _worker(children, VICTIM, bootstrap, "forwarder", VICTIM)
    _worker(children, "endpoints", bootstrap, "endpoint", *(i for i, _ in (SENDER, *TARGETS)))
    stage.say(text.workers(topology, VICTIM))
    _wait(stage, children, (stage.options.data / "monitor.ready").exists, "Spark starts")
    with contextlib.ExitStack() as running:
        queues = [cluster.topics.queue(*target, QUEUE) for target in TARGETS]
        watch = running.enter_context(Watch(cluster, queues))
        for target in TARGETS:
            running.enter_context(TargetApplication(cluster, *target, QUEUE))
        killed = _replay_and_kill(stage, bootstrap, children, watch, traffic)
    children.stop("forwarders", "endpoints")
    facts = read_facts(cluster, topology)
    if stage.options.sabotage:
        hidden = facts.delivered[len(facts.delivered) // 2].message_id
        facts = facts.hiding(hidden)
        stage.say("Sabotage: one delivered record is hidden from the verification.")
    with Store.open(f"sqlite:///{store}") as opened:
        seen = Report(opened)
        _wait(stage, children, lambda: _monitored(seen) >= _arrived(facts), "Spark catches up")
        children.stop("monitor")
        ledger = facts.balance()
        stage.example = text.moved_dialog(facts.delivered, killed)
        stage.say(text.report(ledger, facts, seen, killed))
    return ledger.balanced and ledger.waiting == 0


def _start_monitor(stage: Stage, bootstrap: str, children: Children, store: Path) -> None:
    data = stage.options.data
    children.start(
        "monitor",
        *("monitor", "--bootstrap", bootstrap, "--store", f"sqlite:///{store}"),
        *("--checkpoint", str(data / "checkpoint")),
        *("--ready-file", str(data / "monitor.ready")),
    )


def _replay_and_kill(
    stage: Stage, bootstrap: str, children: Children, watch: Watch, traffic: Path
) -> Killed:
    """Replay the traffic, kill the gateway halfway, and wait until all dialogs have ended."""
    reader = CaptureReader(traffic)
    extent = contents_of(reader, reader.metadata.prefix)
    messages = extent.commands - 2 * extent.dialogs  # each dialog has one BEGIN and one END
    stage.say(text.replaying(traffic, messages, extent.dialogs, stage.options.speed))
    children.start(
        "replay",
        *("replay", str(traffic), "--bootstrap", bootstrap),
        *("--speed", str(stage.options.speed), "--settle", "0"),
    )
    killed: Killed | None = None

    def done() -> bool:
        nonlocal killed
        if killed is None and watch.queued >= messages // 2:
            queued = watch.queued
            pid = children.kill(VICTIM)
            killed = Killed(VICTIM, time.time_ns() // 1_000_000, queued)
            stage.say(text.killed(VICTIM, pid, queued))
        return children.ended("replay") and watch.ended >= extent.dialogs

    def how_far() -> str:
        return text.running(watch, messages, extent.dialogs)

    _wait(stage, children, done, how_far)
    assert killed is not None, "half of the messages have arrived"
    return killed


def _monitored(seen: Report) -> int:
    return sum(row.count for row in seen.latency())


def _arrived(facts: Facts) -> int:
    return len(facts.delivered)


# --- Act 3 ---------------------------------------------------------------------------------------


def _several_targets(stage: Stage, bootstrap: str, children: Children) -> bool:
    """Send a dialog over two routes without a broker id to different copies of a service."""
    stage.say(text.act(3, "Several targets: two routes without a broker id"))
    topology, cluster = _topology("several_targets"), Cluster(bootstrap, Topics("targets."))
    deploy(cluster, topology)
    _worker(children, "targets", bootstrap, "both", *topology.instances, prefix="targets.")
    stage.say(text.several_targets())
    queues = [cluster.topics.queue(*target, QUEUE) for target in TARGETS]
    with Watch(cluster, queues) as watch, Client(cluster, "demo") as client:
        dialog = client.begin(*SENDER, "InitiatorService", "TargetService")
        client.send(dialog, b"<first/>", wait=True)
        refused = Number.ANOTHER_INSTANCE_CONVERSES

        def is_refused() -> bool:
            # Both copies of the message, and the Error at the rejected target.
            return watch.queued >= 3 and watch.count(_UNDELIVERABLE, refused) > 0

        _wait(stage, children, is_refused, "two targets answer")
        client.send(dialog, b"<second/>", wait=True)
        _wait(stage, children, lambda: watch.queued >= 4, "the second message arrives")
    children.stop("targets")
    facts = read_facts(cluster, topology)
    ledger = facts.balance()
    stage.say(text.several_targets_report(ledger, facts))
    return ledger.balanced and ledger.waiting == 0 and ledger.at_refused_targets > 0


# --- Shared by the acts -------------------------------------------------------------------------


def _topology(name: str) -> Topology:
    return load(topologies_dir() / name, time.time())


def _worker(
    children: Children,
    name: str,
    bootstrap: str,
    role: str,
    *instances: str,
    prefix: str = "ssb.",
) -> None:
    named = list(instances)
    if "--all" not in instances:
        named = [part for i in instances for part in ("--instance", i)]
    children.start(
        name, "worker", role, *named, "--bootstrap", bootstrap, "--prefix", prefix, "--verbose"
    )


def _wait(
    stage: Stage,
    children: Children,
    condition: Callable[[], bool],
    what: str | Callable[[], str],
) -> None:
    """Return when a condition holds; raise SurroundingsError if ``what`` no longer changes."""
    shown, changed_at = "", time.monotonic()
    while not condition():
        children.check()
        now = what if isinstance(what, str) else what()
        if now != shown:
            shown, changed_at = now, time.monotonic()
        stage.progress(shown)
        if time.monotonic() > changed_at + LONGEST_STILL:
            raise SurroundingsError(
                f"No progress for {LONGEST_STILL:.0f} s: {shown}.",
                f"The logs are in {stage.options.data / 'logs'}.",
            )
        time.sleep(0.1)
    stage.progress("")
