"""`hopline up` runs the agents that a topology states; shown by data-dependent routing (EX-72).

Two branches, two routers, three regions: m initiators, n routers, l partitions of the data.
"""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from pathlib import Path

import pytest

from streams.kafka import Cluster
from streams.protocol import Limits
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from tests.command import invoke
from tests.live.shown import gone, status
from tests.node.evidence import shows
from tests.running import DEADLINE, System

FOLDER = topologies_dir() / "data_dependent_routing"
REGIONS = ("Americas", "Europe", "Asia")
QUERIES = 7
"""One of them is about a country that no region has."""


def ask(branch: str, *where: str) -> None:
    """Send each query on a dialog of its own."""
    place = ("--from", f"{branch}/Branch", "--to", "DataDependentRouting")
    kind = ("--contract", "SalesContract", "--type", "SalesQuery", "--bodies", FOLDER / "queries")
    pace = ("--leave-open", "--length", "1", "--rate", QUERIES, "--duration", "1s")
    sent = invoke("traffic", *place, *kind, *pace, *where)
    assert sent.exit_code == 0, sent.stderr


@pytest.mark.long
@shows("EX-72", "6-7")
def test_what_a_topology_states_is_run_shown_and_ended(here: Path, kafka: str, unique: str) -> None:
    where = ("--bootstrap", kafka, "--prefix", unique)
    started = invoke("up", FOLDER, *where)
    assert started.exit_code == 0, started.stderr
    assert "7 instances, agents routers, regions, ready after" in started.stdout
    shown = status()
    assert shown["health"] == "running" and len(shown["workers"]) == 2
    assert [(a["name"], a["ready"]) for a in shown["agents"]] == [
        ("routers", True), ("regions", True),
    ]  # fmt: skip
    assert "an agent, ready" in invoke("status").stdout

    ask("BranchA", *where)
    os.kill(shown["agents"][0]["pid"], signal.SIGKILL)  # the routers
    ask("BranchB", *where)
    system = System(Cluster(kafka, Topics(unique)), load(FOLDER, 0.0), Limits())
    dialogs = {branch: answered(system, branch) for branch in ("BranchA", "BranchB")}
    for found in dialogs.values():
        refused = [texts for texts in found.values() if "<Code>1</Code>" in texts[0]]
        assert (len(found), len(refused)) == (QUERIES, 1)
        figures = sorted(texts[0] for texts in found.values() if "salesFigures" in texts[0])
        assert len(figures) == QUERIES - 1
        assert (
            '<salesFigures region="Asia" country="JP" product="T-100">1680</salesFigures>'
            in figures
        )
    each_has_one_router(system, {d for found in dialogs.values() for d in found})
    assert status()["agents"][0]["restarts"] == 1

    again = invoke("up", FOLDER, *where)
    assert (again.exit_code, "was already running" in again.stdout) == (0, True), again.stderr
    pids = [a["pid"] for a in status()["agents"]]
    assert invoke("down").exit_code == 0
    assert all(gone(pid) for pid in pids)


def answered(system: System, branch: str) -> dict[str, list[str]]:
    """Return what a branch got, by dialog: figures and the end, or an error."""
    topic = system.cluster.topics.queue(branch, "Branch", "AnswerQueue")
    found: dict[str, list[str]] = defaultdict(list)
    for one in system.records(topic, count=2 * (QUERIES - 1) + 1, deadline=2 * DEADLINE):
        found[one["conversation"]].append(one["body"]["text"])
    return found


def each_has_one_router(system: System, dialogs: set[str]) -> None:
    """And both routers have some, and every region is asked by both."""
    at = []
    for router in ("RouterA", "RouterB"):
        topic = system.cluster.topics.queue(router, "Routing", "RoutingQueue")
        at.append(dialogs & {one["conversation"] for one in system.snapshot(topic)})
    assert at[0] and at[1] and not at[0] & at[1] and at[0] | at[1] == dialogs
    for region in REGIONS:
        topic = system.cluster.topics.queue(region, "Sales", "QueryQueue")
        queries = [one for one in system.snapshot(topic) if one["message"]["type"] == "SalesQuery"]
        assert len({one["conversation"] for one in queries}) == 4, region


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("runs: data-dependent-routing", "runs: data-dependent-routing\n    service: Nobody"),
         "no database has a service Nobody"),
        (("/salesQuery/country", "/salesQuery["), "topology.yaml:"),
        (("regions:apps", "no_such_module:app"), "agent regions exits repeatedly"),
    ],
)  # fmt: skip
def test_an_agent_that_cannot_run_is_a_sentence(
    here: Path, kafka: str, unique: str, change: tuple[str, str], message: str
) -> None:
    text = (FOLDER / "topology.yaml").read_text(encoding="utf-8")
    (here / "t").mkdir()
    (here / "t" / "topology.yaml").write_text(text.replace(*change), encoding="utf-8")
    done = invoke("up", here / "t", "--bootstrap", kafka, "--prefix", unique)
    assert done.exit_code in (2, 3) and message in " ".join(done.stderr.split()), done.stderr
