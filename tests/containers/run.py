"""A system in containers under faults: a load, its faults, and the state of topics afterwards."""

from __future__ import annotations

import re
import shutil
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from streams.kafka import Cluster
from streams.report.read import read_facts
from streams.topology import load
from streams.wire import Topics
from tests.containers.compose import ROOT, Compose, composed
from tests.containers.container_faults import Fault, Group
from tests.containers.smoke import delivered
from tests.endpoints import read_dialogs
from tests.faults.load import Load
from tests.faults.observe import Observer, Sightings
from tests.faults.processes import Supervisor, supervised
from tests.faults.run import PATIENCE, QUEUES, SETTLE, application
from tests.faults.verdict import Verdict, judge
from tests.running import eventually

_FIGURES = 180.0
"""Seconds within which figures must be up to date again."""
_HERE = Path(__file__).parent / "topology"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Felt:
    """A fault that happened, and the duration of its effect in seconds."""

    fault: Fault
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of a group of faults: our own account, and that of `hopline verify`."""

    title: str
    verdict: Verdict
    account: dict[str, object]
    felt: tuple[Felt, ...]


def run_group(group: Group, rate: float, folder: Path, say: Say) -> Outcome:
    """Run a group; remove all its containers afterwards."""
    topology = _topology(folder)
    with composed("hopline-faults", HOPLINE_TOPOLOGY=str(topology)) as compose:
        compose.up()
        say(f"{group.name}: healthy")
        try:
            return _under_load(group, compose, Load(round(rate * group.seconds), rate), folder, say)
        except BaseException:
            say(compose.logs())
            raise


def _topology(folder: Path) -> Path:
    """Return a folder with the topology of docker-compose.yml and the agent for the load."""
    made = folder / "topology"
    made.mkdir()
    made.chmod(0o755)
    folder.chmod(0o755)  # the containers run as another user
    shutil.copy(ROOT / "deploy" / "containers" / "topology" / "topology.yaml", made)
    shutil.copy(_HERE / "answering.py", made / "warehouse.py")
    return made


def _under_load(group: Group, compose: Compose, asked: Load, folder: Path, say: Say) -> Outcome:
    cluster = Cluster(compose.address("HOPLINE_KAFKA_PORT"), Topics("ssb."))
    topology = load(folder / "topology", time.time())
    queues = [cluster.topics.queue(*queue) for queue in QUEUES]
    with supervised(folder) as children, Observer([(cluster, queues)]) as observer:
        numbers = (asked.messages, asked.rate, asked.dialogs, asked.length)
        children.start("source", *application(cluster, "source", *numbers))
        eventually(lambda: observer.seen or _look(children), "the first message arrives", 120)
        felt = tuple(_strike_all(group, compose, observer, children, asked, say))
        _finish(asked, observer, children, say)
        _await_ends(cluster, children)
    facts = read_facts(cluster, topology)
    said = [(m.sender.is_initiator, m.digest) for m in facts.accepted]
    verdict = judge(asked, facts.balance(), said, facts.sides)
    account = compose.verify("--entrypoint", "tini -- hopline", "load", "verify")
    _await_figures(compose, int(str(account["delivered"])))
    return Outcome(group.title, verdict, account, felt)


def _strike_all(
    group: Group,
    compose: Compose,
    observer: Observer,
    children: Supervisor,
    asked: Load,
    say: Say,
) -> list[Felt]:
    began, happened = time.monotonic(), []
    with ThreadPoolExecutor(1) as pool:
        for number, fault in enumerate(group.faults):
            while time.monotonic() < began + SETTLE + number * group.span:
                _look(children)
            assert time.monotonic() < began + asked.seconds, "the load is over before the faults"
            at = _now()
            doing = pool.submit(fault.inject, compose, fault.service)
            while not doing.done():
                _look(children)
            doing.result()
            over = _now()
            back = _await_fresh(compose, children, over) - at if fault.figures else 0
            happened.append((fault, at, over, back))
            say(f"{group.name}: {fault.service} {fault.words}; {observer.seen:,} messages seen")
        while time.monotonic() < began + asked.seconds:
            _look(children)
    return [
        Felt(f, max(back, _waited(observer, f, at, over)) / 1000) for f, at, over, back in happened
    ]


def _waited(observer: Observer, fault: Fault, at: int, over: int) -> int:
    """Return the longest wait of a message, or silence of an application, in ms."""
    if fault.figures:
        return 0
    both = (observer.by_initiator, observer.by_target)
    return max(max(each.felt(at, over), _silent(each, at, over)) for each in both)


def _silent(said: Sightings, at: int, over: int) -> int:
    """Return the longest time between two messages that overlaps the fault."""
    between = pairwise(sorted(said.sent))
    return max((b - a for a, b in between if a <= over and b >= at), default=0)


def _await_fresh(compose: Compose, children: Supervisor, since: int) -> int:
    """Return when the dashboard had figures that are newer than ``since``; both in epoch ms."""
    deadline = time.monotonic() + _FIGURES
    while (age := _age(compose)) is None or _now() - age * 1000 <= since:
        assert time.monotonic() < deadline, f"the figures are {age} s old"
        _look(children, 0.5)
    return _now()


def _age(compose: Compose) -> float | None:
    address = f"http://{compose.address('HOPLINE_DASHBOARD_PORT')}/metrics"
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            text = answer.read().decode()
    except OSError:
        return None
    found = re.search(r"^hopline_dashboard_figures_age_seconds ([\d.e+-]+)", text, re.M)
    return float(found[1]) if found else None


def _finish(asked: Load, observer: Observer, children: Supervisor, say: Say) -> None:
    """Wait until all messages have arrived and all dialogs have ended, or the time is over."""
    wanted = asked.messages + sum(1 for _ in asked.answers())
    deadline = time.monotonic() + PATIENCE
    while observer.seen < wanted or observer.ended < asked.talks:
        if time.monotonic() > deadline:
            say(f"{observer.seen:,} of {wanted:,} messages, {observer.ended} of {asked.talks} ends")
            say(children.last_words())
            return
        _look(children)


def _await_ends(cluster: Cluster, children: Supervisor) -> None:
    """Wait until both sides of every dialog are closed, or the time is over."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = [d for i in ("ServerA", "ServerB") for _, d in read_dialogs(cluster, i)]
        if all(dialog.state.name == "CD" for dialog in found):
            return
        _look(children, 1)


def _await_figures(compose: Compose, wanted: int) -> None:
    """Fail if the dashboard's figures do not reach those of the account."""
    deadline = time.monotonic() + _FIGURES
    while (shown := delivered(compose)) != wanted:
        assert time.monotonic() < deadline, f"the store has {shown:,} of {wanted:,} messages"
        time.sleep(1)


def _look(children: Supervisor, pause: float = 0.05) -> None:
    children.look()
    time.sleep(pause)


def _now() -> int:
    return time.time_ns() // 1_000_000
